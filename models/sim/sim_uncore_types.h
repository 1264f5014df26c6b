/* SPDX-License-Identifier: MIT */
/*
 * The types of uncore boxes in sim_uncore_types.c, of which sim_uncore_machines.c makes the machines.
 */
#ifndef UPMU_SIM_UNCORE_TYPES_H
#define UPMU_SIM_UNCORE_TYPES_H

#include "models/sim/sim_uncore.h"

extern const struct upmu_sim_unit_type upmu_sim_nhm_uncore;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_ubox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_cbox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_bbox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_sbox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_mbox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_rbox;
extern const struct upmu_sim_unit_type upmu_sim_nhmex_wbox;
extern const struct upmu_sim_unit_type upmu_sim_snb_cbox;
extern const struct upmu_sim_unit_type upmu_sim_snb_arb;
extern const struct upmu_sim_unit_type upmu_sim_snb_clock;
extern const struct upmu_sim_unit_type upmu_sim_snb_imc;
extern const struct upmu_sim_unit_type upmu_sim_kbl_msr;
extern const struct upmu_sim_unit_type upmu_sim_kbl_cstate_core;
extern const struct upmu_sim_unit_type upmu_sim_kbl_cstate_pkg;
extern const struct upmu_sim_unit_type upmu_sim_kbl_power;
extern const struct upmu_sim_unit_type upmu_sim_zen2_msr;
extern const struct upmu_sim_unit_type upmu_sim_zen2_power;
extern const struct upmu_sim_unit_type upmu_sim_skx_ubox;
extern const struct upmu_sim_unit_type upmu_sim_skx_cha;
extern const struct upmu_sim_unit_type upmu_sim_skx_iio;
extern const struct upmu_sim_unit_type upmu_sim_skx_iio_free;
extern const struct upmu_sim_unit_type upmu_sim_skx_irp;
extern const struct upmu_sim_unit_type upmu_sim_skx_pcu;
extern const struct upmu_sim_unit_type upmu_sim_skx_imc;
extern const struct upmu_sim_unit_type upmu_sim_skx_m2m;
extern const struct upmu_sim_unit_type upmu_sim_skx_upi;
extern const struct upmu_sim_unit_type upmu_sim_skx_m2pcie;
extern const struct upmu_sim_unit_type upmu_sim_skx_m3upi;
extern const struct upmu_sim_unit_type upmu_sim_hsx_ubox;
extern const struct upmu_sim_unit_type upmu_sim_hsx_cbox;
extern const struct upmu_sim_unit_type upmu_sim_hsx_sbox;
extern const struct upmu_sim_unit_type upmu_sim_hsx_pcu;
extern const struct upmu_sim_unit_type upmu_sim_hsx_ha;
extern const struct upmu_sim_unit_type upmu_sim_hsx_imc;
extern const struct upmu_sim_unit_type upmu_sim_hsx_irp;
extern const struct upmu_sim_unit_type upmu_sim_hsx_qpi;
extern const struct upmu_sim_unit_type upmu_sim_hsx_r2pcie;
extern const struct upmu_sim_unit_type upmu_sim_hsx_r3qpi;
extern const struct upmu_sim_unit_type upmu_sim_bdx_ubox;
extern const struct upmu_sim_unit_type upmu_sim_bdx_cbox;
extern const struct upmu_sim_unit_type upmu_sim_bdx_sbox;
extern const struct upmu_sim_unit_type upmu_sim_bdx_pcu;
extern const struct upmu_sim_unit_type upmu_sim_bdx_r2pcie;
extern const struct upmu_sim_unit_type upmu_sim_bdx_r3qpi;
extern const struct upmu_sim_unit_type upmu_sim_knl_ubox;
extern const struct upmu_sim_unit_type upmu_sim_knl_cha;
extern const struct upmu_sim_unit_type upmu_sim_knl_pcu;
extern const struct upmu_sim_unit_type upmu_sim_knl_imc_uclk;
extern const struct upmu_sim_unit_type upmu_sim_knl_imc;
extern const struct upmu_sim_unit_type upmu_sim_knl_edc_uclk;
extern const struct upmu_sim_unit_type upmu_sim_knl_edc_eclk;
extern const struct upmu_sim_unit_type upmu_sim_knl_m2pcie;
extern const struct upmu_sim_unit_type upmu_sim_knl_irp;
extern const struct upmu_sim_unit_type upmu_sim_icx_ubox;
extern const struct upmu_sim_unit_type upmu_sim_icx_cha;
extern const struct upmu_sim_unit_type upmu_sim_icx_iio;
extern const struct upmu_sim_unit_type upmu_sim_icx_iio_free;
extern const struct upmu_sim_unit_type upmu_sim_icx_irp;
extern const struct upmu_sim_unit_type upmu_sim_icx_m2pcie;
extern const struct upmu_sim_unit_type upmu_sim_icx_m2m;
extern const struct upmu_sim_unit_type upmu_sim_icx_upi;
extern const struct upmu_sim_unit_type upmu_sim_icx_m3upi;
extern const struct upmu_sim_unit_type upmu_sim_icx_imc;
extern const struct upmu_sim_unit_type upmu_sim_icx_imc_free;
extern const struct upmu_sim_unit_type upmu_sim_adl_cbox;
extern const struct upmu_sim_unit_type upmu_sim_adl_arb;
extern const struct upmu_sim_unit_type upmu_sim_adl_clock;
extern const struct upmu_sim_unit_type upmu_sim_adl_imc;
extern const struct upmu_sim_unit_type upmu_sim_adl_imc_free;
extern const struct upmu_sim_unit_type upmu_sim_spr_cha;
extern const struct upmu_sim_unit_type upmu_sim_spr_iio;
extern const struct upmu_sim_unit_type upmu_sim_spr_iio_free;
extern const struct upmu_sim_unit_type upmu_sim_spr_imc;
extern const struct upmu_sim_unit_type upmu_sim_spr_m2m;
extern const struct upmu_sim_unit_type upmu_sim_spr_upi;
extern const struct upmu_sim_unit_type upmu_sim_spr_m3upi;
extern const struct upmu_sim_unit_type upmu_sim_spr_unknown;
extern const struct upmu_sim_unit_type upmu_sim_ptl_imc;
extern const struct upmu_sim_unit_type upmu_sim_ptl_hbo;
extern const struct upmu_sim_unit_type upmu_sim_bulldozer_nb;
extern const struct upmu_sim_unit_type upmu_sim_zen2_l3;
extern const struct upmu_sim_unit_type upmu_sim_zen2_df;
extern const struct upmu_sim_unit_type upmu_sim_zen4_l3;
extern const struct upmu_sim_unit_type upmu_sim_zen4_df;
extern const struct upmu_sim_unit_type upmu_sim_zen4_umc;
extern const struct upmu_sim_unit_type upmu_sim_lab_meter;
extern const struct upmu_sim_unit_type upmu_sim_lab_link;
extern const struct upmu_sim_unit_type upmu_sim_lab_vector;
extern const struct upmu_sim_unit_type upmu_sim_lab_sensor;

#endif

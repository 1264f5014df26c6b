/* SPDX-License-Identifier: MIT */
/*
 * Machines of one die or several, with their uncore units.  Device numbers, functions and register places
 * are those of the manuals; numbers of buses, of nodes and of fused-off units are chosen so that
 * guessing them goes wrong: CPUs of packages interleave, node numbers are permuted.
 */
#include "models/sim/sim_uncore_types.h"

#define FUNCTION(device, function) ((device) << 3 | (function))
#define ID(device) {(device) << 16 | 0x8086u, (device) << 16 | 0x8086u}
#define BOTH(value) {value, value}
#define FUNCTIONS_END {0, 0, 0, {0, 0}}
#define UNITS_END {.type = NULL}
#define VALUES_END {0, {0, 0}}

/* clang-format off */

/* ---- "nhm": Nehalem-EP, two packages, units by MSRs only ---- */

static const struct upmu_sim_unit_row nhm_units[] = {{.type = &upmu_sim_nhm_uncore, .count = 1}, UNITS_END};

/* ---- "nhmex": Nehalem-EX; the ten places of C-boxes are not in the order of their numbers ---- */

static const uint16_t nhmex_cbox_list[] = {0, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0, 0x240, 0x2c0};
static const struct upmu_sim_unit_row nhmex_units[] = {
    {.type = &upmu_sim_nhmex_ubox, .count = 1},
    {.type = &upmu_sim_nhmex_cbox, .count = 8, .list = nhmex_cbox_list},
    {.type = &upmu_sim_nhmex_bbox, .count = 2, .step = 0x40},
    {.type = &upmu_sim_nhmex_sbox, .count = 2, .step = 0x80},
    {.type = &upmu_sim_nhmex_mbox, .count = 2, .step = 0x40},
    {.type = &upmu_sim_nhmex_rbox, .count = 2, .step = 0x20},
    {.type = &upmu_sim_nhmex_wbox, .count = 1},
    UNITS_END};

/*
 * ---- "snb": Sandy Bridge; two of four C-boxes exist, although MSR 396H has 3, since it counts the graphics, too ----
 */

static const struct upmu_sim_unit_row snb_units[] = {
    {.type = &upmu_sim_snb_cbox, .count = 4, .absent = 0xc, .step = 0x10},
    {.type = &upmu_sim_snb_arb, .count = 1},
    {.type = &upmu_sim_snb_clock, .count = 1},
    {.type = &upmu_sim_snb_imc, .count = 1, .physical = UINT64_C(0x1fed10000)},
    UNITS_END};
static const struct upmu_sim_pci_register snb_functions[] = {
    {0, FUNCTION(0, 0), 0, ID(0x0100u)},
    {0, FUNCTION(0, 0), 0x48, BOTH(0xfed10001)}, {0, FUNCTION(0, 0), 0x4c, BOTH(1)},
    FUNCTIONS_END};
static const struct upmu_sim_msr_value snb_values[] = {{0x396, BOTH(3)}, VALUES_END};

/* ---- "skx2": Skylake-SP; the U-box, which has the node, is on the lowest bus of each package ---- */

static const struct upmu_sim_pci_place skx_imc_places[] = {
    {2, FUNCTION(10, 2), 0x2042}, {2, FUNCTION(10, 6), 0x2046}, {2, FUNCTION(11, 2), 0x204a},
    {2, FUNCTION(12, 2), 0x2042}, {2, FUNCTION(12, 6), 0x2046}, {2, FUNCTION(13, 2), 0x204a}};
static const struct upmu_sim_pci_place skx_m2m_places[] = {{2, FUNCTION(8, 0), 0x2066}, {2, FUNCTION(9, 0), 0x2066}};
static const struct upmu_sim_pci_place skx_upi_places[] = {
    {3, FUNCTION(14, 0), 0x2058}, {3, FUNCTION(15, 0), 0x2058}, {3, FUNCTION(16, 0), 0x2058}};
static const struct upmu_sim_pci_place skx_m2pcie_places[] = {
    {3, FUNCTION(21, 1), 0x2088}, {3, FUNCTION(22, 1), 0x2088}, {3, FUNCTION(23, 1), 0x2088},
    {3, FUNCTION(21, 5), 0x2088}};
static const struct upmu_sim_pci_place skx_m3upi_places[] = {
    {3, FUNCTION(18, 1), 0x204d}, {3, FUNCTION(18, 2), 0x204e}, {3, FUNCTION(18, 5), 0x204d}};
static const struct upmu_sim_unit_row skx_units[] = {
    {.type = &upmu_sim_skx_ubox, .count = 1},
    {.type = &upmu_sim_skx_cha, .count = 8, .absent = 0xc0, .step = 0x10},
    {.type = &upmu_sim_skx_iio, .count = 6, .step = 0x20},
    {.type = &upmu_sim_skx_iio_free, .count = 6},
    {.type = &upmu_sim_skx_irp, .count = 6, .step = 0x20},
    {.type = &upmu_sim_skx_pcu, .count = 1},
    {.type = &upmu_sim_skx_imc, .count = 6, .place = skx_imc_places},
    {.type = &upmu_sim_skx_m2m, .count = 2, .place = skx_m2m_places},
    {.type = &upmu_sim_skx_upi, .count = 3, .absent = 4, .place = skx_upi_places},
    {.type = &upmu_sim_skx_m2pcie, .count = 4, .place = skx_m2pcie_places},
    {.type = &upmu_sim_skx_m3upi, .count = 3, .absent = 4, .place = skx_m3upi_places},
    UNITS_END};
/*
 * Registers of the U-box: package 0 is node 1, package 1 is node 5. Register 9CH of function 2083H has a bit for each
 * of the six CHAs; the bits are not adjacent.
 */
static const struct upmu_sim_pci_register skx_functions[] = {
    {0, FUNCTION(8, 0), 0, ID(0x2014u)}, {0, FUNCTION(8, 0), 0xc0, {0xf1, 0xf5}},
    {0, FUNCTION(8, 0), 0xd4, BOTH(1 | 5 << 3)},
    {1, FUNCTION(30, 3), 0, ID(0x2083u)}, {1, FUNCTION(30, 3), 0x9c, BOTH(0x50000933)},
    FUNCTIONS_END};
static const struct upmu_sim_msr_value skx_values[] = {
    {0x300, {UINT64_C(0x800000005d321600), UINT64_C(0x80000000ddb29680)}}, VALUES_END};

/* ---- "hsx2": Haswell-EP; the U-box, which has the node, is on the highest bus of each package ---- */

static const struct upmu_sim_pci_place hsx_ha_places[] = {{1, FUNCTION(18, 1), 0x2f30}, {1, FUNCTION(18, 5), 0x2f38}};
static const struct upmu_sim_pci_place hsx_imc_places[] = {
    {1, FUNCTION(20, 0), 0x2fb0}, {1, FUNCTION(20, 1), 0x2fb1}, {1, FUNCTION(21, 0), 0x2fb4},
    {1, FUNCTION(21, 1), 0x2fb5}, {1, FUNCTION(23, 0), 0x2fd0}, {1, FUNCTION(23, 1), 0x2fd1},
    {1, FUNCTION(24, 0), 0x2fd4}, {1, FUNCTION(24, 1), 0x2fd5}};
static const struct upmu_sim_pci_place hsx_irp_places[] = {{0, FUNCTION(5, 6), 0x2f39}};
static const struct upmu_sim_pci_place hsx_qpi_places[] = {
    {1, FUNCTION(8, 2), 0x2f32}, {1, FUNCTION(9, 2), 0x2f33}, {1, FUNCTION(10, 2), 0x2f3a}};
static const struct upmu_sim_pci_place hsx_qpi_filters[] = {{1, FUNCTION(8, 6), 0x2f86}, {1, FUNCTION(9, 6), 0x2f96}};
static const struct upmu_sim_pci_place hsx_r2pcie_places[] = {{0, FUNCTION(16, 1), 0x2f34}};
static const struct upmu_sim_pci_place hsx_r3qpi_places[] = {
    {1, FUNCTION(11, 1), 0x2f36}, {1, FUNCTION(11, 2), 0x2f37}, {1, FUNCTION(12, 1), 0x2f3e}};
static const struct upmu_sim_unit_row hsx_units[] = {
    {.type = &upmu_sim_hsx_ubox, .count = 1},
    {.type = &upmu_sim_hsx_cbox, .count = 9, .absent = 0x100, .step = 0x10},
    {.type = &upmu_sim_hsx_sbox, .count = 4, .absent = 0xc, .step = 0xa},
    {.type = &upmu_sim_hsx_pcu, .count = 1},
    {.type = &upmu_sim_hsx_ha, .count = 2, .absent = 2, .place = hsx_ha_places},
    {.type = &upmu_sim_hsx_imc, .count = 8, .absent = 0xcc, .place = hsx_imc_places},
    {.type = &upmu_sim_hsx_irp, .count = 1, .place = hsx_irp_places},
    {.type = &upmu_sim_hsx_qpi, .count = 3, .place = hsx_qpi_places, .second = hsx_qpi_filters, .seconds = 2},
    {.type = &upmu_sim_hsx_r2pcie, .count = 1, .place = hsx_r2pcie_places},
    {.type = &upmu_sim_hsx_r3qpi, .count = 3, .place = hsx_r3qpi_places},
    UNITS_END};
/* Registers of the U-box (2F1EH): package 0 is node 6, package 1 is node 0. */
static const struct upmu_sim_pci_register hsx_functions[] = {
    {1, FUNCTION(16, 5), 0, ID(0x2f1eu)}, {1, FUNCTION(16, 5), 0x40, {0x10006, 0x10000}},
    {1, FUNCTION(16, 5), 0x54, BOTH(06 | 0 << 3 | 0x00b6db40)},
    {1, FUNCTION(30, 3), 0, ID(0x2fc0u)}, {1, FUNCTION(30, 3), 0x94, BOTH(0x3f)},
    FUNCTIONS_END};

/* ---- "bdx2": Broadwell-EP; four S-boxes exist, and a companion function for each of the links ---- */

static const struct upmu_sim_pci_place bdx_ha_places[] = {{1, FUNCTION(18, 1), 0x6f30}, {1, FUNCTION(18, 5), 0x6f38}};
static const struct upmu_sim_pci_place bdx_imc_places[] = {
    {1, FUNCTION(20, 0), 0x6fb0}, {1, FUNCTION(20, 1), 0x6fb1}, {1, FUNCTION(21, 0), 0x6fb4},
    {1, FUNCTION(21, 1), 0x6fb5}, {1, FUNCTION(23, 0), 0x6fd0}, {1, FUNCTION(23, 1), 0x6fd1},
    {1, FUNCTION(24, 0), 0x6fd4}, {1, FUNCTION(24, 1), 0x6fd5}};
static const struct upmu_sim_pci_place bdx_irp_places[] = {{0, FUNCTION(5, 6), 0x6f39}};
static const struct upmu_sim_pci_place bdx_qpi_places[] = {
    {1, FUNCTION(8, 2), 0x6f32}, {1, FUNCTION(9, 2), 0x6f33}, {1, FUNCTION(10, 2), 0x6f3a}};
static const struct upmu_sim_pci_place bdx_qpi_filters[] = {
    {1, FUNCTION(8, 6), 0x6f86}, {1, FUNCTION(9, 6), 0x6f96}, {1, FUNCTION(10, 6), 0x6f46}};
static const struct upmu_sim_pci_place bdx_r2pcie_places[] = {{0, FUNCTION(16, 1), 0x6f34}};
static const struct upmu_sim_pci_place bdx_r3qpi_places[] = {
    {1, FUNCTION(11, 1), 0x6f36}, {1, FUNCTION(11, 2), 0x6f37}, {1, FUNCTION(11, 5), 0x6f3e}};
static const struct upmu_sim_unit_row bdx_units[] = {
    {.type = &upmu_sim_bdx_ubox, .count = 1},
    {.type = &upmu_sim_bdx_cbox, .count = 24, .absent = 0xf00000, .step = 0x10},
    {.type = &upmu_sim_bdx_sbox, .count = 4, .step = 0xa},
    {.type = &upmu_sim_bdx_pcu, .count = 1},
    {.type = &upmu_sim_hsx_ha, .count = 2, .place = bdx_ha_places},
    {.type = &upmu_sim_hsx_imc, .count = 8, .absent = 0x88, .place = bdx_imc_places},
    {.type = &upmu_sim_hsx_irp, .count = 1, .place = bdx_irp_places},
    {.type = &upmu_sim_hsx_qpi, .count = 3, .absent = 4, .place = bdx_qpi_places, .second = bdx_qpi_filters,
     .seconds = 3},
    {.type = &upmu_sim_bdx_r2pcie, .count = 1, .place = bdx_r2pcie_places},
    {.type = &upmu_sim_bdx_r3qpi, .count = 3, .absent = 4, .place = bdx_r3qpi_places},
    UNITS_END};
/* Registers of the U-box (6F1EH): package 0 is node 3, package 1 is node 2. */
static const struct upmu_sim_pci_register bdx_functions[] = {
    {1, FUNCTION(16, 5), 0, ID(0x6f1eu)}, {1, FUNCTION(16, 5), 0x40, {0x10003, 0x10002}},
    {1, FUNCTION(16, 5), 0x54, BOTH(3 | 2 << 3 | 0x00924900)},
    {1, FUNCTION(30, 3), 0, ID(0x6fc0u)}, {1, FUNCTION(30, 3), 0x94, BOTH(0xc0)},
    FUNCTIONS_END};

/* ---- "knl1": Knights Landing; 38 cache slices, more than tiles; boxes of a type have the same PCI device id ---- */

static const struct upmu_sim_pci_place knl_imc_uclk_places[] = {
    {1, FUNCTION(10, 0), 0x7841}, {1, FUNCTION(11, 0), 0x7841}};
static const struct upmu_sim_pci_place knl_imc_places[] = {
    {1, FUNCTION(8, 2), 0x7843}, {1, FUNCTION(8, 3), 0x7843}, {1, FUNCTION(8, 4), 0x7843},
    {1, FUNCTION(9, 2), 0x7843}, {1, FUNCTION(9, 3), 0x7843}, {1, FUNCTION(9, 4), 0x7843}};
static const struct upmu_sim_pci_place knl_edc_uclk_places[] = {
    {1, FUNCTION(15, 0), 0x7833}, {1, FUNCTION(16, 0), 0x7833}, {1, FUNCTION(17, 0), 0x7833},
    {1, FUNCTION(18, 0), 0x7833}, {1, FUNCTION(19, 0), 0x7833}, {1, FUNCTION(20, 0), 0x7833},
    {1, FUNCTION(21, 0), 0x7833}, {1, FUNCTION(22, 0), 0x7833}};
static const struct upmu_sim_pci_place knl_edc_eclk_places[] = {
    {1, FUNCTION(24, 2), 0x7835}, {1, FUNCTION(25, 2), 0x7835}, {1, FUNCTION(26, 2), 0x7835},
    {1, FUNCTION(27, 2), 0x7835}, {1, FUNCTION(28, 2), 0x7835}, {1, FUNCTION(29, 2), 0x7835},
    {1, FUNCTION(30, 2), 0x7835}, {1, FUNCTION(31, 2), 0x7835}};
static const struct upmu_sim_pci_place knl_m2pcie_places[] = {{1, FUNCTION(12, 1), 0x7817}};
static const struct upmu_sim_pci_place knl_irp_places[] = {{0, FUNCTION(5, 6), 0x7814}};
static const struct upmu_sim_unit_row knl_units[] = {
    {.type = &upmu_sim_knl_ubox, .count = 1},
    {.type = &upmu_sim_knl_cha, .count = 38, .step = 0xc},
    {.type = &upmu_sim_knl_pcu, .count = 1},
    {.type = &upmu_sim_knl_imc_uclk, .count = 2, .place = knl_imc_uclk_places},
    {.type = &upmu_sim_knl_imc, .count = 6, .absent = 0x20, .place = knl_imc_places},
    {.type = &upmu_sim_knl_edc_uclk, .count = 8, .absent = 0x10, .place = knl_edc_uclk_places},
    {.type = &upmu_sim_knl_edc_eclk, .count = 8, .absent = 0x10, .place = knl_edc_eclk_places},
    {.type = &upmu_sim_knl_m2pcie, .count = 1, .place = knl_m2pcie_places},
    {.type = &upmu_sim_knl_irp, .count = 1, .place = knl_irp_places},
    UNITS_END};
static const struct upmu_sim_pci_register knl_functions[] = {
    {0, FUNCTION(0, 0), 0, ID(0x7801u)}, {1, FUNCTION(8, 0), 0, ID(0x7840u)}, {1, FUNCTION(9, 0), 0, ID(0x7840u)},
    FUNCTIONS_END};

/* ---- "icx": Ice Lake-SP; memory controllers are in memory, and two of three channels of each exist ---- */

static const uint16_t icx_cha_list[] = {0, 0xe, 0x1c, 0x2a, 0x38, 0x46, 0x54, 0x62, 0x70, 0x7e, 0x8c, 0x9a, 0xa8, 0xb6,
    0xc4, 0xd2, 0xe0, 0xee, 0x10a, 0x118, 0x126, 0x134, 0x142, 0x150, 0x15e, 0x16c, 0x17a, 0x188, 0x196, 0x1a4, 0x1b2,
    0x1c0, 0x1ce, 0x1dc, 0xfd60, 0xfd6e, 0xfd7c, 0xfd8a, 0xfd98, 0xfda6};
static const uint16_t icx_io_list[] = {0, 0x20, 0x40, 0x90, 0xb0, 0xd0};
static const struct upmu_sim_pci_place icx_m2m_places[] = {
    {0, FUNCTION(12, 0), 0x344a}, {0, FUNCTION(13, 0), 0x344a}, {0, FUNCTION(14, 0), 0x344a},
    {0, FUNCTION(15, 0), 0x344a}};
static const struct upmu_sim_pci_place icx_upi_places[] = {
    {0, FUNCTION(2, 1), 0x3441}, {0, FUNCTION(3, 1), 0x3441}, {0, FUNCTION(4, 1), 0x3441}};
static const struct upmu_sim_pci_place icx_m3upi_places[] = {
    {0, FUNCTION(5, 1), 0x3446}, {0, FUNCTION(6, 1), 0x3446}, {0, FUNCTION(7, 1), 0x3446}};
static const struct upmu_sim_unit_row icx_units[] = {
    {.type = &upmu_sim_icx_ubox, .count = 1},
    {.type = &upmu_sim_icx_cha, .count = 40, .absent = UINT64_C(0xe000000000), .list = icx_cha_list},
    {.type = &upmu_sim_icx_iio, .count = 6, .list = icx_io_list},
    {.type = &upmu_sim_icx_iio_free, .count = 6},
    {.type = &upmu_sim_icx_irp, .count = 6, .list = icx_io_list},
    {.type = &upmu_sim_icx_m2pcie, .count = 6, .list = icx_io_list},
    {.type = &upmu_sim_skx_pcu, .count = 1},
    {.type = &upmu_sim_icx_m2m, .count = 4, .place = icx_m2m_places},
    {.type = &upmu_sim_icx_upi, .count = 3, .place = icx_upi_places},
    {.type = &upmu_sim_icx_m3upi, .count = 3, .place = icx_m3upi_places},
    {.type = &upmu_sim_icx_imc, .count = 12, .absent = 0x924, .step = 0x4000, .group = 3, .group_step = 0x100000,
     .physical = UINT64_C(0x101122800)},
    {.type = &upmu_sim_icx_imc_free, .count = 4, .group = 1, .group_step = 0x100000, .physical = UINT64_C(0x101100000)},
    UNITS_END};
/* Registers 9CH and A0H of function 345BH (CAPID6, CAPID7) have 28 and 9 bits set: 37 CHAs exist. */
static const struct upmu_sim_pci_register icx_functions[] = {
    {0, FUNCTION(0, 0), 0, ID(0x3450u)}, {0, FUNCTION(0, 0), 0xc0, BOTH(2)}, {0, FUNCTION(0, 0), 0xd4, BOTH(2)},
    {0, FUNCTION(0, 1), 0, ID(0x3451u)}, {0, FUNCTION(0, 1), 0xd0, BOTH(0xe0000202)},
    {0, FUNCTION(0, 1), 0xd8, BOTH(0xfffff900)}, {0, FUNCTION(0, 1), 0xdc, BOTH(0x200)},
    {0, FUNCTION(0, 1), 0xe0, BOTH(0x300)}, {0, FUNCTION(0, 1), 0xe4, BOTH(0x400)},
    {1, FUNCTION(30, 3), 0, ID(0x345bu)}, {1, FUNCTION(30, 3), 0x9c, BOTH(0x0fffffff)},
    {1, FUNCTION(30, 3), 0xa0, BOTH(0x2dd5)},
    FUNCTIONS_END};

/* ---- "adl": Alder Lake; the address of the second memory controller has another high dword than BAR 48H ---- */

static const struct upmu_sim_unit_row adl_units[] = {
    {.type = &upmu_sim_adl_cbox, .count = 4, .absent = 8, .step = 8},
    {.type = &upmu_sim_adl_arb, .count = 2, .step = 8},
    {.type = &upmu_sim_adl_clock, .count = 1},
    {.type = &upmu_sim_adl_imc, .count = 2, .step = 0x10000, .physical = UINT64_C(0x1ffffd900)},
    {.type = &upmu_sim_adl_imc_free, .count = 2, .step = 0x10000, .physical = UINT64_C(0x1ffffd800)},
    UNITS_END};
static const struct upmu_sim_pci_register adl_functions[] = {
    {0, FUNCTION(0, 0), 0, ID(0x4660u)},
    {0, FUNCTION(0, 0), 0x48, BOTH(0xffff0001)}, {0, FUNCTION(0, 0), 0x4c, BOTH(1)},
    FUNCTIONS_END};
static const struct upmu_sim_msr_value adl_values[] = {{0x396, BOTH(0x13)}, VALUES_END};

/* ---- "spr", "emr": Sapphire and Emerald Rapids; a discovery table lists the units, with mistakes in it ---- */

static const uint16_t spr_cha_ids[] = {0, 1, 2, 5, 9, 14};
static const struct upmu_sim_pci_place spr_m2m_places[] = {{0, FUNCTION(12, 0), 0x324a}, {0, FUNCTION(13, 0), 0x324a}};
static const struct upmu_sim_pci_place spr_upi_places[] = {
    {0, FUNCTION(1, 1), 0x3241}, {0, FUNCTION(2, 1), 0x3241}, {0, FUNCTION(3, 1), 0x3241}};
static const struct upmu_sim_pci_place spr_m3upi_places[] = {
    {0, FUNCTION(5, 1), 0x3246}, {0, FUNCTION(6, 1), 0x3246}, {0, FUNCTION(7, 1), 0x3246}};
static const struct upmu_sim_unit_row spr_units[] = {
    {.type = &upmu_sim_spr_cha, .count = 6, .step = 0x10, .ids = spr_cha_ids},
    {.type = &upmu_sim_spr_iio, .count = 2, .step = 0x10},
    {.type = &upmu_sim_spr_iio_free, .count = 2},
    {.type = &upmu_sim_spr_imc, .count = 4, .step = 0x4000, .group = 2, .group_step = 0x100000,
     .physical = UINT64_C(0x101122800)},
    {.type = &upmu_sim_spr_m2m, .count = 2, .place = spr_m2m_places},
    {.type = &upmu_sim_spr_upi, .count = 3, .absent = 4, .place = spr_upi_places},
    {.type = &upmu_sim_spr_m3upi, .count = 3, .absent = 4, .place = spr_m3upi_places},
    {.type = &upmu_sim_spr_unknown, .count = 1},
    UNITS_END};
static const struct upmu_sim_msr_value spr_values[] = {{0x2ffe, BOTH(0)}, VALUES_END};
#define PCI_FORM(bus, devfn, offset) ((UINT64_C(bus)) << 20 | (uint64_t)(devfn) << 12 | (offset))
#define BUS_STEP PCI_FORM(0x80, 0, 0)
static const struct upmu_sim_table_row spr_table[] = {
    {0, 4, 2, 48, 8, 0, 0, 0x2000, 0}, {0, 4, 2, 48, 8, 0, 1, 0x2010, 0}, {0, 4, 2, 48, 8, 0, 2, 0x2020, 0},
    {0, 0, 0, 0, 0, 0, 0, 0, 0}, {0xff, 0, 0, 0, 0, 0, 0, 0, 0}, /* empty entries: all zeros, all ones */
    {0, 4, 2, 48, 8, 0, 5, 0x2030, 0}, {0, 4, 2, 48, 8, 0, 9, 0x2040, 0}, {0, 4, 2, 48, 8, 0, 14, 0x2050, 0},
    {3, 4, 2, 48, 8, 0, 15, 0x2060, 0}, /* no such access */
    {0, 4, 2, 48, 8, 1, 0, 0x3000, 0}, {0, 4, 2, 48, 8, 1, 1, 0x3010, 0},
    {1, 4, 0x40, 48, 8, 6, 0, UINT64_C(0x101122800), UPMU_SIM_DIE_BYTES},
    {1, 4, 0x40, 48, 8, 6, 1, UINT64_C(0x101126800), UPMU_SIM_DIE_BYTES},
    {1, 4, 0x40, 48, 8, 6, 2, UINT64_C(0x101222800), UPMU_SIM_DIE_BYTES},
    {1, 4, 0x40, 48, 8, 6, 3, UINT64_C(0x101226800), UPMU_SIM_DIE_BYTES},
    {2, 4, 0x30, 48, 8, 7, 0, PCI_FORM(0x7e, FUNCTION(12, 0), 0x438), BUS_STEP},
    {2, 4, 0x30, 48, 8, 7, 1, PCI_FORM(0x7e, FUNCTION(13, 0), 0x438), BUS_STEP},
    /* Entries of types 8 and 9 are known to be wrong in real tables: no unit is at these two addresses. */
    {2, 4, 0x38, 48, 8, 8, 0, PCI_FORM(0x7e, FUNCTION(20, 1), 0x318), BUS_STEP},
    {2, 4, 0x38, 48, 8, 9, 0, PCI_FORM(0x7e, FUNCTION(21, 1), 0x0a0), BUS_STEP},
    {0, 4, 2, 48, 0, 77, 1, 0x4010, 0}, /* no counters */
    {0, 4, 2, 48, 8, 77, 0, 0x4000, 0},
    {0, 4, 2, 48, 8, 0, 2, 0x2020, 0}, /* a second time */
};
#define SPR_PLACES \
    {1, FUNCTION(0, 0), 0, ID(0x3250u)}, {1, FUNCTION(0, 0), 0xc0, {3, 1}}, \
    {1, FUNCTION(0, 0), 0xd4, BOTH(3 | 1 << 3)}, \
    {0, FUNCTION(0, 1), 0, ID(0x3251u)}, {0, FUNCTION(0, 1), 0xd0, {0x202, 0x2202}}, \
    {0, FUNCTION(0, 1), 0xd8, BOTH(0x100)}, {0, FUNCTION(0, 1), 0xdc, BOTH(0x200)}
/*
 * Function 09A7H has three extended capabilities: at 100H one of another kind, at 120H a vendor's (DVSEC) that is not
 * about counters, at 140H the right one, whose last register is the number of the BAR with the table's address.
 */
#define SPR_CAPABILITIES(bar) \
    {1, FUNCTION(3, 0), 0, ID(0x09a7u)}, {1, FUNCTION(3, 0), 0x100, BOTH(0x12010001)}, \
    {1, FUNCTION(3, 0), 0x120, BOTH(0x14010023)}, {1, FUNCTION(3, 0), 0x124, BOTH(0x01808086)}, \
    {1, FUNCTION(3, 0), 0x128, BOTH(0x00000002)}, {1, FUNCTION(3, 0), 0x12c, BOTH(0x00000000)}, \
    {1, FUNCTION(3, 0), 0x140, BOTH(0x00010023)}, {1, FUNCTION(3, 0), 0x144, BOTH(0x01808086)}, \
    {1, FUNCTION(3, 0), 0x148, BOTH(0x00000001)}, {1, FUNCTION(3, 0), 0x14c, BOTH(bar)}
static const struct upmu_sim_pci_register spr_functions[] = {
    SPR_PLACES, SPR_CAPABILITIES(0), {1, FUNCTION(3, 0), 0x10, BOTH(0xc0000004)},
    {1, FUNCTION(3, 0), 0x14, {4, 0x14}}, FUNCTIONS_END};
/*
 * Emerald Rapids' table is at the address in BAR 2, behind another one of 64 bits, and its entries are 40 bytes apart:
 * both are made up, so that a driver cannot do without reading them.
 */
static const struct upmu_sim_pci_register emr_functions[] = {
    SPR_PLACES, SPR_CAPABILITIES(2), {1, FUNCTION(3, 0), 0x10, BOTH(0xe0000004)},
    {1, FUNCTION(3, 0), 0x14, BOTH(9)}, {1, FUNCTION(3, 0), 0x18, BOTH(0xc0000004)},
    {1, FUNCTION(3, 0), 0x1c, {4, 0x14}}, FUNCTIONS_END};

/* ---- AMD ---- */

static const struct upmu_sim_unit_row bulldozer_units[] = {{.type = &upmu_sim_bulldozer_nb, .count = 1}, UNITS_END};
static const struct upmu_sim_unit_row zen2_units[] = {
    {.type = &upmu_sim_zen2_l3, .count = 1}, {.type = &upmu_sim_zen2_df, .count = 1}, UNITS_END};
static const struct upmu_sim_unit_row zen4_units[] = {
    {.type = &upmu_sim_zen4_l3, .count = 1},
    {.type = &upmu_sim_zen4_df, .count = 1},
    {.type = &upmu_sim_zen4_umc, .count = 2, .step = 8},
    UNITS_END};

/* ---- "kbl", "rome": readings of CPUs, cores and packages; each core has two hyper-threads ---- */

static const struct upmu_sim_unit_row kbl_units[] = {
    {.type = &upmu_sim_kbl_msr, .count = 1}, {.type = &upmu_sim_kbl_cstate_core, .count = 1},
    {.type = &upmu_sim_kbl_cstate_pkg, .count = 1}, {.type = &upmu_sim_kbl_power, .count = 1}, UNITS_END};
/* MSR 606H: energy is counted in 1/2^14 joule. */
static const struct upmu_sim_msr_value kbl_values[] = {{0x606, BOTH(0xa0e03)}, VALUES_END};
static const struct upmu_sim_unit_row rome_units[] = {
    {.type = &upmu_sim_zen2_msr, .count = 1}, {.type = &upmu_sim_zen2_power, .count = 1}, UNITS_END};
/* MSR C0010299H: energy is counted in 1/2^16 joule. */
static const struct upmu_sim_msr_value rome_values[] = {{0xc0010299, BOTH(0xa1003)}, VALUES_END};

/* ---- "ptl": Panther Lake; an MSR has the address of the table; units stand still until memory is written ---- */

static const struct upmu_sim_unit_row ptl_units[] = {
    {.type = &upmu_sim_ptl_imc, .count = 2, .step = 0x1000, .physical = UINT64_C(0x3fe10000)},
    {.type = &upmu_sim_ptl_hbo, .count = 2, .step = 0x1000, .physical = UINT64_C(0x3fe20000)},
    UNITS_END};
static const struct upmu_sim_table_row ptl_table[] = {
    {1, 4, 0x40, 48, 8, 6, 0, 0x3fe10000, 0}, {1, 4, 0x40, 48, 8, 6, 1, 0x3fe11000, 0},
    {1, 4, 0x40, 48, 8, 41, 0, 0x3fe20000, 0}, {1, 4, 0x40, 48, 8, 41, 1, 0x3fe21000, 0},
};
static const struct upmu_sim_msr_value ptl_values[] = {{0x201e, BOTH(0x3fe00000)}, VALUES_END};

/* ---- "lab": devices of the host's own types, by MSR, on PCI (segment 1) and in memory ---- */

static const struct upmu_sim_pci_place lab_link_places[] = {{0, FUNCTION(3, 0), 0x7ab1}, {0, FUNCTION(4, 0), 0x7ab1}};
static const struct upmu_sim_unit_row lab_units[] = {
    {.type = &upmu_sim_lab_meter, .count = 2, .step = 0x10},
    {.type = &upmu_sim_lab_link, .count = 2, .place = lab_link_places},
    {.type = &upmu_sim_lab_vector, .count = 2, .step = 0x1000, .physical = UINT64_C(0xfe000000)},
    {.type = &upmu_sim_lab_sensor, .count = 1, .physical = UINT64_C(0xfe800000)},
    UNITS_END};

/* ---- The list of machines, and the functions that return one of them ---- */

static const struct upmu_sim_machine machines[] = {
    {.name = "nhm", .about = "two Nehalem-EP packages: uncore counters behind MSRs", .core = "nehalem",
     .signature = 0x106a5, .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .global = UPMU_SIM_GLOBAL_NHM,
     .global_control = 0x391, .global_status = 0x392, .units = nhm_units},
    {.name = "nhmex", .about = "two Nehalem-EX packages: a control for each box, one for all in the U-box",
     .core = "nehalem", .signature = 0x206e6, .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 8,
     .global = UPMU_SIM_GLOBAL_EX, .global_control = 0xc00, .units = nhmex_units},
    {.name = "snb", .about = "Sandy Bridge client: C-boxes, arbiter, free-running memory controller",
     .core = "sandybridge", .packages = 1, .dies = 1, .llcs = 1, .cpus = 4, .global = UPMU_SIM_GLOBAL_CLIENT,
     .global_control = 0x391, .global_status = 0x392, .units = snb_units, .functions = snb_functions,
     .values = snb_values},
    {.name = "skx2", .about = "two Skylake-SP packages, CPUs interleaved", .core = "skylake", .signature = 0x50654,
     .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 6, .global = UPMU_SIM_GLOBAL_LATCH, .freeze_bit = 63,
     .unfreeze_bit = 61, .global_control = 0x700, .global_status = 0x701,
     .bus = {{0x00, 0x16, 0x32, 0x5d}, {0x80, 0x96, 0xb2, 0xdd}}, .units = skx_units, .functions = skx_functions,
     .values = skx_values},
    {.name = "kbl", .about = "Kaby Lake client: APERF, MPERF, residencies, energy", .core = "skylake",
     .signature = 0x806e9, .packages = 1, .dies = 1, .llcs = 1, .cpus = 4, .threads = 2, .aperf = true,
     .thermal = true, .units = kbl_units, .values = kbl_values},
    {.name = "rome", .about = "two Zen 2 packages: APERF, MPERF, energy", .core = "zen2", .packages = 2,
     .dies = 1, .llcs = 1, .cpus = 4, .threads = 2, .aperf = true, .units = rome_units, .values = rome_values},
    {.name = "lab", .about = "a Skylake with the host's own devices", .core = "skylake", .packages = 2, .dies = 1,
     .llcs = 1, .cpus = 4, .segment = 1, .bus = {{0x40}, {0x50}}, .units = lab_units},
    {.name = "hsx2", .about = "two Haswell-EP packages, nodes permuted", .core = "haswell_smt", .signature = 0x306f2,
     .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 8, .global = UPMU_SIM_GLOBAL_LATCH, .freeze_bit = 31,
     .unfreeze_bit = 29, .global_control = 0x700, .global_status = 0x701, .bus = {{0x7e, 0x7f}, {0xfe, 0xff}},
     .units = hsx_units, .functions = hsx_functions},
    {.name = "bdx2", .about = "two Broadwell-EP packages, nodes permuted", .core = "broadwell", .signature = 0x406f1,
     .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 20, .global = UPMU_SIM_GLOBAL_LATCH, .freeze_bit = 31,
     .unfreeze_bit = 29, .global_control = 0x700, .global_status = 0x701, .bus = {{0x7e, 0x7f}, {0xfe, 0xff}},
     .units = bdx_units, .functions = bdx_functions},
    {.name = "knl1", .about = "one Knights Landing package", .core = "knl", .signature = 0x50671, .packages = 1,
     .dies = 1, .llcs = 1, .cpus = 4, .cores = 34, .global = UPMU_SIM_GLOBAL_LATCH, .freeze_bit = 31,
     .unfreeze_bit = 29, .global_control = 0x700, .global_status = 0x701, .bus = {{0x00, 0xff}, {0}},
     .units = knl_units, .functions = knl_functions},
    {.name = "icx", .about = "one Ice Lake-SP package", .core = "icelake", .signature = 0x606a6, .packages = 1,
     .dies = 1, .llcs = 1, .cpus = 4, .cores = 37, .global = UPMU_SIM_GLOBAL_LATCH, .freeze_bit = 63,
     .unfreeze_bit = 61, .global_control = 0x700, .bus = {{0x7e, 0xfe}, {0}}, .units = icx_units,
     .functions = icx_functions},
    {.name = "zen2", .about = "one Zen 2 package of two core complexes", .core = "zen2", .packages = 1, .dies = 1,
     .llcs = 2, .cpus = 4, .units = zen2_units},
    {.name = "zen4", .about = "two Zen 4 packages of two core complexes", .core = "zen4", .packages = 2, .dies = 1,
     .llcs = 2, .cpus = 4, .units = zen4_units},
    {.name = "bulldozer2", .about = "one Bulldozer package of two nodes", .core = "bulldozer", .packages = 1, .dies = 2,
     .llcs = 1, .cpus = 4, .units = bulldozer_units},
    {.name = "adl", .about = "Alder Lake client: two memory controllers", .core = "adl_p", .packages = 1, .dies = 1,
     .llcs = 1, .cpus = 4, .bar_bit_0 = true, .global = UPMU_SIM_GLOBAL_CLIENT, .global_control = 0x2ff0,
     .units = adl_units, .functions = adl_functions, .values = adl_values},
    {.name = "spr", .about = "two Sapphire Rapids packages that describe themselves", .core = "sapphirerapids",
     .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 6, .global = UPMU_SIM_GLOBAL_LEVEL,
     .global_control = 0x2ff0,
     .bus = {{0x7e, 0x7f}, {0xfe, 0xff}}, .units = spr_units, .functions = spr_functions,
     .values = spr_values, .table = spr_table,
     .table_rows = sizeof spr_table / sizeof *spr_table, .table_address = UINT64_C(0x4c0000000)},
    {.name = "emr", .about = "two Emerald Rapids packages: units as Sapphire Rapids has them",
     .core = "sapphirerapids", .signature = 0xc06f2, .packages = 2, .dies = 1, .llcs = 1, .cpus = 4, .cores = 6,
     .global = UPMU_SIM_GLOBAL_LEVEL, .global_control = 0x2ff0,
     .bus = {{0x7e, 0x7f}, {0xfe, 0xff}}, .units = spr_units, .functions = emr_functions,
     .values = spr_values, .table = spr_table,
     .table_rows = sizeof spr_table / sizeof *spr_table, .table_address = UINT64_C(0x4c0000000),
     .table_stride = 5},
    {.name = "ptl", .about = "Panther Lake client: its units begin frozen", .core = "ptl_p", .packages = 1, .dies = 1,
     .llcs = 1, .cpus = 4, .global = UPMU_SIM_GLOBAL_LEVEL, .global_memory = UINT64_C(0x3fe30000),
     .starts_frozen = true, .units = ptl_units, .values = ptl_values, .table = ptl_table,
     .table_rows = sizeof ptl_table / sizeof *ptl_table, .table_address = UINT64_C(0x3fe00000)},
};

static bool machine_named(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const struct upmu_sim_machine *upmu_sim_machine_at(unsigned index)
{
    return index < sizeof machines / sizeof *machines ? &machines[index] : NULL;
}

const struct upmu_sim_machine *upmu_sim_machine(const char *name)
{
    for (unsigned i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (machine_named(machines[i].name, name))
            return &machines[i];
    }
    return NULL;
}

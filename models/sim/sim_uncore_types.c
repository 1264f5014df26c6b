/* SPDX-License-Identifier: MIT */
/*
 * The types of uncore boxes. Addresses, offsets and widths are from Intel's uncore guides, where Linux 6.12 and LIKWID
 * agree on them. Where these sources have different widths of a counter, the model has Linux's: the smaller one in
 * Haswell-EP's U-box and S-box, the greater one in Broadwell-EP's R3QPI and in the clock of clients.
 */
#include "models/sim/sim_uncore_types.h"

#define NONE UPMU_SIM_NO_REGISTER
#define NO_FILTER NONE, NONE, NONE, NONE

/* Mask of the select bits that most boxes have: threshold 31:24, invert 23, edge 18, unit mask 15:8, event 7:0. */
#define PLAIN_BITS UINT64_C(0xff84ffff)
#define HIGH_BITS(mask) (UINT64_C(mask) << 32)

/* clang-format off */

/* ---- Ties: events, by their code, that only the counters of a mask can count ---- */

#define TIE(code, counters) {code, 0xff, counters}
#define TIES_END {0, 0, 0}

/* Bits 7:6 of the event are the number of the counter, each of which has events of its own. */
static const struct upmu_sim_unit_tie nhmex_bbox_ties[] = {
    {0, 0xc0, 1}, {0x40, 0xc0, 2}, {0x80, 0xc0, 4}, {0xc0, 0xc0, 8}, TIES_END};
static const struct upmu_sim_unit_tie skx_cha_ties[] = {TIE(0x11, 1), TIE(0x36, 1), TIE(0x3b, 1), TIES_END};
static const struct upmu_sim_unit_tie skx_iio_ties[] = {TIE(0x83, 3), TIE(0x88, 0xc), TIE(0x95, 0xc), TIE(0xc0, 0xc),
    TIE(0xc5, 0xc), TIE(0xd4, 0xc), TIE(0xd5, 0xc), TIES_END};
static const struct upmu_sim_unit_tie skx_m2pcie_ties[] = {TIE(0x23, 3), TIES_END};
static const struct upmu_sim_unit_tie skx_m3upi_ties[] = {TIE(0x1c, 1), TIE(0x1d, 1), TIE(0x1e, 1), TIE(0x3c, 1),
    TIE(0x8e, 1), TIE(0x40, 7), TIE(0x4e, 7), TIE(0x4f, 7), TIE(0x50, 7), TIE(0x51, 7), TIE(0x52, 7), TIES_END};
static const struct upmu_sim_unit_tie snb_arb_ties[] = {TIE(0x80, 1), TIE(0x83, 1), TIES_END};
static const struct upmu_sim_unit_tie adl_arb_ties[] = {TIE(0x80, 1), TIE(0x83, 1), TIE(0x85, 1), TIES_END};
static const struct upmu_sim_unit_tie hsx_cbox_ties[] = {TIE(0x01, 1), TIE(0x09, 1), TIE(0x11, 1), TIE(0x36, 1),
    TIE(0x38, 3), TIE(0x3b, 1), TIE(0x3e, 1), TIES_END};
static const struct upmu_sim_unit_tie hsx_ha_ties[] = {TIE(0x61, 7), TIE(0x62, 7), TIE(0x64, 7), TIE(0x65, 7),
    TIES_END};
static const struct upmu_sim_unit_tie hsx_r2pcie_ties[] = {TIE(0x10, 3), TIE(0x11, 3), TIE(0x13, 1), TIE(0x23, 1),
    TIE(0x24, 1), TIE(0x25, 1), TIE(0x26, 3), TIE(0x27, 1), TIE(0x28, 3), TIE(0x29, 3), TIE(0x2a, 1), TIE(0x2b, 3),
    TIE(0x2c, 3), TIE(0x2d, 3), TIE(0x32, 3), TIE(0x33, 3), TIE(0x34, 3), TIE(0x35, 3), TIES_END};
static const struct upmu_sim_unit_tie hsx_r3qpi_ties[] = {TIE(0x01, 3), TIE(0x07, 7), TIE(0x08, 7), TIE(0x09, 7),
    TIE(0x0a, 7), TIE(0x0e, 7), TIE(0x10, 3), TIE(0x11, 3), TIE(0x12, 3), TIE(0x13, 1), TIE(0x14, 3), TIE(0x15, 3),
    TIE(0x1f, 3), TIE(0x20, 3), TIE(0x21, 3), TIE(0x22, 3), TIE(0x23, 3), TIE(0x25, 3), TIE(0x26, 3), TIE(0x28, 3),
    TIE(0x29, 3), TIE(0x2a, 1), TIE(0x2b, 1), TIE(0x2c, 3), TIE(0x2d, 3), TIE(0x2e, 3), TIE(0x2f, 3), TIE(0x31, 3),
    TIE(0x32, 3), TIE(0x33, 3), TIE(0x34, 3), TIE(0x36, 3), TIE(0x37, 3), TIE(0x38, 3), TIE(0x39, 3), TIES_END};
static const struct upmu_sim_unit_tie bdx_cbox_ties[] = {TIE(0x09, 3), TIE(0x11, 1), TIE(0x36, 1), TIE(0x3e, 1),
    TIES_END};
/* Events with bit 7, which count by an occupancy counter; Intel's event file lets counter 0 count them, too. */
static const struct upmu_sim_unit_tie bdx_pcu_ties[] = {{0x80, 0x80, 0xe}, TIES_END};
static const struct upmu_sim_unit_tie bdx_r2pcie_ties[] = {TIE(0x10, 3), TIE(0x11, 3), TIE(0x13, 1), TIE(0x23, 1),
    TIE(0x25, 1), TIE(0x26, 3), TIE(0x28, 3), TIE(0x2a, 1), TIE(0x2c, 3), TIE(0x2d, 3), TIE(0x32, 3), TIE(0x33, 3),
    TIES_END};
static const struct upmu_sim_unit_tie bdx_r3qpi_ties[] = {TIE(0x01, 7), TIE(0x07, 7), TIE(0x08, 7), TIE(0x09, 7),
    TIE(0x0a, 7), TIE(0x0e, 7), TIE(0x10, 3), TIE(0x11, 3), TIE(0x13, 1), TIE(0x14, 3), TIE(0x15, 3), TIE(0x1f, 3),
    TIE(0x20, 3), TIE(0x21, 3), TIE(0x22, 3), TIE(0x23, 3), TIE(0x25, 3), TIE(0x26, 3), TIE(0x28, 3), TIE(0x29, 3),
    TIE(0x2a, 1), TIE(0x2b, 1), TIE(0x2c, 3), TIE(0x2d, 3), TIE(0x2e, 3), TIE(0x2f, 3), TIE(0x33, 3), TIE(0x34, 3),
    TIE(0x36, 3), TIE(0x37, 3), TIE(0x38, 3), TIE(0x39, 3), TIES_END};
static const struct upmu_sim_unit_tie knl_cha_ties[] = {TIE(0x11, 1), TIE(0x1f, 1), TIE(0x36, 1), TIES_END};
static const struct upmu_sim_unit_tie knl_m2pcie_ties[] = {TIE(0x23, 3), TIES_END};
static const struct upmu_sim_unit_tie icx_cha_ties[] = {TIE(0x11, 1), TIE(0x36, 1), TIES_END};
static const struct upmu_sim_unit_tie icx_iio_ties[] = {TIE(0x02, 3), TIE(0x03, 3), TIE(0x83, 3), TIE(0x88, 0xc),
    TIE(0xc0, 0xc), TIE(0xc5, 0xc), TIE(0xd5, 0xc), TIES_END};
static const struct upmu_sim_unit_tie icx_m2pcie_ties[] = {TIE(0x14, 3), TIE(0x23, 3), TIE(0x2d, 3), TIES_END};
static const struct upmu_sim_unit_tie icx_m3upi_ties[] = {TIE(0x1c, 1), TIE(0x1d, 1), TIE(0x1e, 1), TIE(0x1f, 1),
    TIE(0x40, 7), TIE(0x4e, 7), TIE(0x4f, 7), TIE(0x50, 7), TIES_END};

static const struct upmu_sim_unit_tie spr_iio_ties[] = {TIE(0x02, 3), TIE(0x03, 3), TIE(0x40, 1), TIE(0x83, 3),
    TIE(0x88, 0xc), TIE(0xc0, 0xc), TIE(0xc5, 0xc), TIE(0xd5, 0xc), TIES_END};
static const struct upmu_sim_unit_tie spr_m3upi_ties[] = {TIE(0x1c, 1), TIE(0x1d, 1), TIE(0x1e, 1), TIE(0x1f, 1),
    TIE(0x21, 1), TIE(0x30, 1), TIE(0x35, 1), TIE(0x40, 7), TIE(0x43, 1), TIE(0x47, 1), TIE(0x48, 1), TIE(0x49, 1),
    TIE(0x4a, 1), TIE(0x4b, 1), TIE(0x4c, 1), TIE(0x4d, 1), TIE(0x4e, 7), TIE(0x4f, 7), TIE(0x50, 7), TIE(0x51, 1),
    TIE(0x52, 1), TIE(0x53, 1), TIE(0x54, 1), TIE(0x55, 1), TIE(0x56, 1), TIE(0x57, 1), TIE(0x58, 1), TIE(0x59, 1),
    TIE(0x5a, 1), TIE(0x5b, 1), TIE(0x5c, 1), TIE(0x5d, 1), TIE(0x5e, 1), TIE(0x5f, 1), TIE(0x60, 1), TIE(0x61, 1),
    TIE(0x7d, 1), TIE(0x7e, 1), TIES_END};

/* ---- Uses: bits of a box's filters that have an effect on a counter with a certain select ---- */

#define TID_EN 0x80000u
#define USES_END {0, 0, 0, 0}

#define SKX_LINK UINT64_C(0x1e00)
#define SKX_STATE UINT64_C(0x7fe0000)
#define SKX_FILTER1 UINT64_C(0xfffffe3b)
#define KNL_STATE UINT64_C(0x1c0000)
#define KNL_FILTER1 UINT64_C(0xdffffe2b)
#define HSX_STATE UINT64_C(0xfe0000)
#define HSX_NID UINT64_C(0xffff)
#define HSX_OPC UINT64_C(0xfff00000)

static const struct upmu_sim_unit_use skx_cha_uses[] = {
    {TID_EN, TID_EN, 0, 0x1ff}, {0x34, 0xff, 0, SKX_STATE}, {0x35, 0xff, 1, SKX_FILTER1}, {0x36, 0xff, 1, SKX_FILTER1},
    {0x38, 0xff, 0, 0x1ff | SKX_LINK}, USES_END};
static const struct upmu_sim_unit_use hsx_cbox_uses[] = {
    {TID_EN, TID_EN, 0, 0x3f}, {0x34, 0xff, 0, HSX_STATE},
    {0x4028, 0x40ff, 1, HSX_NID}, {0x4029, 0x40ff, 1, HSX_NID}, {0x402a, 0x40ff, 1, HSX_NID},
    {0x4032, 0x40ff, 1, HSX_NID}, {0x4033, 0x40ff, 1, HSX_NID}, {0x4037, 0x40ff, 1, HSX_NID},
    {0x4035, 0x40ff, 1, HSX_NID}, {0x4036, 0x40ff, 1, HSX_NID},
    {0x135, 0x1ff, 1, HSX_OPC}, {0x136, 0x1ff, 1, HSX_OPC}, {0x135, 0xffff, 0, 0x3c0}, USES_END};
static const struct upmu_sim_unit_use knl_cha_uses[] = {
    {TID_EN, TID_EN, 0, 0x1ff}, {0x3d, 0xff, 0, KNL_STATE}, {0x35, 0xff, 1, KNL_FILTER1}, {0x36, 0xff, 1, KNL_FILTER1},
    USES_END};
static const struct upmu_sim_unit_use icx_cha_uses[] = {{TID_EN, TID_EN, 0, 0x3ff}, USES_END};
static const struct upmu_sim_unit_use band_uses[] = {
    {0x0b, 0xff, 0, 0xff}, {0x0c, 0xff, 0, 0xff00}, {0x0d, 0xff, 0, 0xff0000}, {0x0e, 0xff, 0, 0xff000000}, USES_END};
static const struct upmu_sim_unit_use nhm_uses[] = {{0x35, 0xff, 0, ~UINT64_C(0)}, USES_END};
static const struct upmu_sim_unit_use qpi_uses[] = {
    {0x38, 0xff, 0, 0xffffffff}, {0x38, 0xff, 1, 0xffffffff}, {0x38, 0xff, 2, 0xffffffff}, {0x38, 0xff, 3, 0xffffffff},
    USES_END};

/* ---- Free-running counters: address, step, count, width, distances between boxes ---- */

#define FREE_END {0, 0, 0, 0, 0, NULL}

static const uint16_t icx_io_list[] = {0, 0x20, 0x40, 0x90, 0xb0, 0xd0};
static const uint16_t icx_bw_list[] = {0, 0x10, 0x20, 0x90, 0xa0, 0xb0};

static const struct upmu_sim_free skx_iio_free_counters[] = {
    {0xa45, 1, 1, 36, 0x20, NULL}, {0xb00, 1, 8, 36, 0x10, NULL}, {0xb08, 1, 8, 36, 0x10, NULL}, FREE_END};
static const struct upmu_sim_free icx_iio_free_counters[] = {
    {0xa55, 1, 1, 48, 0, icx_io_list}, {0xaa0, 1, 8, 48, 0, icx_bw_list}, FREE_END};
static const struct upmu_sim_free icx_imc_free_counters[] = {
    {0x22b0, 8, 1, 48, 0, NULL}, {0x2290, 8, 2, 48, 0, NULL}, {0x22a0, 8, 2, 48, 0, NULL}, FREE_END};
/* The counters of Sandy Bridge's memory controller count: reads and writes; requests of graphics, cores, I/O. */
static const struct upmu_sim_free snb_imc_counters[] = {
    {0x5050, 4, 2, 32, 0, NULL}, {0x5040, 4, 3, 32, 0, NULL}, FREE_END};
static const struct upmu_sim_free adl_imc_free_counters[] = {
    {0x40, 8, 1, 64, 0, NULL}, {0x58, 8, 1, 64, 0, NULL}, {0xa0, 8, 1, 64, 0, NULL}, FREE_END};
static const struct upmu_sim_free spr_iio_free_counters[] = {
    {0x340e, 1, 1, 48, 0x10, NULL}, {0x3800, 1, 8, 48, 0x10, NULL}, {0x3808, 1, 8, 48, 0x10, NULL}, FREE_END};
static const struct upmu_sim_free lab_counters[] = {{0x10, 8, 2, 64, 0, NULL}, FREE_END};
/*
 * Readings of a Kaby Lake: APERF, MPERF, PPERF, count of SMIs and temperature of a CPU; residencies of a core (C3, C6,
 * C7) and of a package (C2, C3, C6 to C10); energy (cores, package, memory, graphics).
 */
static const struct upmu_sim_free kbl_msr_counters[] = {
    {0xe8, 1, 1, 64, 0, NULL}, {0xe7, 1, 1, 64, 0, NULL}, {0x64e, 1, 1, 64, 0, NULL}, {0x34, 1, 1, 32, 0, NULL},
    {0x19c, 1, 1, 64, 0, NULL}, FREE_END};
static const struct upmu_sim_free kbl_cstate_core_counters[] = {{0x3fc, 1, 3, 64, 0, NULL}, FREE_END};
static const struct upmu_sim_free kbl_cstate_pkg_counters[] = {
    {0x60d, 1, 1, 64, 0, NULL}, {0x3f8, 1, 3, 64, 0, NULL}, {0x630, 1, 3, 64, 0, NULL}, FREE_END};
static const struct upmu_sim_free kbl_power_counters[] = {
    {0x639, 1, 1, 32, 0, NULL}, {0x611, 1, 1, 32, 0, NULL}, {0x619, 1, 1, 32, 0, NULL}, {0x641, 1, 1, 32, 0, NULL},
    FREE_END};
/* Readings of a Zen 2: APERF and MPERF of a CPU (IRPERF is in sim_amd.c), energy of a package. */
static const struct upmu_sim_free zen2_msr_counters[] = {
    {0xe8, 1, 1, 64, 0, NULL}, {0xe7, 1, 1, 64, 0, NULL}, FREE_END};
static const struct upmu_sim_free zen2_power_counters[] = {{0xc001029b, 1, 1, 32, 0, NULL}, FREE_END};

/* ---- Types of boxes: Nehalem, Nehalem-EX, Sandy Bridge ---- */

const struct upmu_sim_unit_type upmu_sim_nhm_uncore = {
    .name = "uncore", .style = UPMU_SIM_UNIT_GLOBAL_BITS, .space = UPMU_SIM_SPACE_MSR, .counters = 8, .width = 48,
    .fixed_width = 48, .select_step = 1, .counter_step = 1, .threshold = 8, .quirks = UPMU_SIM_QUIRK_FIXED_BIT_0,
    .control = NONE, .select = 0x3c0, .counter = 0x3b0, .fixed_select = 0x395, .fixed_counter = 0x394, .status = NONE,
    .filters = 1, .filter = {0x396, NONE, NONE, NONE}, .filter_bits = {UINT64_C(0xe000fffffffffff8)},
    .select_bits = PLAIN_BITS, .uses = nhm_uses, .global = NONE};

/* Nehalem-EX: a box's selects and counters alternate from 10H behind its control on; the U-box has no control. */
#define EX_BOX(of, at, amount, bits, more) \
    .name = of, .style = UPMU_SIM_UNIT_BITS, .space = UPMU_SIM_SPACE_MSR, .counters = amount, .width = 48, \
    .select_step = 2, .counter_step = 2, .quirks = UPMU_SIM_QUIRK_PACKAGE | (more), .control = at, \
    .select = (at) + 0x10, .counter = (at) + 0x11, .status = NONE, .filter = {NO_FILTER}, .select_bits = bits, \
    .global = NONE
#define EX_NO_CLOCK .fixed_select = NONE, .fixed_counter = NONE
const struct upmu_sim_unit_type upmu_sim_nhmex_ubox = {
    .name = "ubox", .style = UPMU_SIM_UNIT_SELECT, .space = UPMU_SIM_SPACE_MSR, .counters = 1, .width = 48,
    .select_step = 2, .counter_step = 2, .quirks = UPMU_SIM_QUIRK_PACKAGE, .control = NONE, .select = 0xc10,
    .counter = 0xc11, EX_NO_CLOCK, .status = NONE, .filter = {NO_FILTER}, .select_bits = 0x400ff, .global = NONE};
const struct upmu_sim_unit_type upmu_sim_nhmex_cbox = {
    EX_BOX("cbox", 0xd00, 6, PLAIN_BITS, 0), .threshold = 8, EX_NO_CLOCK};
const struct upmu_sim_unit_type upmu_sim_nhmex_bbox = {
    EX_BOX("bbox", 0xc20, 4, 0xfe, UPMU_SIM_QUIRK_ENABLE_0), EX_NO_CLOCK, .ties = nhmex_bbox_ties};
const struct upmu_sim_unit_type upmu_sim_nhmex_sbox = {
    EX_BOX("sbox", 0xc40, 4, PLAIN_BITS, 0), .threshold = 8, EX_NO_CLOCK};
const struct upmu_sim_unit_type upmu_sim_nhmex_mbox = {
    EX_BOX("mbox", 0xca0, 6, 0x383efc, UPMU_SIM_QUIRK_ENABLE_0), EX_NO_CLOCK};
const struct upmu_sim_unit_type upmu_sim_nhmex_rbox = {
    EX_BOX("rbox", 0xe00, 8, 0x3e, UPMU_SIM_QUIRK_ENABLE_0), EX_NO_CLOCK};
const struct upmu_sim_unit_type upmu_sim_nhmex_wbox = {
    EX_BOX("wbox", 0xc80, 4, PLAIN_BITS, UPMU_SIM_QUIRK_FIXED_BIT_0), .threshold = 8, .fixed_width = 48,
    .fixed_select = 0x395, .fixed_counter = 0x394};

#define CLIENT_SELECT(bits, number) \
    .style = UPMU_SIM_UNIT_SELECT, .space = UPMU_SIM_SPACE_MSR, .width = 44, .select_step = 1, .counter_step = 1, \
    .threshold = number, .quirks = UPMU_SIM_QUIRK_PACKAGE, .control = NONE, .status = NONE, .filter = {NO_FILTER}, \
    .select_bits = bits, .global = NONE

const struct upmu_sim_unit_type upmu_sim_snb_cbox = {
    .name = "cbox", CLIENT_SELECT(0x1f84ffff, 5), .counters = 2, .select = 0x700, .counter = 0x706,
    .fixed_select = NONE, .fixed_counter = NONE};
const struct upmu_sim_unit_type upmu_sim_snb_arb = {
    .name = "arb", CLIENT_SELECT(0x1f84ffff, 5), .counters = 2, .select = 0x3b2, .counter = 0x3b0,
    .fixed_select = NONE, .fixed_counter = NONE, .ties = snb_arb_ties};
const struct upmu_sim_unit_type upmu_sim_snb_clock = {
    .name = "clock", CLIENT_SELECT(0, 0), .fixed_width = 48, .select = NONE, .counter = NONE, .fixed_select = 0x394,
    .fixed_counter = 0x395};
const struct upmu_sim_unit_type upmu_sim_snb_imc = {
    .name = "imc", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MMIO, .counters = 5, .bits = 32,
    .free = snb_imc_counters};

/* ---- Readings, which nothing controls ---- */

#define READINGS(of, amount, more) \
    .name = of, .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MSR, .counters = amount, .quirks = more

const struct upmu_sim_unit_type upmu_sim_kbl_msr = {
    READINGS("msr", 5, UPMU_SIM_QUIRK_CPU), .free = kbl_msr_counters};
const struct upmu_sim_unit_type upmu_sim_kbl_cstate_core = {
    READINGS("cstate_core", 3, UPMU_SIM_QUIRK_CORE), .free = kbl_cstate_core_counters};
const struct upmu_sim_unit_type upmu_sim_kbl_cstate_pkg = {
    READINGS("cstate_pkg", 7, 0), .free = kbl_cstate_pkg_counters};
const struct upmu_sim_unit_type upmu_sim_kbl_power = {READINGS("power", 4, 0), .free = kbl_power_counters};
const struct upmu_sim_unit_type upmu_sim_zen2_msr = {
    READINGS("msr", 2, UPMU_SIM_QUIRK_CPU), .free = zen2_msr_counters};
const struct upmu_sim_unit_type upmu_sim_zen2_power = {READINGS("power", 1, 0), .free = zen2_power_counters};

/* ---- Types of boxes of servers: Skylake-SP, Haswell-EP, Broadwell-EP, Knights Landing, Ice Lake-SP ---- */

#define SERVER_MSR_OF(counter_bits, threshold_bits) \
    .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MSR, .width = counter_bits, .select_step = 1, \
    .counter_step = 1, .threshold = threshold_bits, .fixed_select = NONE, .fixed_counter = NONE, .global = NONE
#define SERVER_MSR SERVER_MSR_OF(48, 8)
#define SERVER_PCI_OF(counter_bits) \
    .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_PCI, .width = counter_bits, .counter_step = 8, \
    .threshold = 8, .global = NONE
#define SERVER_PCI SERVER_PCI_OF(48)
#define PCI_COMMON(counter_bits) \
    SERVER_PCI_OF(counter_bits), .select_step = 4, .control = 0xf4, .select = 0xd8, .counter = 0xa0, .status = 0xf8, \
    .select_bits = PLAIN_BITS, .filter = {NO_FILTER}
#define PCI_PLAIN_OF(counter_bits) PCI_COMMON(counter_bits), .fixed_select = NONE, .fixed_counter = NONE
#define PCI_PLAIN PCI_PLAIN_OF(48)
#define PCI_IMC PCI_COMMON(48), .counters = 4, .fixed_width = 48, .fixed_select = 0xf0, .fixed_counter = 0xd0
#define NEEDS_16 UPMU_SIM_QUIRK_NEEDS_16
#define PACKAGE UPMU_SIM_QUIRK_PACKAGE

#define SERVER_UBOX(counter_bits, bits, status_at) \
    .name = "ubox", .style = UPMU_SIM_UNIT_SELECT, .space = UPMU_SIM_SPACE_MSR, .counters = 2, .width = counter_bits, \
    .fixed_width = 48, .select_step = 1, .counter_step = 1, .threshold = 5, .quirks = PACKAGE, .control = NONE, \
    .select = 0x705, .counter = 0x709, .fixed_select = 0x703, .fixed_counter = 0x704, .status = status_at, \
    .select_bits = bits, .global = NONE
#define SERVER_PCU(more) \
    .name = "pcu", .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MSR, .counters = 4, .width = 48, \
    .select_step = 1, .counter_step = 1, .threshold = 5, .quirks = PACKAGE | (more), .control = 0x710, \
    .select = 0x711, .counter = 0x717, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x716, .filters = 1, \
    .filter = {0x715, NONE, NONE, NONE}, .filter_bits = {0xffffffff}, .select_bits = 0xdf84c0ff, .uses = band_uses, \
    .global = NONE

const struct upmu_sim_unit_type upmu_sim_skx_ubox = {SERVER_UBOX(48, 0x1f84ffff, 0x708), .filter = {NO_FILTER}};
const struct upmu_sim_unit_type upmu_sim_skx_cha = {
    .name = "cha", SERVER_MSR, .counters = 4, .quirks = PACKAGE, .control = 0xe00, .select = 0xe01, .counter = 0xe08,
    .status = 0xe07, .filters = 2, .filter = {0xe05, 0xe06, NONE, NONE},
    .filter_bits = {UINT64_C(0x1fff) | SKX_STATE, SKX_FILTER1}, .select_bits = 0xff8cffff, .ties = skx_cha_ties,
    .uses = skx_cha_uses};
const struct upmu_sim_unit_type upmu_sim_skx_iio = {
    .name = "iio", .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MSR, .counters = 4, .width = 48,
    .select_step = 1, .counter_step = 1, .threshold = 12, .quirks = PACKAGE, .control = 0xa40, .select = 0xa48,
    .counter = 0xa41, .fixed_select = NONE, .fixed_counter = NONE, .status = 0xa47, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0x7fff), .ties = skx_iio_ties, .global = NONE};
const struct upmu_sim_unit_type upmu_sim_skx_iio_free = {
    .name = "iio_free_running", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MSR, .counters = 17,
    .free = skx_iio_free_counters};
const struct upmu_sim_unit_type upmu_sim_skx_irp = {
    .name = "irp", SERVER_MSR, .counters = 2, .quirks = PACKAGE, .control = 0xa58, .select = 0xa5b, .counter = 0xa59,
    .status = 0xa5f, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS};
const struct upmu_sim_unit_type upmu_sim_skx_pcu = {SERVER_PCU(0)};
const struct upmu_sim_unit_type upmu_sim_skx_imc = {
    .name = "imc", PCI_IMC, .quirks = PACKAGE | UPMU_SIM_QUIRK_STATUS_1};
const struct upmu_sim_unit_type upmu_sim_skx_m2m = {
    .name = "m2m", SERVER_PCI, .counters = 4, .select_step = 8, .quirks = PACKAGE, .control = 0x258, .select = 0x228,
    .counter = 0x200, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x260, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS};
const struct upmu_sim_unit_type upmu_sim_skx_upi = {
    .name = "upi", SERVER_PCI, .counters = 4, .select_step = 8, .quirks = PACKAGE, .control = 0x378, .select = 0x350,
    .counter = 0x318, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x37c, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0xffefff)};
const struct upmu_sim_unit_type upmu_sim_skx_m2pcie = {
    .name = "m2pcie", PCI_PLAIN, .counters = 4, .quirks = PACKAGE, .ties = skx_m2pcie_ties};
const struct upmu_sim_unit_type upmu_sim_skx_m3upi = {
    .name = "m3upi", PCI_PLAIN, .counters = 3, .quirks = PACKAGE, .ties = skx_m3upi_ties};

#define UBOX_FILTER .filters = 1, .filter = {0x707, NONE, NONE, NONE}, .filter_bits = {0x3f}
const struct upmu_sim_unit_type upmu_sim_hsx_ubox = {SERVER_UBOX(44, 0x1f84ffff, 0x708), UBOX_FILTER};
const struct upmu_sim_unit_type upmu_sim_hsx_cbox = {
    .name = "cbox", SERVER_MSR, .counters = 4, .quirks = PACKAGE | NEEDS_16, .control = 0xe00, .select = 0xe01,
    .counter = 0xe08, .status = 0xe07, .filters = 2, .filter = {0xe05, 0xe06, NONE, NONE},
    .filter_bits = {UINT64_C(0x3ff) | HSX_STATE, HSX_NID | HSX_OPC}, .select_bits = 0xff8cffff, .ties = hsx_cbox_ties,
    .uses = hsx_cbox_uses};
#define SERVER_SBOX(counter_bits) \
    .name = "sbox", SERVER_MSR_OF(counter_bits, 8), .counters = 4, .quirks = PACKAGE | NEEDS_16 | UPMU_SIM_QUIRK_SBOX, \
    .control = 0x720, .select = 0x721, .counter = 0x726, .status = 0x725, .filter = {NO_FILTER}, \
    .select_bits = 0xff8cffff
const struct upmu_sim_unit_type upmu_sim_hsx_sbox = {SERVER_SBOX(44)};
const struct upmu_sim_unit_type upmu_sim_hsx_pcu = {SERVER_PCU(NEEDS_16)};
const struct upmu_sim_unit_type upmu_sim_hsx_ha = {
    .name = "ha", PCI_PLAIN, .counters = 4, .quirks = PACKAGE | NEEDS_16, .ties = hsx_ha_ties};
const struct upmu_sim_unit_type upmu_sim_hsx_imc = {
    .name = "imc", PCI_IMC, .quirks = PACKAGE | NEEDS_16 | UPMU_SIM_QUIRK_STATUS_1};
const struct upmu_sim_unit_type upmu_sim_hsx_irp = {
    .name = "irp", PCI_PLAIN, .counters = 4, .quirks = PACKAGE | NEEDS_16};
const struct upmu_sim_unit_type upmu_sim_hsx_qpi = {
    .name = "qpi", SERVER_PCI, .counters = 4, .select_step = 4, .control = 0xf4, .select = 0xd8, .counter = 0xa0,
    .fixed_select = NONE, .fixed_counter = NONE, .status = 0xf8,
    .quirks = PACKAGE | NEEDS_16 | UPMU_SIM_QUIRK_EVENT_21 | UPMU_SIM_QUIRK_COMPANION, .filters = 4,
    .filter = {0x228, 0x22c, 0x238, 0x23c}, .filter_bits = {0x8003fff8, 0xf000f, 0x8003fff8, 0xf000f},
    .select_bits = UINT64_C(0xffa4ffff), .uses = qpi_uses};
const struct upmu_sim_unit_type upmu_sim_hsx_r2pcie = {
    .name = "r2pcie", PCI_PLAIN, .counters = 4, .quirks = PACKAGE | NEEDS_16, .ties = hsx_r2pcie_ties};
const struct upmu_sim_unit_type upmu_sim_hsx_r3qpi = {
    .name = "r3qpi", PCI_PLAIN_OF(44), .counters = 3, .quirks = PACKAGE | NEEDS_16, .ties = hsx_r3qpi_ties};

/* The types of Broadwell-EP that differ from Haswell-EP's; for its other boxes the machine has Haswell-EP's types. */
const struct upmu_sim_unit_type upmu_sim_bdx_cbox = {
    .name = "cbox", SERVER_MSR, .counters = 4, .quirks = PACKAGE | NEEDS_16, .control = 0xe00, .select = 0xe01,
    .counter = 0xe08, .status = 0xe07, .filters = 2, .filter = {0xe05, 0xe06, NONE, NONE},
    .filter_bits = {UINT64_C(0x3ff) | HSX_STATE, HSX_NID | HSX_OPC}, .select_bits = 0xff8cffff, .ties = bdx_cbox_ties,
    .uses = hsx_cbox_uses};
const struct upmu_sim_unit_type upmu_sim_bdx_ubox = {SERVER_UBOX(48, 0x1f84ffff, 0x708), UBOX_FILTER};
const struct upmu_sim_unit_type upmu_sim_bdx_sbox = {SERVER_SBOX(48)};
const struct upmu_sim_unit_type upmu_sim_bdx_pcu = {SERVER_PCU(NEEDS_16), .ties = bdx_pcu_ties};
const struct upmu_sim_unit_type upmu_sim_bdx_r2pcie = {
    .name = "r2pcie", PCI_PLAIN, .counters = 4, .quirks = PACKAGE | NEEDS_16, .ties = bdx_r2pcie_ties};
const struct upmu_sim_unit_type upmu_sim_bdx_r3qpi = {
    .name = "r3qpi", PCI_PLAIN, .counters = 3, .quirks = PACKAGE | NEEDS_16, .ties = bdx_r3qpi_ties};

/* Knights Landing: memory on the package and beside it, each with two clocks. */
#define KNL_MEMORY(control_at, select_at, counter_at, fixed_select_at, fixed_counter_at) \
    SERVER_PCI, .counters = 4, .select_step = 4, .fixed_width = 48, .control = control_at, .select = select_at, \
    .counter = counter_at, .fixed_select = fixed_select_at, .fixed_counter = fixed_counter_at, \
    .status = control_at + 4, .select_bits = PLAIN_BITS, .filter = {NO_FILTER}, \
    .quirks = PACKAGE | NEEDS_16 | UPMU_SIM_QUIRK_FIXED_BIT_0
const struct upmu_sim_unit_type upmu_sim_knl_ubox = {SERVER_UBOX(48, 0x1f8cffff, NONE), .filter = {NO_FILTER}};
const struct upmu_sim_unit_type upmu_sim_knl_cha = {
    .name = "cha", SERVER_MSR, .counters = 4, .quirks = PACKAGE | NEEDS_16 | UPMU_SIM_QUIRK_NODES, .control = 0xe00,
    .select = 0xe01, .counter = 0xe08, .status = 0xe07, .filters = 2, .filter = {0xe05, 0xe06, NONE, NONE},
    .filter_bits = {0x1ff | KNL_STATE, KNL_FILTER1}, .select_bits = 0xff8dffff, .ties = knl_cha_ties,
    .uses = knl_cha_uses};
const struct upmu_sim_unit_type upmu_sim_knl_pcu = {
    .name = "pcu", SERVER_MSR_OF(48, 6), .counters = 4, .quirks = PACKAGE | NEEDS_16, .control = 0x710,
    .select = 0x711, .counter = 0x717, .status = 0x716, .filter = {NO_FILTER}, .select_bits = 0xff8cc0ff};
const struct upmu_sim_unit_type upmu_sim_knl_imc_uclk = {
    .name = "imc_uclk", KNL_MEMORY(0x430, 0x420, 0x400, 0x454, 0x44c)};
const struct upmu_sim_unit_type upmu_sim_knl_imc = {.name = "imc", KNL_MEMORY(0xb30, 0xb20, 0xb00, 0xb44, 0xb3c)};
const struct upmu_sim_unit_type upmu_sim_knl_edc_uclk = {
    .name = "edc_uclk", KNL_MEMORY(0x430, 0x420, 0x400, 0x454, 0x44c)};
const struct upmu_sim_unit_type upmu_sim_knl_edc_eclk = {
    .name = "edc_eclk", KNL_MEMORY(0xa30, 0xa20, 0xa00, 0xa44, 0xa3c)};
const struct upmu_sim_unit_type upmu_sim_knl_m2pcie = {
    .name = "m2pcie", PCI_PLAIN, .counters = 4, .quirks = PACKAGE | NEEDS_16, .ties = knl_m2pcie_ties};
const struct upmu_sim_unit_type upmu_sim_knl_irp = {
    .name = "irp", SERVER_PCI, .counters = 2, .select_step = 4, .quirks = PACKAGE | NEEDS_16, .control = 0xf0,
    .select = 0xd8, .counter = 0xa0, .fixed_select = NONE, .fixed_counter = NONE, .status = 0xf4,
    .filter = {NO_FILTER}, .select_bits = 0xff85ffff};

const struct upmu_sim_unit_type upmu_sim_icx_ubox = {SERVER_UBOX(48, 0x1f84ffff, NONE), .filter = {NO_FILTER}};
const struct upmu_sim_unit_type upmu_sim_icx_cha = {
    .name = "cha", SERVER_MSR, .counters = 4, .quirks = PACKAGE, .control = 0xe00, .select = 0xe01, .counter = 0xe08,
    .status = 0xe07, .filters = 1, .filter = {0xe05, NONE, NONE, NONE}, .filter_bits = {0x3ff},
    .select_bits = UINT64_C(0xff8cffff) | HIGH_BITS(0x3ffffff), .ties = icx_cha_ties, .uses = icx_cha_uses};
const struct upmu_sim_unit_type upmu_sim_icx_iio = {
    .name = "iio", .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MSR, .counters = 4, .width = 48,
    .select_step = 1, .counter_step = 1, .threshold = 12, .quirks = PACKAGE, .control = 0xa50, .select = 0xa58,
    .counter = 0xa51, .fixed_select = NONE, .fixed_counter = NONE, .status = 0xa57, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0x7ffff), .ties = icx_iio_ties, .global = NONE};
const struct upmu_sim_unit_type upmu_sim_icx_iio_free = {
    .name = "iio_free_running", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MSR, .counters = 9,
    .free = icx_iio_free_counters};
const struct upmu_sim_unit_type upmu_sim_icx_irp = {
    .name = "irp", SERVER_MSR, .counters = 2, .quirks = PACKAGE, .control = 0xa4a, .select = 0xa4d, .counter = 0xa4b,
    .status = 0xa4f, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS};
const struct upmu_sim_unit_type upmu_sim_icx_m2pcie = {
    .name = "m2pcie", SERVER_MSR, .counters = 4, .quirks = PACKAGE, .control = 0xa40, .select = 0xa46, .counter = 0xa41,
    .status = 0xa45, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS, .ties = icx_m2pcie_ties};
const struct upmu_sim_unit_type upmu_sim_icx_m2m = {
    .name = "m2m", SERVER_PCI, .counters = 4, .select_step = 8, .quirks = PACKAGE, .control = 0x438, .select = 0x468,
    .counter = 0x440, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x4a8, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0xff)};
const struct upmu_sim_unit_type upmu_sim_icx_upi = {
    .name = "upi", SERVER_PCI, .counters = 4, .select_step = 8, .quirks = PACKAGE, .control = 0x318, .select = 0x350,
    .counter = 0x320, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x37c, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0xffffff)};
const struct upmu_sim_unit_type upmu_sim_icx_m3upi = {
    .name = "m3upi", SERVER_PCI, .counters = 4, .select_step = 4, .quirks = PACKAGE, .control = 0xa0, .select = 0xd8,
    .counter = 0xa8, .fixed_select = NONE, .fixed_counter = NONE, .status = 0xf8, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS, .ties = icx_m3upi_ties};
const struct upmu_sim_unit_type upmu_sim_icx_imc = {
    .name = "imc", .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MMIO, .counters = 4, .width = 48,
    .fixed_width = 48, .select_step = 4, .counter_step = 8, .bits = 64, .threshold = 8,
    .quirks = PACKAGE | UPMU_SIM_QUIRK_STATUS_1, .control = 0, .select = 0x40, .counter = 8, .fixed_select = 0x54,
    .fixed_counter = 0x38, .status = 0x5c, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS, .global = NONE};
const struct upmu_sim_unit_type upmu_sim_icx_imc_free = {
    .name = "imc_free_running", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MMIO, .counters = 5, .bits = 64,
    .free = icx_imc_free_counters};

/* ---- Alder Lake ---- */

const struct upmu_sim_unit_type upmu_sim_adl_cbox = {
    .name = "cbox", CLIENT_SELECT(0x3f84ffff, 6), .counters = 2, .select = 0x2000, .counter = 0x2002,
    .fixed_select = NONE, .fixed_counter = NONE};
const struct upmu_sim_unit_type upmu_sim_adl_arb = {
    .name = "arb", CLIENT_SELECT(0x1f84ffff, 5), .counters = 2, .select = 0x2fd0, .counter = 0x2fd2,
    .fixed_select = NONE, .fixed_counter = NONE, .ties = adl_arb_ties};
const struct upmu_sim_unit_type upmu_sim_adl_clock = {
    .name = "clock", CLIENT_SELECT(0, 0), .fixed_width = 48, .select = NONE, .counter = NONE, .fixed_select = 0x2fde,
    .fixed_counter = 0x2fdf};
const struct upmu_sim_unit_type upmu_sim_adl_imc = {
    .name = "imc", .style = UPMU_SIM_UNIT_CLIENT, .space = UPMU_SIM_SPACE_MMIO, .counters = 5, .width = 64,
    .select_step = 4, .counter_step = 8, .bits = 64, .control = 0xc4, .select = 0xd0, .counter = 0xe8,
    .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, .filter = {NO_FILTER}, .select_bits = 0x40fff,
    .global = 0xc0};
const struct upmu_sim_unit_type upmu_sim_adl_imc_free = {
    .name = "imc_free_running", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MMIO, .counters = 3, .bits = 64,
    .free = adl_imc_free_counters};

/* ---- Types of boxes of Sapphire Rapids, also Emerald Rapids ---- */

#define LIVE_MSR(threshold_bits) \
    .style = UPMU_SIM_UNIT_LIVE, .space = UPMU_SIM_SPACE_MSR, .counters = 4, .width = 48, .select_step = 1, \
    .counter_step = 1, .threshold = threshold_bits, .quirks = PACKAGE, .fixed_select = NONE, .fixed_counter = NONE, \
    .status = NONE, .global = NONE

const struct upmu_sim_unit_type upmu_sim_spr_cha = {
    .name = "cha", LIVE_MSR(8), .control = 0x2000, .select = 0x2002, .counter = 0x2008, .filters = 1,
    .filter = {0x200e, NONE, NONE, NONE}, .filter_bits = {0x3ff},
    .select_bits = UINT64_C(0xff85ffff) | HIGH_BITS(0xffffffff), .ties = icx_cha_ties};
const struct upmu_sim_unit_type upmu_sim_spr_iio = {
    .name = "iio", LIVE_MSR(12), .control = 0x3000, .select = 0x3002, .counter = 0x3008, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS | HIGH_BITS(0x7ffff), .ties = spr_iio_ties};
const struct upmu_sim_unit_type upmu_sim_spr_iio_free = {
    .name = "iio_free_running", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MSR, .counters = 17,
    .free = spr_iio_free_counters};
const struct upmu_sim_unit_type upmu_sim_spr_imc = {
    .name = "imc", .style = UPMU_SIM_UNIT_LIVE, .space = UPMU_SIM_SPACE_MMIO, .counters = 4, .width = 48,
    .fixed_width = 48, .select_step = 4, .counter_step = 8, .bits = 64, .threshold = 8, .quirks = PACKAGE, .control = 0,
    .select = 0x40, .counter = 8, .fixed_select = 0x54, .fixed_counter = 0x38, .status = NONE, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS, .global = NONE};
#define LIVE_PCI \
    .style = UPMU_SIM_UNIT_LIVE, .space = UPMU_SIM_SPACE_PCI, .counters = 4, .width = 48, .select_step = 8, \
    .counter_step = 8, .threshold = 8, .quirks = PACKAGE, .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, \
    .filter = {NO_FILTER}, .select_bits = PLAIN_BITS | HIGH_BITS(0xffffff), .global = NONE
const struct upmu_sim_unit_type upmu_sim_spr_m2m = {
    .name = "m2m", LIVE_PCI, .control = 0x438, .select = 0x468, .counter = 0x440};
const struct upmu_sim_unit_type upmu_sim_spr_upi = {
    .name = "upi", LIVE_PCI, .control = 0x318, .select = 0x350, .counter = 0x320};
const struct upmu_sim_unit_type upmu_sim_spr_m3upi = {
    .name = "m3upi", LIVE_PCI, .control = 0xa0, .select = 0xd8, .counter = 0xa8, .ties = spr_m3upi_ties};
/* A type number that the discovery table has, but that no public list of types names. */
const struct upmu_sim_unit_type upmu_sim_spr_unknown = {
    .name = "type_77", LIVE_MSR(8), .control = 0x4000, .select = 0x4002, .counter = 0x4008, .filter = {NO_FILTER},
    .select_bits = PLAIN_BITS};

#define LIVE_MEMORY \
    .style = UPMU_SIM_UNIT_LIVE, .space = UPMU_SIM_SPACE_MMIO, .counters = 4, .width = 48, .select_step = 4, \
    .counter_step = 8, .bits = 64, .threshold = 8, .quirks = PACKAGE, .control = 0, .select = 0x40, .counter = 8, \
    .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS, \
    .global = NONE
const struct upmu_sim_unit_type upmu_sim_ptl_imc = {.name = "imc", LIVE_MEMORY};
const struct upmu_sim_unit_type upmu_sim_ptl_hbo = {.name = "hbo", LIVE_MEMORY};

/* ---- AMD ---- */

#define AMD(bits) \
    .style = UPMU_SIM_UNIT_SELECT, .space = UPMU_SIM_SPACE_MSR, .width = 48, .select_step = 2, .counter_step = 2, \
    .control = NONE, .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, .filter = {NO_FILTER}, \
    .select_bits = bits, .global = NONE
#define AMD_LOW UINT64_C(0xffff)
#define AMD_CORE_ROUTE (UINT64_C(0x1f) << 36)

const struct upmu_sim_unit_type upmu_sim_bulldozer_nb = {
    .name = "nb", AMD(AMD_LOW | UINT64_C(1) << 20 | UINT64_C(0xf) << 32 | AMD_CORE_ROUTE),
    .layout = UPMU_SIM_LAYOUT_AMD_NB, .counters = 4, .select = 0xc0010240, .counter = 0xc0010241};
const struct upmu_sim_unit_type upmu_sim_zen2_l3 = {
    .name = "l3", AMD(AMD_LOW | UINT64_C(0xf) << 48 | UINT64_C(0xff) << 56), .layout = UPMU_SIM_LAYOUT_AMD_L3,
    .counters = 6, .quirks = UPMU_SIM_QUIRK_LLC, .select = 0xc0010230, .counter = 0xc0010231};
const struct upmu_sim_unit_type upmu_sim_zen2_df = {
    .name = "df", AMD(AMD_LOW | UINT64_C(0xf) << 32 | UINT64_C(3) << 59), .layout = UPMU_SIM_LAYOUT_AMD_DF,
    .counters = 4, .select = 0xc0010240, .counter = 0xc0010241};
const struct upmu_sim_unit_type upmu_sim_zen4_l3 = {
    .name = "l3", AMD(AMD_LOW | UINT64_C(0x1f7) << 42 | UINT64_C(3) << 56), .layout = UPMU_SIM_LAYOUT_AMD_19,
    .counters = 6, .quirks = UPMU_SIM_QUIRK_LLC, .select = 0xc0010230, .counter = 0xc0010231};
const struct upmu_sim_unit_type upmu_sim_zen4_df = {
    .name = "df", AMD(AMD_LOW | UINT64_C(0xf) << 24 | UINT64_C(0x3f) << 32), .layout = UPMU_SIM_LAYOUT_AMD_V2,
    .counters = 16, .select = 0xc0010240, .counter = 0xc0010241};
const struct upmu_sim_unit_type upmu_sim_zen4_umc = {
    .name = "umc", AMD(UINT64_C(0x3ff)), .layout = UPMU_SIM_LAYOUT_AMD_UMC, .counters = 4,
    .quirks = UPMU_SIM_QUIRK_SATURATES | UPMU_SIM_QUIRK_ENABLE_31, .select = 0xc0010800, .counter = 0xc0010801};

/* ---- Types of the host's own devices, of the machine "lab" ---- */

const struct upmu_sim_unit_type upmu_sim_lab_meter = {
    .name = "rackmeter", .style = UPMU_SIM_UNIT_SELECT, .space = UPMU_SIM_SPACE_MSR, .counters = 3, .width = 40,
    .select_step = 2, .counter_step = 2, .threshold = 8, .control = NONE, .select = 0x7f00, .counter = 0x7f01,
    .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, .filter = {NO_FILTER}, .select_bits = PLAIN_BITS,
    .global = NONE};
const struct upmu_sim_unit_type upmu_sim_lab_link = {
    .name = "bladelink", SERVER_PCI, .counters = 4, .select_step = 8, .control = 0x110, .select = 0x120,
    .counter = 0x140, .fixed_select = NONE, .fixed_counter = NONE, .status = 0x118, .filters = 1,
    .filter = {0x160, NONE, NONE, NONE}, .filter_bits = {0xffff}, .select_bits = PLAIN_BITS | HIGH_BITS(0xff)};
const struct upmu_sim_unit_type upmu_sim_lab_vector = {
    .name = "vectorcopro", .style = UPMU_SIM_UNIT_BOX, .space = UPMU_SIM_SPACE_MMIO, .counters = 3, .width = 56,
    .select_step = 8, .counter_step = 8, .bits = 64, .threshold = 8, .control = 0, .select = 0x10, .counter = 0x40,
    .fixed_select = NONE, .fixed_counter = NONE, .status = NONE, .filters = 1, .filter = {0x60, NONE, NONE, NONE},
    .filter_bits = {0xffffffff}, .select_bits = PLAIN_BITS, .global = NONE};
const struct upmu_sim_unit_type upmu_sim_lab_sensor = {
    .name = "chipsensor", .style = UPMU_SIM_UNIT_FREE, .space = UPMU_SIM_SPACE_MMIO, .counters = 2, .bits = 64,
    .free = lab_counters};

/* SPDX-License-Identifier: MIT */
/*
 * The command layer: what each command prints and answers, on paper and on
 * simulated CPUs; the loops of the workloads, single-stepped.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/common/assertions.h"
#include "tests/common/blobs.h"
#include "tests/common/commands.h"

static char printed[1 << 20], errors[1 << 16], stored[1 << 20], stored_name[64];
static size_t printed_bytes, error_bytes, stored_bytes;
static int keys;

static void test_write(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(printed_bytes + length, <, sizeof printed);
    memcpy(printed + printed_bytes, text, length);
    printed_bytes += length;
    printed[printed_bytes] = '\0';
}

static void test_write_error(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(error_bytes + length, <, sizeof errors);
    memcpy(errors + error_bytes, text, length);
    error_bytes += length;
    errors[error_bytes] = '\0';
}

static bool test_write_file(void *context, const char *name, const void *bytes, size_t length)
{
    (void)context;
    if (strcmp(name, "full/disk") == 0)
        return false;
    snprintf(stored_name, sizeof stored_name, "%s", name);
    memcpy(stored, bytes, length);
    stored[length] = '\0';
    stored_bytes = length;
    return true;
}

static int test_key(void *context, unsigned wait_ms)
{
    (void)context, (void)wait_ms;
    return keys-- > 0 ? -1 : 'q';
}

/* "blob": K7's events; "log": what was kept; "map": symbols; "text": something else. */
static char kept[1 << 20];
static size_t kept_bytes;

static const void *test_read_file(void *context, const char *name, size_t *out_length)
{
    static uint8_t blob[BLOB_ROOM];
    unsigned i = 0;

    (void)context;
    if (strcmp(name, "text") == 0) {
        *out_length = 5000;
        return memset(blob, 'x', sizeof blob);
    }
    if (strcmp(name, "log") == 0)
        return *out_length = kept_bytes, kept;
    if (strcmp(name, "map") == 0) {
        static const char map[] = "00000000001d1000 T round\n1d0ffc t before\nno address\n 1d1000 x\n1d1 t\n";

        return *out_length = sizeof map - 1, map;
    }
    if (strcmp(name, "blob") != 0 && strcmp(name, "described") != 0)
        return NULL;
    do
        *out_length = blob_make(i++, blob);
    while (strcmp(upmu_catalog_name(upmu_catalog_loaded(blob, 0)), "k7") != 0);
    if (strcmp(name, "described") == 0) {
        static const char about[] = "upmu about 1\n"
                                    "k7\tA\tfirst\n"
                                    "k7\tSNOOP\tof another\n"
                                    "k7\tSNOOP_HITS\tprobes\x01of a line\n"
                                    "k7\tSNOOP_HITS2\tof another; a line that is longer than all others together, so "
                                    "that a search by halves meets it before those around it, whichever it is for\n"
                                    "k8\tSNOOP_RESYNCS\tof another\n";

        assert_compare(*out_length + sizeof about, <=, sizeof blob);
        memcpy(blob + *out_length, about, sizeof about - 1);
        *out_length += sizeof about - 1;
    }
    return blob;
}

static const struct cmd_sink test_sink = {.write = test_write,
                                          .write_error = test_write_error,
                                          .write_file = test_write_file,
                                          .read_file = test_read_file};
static const struct cmd_sink key_sink = {.write = test_write, .write_error = test_write_error, .read_key = test_key};

static struct cmd *fresh(void)
{
    static struct cmd cmd;

    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &test_sink;
    cmd.program = "upmu";
    printed_bytes = error_bytes = stored_bytes = 0;
    printed[0] = errors[0] = stored[0] = '\0';
    return &cmd;
}

static int line(const char *text)
{
    return cmd_run_line(fresh(), text);
}

static void prints(const char *text)
{
    if (strstr(printed, text) == NULL)
        fail_msg("no '%s' in:\n%s%s", text, printed, errors);
}

static void complains(const char *text)
{
    if (strstr(errors, text) == NULL)
        fail_msg("no '%s' in the errors:\n%s", text, errors);
}

/* ---- Text and numbers ---- */

static void print_pads_groups_and_fills(void **state)
{
    struct cmd *cmd = fresh();

    (void)state;
    cmd_print(cmd, "[%5u|%-5u|%05x|%G|%U|%X|%s|%6s|%-*s|%c|%%]", 42u, 42u, 0x2au, UINT64_C(1234567), UINT64_MAX,
              UINT64_MAX, "text", "pad", 4, "x", 'c');
    assert_string_equal(printed,
                        "[   42|42   |0002a|1,234,567|18446744073709551615|ffffffffffffffff|text|   pad|x   |c|%]");
}

static void milli_shows_decimals(void **state)
{
    struct cmd *cmd = fresh();

    (void)state;
    cmd_milli(cmd, 1234, 2);
    cmd_print(cmd, " ");
    cmd_milli(cmd, 5, 3);
    cmd_print(cmd, " ");
    cmd_milli(cmd, 99999, 0);
    assert_string_equal(printed, "1.23 0.005 99");
}

static void json_text_is_escaped(void **state)
{
    struct cmd *cmd = fresh();

    (void)state;
    cmd_json_text(cmd, "a\"b\\c\n");
    assert_string_equal(printed, "\"a\\\"b\\\\c\\u000a\"");
}

static void division_and_scaling_agree_with_the_compilers(void **state)
{
    uint64_t x = 88172645463325252u, y;
    unsigned i;

    (void)state;
    for (i = 0; i < 20000; i++) {
        uint64_t value, by, factor;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        value = x >> (x & 63);
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        by = (x >> (x & 63)) | 1;
        assert_int_equal(cmd_divide(value, by), value / by);
        y = cmd_root(value);
        assert_true(y * y <= value && (y == UINT32_MAX || (y + 1) * (y + 1) > value), y);
        factor = 1000;
        value >>= 20, by >>= 20;
        if (by != 0)
            assert_int_equal(cmd_scale(value, factor, by), value / by * factor + value % by * factor / by);
    }
    assert_int_equal(cmd_divide(5, 0), 0);
    assert_int_equal(cmd_scale(UINT64_MAX, 1000, 1), UINT64_MAX);
    assert_int_equal(cmd_scale(UINT64_MAX, 1000, UINT64_MAX), 1000);
}

static void numbers_take_hex_and_thousands(void **state)
{
    uint64_t value;

    (void)state;
    assert_true(cmd_number("0x40000001", &value) && value == 0x40000001);
    assert_true(cmd_number("20k", &value) && value == 20000);
    assert_true(cmd_number("3m", &value) && value == 3000000);
    assert_true(cmd_number("4G", &value) && value == UINT64_C(4000000000));
    assert_false(cmd_number("", &value));
    assert_false(cmd_number("12x", &value));
    assert_false(cmd_number("99999999999999999999", &value));
    assert_false(cmd_number("19000000000000000k", &value));
}

/* ---- Words and options ---- */

static void an_unknown_command_or_option_is_a_usage_error(void **state)
{
    (void)state;
    assert_int_equal(line("nonsense"), CMD_USAGE);
    complains("no command 'nonsense'");
    assert_int_equal(line("stat --placed"), CMD_USAGE);
    complains("stat has no option '--placed'");
    assert_int_equal(line("stat -r"), CMD_USAGE);
    complains("needs a value");
    assert_int_equal(line("stat --sim skl -e ''"), CMD_USAGE);
    complains("'-e' needs a value");
    assert_int_equal(line("stat --sim skl -n 99999999999999999999"), CMD_USAGE);
    complains("or is too large");
    assert_int_equal(line("record --sim skl -c 1"), CMD_REFUSED);
    complains("the least period of skl is ");
    assert_int_equal(line("stat -r 0"), CMD_USAGE);
    assert_int_equal(line("stat -r 101 --sim skl"), CMD_USAGE);
    assert_int_equal(line("encode --pmu skl"), CMD_USAGE);
    assert_int_equal(line("pmus extra"), CMD_USAGE);
    assert_int_equal(line("stat --sim skl nowork"), CMD_USAGE);
    complains("no workload 'nowork'");
}

static void empty_lines_and_comments_do_nothing(void **state)
{
    (void)state;
    assert_int_equal(line(""), CMD_OK);
    assert_int_equal(line("   # stat"), CMD_OK);
    assert_string_equal(printed, "");
}

static void quotes_hold_blanks_and_long_lines_are_refused(void **state)
{
    char text[3000];

    (void)state;
    assert_int_equal(line("encode --pmu skl \"2 cycles\""), CMD_OK);
    assert_string_equal(printed, "IA32_PERFEVTSEL2 0x188 0x43003c\n");
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(line(text), CMD_USAGE);
    for (size_t i = 1; i < sizeof text - 1; i += 2)
        text[i] = ' ';
    assert_int_equal(line(text), CMD_USAGE);
}

static void every_command_explains_itself(void **state)
{
    const char *name;
    char text[64];

    (void)state;
    for (unsigned i = 0; (name = cmd_name(i)) != NULL; i++) {
        snprintf(text, sizeof text, "%s --help", name);
        assert_int_equal(line(text), CMD_OK);
        snprintf(text, sizeof text, "usage: upmu %s", name);
        prints(text);
    }
    assert_int_equal(line("help"), CMD_OK);
    prints("selftest");
}

/* What the line of usage names is explained below it. */
static void help_explains_each_option_of_its_usage(void **state)
{
    const char *name;
    unsigned explained = 0;

    (void)state;
    for (unsigned i = 0; (name = cmd_name(i)) != NULL; i++) {
        char text[64], word[16];
        const char *rest, *end;

        snprintf(text, sizeof text, "%s --help", name);
        assert_int_equal(line(text), CMD_OK);
        end = strchr(printed, '\n');
        for (rest = strstr(printed, "[-"); rest != NULL && rest < end; rest = strstr(rest + 1, "[-")) {
            const char *below = strstr(end, "\nOptions:\n");

            assert_int_equal(sscanf(rest + 1, "%15[-a-zA-Z]", word), 1);
            assert_non_null(below);
            snprintf(text, sizeof text, " %s", word);
            assert_non_null(strstr(below, text));
            explained++;
        }
    }
    assert_compare(explained, >, 20);
}

static void the_version_is_that_of_the_headers(void **state)
{
    char text[32];

    (void)state;
    snprintf(text, sizeof text, "upmu %u.%u.%u\n", UPMU_VERSION >> 16, UPMU_VERSION >> 8 & 255u, UPMU_VERSION & 255u);
    assert_int_equal(line("--version"), CMD_OK);
    assert_string_equal(printed, text);
}

/* ---- On paper ---- */

static void encode_shows_the_lowest_general_counter(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl instructions branch-misses:u"), CMD_OK);
    assert_string_equal(printed, "IA32_PERFEVTSEL0 0x186 0x4300c0\nIA32_PERFEVTSEL0 0x186 0x4100c5\n");
}

static void encode_shows_a_pinned_counter(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl cycles,counter=3"), CMD_OK);
    assert_string_equal(printed, "IA32_PERFEVTSEL3 0x189 0x43003c\n");
}

static void encode_shows_payload_registers_after_the_select(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl FRONTEND_RETIRED.DSB_MISS"), CMD_OK);
    assert_string_equal(printed, "IA32_PERFEVTSEL0 0x186 0x4301c6\nMSR_PEBS_FRONTEND 0x3f7 0x11\n");
}

static void encode_shows_the_fixed_control_without_a_general_form(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl CPU_CLK_UNHALTED.REF_TSC"), CMD_OK);
    assert_string_equal(printed, "IA32_FIXED_CTR_CTRL 0x38d 0x300\n");
}

static void encode_shows_the_registers_of_each_make(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu k7 instructions:u"), CMD_OK);
    assert_string_equal(printed, "PERFEVTSEL0 0xc0010000 0x4100c0\n");
    assert_int_equal(line("encode --pmu k8 \"3 k8-dc-refill-from-l2,mask=modified+owner\""), CMD_OK);
    assert_string_equal(printed, "PERFEVTSEL3 0xc0010003 0x431842\n");
    assert_int_equal(line("encode --pmu zen2 --placed cpu/event=0x03,umask=0xff/"), CMD_OK);
    assert_string_equal(printed, "PERF_CTL1 0xc0010202 0xf004000ff\nPERF_CTL0 0xc0010200 0x43ff03\n");
    assert_int_equal(line("encode --pmu netburst \"12 p4-branch-retired,mask=mmtm+mmnm\""), CMD_OK);
    assert_string_equal(printed, "MSR_IQ_CCCR0 0x36c 0x3b000\nMSR_CRU_ESCR2 0x3cc 0xc00140c\n");
}

static void encode_writes_json(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl --json cycles"), CMD_OK);
    assert_string_equal(printed, "{\"pmu\":\"skl\",\"events\":[{\"event\":\"CPU_CLK_UNHALTED.THREAD\",\"registers\":["
                                 "{\"name\":\"IA32_PERFEVTSEL0\",\"address\":\"0x186\",\"value\":\"0x43003c\"}]}]}\n");
}

static void encode_placed_shows_what_the_list_gets(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl --placed instructions branches"), CMD_OK);
    prints("IA32_PERFEVTSEL0 0x186 0x4300c4\n");
    prints("IA32_FIXED_CTR_CTRL 0x38d 0x3\n");
}

static void wrmsr_lists_the_writes_in_order(void **state)
{
    (void)state;
    assert_int_equal(line("wrmsr list --pmu skl branches"), CMD_OK);
    assert_string_equal(printed, "wrmsr 0x186 0x4300c4 # IA32_PERFEVTSEL0\nwrmsr 0x38f 0x1 # IA32_PERF_GLOBAL_CTRL\n");
    assert_int_equal(line("wrmsr 0x186 3"), CMD_USAGE);
}

static void a_refused_event_is_explained(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skl brnch-misses"), CMD_REFUSED);
    complains("\"brnch-misses\": no such event on skl");
    assert_int_equal(line("encode --pmu nosuch cycles"), CMD_REFUSED);
    complains("no PMU 'nosuch'");
    assert_int_equal(line("encode cycles"), CMD_USAGE);
    complains("--pmu");
}

static void place_names_counters(void **state)
{
    (void)state;
    assert_int_equal(line("place --pmu skl instructions cycles branches"), CMD_OK);
    prints("INST_RETIRED.ANY                         FIXED0\n");
    prints("CPU_CLK_UNHALTED.THREAD                  FIXED1\n");
    prints("BR_INST_RETIRED.ALL_BRANCHES             PMC0\n");
    assert_int_equal(line("place --pmu skl --json instructions"), CMD_OK);
    assert_string_equal(printed, "{\"pmu\":\"skl\",\"events\":[{\"event\":\"INST_RETIRED.ANY\",\"counter\":\"FIXED0\","
                                 "\"resources\":[]}]}\n");
}

static void pack_names_sets_and_says_whether_fewer_are_possible(void **state)
{
    (void)state;
    assert_int_equal(line("pack --pmu skl branches,counter=0 cycles,counter=0 "
                          "'branches:u,counter=0 cycles:u,counter=1'"),
                     CMD_OK);
    prints("set 0:");
    prints("set 2:");
    prints("3 sets, no fewer are possible\n");
    assert_int_equal(line("pack --pmu skl --json instructions"), CMD_OK);
    prints("\"bound\":1,\"sets\":[[\"");
    assert_int_equal(line("pack --pmu skl no-such-event"), CMD_REFUSED);
}

static void place_refuses_with_the_collision(void **state)
{
    (void)state;
    assert_int_equal(line("place --pmu skl instructions,counter=0 cycles,counter=0"), CMD_REFUSED);
    complains("both need counter 0");
    assert_int_equal(line("place --pmu skl --json instructions,counter=0 cycles,counter=0"), CMD_REFUSED);
    prints("\"conflict\":\"");
}

static void list_knows_units_outside_the_cores(void **state)
{
    (void)state;
    assert_int_equal(line("list --unit"), CMD_OK);
    prints("skx_unc_cha ");
    prints("hswep_unc_cbo ");
    assert_int_equal(line("list --unit --pmu skx_unc_imc"), CMD_OK);
    prints("UNC_M_CAS_COUNT.RD\n");
    assert_int_equal(line("list --unit --pmu skx_unc_imc zzz*"), CMD_REFUSED);
    assert_int_equal(line("list --unit --pmu gnr_unc_upi unc_upi_clock*"), CMD_OK);
    assert_int_equal(line("list --unit --pmu grr_unc_upi"), CMD_REFUSED); /* its list is that of Granite Rapids */
    assert_int_equal(line("list --unit --pmu skl"), CMD_REFUSED);
}

/* Class of mistake: an option that a command accepts and does not look at. */
static void list_of_a_unit_searches_the_file_of_catalogues(void **state)
{
    (void)state;
    assert_int_equal(line("list --unit --pmu skx_unc_imc --blob blob"), CMD_REFUSED);
    complains("blob has no catalogues for skx_unc_imc");
    assert_int_equal(line("list --unit --pmu skx_unc_imc --blob text"), CMD_REFUSED);
    complains("text is no file of catalogues");
}

static void encode_shows_the_registers_of_a_units_event(void **state)
{
    (void)state;
    assert_int_equal(line("encode --pmu skx_unc_imc CAS_COUNT.RD"), CMD_OK);
    assert_string_equal(printed, "unit imc, box, counters CTR0 CTR1 CTR2 CTR3\nCTL0 0xd8 0x400304\n");
    assert_int_equal(line("encode --pmu ivbep_unc_pcu UNC_P_FREQ_BAND0_CYCLES:filter_band0=5"), CMD_OK);
    assert_string_equal(printed, "unit pcu, box, counters CTR0 CTR1 CTR2 CTR3\nCTL0 0xc 0x40000b\nFILTER0 0x10 0x5\n");
    assert_int_equal(line("encode --pmu skx_unc_iio UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART0"), CMD_OK);
    prints("unit iio, box, counters CTR0 CTR1\nCTL0 0x8 0x701000400483\n"); /* all 64 bits, and the event's counters */
    assert_int_equal(line("encode --pmu icx_unc_imc_free_running UNC_M_CLOCKTICKS_FREERUN"), CMD_OK);
    assert_string_equal(printed, "unit imc_free_running, free-running, counters FIXED0\n");
    assert_int_equal(line("encode --json --pmu skx_unc_imc CAS_COUNT.RD"), CMD_OK);
    prints("\"unit\":\"imc\",\"style\":\"box\",\"counters\":[\"CTR0\",\"CTR1\",\"CTR2\",\"CTR3\"],"
           "\"registers\":[{\"name\":\"CTL0\"");
    assert_int_equal(line("encode --pmu skx_unc_imc cycles_of_what"), CMD_REFUSED);
    assert_int_equal(line("encode --pmu skl cycles"), CMD_OK);
    assert_string_equal(printed, "IA32_PERFEVTSEL0 0x186 0x43003c\n");
}

static void list_matches_globs_and_names_aliases(void **state)
{
    (void)state;
    assert_int_equal(line("list --pmu skl MEM_LOAD_RETIRED.L1*"), CMD_OK);
    assert_string_equal(printed, "MEM_LOAD_RETIRED.L1_HIT\nMEM_LOAD_RETIRED.L1_MISS\n");
    assert_int_equal(line("list --pmu skl branches"), CMD_OK);
    assert_string_equal(printed, "branches                                 = BR_INST_RETIRED.ALL_BRANCHES\n");
    assert_int_equal(line("list --pmu skl zzz*"), CMD_REFUSED);
    assert_int_equal(line("list --pmu cwf zzz*"), CMD_REFUSED);
    complains("no event of cwf matches 'zzz*'");
    assert_int_equal(line("list --pmu ptc instr*"), CMD_OK);
    assert_int_equal(line("list --pmu ptc stalled*"), CMD_REFUSED); /* a row of other models: encode refuses it */
}

static void events_are_listed_and_encoded_from_a_file_of_catalogues(void **state)
{
    (void)state;
    assert_int_equal(line("list --pmu amd64_k7 --blob blob snoop*"), CMD_OK);
    assert_string_equal(printed, "SNOOP_HITS\nSNOOP_RESYNCS\n");
    assert_int_equal(line("list --pmu amd64_k7 --blob described snoop*"), CMD_OK);
    assert_string_equal(printed, "SNOOP_HITS\n        probes?of a line\nSNOOP_RESYNCS\n");
    assert_int_equal(line("encode --pmu amd64_k7 --blob blob snoop_hits:l2"), CMD_OK);
    prints("0x430473");
    assert_int_equal(line("list --pmu skl --blob blob"), CMD_REFUSED);
    assert_non_null(strstr(errors, "no catalogues for skl"));
    assert_int_equal(line("list --pmu amd64_k7 --blob text"), CMD_REFUSED);
    assert_non_null(strstr(errors, "is no file of catalogues"));
    assert_int_equal(line("list --pmu amd64_k7 --blob nothing"), CMD_REFUSED);
    assert_non_null(strstr(errors, "cannot read nothing"));
    assert_int_equal(line("list --pmu adl"), CMD_REFUSED);
    assert_non_null(strstr(errors, "no PMU 'adl', but adl_glc;"));
}

static void pmus_lists_models_and_simulations(void **state)
{
    (void)state;
    assert_int_equal(line("pmus"), CMD_OK);
    prints("skl        Intel Skylake");
    prints(" AMD family 15h (Bulldozer)     6 general");
    prints("core       Intel Core 2");
    prints("icelake                icl");
}

static void every_model_lists_encodes_and_places_by_its_name(void **state)
{
    const char *name;
    char text[128];
    unsigned i;

    (void)state;
    for (i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        snprintf(text, sizeof text, "list --pmu %s cycles", name);
        assert_int_equal(line(text), CMD_OK);
        prints("cycles");
        snprintf(text, sizeof text, "encode --pmu %s instructions", name);
        assert_int_equal(line(text), CMD_OK);
        snprintf(text, sizeof text, "place --pmu %s instructions cycles", name);
        assert_int_equal(line(text), CMD_OK);
    }
    assert_compare(i, >, 50);
}

/* ---- On simulated CPUs ---- */

static void stat_counts_exactly_what_the_model_ran(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim skl -n 1000 -r 3 --json -e instructions,branches spin"), CMD_OK);
    prints("\"simulated\":true");
    prints("{\"event\":\"instructions\",\"mean\":2000,\"noise_ppm\":0,\"quality\":\"exact\",");
    prints("\"counts\":[2000,2000,2000]}");
    prints("{\"event\":\"branches\",\"mean\":1000,\"noise_ppm\":0,\"quality\":\"exact\",");
    prints("\"counts\":[1000,1000,1000]}");
    /* What was asked for, and nothing beside it. */
    assert_null(strstr(printed, "cycles"));
}

static void a_machine_of_several_cpus_is_simulated(void **state)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();

    (void)state;
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -n 1000 -e instructions,branches spin"), CMD_OK);
    prints("*** SIMULATED CPU: skx2 (two Skylake-SP packages, CPUs interleaved) ***");
    prints("             2,000  instructions");
    prints("             1,000  branches");
    assert_int_equal(cmd->sim.violation_count, 0);
    assert_int_equal(cmd_run_line(cmd, "pmus"), CMD_OK);
    prints("two Skylake-SP packages");
    assert_int_equal(line("stat --sim skx2"), CMD_REFUSED);
}

/* The number behind the n-th occurrence (from 1 on) of a key. */
static uint64_t number_behind(const char *key, unsigned n)
{
    const char *at = printed;

    while (n-- && at)
        at = strstr(at, key) ? strstr(at, key) + strlen(key) : NULL;
    if (!at)
        fail_msg("no %s", key);
    return strtoull(at, NULL, 10);
}

/* Every miss of the last cache is a line read from memory, every fourth one is written back. */
static void stat_counts_what_memory_controllers_moved(void **state)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();

    (void)state;
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -e cache-misses"), CMD_OK);
    prints("            62,502  cache-misses");
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -e imc/CAS_COUNT.RD,imc/CAS_COUNT.WR"), CMD_OK);
    prints("Counts of 'mix' on skx_unc_imc");
    prints("            62,502  imc/CAS_COUNT.RD");
    prints("            15,625  imc/CAS_COUNT.WR");
    assert_int_equal(cmd->sim.violation_count, 0);
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -r 2 --json -e cha/TOR_INSERTS.IA_MISS"), CMD_OK);
    prints("{\"pmu\":\"skx_unc_cha\",\"simulated\":true,");
    prints("\"counts\":[62502,");
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -e imc/CAS_COUNT.RD,instructions"), CMD_REFUSED);
    complains("\"instructions\": no such event on skx_unc_imc");
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -e instructions,imc/CAS_COUNT.RD"), CMD_REFUSED);
    complains("a list has events of cores, or of units, of boxes that there are");
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 -I 1 -e imc/CAS_COUNT.RD"), CMD_REFUSED);
    complains("-I: events of cores only");
}

static void stat_on(const char *line)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();

    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, line), CMD_OK);
    assert_int_equal(cmd->sim.violation_count, 0);
}

/*
 * Events of several types of units in one list; counts in what they are measured in, where this is no number of events.
 */
static void stat_counts_readings_and_says_their_measure(void **state)
{
    uint64_t energy;

    (void)state;
    stat_on("stat --sim kbl -n 1000000 -e msr/aperf/,cstate_pkg/c6-residency/,msr/mperf/ spin");
    prints("Counts of 'spin' on x86_msr,intel_cstate_pkg, ");
    prints("  cycles        msr/aperf   ");
    prints("                 0  ticks         cstate_pkg/c6-residency     (unproven)\n");
    prints("  ticks         msr/mperf   ");
    stat_on("stat --sim kbl -n 1000000 --json -e power/energy-pkg/,msr/smi/ spin");
    prints("{\"pmu\":\"rapl,x86_msr\",");
    prints("{\"event\":\"power/energy-pkg\",\"measure\":\"J\",\"multiplier\":1,\"divisor\":16384,\"mean\":");
    prints("{\"event\":\"msr/smi\",\"measure\":\"interrupts\",\"multiplier\":1,\"divisor\":1,\"mean\":0,");
    energy = number_behind("\"mean\":", 1);
    assert_compare(energy, >, 100);
    /* In joules: thousandths, rounded down. */
    stat_on("stat --sim kbl -n 1000000 -x, -e power/energy-pkg/ spin");
    assert_int_equal(number_behind("***\n0.", 1), energy * 1000 / 16384);
    prints(",J,power/energy-pkg,");
    prints(",/sec\n");
    stat_on("stat --sim kbl -n 1000000 -e power/energy-pkg/ spin");
    prints("  J             power/energy-pkg   ");
    prints(" /sec\n");
    /* Lists of events without a measure have no column for it. */
    stat_on("stat --sim skx2 -e imc/CAS_COUNT.RD,cha/TOR_INSERTS.IA_MISS");
    prints("Counts of 'mix' on skx_unc_imc,skx_unc_cha");
    prints("            62,502  imc/CAS_COUNT.RD");
    prints("            62,502  cha/TOR_INSERTS.IA_MISS");
}

/* Values of the moment, of each CPU or of one, in lists of their own. */
static void stat_shows_levels(void **state)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();

    (void)state;
    stat_on("stat --sim kbl -e msr/cpu_thermal_margin/");
    prints("                40  C             cpu_thermal_margin  (package0/die0/msr0)\n");
    prints("                43  C             cpu_thermal_margin  (package0/die0/msr3)\n");
    assert_null(strstr(printed, "Counts"));
    stat_on("stat --sim kbl -x, -e msr2/cpu_thermal_margin/");
    prints("42,C,cpu_thermal_margin,package0/die0/msr2\n");
    assert_null(strstr(printed, "msr1"));
    stat_on("stat --sim kbl --json -e msr1/cpu_thermal_margin/,msr3/cpu_thermal_margin/");
    prints("[{\"unit\":\"package0/die0/msr1\",\"level\":\"cpu_thermal_margin\",\"value\":41,\"measure\":\"C\"},\n"
           "{\"unit\":\"package0/die0/msr3\",\"level\":\"cpu_thermal_margin\",\"value\":43,\"measure\":\"C\"}]\n");
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim kbl -e msr/cpu_thermal_margin/,msr/aperf/"), CMD_REFUSED);
    complains("levels and events stand in lists of their own");
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim rome -e msr/cpu_thermal_margin/"), CMD_REFUSED);
    complains("\"cpu_thermal_margin\": no such event on x86_msr");
}

/* Of several types one is refused: nothing is counted, and no unit stays open. */
static void stat_refuses_a_list_of_units_as_a_whole(void **state)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();

    (void)state;
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim kbl -e msr/aperf/,power/energy-psys/"), CMD_REFUSED);
    complains("\"energy-psys\": not supported on rapl");
    assert_null(cmd->own_machine.open_units);
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim kbl -e msr/aperf/,instructions"), CMD_REFUSED);
    complains("\"instructions\": no such event on x86_msr");
    assert_null(cmd->own_machine.open_units);
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim kbl -e msr/irperf/"), CMD_REFUSED);
    complains("\"irperf\": not supported on x86_msr");
}

/* Bytes of 64 for each of these lines, in the time that -e shows. */
static void stat_shows_the_bandwidth_of_memory_controllers(void **state)
{
    static struct cmd_room room;
    struct cmd *cmd = fresh();
    uint64_t ns;

    (void)state;
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 --json -e imc/CAS_COUNT.RD,imc/CAS_COUNT.WR"), CMD_OK);
    ns = number_behind("\"ns\":", 1);
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 --json -M bandwidth"), CMD_OK);
    prints("{\"metric\":\"memory_read\",\"group\":\"bandwidth\",\"unit\":\"MB/s\"");
    assert_in_range(number_behind("\"millionths\":", 1), UINT64_C(62502) * 64 * 1000000000 / ns,
                    UINT64_C(62502) * 64 * 1000000000 / ns + 1);
    assert_in_range(number_behind("\"millionths\":", 2), UINT64_C(15625) * 64 * 1000000000 / ns,
                    UINT64_C(15625) * 64 * 1000000000 / ns + 1);
    assert_in_range(number_behind("\"millionths\":", 3), UINT64_C(78127) * 64 * 1000000000 / ns,
                    UINT64_C(78127) * 64 * 1000000000 / ns + 1);
    assert_int_equal(cmd->sim.violation_count, 0);
    /* All runs' lines in all runs' time: about as many a second. */
    cmd = fresh();
    cmd->room = &room;
    assert_int_equal(cmd_run_line(cmd, "stat --sim skx2 --json -r 3 -M memory_total"), CMD_OK);
    assert_in_range(number_behind("\"millionths\":", 1), UINT64_C(77000) * 64 * 1000000000 / ns,
                    UINT64_C(79000) * 64 * 1000000000 / ns);
}

static void stat_shows_ipc_rates_and_noise(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim skl -r 5"), CMD_OK);
    prints("*** SIMULATED CPU: skylake");
    prints("         2,100,000  instructions                # 0.27 insn per cycle");
    prints("% of all branches");
    prints("% of all cache refs");
    prints(" M/sec");
    prints("( +- 0.0");
    prints("mean of 5 runs");
}

static void stat_refuses_what_does_not_fit_and_says_why(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim core2 -e branches,branch-misses,cache-misses"), CMD_REFUSED);
    complains("3 events for 2 counters");
    assert_int_equal(line("stat --sim core2"), CMD_OK); /* the default list shrinks */
    assert_int_equal(line("stat -e cycles"), CMD_REFUSED);
    complains("--sim");
    assert_int_equal(line("stat --sim nosuch"), CMD_REFUSED);
    assert_int_equal(line("stat --sim no_pmu"), CMD_REFUSED);
}

/* The same runs counted by -e, with the arithmetic done here. */
static void stat_shows_metrics_of_what_it_counted(void **state)
{
    uint64_t instructions, cycles, branches, misses;

    (void)state;
    assert_int_equal(line("stat --sim zen2 --json -e instructions,cycles"), CMD_OK);
    instructions = number_behind("\"mean\":", 1);
    cycles = number_behind("\"mean\":", 2);
    assert_int_equal(line("stat --sim zen2 --json -M ipc"), CMD_OK);
    assert_in_range(number_behind("\"millionths\":", 1), instructions * 1000000 / cycles,
                    instructions * 1000000 / cycles + 1);
    prints("{\"metric\":\"ipc\",\"group\":\"ipc\",\"unit\":\"\",\"formula\":\"{instructions} / {cycles}\",");
    prints("\"quality\":\"exact\"}\n]}");
    /* All runs together, and two counters for four events: a pass for each metric. */
    assert_int_equal(line("stat --sim core2 --json -r 2 -e branches,branch-misses"), CMD_OK);
    branches = number_behind("\"counts\":[", 1);
    misses = number_behind("\"counts\":[", 2);
    assert_int_equal(line("stat --sim core2 --json -r 1 -M misses"), CMD_OK);
    assert_in_range(number_behind("\"millionths\":", 1), misses * 100000000 / branches,
                    misses * 100000000 / branches + 1);
    assert_compare(number_behind("\"millionths\":", 2), >, 1000000);
    assert_int_equal(line("stat --sim core2 -r 2 -M misses,ipc branches"), CMD_OK);
    prints("Metrics of 'branches' on core, 200,000 iterations, 2 runs:");
    prints("            24.8");
    prints("branch_miss_rate   % of branches\n");
    prints("  ipc\n");
    assert_int_equal(line("stat --sim icelake -M tma"), CMD_OK);
    prints("% of slots  (estimated)\n");
    assert_int_equal(line("stat --sim skl -M frontend_bound,retiring"), CMD_OK);
    assert_null(strstr(printed, "estimated"));
    assert_null(strstr(printed, "bad_speculation"));
}

static void a_metric_that_cannot_be_computed_says_why(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim skl -M bandwidth,ipc"), CMD_REFUSED);
    prints("                -  memory_total       \"arb\": no such PMU\n");
    prints("  ipc\n");
    assert_int_equal(line("stat --sim skl --json -M memory_total"), CMD_REFUSED);
    prints(",\"error\":\"\\\"arb\\\": no such PMU\"}\n]}");
    assert_int_equal(line("stat --sim zen2 -M tma"), CMD_USAGE);
    complains("no metric or group of metrics 'tma' of amd64_fam17h_zen2");
    assert_int_equal(line("stat --sim skl -M ipc,,tma"), CMD_USAGE);
    complains("branch_miss_rate  of misses      % of branches");
    assert_int_equal(line("stat --sim skl -M ipc -e cycles"), CMD_USAGE);
    complains("without -e and -I");
    assert_int_equal(line("stat --sim skl -M ipc -I 1"), CMD_USAGE);
    assert_int_equal(line("stat --sim skl -M"), CMD_USAGE);
    assert_int_equal(line("record --sim skl -M ipc"), CMD_USAGE);
    assert_int_equal(line("stat -M ipc"), CMD_REFUSED);
}

static void record_writes_every_sample_to_its_file(void **state)
{
    size_t lines = 0;

    (void)state;
    assert_int_equal(line("record --sim skl -e instructions -c 1000 -n 10000 -o out.txt spin"), CMD_OK);
    assert_string_equal(stored_name, "out.txt");
    for (size_t i = 0; i < stored_bytes; i++)
        lines += stored[i] == '\n';
    assert_int_equal(lines, 2 + 20);
    assert_non_null(strstr(stored, "(SIMULATED)"));
    assert_non_null(strstr(stored, "\tspin+0x"));
    prints("20 samples of instructions every 1,000");
    prints("100.00%         20  spin");
    assert_int_equal(line("record --sim skl -o full/disk spin"), CMD_REFUSED);
    complains("cannot write full/disk");
}

static int line_with_memory(const char *text, size_t bytes)
{
    static uint64_t memory[1 << 16];
    struct cmd *cmd = fresh();

    cmd->memory = memory;
    cmd->memory_bytes = bytes;
    return cmd_run_line(cmd, text);
}

static void record_writes_a_log_that_convert_reads_and_names_by_a_map(void **state)
{
    (void)state;
    assert_int_equal(line("record --sim skl --log log spin"), CMD_REFUSED);
    complains("no memory for a log");
    assert_int_equal(line_with_memory("record --sim skl --log full/disk spin", 1 << 18), CMD_REFUSED);
    complains("cannot write full/disk");
    assert_int_equal(line_with_memory("record --sim skl --log log spin", 400), CMD_REFUSED);
    complains("log: out of space");
    assert_int_equal(line_with_memory("record --sim skl -e instructions -c 1k -n 10k --log log spin", 1 << 18), CMD_OK);
    memcpy(kept, stored, kept_bytes = stored_bytes);
    assert_int_equal(line_with_memory("convert log", 0), CMD_OK);
    prints(" log of a simulated CPU\n source 0, set 0, event 0: INST_RETIRED.ANY (skl), a sample every 1,000\n"
           " source 0, set 0, event 0: counted 20,000\n 20 samples; lost 0, no room in the log for 0\n");
    assert_int_equal(line_with_memory("convert log --folded out", 1 << 18), CMD_OK);
    assert_string_equal(stored, "spin 20\n");
    assert_int_equal(line_with_memory("convert log --symbols map --folded out", 1 << 18), CMD_OK);
    assert_string_equal(stored, "round 20\n");
    prints("100.00%         20  0x1d1000  round+0x0\n");
    assert_int_equal(line_with_memory("convert log --symbols map --folded out", 64), CMD_REFUSED);
    complains("map: out of space");
    assert_int_equal(line_with_memory("convert log --folded out", 64), CMD_REFUSED);
    complains("folded stacks: out of space");
    assert_int_equal(line_with_memory("convert log --folded full/disk", 1 << 18), CMD_REFUSED);
    assert_int_equal(line_with_memory("convert log --symbols none --folded out", 1 << 18), CMD_REFUSED);
    complains("cannot read none");
    assert_int_equal(line("convert none"), CMD_REFUSED);
    assert_int_equal(line("convert text"), CMD_REFUSED);
    complains("text: not a whole log");
    assert_int_equal(line("convert"), CMD_USAGE);
    assert_int_equal(line("stat --folded x"), CMD_USAGE);
    kept_bytes--;
    assert_int_equal(line("convert log"), CMD_REFUSED);
    complains("log: not a whole log; --salvage reads what is sound of a log");
    assert_int_equal(line_with_memory("convert --salvage log --folded out", 1 << 18), CMD_OK);
    assert_string_equal(stored, "spin 20\n");
    prints(" records, 0 damaged ones dropped, 55 bytes behind them; the end is missing\n");
    assert_int_equal(line("convert --salvage text"), CMD_REFUSED);
    complains("text: not a whole log");
}

/* The callers of the model are of the tool's own making: a loop, which run called, which main called. */
static void record_with_callers_gives_stacks_to_each_form(void **state)
{
    (void)state;
    assert_int_equal(line_with_memory("record --sim skl -g -e instructions -c 1k -n 10k --folded out spin", 1 << 18),
                     CMD_OK);
    assert_string_equal(stored, "main;run;spin 20\n");
    assert_int_equal(line_with_memory("record --sim skl -g -e instructions -c 1k -n 10k --log log memcpy", 1 << 18),
                     CMD_OK);
    memcpy(kept, stored, kept_bytes = stored_bytes);
    assert_int_equal(line_with_memory("convert log --folded out", 1 << 18), CMD_OK);
    assert_string_equal(stored, "main;run;memcpy 60\n");
    assert_int_equal(line_with_memory("record --sim zen2 -g -e instructions -c 1k -n 10k --folded out spin", 1 << 18),
                     CMD_OK);
    assert_string_equal(stored, "main;run;spin 20\n");
    assert_int_equal(line_with_memory("record --sim skl -g -e instructions -c 1k spin", 1 << 18), CMD_USAGE);
    complains("name one");
    assert_int_equal(line("stat -g"), CMD_USAGE);
    assert_int_equal(line("top -g"), CMD_USAGE);
}

static void a_log_without_room_for_all_samples_says_so(void **state)
{
    (void)state;
    assert_int_equal(line_with_memory("record --sim skl -e instructions -c 1k -n 20k --log log spin", 4096), CMD_OK);
    complains("the log holds the first");
    memcpy(kept, stored, kept_bytes = stored_bytes);
    assert_int_equal(line_with_memory("convert log", 0), CMD_OK);
    assert_null(strstr(printed, "no room in the log for 0\n"));
}

static void record_gets_all_samples_in_spite_of_throttling(void **state)
{
    (void)state;
    assert_int_equal(line("record --sim skl -e instructions -c 500 -n 400000 spin"), CMD_OK);
    prints("samples of instructions every 500");
}

static void top_ends_with_a_key(void **state)
{
    struct cmd *cmd = fresh();

    (void)state;
    cmd->sink = &key_sink;
    keys = 2;
    assert_int_equal(cmd_run_line(cmd, "top --sim skl spin"), CMD_OK);
    prints("round 3");
    assert_null(strstr(printed, "round 4"));
}

/* The whole way of precise events; perf reads what is written in tests/build/check_results.py. */
static void record_samples_precise_events(void **state)
{
    (void)state;
    assert_int_equal(line("record --sim skl -e MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp -c 1k -n 100k chase"), CMD_OK);
    prints("         99  0x1d0c08  chase+0x8\n");
    assert_int_equal(line("record --sim icelake -e INST_RETIRED.PREC_DIST:ppp -c 1k -n 100k spin"), CMD_OK);
    prints("200 samples of INST_RETIRED.PREC_DIST:ppp every 1,000");
    assert_int_equal(line("top --sim skl -e MEM_INST_RETIRED.ALL_LOADS:pp -c 1k -n 10k -r 1 chase"), CMD_OK);
    prints("kernel: 100.0%  exact: 100.0%");
    assert_int_equal(line("record --sim zen4 -e cycles:pp spin"), CMD_REFUSED);
    assert_int_equal(line("record --sim skl -d spin"), CMD_USAGE);
    assert_non_null(strstr(errors, "-d: what is known of the data is written to --log and --perf; name one"));
}

/* The whole way of branches in samples; perf reads what is written in tests/build/check_results.py. */
static void record_has_branches_in_its_samples(void **state)
{
    static const char *const cpus[] = {"core2", "haswell_smt", "skl", "sapphirerapids", "zen4"};
    char words[120];

    (void)state;
    for (unsigned i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        snprintf(words, sizeof words, "record --sim %s -e instructions -c 1k -n 10k -b --log log spin", cpus[i]);
        assert_int_equal(line_with_memory(words, 1 << 18), CMD_OK, i);
        prints("20 samples of instructions every 1,000");
    }
    assert_int_equal(line("record --sim skl -b spin"), CMD_USAGE);
    assert_non_null(strstr(errors, "-b: branches are written to --log and --perf; name one"));
    assert_int_equal(line("record --sim nothing -b --log log spin"), CMD_REFUSED);
    assert_int_equal(line("record --sim zen3 -b --log log spin"), CMD_REFUSED);
    assert_non_null(strstr(errors, "upmu does not drive Zen 3's branch sampling"));
}

/* PV-015: samples per second, the share of kernel mode, the exact ones; for each function samples, share and file. */
static void top_shows_the_rate_the_kernels_share_and_each_function(void **state)
{
    static const struct {
        uint64_t ip;
        uint16_t flags;
    } taken[] = {
        {0x1d0c04, 0}, {0x1d0c04, 0}, {0x1d0c08, 0}, {0x1d0c04, UPMU_SAMPLE_USER}, {0x1d1000, UPMU_SAMPLE_USER},
        {0x1d1000, UPMU_SAMPLE_USER}, {0x50, UPMU_SAMPLE_USER}, {0, UPMU_SAMPLE_NO_FRAME},
        {0x1d0c04, UPMU_SAMPLE_NO_FRAME | UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_EXACT},
    };
    struct record record = {.list = "cycles", .period = 10000, .elapsed_ns = 2000000};
    struct cmd *cmd = fresh();

    (void)state;
    cmd->simulated = true;
    for (unsigned i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        struct upmu_sample sample = {.ip = taken[i].ip, .flags = taken[i].flags, .lost = i == 2};

        histogram_add(cmd, &record, &sample);
    }
    print_top(cmd, &record);
    assert_string_equal(printed, " top: 4,500 irqs/s  kernel:  50.0%  exact:  12.5%  [cycles every 10,000], 1 CPU\n\n"
                                 "    samples    pcnt  function        DSO\n"
                                 "          4   44.4%  chase           [kernel]\n"
                                 "          2   22.2%  spin            [simulated]\n"
                                 "          1   11.1%  chase           [simulated]\n"
                                 "          1   11.1%  (elsewhere)     [simulated]\n"
                                 "\n lost 1, without address 1, not listed 0\n");
    printed_bytes = 0;
    record.elapsed_ns = 0;
    print_top(cmd, &record);
    prints(" top: 9 irqs (no clock)  kernel:  50.0%");
    assert_int_equal(line("top --sim skl -e instructions -c 1k -n 10k -r 1 spin"), CMD_OK);
    prints(" irqs/s  kernel: 100.0%  exact:   0.0%  [instructions every 1,000], 1 CPU\n\n"
           "    samples    pcnt  function        DSO\n"
           "         20  100.0%  spin            [kernel]\n");
}

static void selftest_passes_on_good_and_fails_on_bad_silicon(void **state)
{
    static const char *const good[] = {"core2",   "nehalem", "skylake",    "skylake_nofw",
                                       "icelake", "version1",   "merom_early"};
    static const char *const bad[] = {"counts_nothing", "ignores_writes", "no_pmu"};
    char text[64];

    (void)state;
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        snprintf(text, sizeof text, "selftest --sim %s", good[i]);
        if (line(text) != CMD_OK)
            fail_msg("%s:\n%s%s", text, printed, errors);
        prints(" 0 failed");
        assert_null(strstr(printed, "FAIL"));
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "selftest --sim %s", bad[i]);
        if (line(text) != CMD_REFUSED)
            fail_msg("%s:\n%s%s", text, printed, errors);
    }
}

static void info_shows_counters_and_the_probes_verdict(void **state)
{
    (void)state;
    assert_int_equal(line("info --sim core2"), CMD_OK);
    prints("PMC1              40  0x00000001  free");
    prints("FIXED2            40  0x40000002  free");
    prints("Probe        interrupts");
    assert_int_equal(line("info --sim no_pmu"), CMD_OK);
    prints("none that can be used");
}

static void rdpmc_reads_counters_by_index(void **state)
{
    static const char *const indices[] = {"0", "1", "0x40000000", "0x40000001", "0x40000002"};
    char text[64];

    for (unsigned i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        snprintf(text, sizeof text, "rdpmc --sim core2 %s", indices[i]);
        assert_int_equal(line(text), CMD_OK);
        prints("0x0 0\n");
    }
    (void)state;
    assert_int_equal(line("rdpmc --sim core2 2"), CMD_REFUSED);
    complains("no such counter");
    assert_int_equal(line("rdpmc --sim core2 x"), CMD_USAGE);
}

/*
 * MX-047: each index has a value of its own, which is shown whole in both ways of writing it.
 * Catches: a tool that always prints 0, that reads another counter than it was told, or cuts what it read.
 */
static void rdpmc_shows_the_value_of_the_counter_that_was_named(void **state)
{
    static const struct {
        const char *index, *shown;
        uint32_t address;
        uint64_t value;
    } counters[] = {
        {"0", "0xfedcba9876 1094624909430\n", 0xc1, UINT64_C(0xfedcba9876)},
        {"1", "0x10 16\n", 0xc2, 0x10},
        {"0x40000000", "0x1 1\n", 0x309, 1},
        {"0x40000001", "0x8000000001 549755813889\n", 0x30a, UINT64_C(0x8000000001)},
        {"1073741826", "0xffffffffff 1099511627775\n", 0x30b, UINT64_C(0xffffffffff)},
    };
    static struct upmu_sim sim;
    static struct upmu_machine machine;
    static struct upmu_cpu cpu;
    const struct cmd_live live = {.port = &sim.port, .machine = &machine, .cpu = &cpu};
    struct cmd *cmd;
    char text[64];

    (void)state;
    upmu_sim_init(&sim, upmu_sim_profile("core2"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    memset(&cpu, 0, sizeof cpu);
    assert_int_equal(upmu_machine_init(&machine, &sim.port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++)
        upmu_sim_poke(&sim, 0, counters[i].address, counters[i].value);
    for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        cmd = fresh();
        cmd->live = &live;
        snprintf(text, sizeof text, "rdpmc %s", counters[i].index);
        assert_int_equal(cmd_run_line(cmd, text), CMD_OK);
        assert_string_equal(printed, counters[i].shown);
    }
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
}

static void the_model_found_no_fault_with_any_command(void **state)
{
    static const char *const lines[] = {"info",     "stat",    "stat -I 1 -n 10m spin",      "record", "top -r 1",
                                        "selftest", "rdpmc 0", "pmcstat -w 1 -n 10m cycles", "branches"};
    char text[64];

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct cmd *cmd = fresh();

        cmd->default_sim = "skl";
        snprintf(text, sizeof text, "%s", lines[i]);
        assert_int_equal(cmd_run_line(cmd, text), CMD_OK);
        prints("SIMULATED");
        if (cmd->sim.violation_count != 0)
            fail_msg("%s: %s, register %#x", text, cmd->sim.first_violation.text,
                     (unsigned)cmd->sim.first_violation.address);
    }
}

/* Every CPU that `pmus` lists, where a PMU is asked for. */
static void a_simulated_cpu_names_its_pmu_on_paper(void **state)
{
    (void)state;
    assert_int_equal(line("wrmsr list --sim northwood_smtoff cycles"), CMD_OK);
    assert_int_equal(line("encode --sim skylake_smtoff cycles"), CMD_OK);
    assert_int_equal(line("list --sim zen6 'bp_*'"), CMD_OK);
    assert_int_equal(line("list --sim nosuch"), CMD_REFUSED);
    complains("no PMU 'nosuch'");
}

static void an_interval_that_no_workload_lasts_ends_with_it(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim skl -I 18446744073710 -e cycles -n 10m spin"), CMD_OK);
    assert_null(strstr(strstr(printed, " us ") + 1, " us "));
}

/* What the model was told last comes first; each CPU says what it knows, and nothing else. */
static void branches_shows_the_last_ones_with_what_is_known(void **state)
{
    (void)state;
    assert_int_equal(line("branches --sim skl -n 100 memset"), CMD_OK);
    assert_non_null(strstr(
        printed,
        "\n Last branches of 'memset', newest first: 4\n\n"
        "  from                                    to\n"
        "  0x1d0014 memset+0x14                    0x1d1408 run+0x8                        mispredicted, 21 cycles\n"
        "  0x1d0010 memset+0x10                    0x1d0000 memset+0x0                     3 cycles\n"
        "  0x1d0010 memset+0x10                    0x1d0000 memset+0x0                     12 cycles\n"
        "  0x1d1403 run+0x3                        0x1d0000 memset+0x0                     2 cycles\n"));
    assert_int_equal(line("branches --sim core2 mix"), CMD_OK);
    prints("\n Last branches of 'mix', newest first: 1\n"); /* the way into the freeze has the other three */
    prints("\n  0x1d1008 spin+0x8                       0x1d1428 run+0x28\n");
    assert_int_equal(line("branches --sim spr spin"), CMD_OK);
    prints("mispredicted, return, 21 cycles\n");
    prints(" conditional, 3 cycles\n");
    prints(" call, 2 cycles\n");
    assert_int_equal(line("branches --sim zen4 spin"), CMD_OK);
    prints("0x1d1428 run+0x28                       mispredicted\n");
    assert_null(strstr(printed, "wrong path"));
    assert_int_equal(line("branches --sim p6"), CMD_REFUSED);
    complains("not supported on p6: upmu knows no branch records of this model");
    assert_int_equal(line("branches --sim skl nosuch"), CMD_USAGE);
    assert_int_equal(line("branches --sim skl -e cycles"), CMD_USAGE);
}

/* Nothing to work on: no ring 0, no model, or a model whose PMU does not come up. */
static void without_a_pmu_each_command_refuses(void **state)
{
    static const char *const lines[] = {"info",       "stat",           "stat -M ipc",       "stat -e imc/CAS_COUNT.RD",
                                        "record",     "record -g --log l", "top",            "uncore",
                                        "selftest",   "pmcstat cycles", "setevent 0 cycles", "setpce on",
                                        "rdpmc 0",    "keepawake cycles", "branches"};
    char text[64];

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(line(lines[i]), CMD_REFUSED, i);
        complains("simulate one with --sim");
        snprintf(text, sizeof text, "%s --sim p4_no_perfmon", lines[i]);
        if (strcmp(lines[i], "info") != 0 && strcmp(lines[i], "selftest") != 0) {
            assert_int_equal(line(text), CMD_REFUSED);
            complains("did not come up");
        }
    }
}

/* ---- The loops ---- */

static uint64_t step_child(pid_t child)
{
    uint64_t steps = 0;
    int status;

    assert_int_equal(waitpid(child, &status, 0), child); /* its SIGSTOP */
    for (;;) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSTOPPED(status))
            break;
        steps++;
    }
    return steps;
}

static void CMD_LOOP_ABI step_chase(uintptr_t iterations, void *buffer, uintptr_t mask)
{
    (void)mask;
    (void)!cmd_loop_chase(iterations, buffer);
}

static uint64_t steps_of(cmd_loop *loop, uintptr_t iterations)
{
    static _Alignas(64) void *buffer[1024];
    pid_t child;
    uint64_t steps;

    buffer[0] = buffer; /* a chain of one, for chase */
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        loop(iterations, buffer, sizeof buffer / 2 - 1);
        _exit(0);
    }
    steps = step_child(child);
    return steps;
}

static void loops_retire_what_their_table_says(void **state)
{
    static const struct {
        cmd_loop *loop;
        unsigned instructions;
    } loops[] = {
        {cmd_loop_spin, CMD_SPIN_INSTRUCTIONS},         {cmd_loop_memset, CMD_MEMSET_INSTRUCTIONS},
        {cmd_loop_memcpy, CMD_MEMCPY_INSTRUCTIONS},     {cmd_loop_branches, CMD_BRANCHES_INSTRUCTIONS},
        {step_chase, CMD_CHASE_INSTRUCTIONS},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        uint64_t few = steps_of(loops[i].loop, 100), many = steps_of(loops[i].loop, 1100);

        assert_int_equal(many - few, 1000 * loops[i].instructions, i);
    }
}

static void the_chain_of_chase_visits_every_line_once(void **state)
{
    static _Alignas(64) unsigned char buffer[64 * 1024];
    const struct cmd_live live = {.buffer = buffer, .buffer_bytes = sizeof buffer};
    struct cmd *cmd = fresh();
    void *at = buffer + sizeof buffer / 2;
    unsigned lines = sizeof buffer / 2 / 64, i;

    (void)state;
    cmd->live = &live;
    cmd_workload_prepare(cmd);
    for (i = 1; i <= lines; i++) {
        at = *(void **)at;
        assert_int_equal(at == buffer + sizeof buffer / 2, i == lines, i);
    }
}

/* The line after so many steps from line 0. */
static unsigned chase_line(unsigned steps, unsigned lines)
{
    unsigned line_now = 0;

    while (steps-- != 0)
        line_now = (line_now * 5 + 1) % lines;
    return line_now;
}

/* The executing CPU's road, with a model's registers behind the hooks: the loops run, nothing counts. */
static void the_live_road_runs_the_loops_natively(void **state)
{
    static _Alignas(64) unsigned char buffer[64 * 1024];
    static struct upmu_sim sim;
    static struct upmu_machine machine;
    static struct upmu_cpu cpu;
    const struct cmd_live live = {
        .port = &sim.port, .machine = &machine, .cpu = &cpu, .buffer = buffer, .buffer_bytes = sizeof buffer};
    struct cmd *cmd;

    (void)state;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    memset(&cpu, 0, sizeof cpu);
    assert_int_equal(upmu_machine_init(&machine, &sim.port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    cmd = fresh();
    cmd->live = &live;
    cmd->default_sim = "core2";
    memset(buffer, 0xee, sizeof buffer / 2);
    assert_int_equal(cmd_run_line(cmd, "stat -n 4096 -e instructions memset"), CMD_OK);
    assert_null(strstr(printed, "SIMULATED"));
    prints("Counts of 'memset' on skl");
    prints("(unproven)");
    for (unsigned i = 0; i < 4096 * sizeof(void *); i++)
        assert_int_equal(buffer[i % (sizeof buffer / 2)], 0, i);
    memset(buffer, 0x55, sizeof buffer / 4);
    assert_int_equal(cmd_run_line(cmd, "stat -n 4096 -e instructions memcpy"), CMD_OK);
    assert_memory_equal(buffer, buffer + sizeof buffer / 4, 4096 * sizeof(void *) < sizeof buffer / 4
                                                                ? 4096 * sizeof(void *)
                                                                : sizeof buffer / 4);
    assert_int_equal(cmd_run_line(cmd, "record -n 1000 chase"), CMD_OK);
    assert_int_equal(cmd_run_line(cmd, "record -g --folded out -n 1000 chase"), CMD_REFUSED);
    complains("simulated only");
    prints("no sample");
    assert_ptr_equal(cmd->chain_at, buffer + sizeof buffer / 2 + chase_line(1000, sizeof buffer / 2 / 64) * 64);
    assert_int_equal(cmd_run_line(cmd, "stat -n 1000 -r 2"), CMD_OK); /* mix: all the others */
    /* Of branches the model saw the way back from the start, and that into the freeze; the loops are the machine's. */
    assert_int_equal(cmd_run_line(cmd, "branches -n 10 spin"), CMD_OK);
    prints("\n Last branches of 'spin', newest first: 4\n");
    assert_true(upmu_sim_peek(&sim, 0, 0x1d9) == 0 && upmu_sim_peek(&sim, 0, 0x1c8) == 0);
    upmu_sim_poke(&sim, 0, 0x1d9, 1);
    assert_int_equal(cmd_run_line(cmd, "branches -n 10 spin"), CMD_REFUSED);
    complains("other software records branches");
    upmu_sim_poke(&sim, 0, 0x1d9, 0);
    assert_int_equal(cmd_run_line(cmd, "encode cycles"), CMD_OK);
    prints("IA32_PERFEVTSEL0 0x186 0x43003c");
    assert_int_equal(cmd_run_line(cmd, "info --sim core2"), CMD_OK);
    prints("This machine GenuineIntel");
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    assert_int_equal(sim.violation_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(print_pads_groups_and_fills),
        cmocka_unit_test(milli_shows_decimals),
        cmocka_unit_test(json_text_is_escaped),
        cmocka_unit_test(division_and_scaling_agree_with_the_compilers),
        cmocka_unit_test(numbers_take_hex_and_thousands),
        cmocka_unit_test(an_unknown_command_or_option_is_a_usage_error),
        cmocka_unit_test(empty_lines_and_comments_do_nothing),
        cmocka_unit_test(quotes_hold_blanks_and_long_lines_are_refused),
        cmocka_unit_test(every_command_explains_itself),
        cmocka_unit_test(help_explains_each_option_of_its_usage),
        cmocka_unit_test(the_version_is_that_of_the_headers),
        cmocka_unit_test(encode_shows_the_lowest_general_counter),
        cmocka_unit_test(encode_shows_a_pinned_counter),
        cmocka_unit_test(encode_shows_payload_registers_after_the_select),
        cmocka_unit_test(encode_shows_the_fixed_control_without_a_general_form),
        cmocka_unit_test(encode_shows_the_registers_of_each_make),
        cmocka_unit_test(encode_writes_json),
        cmocka_unit_test(encode_placed_shows_what_the_list_gets),
        cmocka_unit_test(wrmsr_lists_the_writes_in_order),
        cmocka_unit_test(a_refused_event_is_explained),
        cmocka_unit_test(place_names_counters),
        cmocka_unit_test(pack_names_sets_and_says_whether_fewer_are_possible),
        cmocka_unit_test(place_refuses_with_the_collision),
        cmocka_unit_test(list_knows_units_outside_the_cores),
        cmocka_unit_test(list_of_a_unit_searches_the_file_of_catalogues),
        cmocka_unit_test(encode_shows_the_registers_of_a_units_event),
        cmocka_unit_test(list_matches_globs_and_names_aliases),
        cmocka_unit_test(events_are_listed_and_encoded_from_a_file_of_catalogues),
        cmocka_unit_test(pmus_lists_models_and_simulations),
        cmocka_unit_test(every_model_lists_encodes_and_places_by_its_name),
        cmocka_unit_test(stat_counts_exactly_what_the_model_ran),
        cmocka_unit_test(a_machine_of_several_cpus_is_simulated),
        cmocka_unit_test(stat_counts_what_memory_controllers_moved),
        cmocka_unit_test(stat_shows_ipc_rates_and_noise),
        cmocka_unit_test(stat_refuses_what_does_not_fit_and_says_why),
        cmocka_unit_test(record_writes_a_log_that_convert_reads_and_names_by_a_map),
        cmocka_unit_test(a_log_without_room_for_all_samples_says_so),
        cmocka_unit_test(stat_shows_the_bandwidth_of_memory_controllers),
        cmocka_unit_test(stat_counts_readings_and_says_their_measure),
        cmocka_unit_test(stat_shows_levels),
        cmocka_unit_test(stat_refuses_a_list_of_units_as_a_whole),
        cmocka_unit_test(stat_shows_metrics_of_what_it_counted),
        cmocka_unit_test(a_metric_that_cannot_be_computed_says_why),
        cmocka_unit_test(record_writes_every_sample_to_its_file),
        cmocka_unit_test(record_with_callers_gives_stacks_to_each_form),
        cmocka_unit_test(record_gets_all_samples_in_spite_of_throttling),
        cmocka_unit_test(top_ends_with_a_key),
        cmocka_unit_test(record_samples_precise_events),
        cmocka_unit_test(record_has_branches_in_its_samples),
        cmocka_unit_test(top_shows_the_rate_the_kernels_share_and_each_function),
        cmocka_unit_test(selftest_passes_on_good_and_fails_on_bad_silicon),
        cmocka_unit_test(info_shows_counters_and_the_probes_verdict),
        cmocka_unit_test(rdpmc_reads_counters_by_index),
        cmocka_unit_test(rdpmc_shows_the_value_of_the_counter_that_was_named),
        cmocka_unit_test(the_model_found_no_fault_with_any_command),
        cmocka_unit_test(a_simulated_cpu_names_its_pmu_on_paper),
        cmocka_unit_test(an_interval_that_no_workload_lasts_ends_with_it),
        cmocka_unit_test(branches_shows_the_last_ones_with_what_is_known),
        cmocka_unit_test(without_a_pmu_each_command_refuses),
        cmocka_unit_test(loops_retire_what_their_table_says),
        cmocka_unit_test(the_chain_of_chase_visits_every_line_once),
        cmocka_unit_test(the_live_road_runs_the_loops_natively),
    };

    return cmocka_run_group_tests_name("cmd", tests, NULL, NULL);
}

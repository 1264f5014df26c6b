/* SPDX-License-Identifier: MIT */
/*
 * Encodings against libpfm4: every event of its tables of Core 2, Nehalem, Skylake, NetBurst and AMD bare,
 * with each unit mask, with pairs of unit masks, and each of these with each modifier,
 * is given as the same text to libpfm4 and to upmu.  Register words must be equal, and
 * what libpfm4 refuses because the hardware cannot do it must be refused.  Of its other
 * tables, names with each unit mask that both have must mean the same.
 *
 * Differences are listed, with the correct side by a second source, in
 * tests/oracle/exceptions.tsv; a line that explains nothing is a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <perfmon/pfmlib.h>
#include <upmu/catalogs.h>
#include <upmu/pmu.h>
#include <upmu/upmu.h>

#include "tests/oracle/exceptions.h"

#define TEXT_SIZE 256

/* Pairs of unit masks tried per event, spread over all that there are. */
#define PAIRS 24u

/* Differences shown per table; all are counted. */
#define SHOWN 25u

/* Of the rows that libpfm4 encodes and no second source corrects, at least so many per mille agree. */
#define AGREE_PER_MILLE 995u

/* Of the names of other tables that both have and no second source corrects. */
#define NAMES_AGREE_PER_CENT 99u

/* EN and INT of the select word: libpfm4 sets them, upmu leaves them to the driver. */
#define SELECT_IGNORED ((UINT64_C(1) << 20) | (UINT64_C(1) << 22))

struct oracle_words {
    uint64_t select;
    uint64_t payload;
};

struct oracle_tally {
    struct upmu_pmu pmu;
    unsigned encoded, agreed; /* rows that libpfm4 encodes */
    unsigned twins;           /* of these that agree, with the code of the other payload register */
    unsigned corrected;       /* that differ, and a second source says as we do */
    unsigned missing;         /* that differ, and we have to learn */
    unsigned refused, refused_too, refused_explained; /* rows that it refuses because of the hardware */
    unsigned repeated, confirmed;                     /* rows that it refuses for giving what is wired in the event */
    unsigned shown;
};

static struct oracle_exceptions exceptions;

/* The whole text, or the test fails. */
__attribute__((format(printf, 2, 3))) static void write_text(char out[TEXT_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    assert_in_range(vsnprintf(out, TEXT_SIZE, format, arguments), 1, TEXT_SIZE - 1);
    va_end(arguments);
}

/* ---- The two sides ---- */

static int encode_theirs(const char *text, struct oracle_words *out_words)
{
    uint64_t codes[4] = {0};
    pfm_pmu_encode_arg_t argument;
    int answer;

    memset(&argument, 0, sizeof argument);
    argument.size = sizeof argument;
    argument.codes = codes;
    argument.count = 4;
    answer = pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &argument);
    assert_in_range(argument.count, 0, 4);
    /* NetBurst: ESCR and CCCR. */
    out_words->select = strncmp(text, "netburst", 8) == 0 ? codes[0] : codes[0] & ~SELECT_IGNORED;
    out_words->payload = argument.count > 1 ? codes[1] : 0;
    return answer;
}

/*
 * `*out_twin`: the words with the code of the other payload register, which upmu may
 * take as well: it says OFFCORE_RESPONSE and takes the register that is free.
 */
static enum upmu_status encode_ours(const struct upmu_pmu *pmu, const char *text, struct oracle_words *out_words,
                                    struct oracle_words *out_twin)
{
    struct upmu_event event;
    struct upmu_row row;
    struct upmu_why why;
    enum upmu_status status = upmu_event_parse(pmu, text, &event, &why);

    if (status != UPMU_OK)
        return status;
    /* libpfm4 counts both hyper-threads and sets ENABLE; of replay tags it gives no registers. */
    if (strncmp(pmu->name, "netburst", 8) == 0) {
        out_words->select = (event.config & 0xffffffff) | (event.config >> 2 & 3);
        out_words->payload = event.config >> 32 | 1u << 12;
        *out_twin = *out_words;
        return UPMU_OK;
    }
    assert_int_equal(event.config2, 0);
    out_words->select = event.config & ~SELECT_IGNORED;
    out_words->payload = event.config1;
    *out_twin = *out_words;
    assert_true(upmu_catalog_row(pmu->catalog, event.id.row, &row));
    if (row.code2)
        out_twin->select = (out_words->select & ~UINT64_C(0xff)) | row.code2;
    return UPMU_OK;
}

/* ---- One row ---- */

static bool same_words(const struct oracle_words *a, const struct oracle_words *b)
{
    return a->select == b->select && a->payload == b->payload;
}

/* A difference in the words of exceptions.tsv, looked up there; NULL: unexplained. */
static const struct oracle_exception *explain(struct oracle_tally *tally, const char *text, const char *difference)
{
    const struct oracle_exception *exception =
        oracle_exceptions_explain(&exceptions, tally->pmu.name, text, difference);

    if (!exception && tally->shown++ < SHOWN)
        print_message("    differs: %s::%s: %s\n", tally->pmu.name, text, difference);
    return exception;
}

/* libpfm4's word of EVENT:A:B is that of EVENT:A or of EVENT:B: a name for it exists. */
static bool one_mask_says_it(const struct oracle_tally *tally, const char *text, const struct oracle_words *both)
{
    char event[80], first[80], second[80], rest[80], single[TEXT_SIZE];
    struct oracle_words words = {0, 0};

    if (sscanf(text, "%79[^:]:%79[^:]:%79[^:]:%79s", event, first, second, rest) != 4)
        return false;
    write_text(single, "%s::%s:%s:%s", tally->pmu.name, event, first, rest);
    if (encode_theirs(single, &words) == PFM_SUCCESS && same_words(&words, both))
        return true;
    write_text(single, "%s::%s:%s:%s", tally->pmu.name, event, second, rest);
    return encode_theirs(single, &words) == PFM_SUCCESS && same_words(&words, both);
}

/* libpfm4 encodes the row: so must we, to the same words. */
static void compare_encoded(struct oracle_tally *tally, const char *text, const struct oracle_words *theirs)
{
    char name[TEXT_SIZE], difference[TEXT_SIZE];
    struct oracle_words ours = {0, 0}, twin = {0, 0};
    const struct oracle_exception *exception;
    enum upmu_status status;

    write_text(name, "%s::%s", tally->pmu.name, text);
    status = encode_ours(&tally->pmu, name, &ours, &twin);
    tally->encoded++;
    if (status == UPMU_OK && (same_words(&ours, theirs) || same_words(&twin, theirs))) {
        tally->agreed++;
        tally->twins += !same_words(&ours, theirs);
        return;
    }
    if (status == UPMU_ERR_MASKS_EXCLUSIVE && one_mask_says_it(tally, text, theirs))
        write_text(difference, "one mask says it");
    else if (status != UPMU_OK)
        write_text(difference, "upmu refuses: %s", upmu_status_text(status));
    else
        write_text(difference, "select^%#llx payload^%#llx",
                   (unsigned long long)(((theirs->select & 0xff) == (twin.select & 0xff) ? twin.select : ours.select) ^
                                        theirs->select),
                   (unsigned long long)(ours.payload ^ theirs->payload));
    exception = explain(tally, text, difference);
    if (exception && oracle_exception_is_ours(exception))
        tally->corrected++;
    else
        tally->missing++;
}

/* libpfm4 refuses the row: so must we. */
static void compare_refused(struct oracle_tally *tally, const char *text, int answer)
{
    char name[TEXT_SIZE], difference[TEXT_SIZE];
    struct oracle_words ours, twin;

    write_text(name, "%s::%s", tally->pmu.name, text);
    tally->refused++;
    if (encode_ours(&tally->pmu, name, &ours, &twin) != UPMU_OK) {
        tally->refused_too++;
        return;
    }
    write_text(difference, "libpfm4 refuses: %s", pfm_strerror(answer));
    if (explain(tally, text, difference))
        tally->refused_explained++;
}

/*
 * libpfm4 refuses a modifier that the event has wired, whatever its value.  That is
 * a rule of its own: we may take the value that is wired, and must refuse others, so
 * the row is refused or means what it means without the modifier.
 */
static void compare_repeated(struct oracle_tally *tally, const char *text, const char *plain)
{
    char name[TEXT_SIZE];
    struct oracle_words ours = {0, 0}, without = {0, 0}, twin;

    tally->repeated++;
    write_text(name, "%s::%s", tally->pmu.name, text);
    if (encode_ours(&tally->pmu, name, &ours, &twin) == UPMU_OK) {
        write_text(name, "%s::%s", tally->pmu.name, plain);
        if (encode_ours(&tally->pmu, name, &without, &twin) != UPMU_OK || !same_words(&ours, &without)) {
            (void)explain(tally, text, "libpfm4 refuses: wired");
            return;
        }
    }
    tally->confirmed++;
}

/* `plain` is the row without its modifier. */
static void compare_row(struct oracle_tally *tally, const char *text, const char *plain)
{
    char name[TEXT_SIZE];
    struct oracle_words theirs = {0, 0};
    int answer;

    write_text(name, "%s::%s", tally->pmu.name, text);
    answer = encode_theirs(name, &theirs);
    if (answer == PFM_SUCCESS)
        compare_encoded(tally, text, &theirs);
    else if (answer == PFM_ERR_ATTR_SET)
        compare_repeated(tally, text, plain);
    else
        compare_refused(tally, text, answer);
}

/* ---- All rows ---- */

static int describe_attribute(int event, int number, pfm_event_attr_info_t *out_info)
{
    memset(out_info, 0, sizeof *out_info);
    out_info->size = sizeof *out_info;
    return pfm_get_event_attr_info(event, number, PFM_OS_NONE, out_info);
}

/* One modifier of one event and mask, with each of its values. */
static void compare_modifier(struct oracle_tally *tally, const char *base, const pfm_event_attr_info_t *modifier)
{
    static const unsigned numbers[] = {1, 2, 15, 255};
    char text[TEXT_SIZE], plain[TEXT_SIZE];
    bool is_number = modifier->type == PFM_ATTR_MOD_INTEGER;

    if (strcmp(modifier->name, "u") == 0 || strcmp(modifier->name, "k") == 0) {
        write_text(text, "%s:%s=1:%s=0", base, modifier->name, modifier->name[0] == 'u' ? "k" : "u");
        compare_row(tally, text, text);
        return;
    }
    write_text(plain, "%s:u=1:k=1", base);
    for (unsigned i = 0; i < (is_number ? 4u : 2u); i++) {
        write_text(text, "%s:%s=%u", plain, modifier->name, is_number ? numbers[i] : i);
        compare_row(tally, text, plain);
    }
    /* libpfm4 takes edges of comparisons only. */
    if (strcmp(modifier->name, "e") == 0) {
        write_text(text, "%s:%s=1:e=1", plain, strncmp(tally->pmu.name, "netburst", 8) == 0 ? "thr" : "c");
        compare_row(tally, text, plain);
    }
}

static void compare_with_modifiers(struct oracle_tally *tally, const pfm_event_info_t *info, const char *base)
{
    char text[TEXT_SIZE];

    write_text(text, "%s:u=1:k=1", base);
    compare_row(tally, text, text);
    for (int i = 0; i < info->nattrs; i++) {
        pfm_event_attr_info_t attribute;

        assert_int_equal(describe_attribute(info->idx, i, &attribute), PFM_SUCCESS, i);
        if (attribute.type == PFM_ATTR_MOD_BOOL || attribute.type == PFM_ATTR_MOD_INTEGER)
            compare_modifier(tally, base, &attribute);
    }
}

static void compare_pairs(struct oracle_tally *tally, const pfm_event_info_t *info, const char *const *mask,
                          unsigned masks)
{
    unsigned all = masks * (masks - 1u) / 2u, tried = all < PAIRS ? all : PAIRS, pair = 0, done = 0;
    char text[TEXT_SIZE];

    for (unsigned i = 0; i < masks; i++)
        for (unsigned j = i + 1u; j < masks; j++, pair++) {
            if (pair * tried / all < done)
                continue;
            done++;
            write_text(text, "%s:%s:%s:u=1:k=1", info->name, mask[i], mask[j]);
            compare_row(tally, text, text);
        }
    assert_int_equal(done, tried);
}

static void compare_event(struct oracle_tally *tally, int event)
{
    const char *mask[64];
    unsigned masks = 0;
    pfm_event_info_t info;
    char text[TEXT_SIZE];

    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    assert_int_equal(pfm_get_event_info(event, PFM_OS_NONE, &info), PFM_SUCCESS);
    compare_with_modifiers(tally, &info, info.name);
    for (int i = 0; i < info.nattrs; i++) {
        pfm_event_attr_info_t attribute;

        assert_int_equal(describe_attribute(event, i, &attribute), PFM_SUCCESS, i);
        if (attribute.type != PFM_ATTR_UMASK)
            continue;
        assert_compare(masks, <, sizeof mask / sizeof mask[0]);
        mask[masks++] = attribute.name;
        write_text(text, "%s:%s", info.name, attribute.name);
        compare_with_modifiers(tally, &info, text);
    }
    if (masks > 1)
        compare_pairs(tally, &info, mask, masks);
}

static void report(const struct oracle_tally *tally)
{
    unsigned counted = tally->encoded - tally->corrected;
    unsigned per_myriad = (unsigned)((uint64_t)tally->agreed * 10000u / counted);

    print_message("    %s: libpfm4 encodes %u rows: %u agree, %u differ and a second source says as upmu does, "
                  "%u upmu lacks: %u.%02u %% agree where no second source corrects it\n",
                  tally->pmu.name, tally->encoded, tally->agreed, tally->corrected, tally->missing, per_myriad / 100u,
                  per_myriad % 100u);
    print_message("    %s: it refuses %u rows: %u are refused, %u are taken as explained; of %u that repeat what is "
                  "wired %u mean that; %u rows agree with the code of the other payload register\n",
                  tally->pmu.name, tally->refused, tally->refused_too, tally->refused_explained, tally->repeated,
                  tally->confirmed, tally->twins);
}

static void compare_table(const char *name, pfm_pmu_t table)
{
    struct oracle_tally tally;
    pfm_pmu_info_t info;

    memset(&tally, 0, sizeof tally);
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    if (upmu_pmu_by_name(&tally.pmu, name) != UPMU_OK) {
        print_message("    skipped: no catalogue for %s\n", name);
        skip();
    }
    assert_int_equal(pfm_get_pmu_info(table, &info), PFM_SUCCESS);
    assert_string_equal(info.name, name);
    for (int event = info.first_event; event != -1; event = pfm_get_event_next(event))
        compare_event(&tally, event);
    assert_compare(tally.encoded, >, (unsigned)info.nevents);
    report(&tally);
    if (tally.shown > SHOWN)
        print_message("    and %u more\n", tally.shown - SHOWN);
    assert_int_equal(tally.shown, 0);
    assert_compare((uint64_t)tally.agreed * 1000u, >=, (uint64_t)(tally.encoded - tally.corrected) * AGREE_PER_MILLE);
}

/* ---- Tests ---- */

static void core_2_encodes_as_libpfm4_does(void **state)
{
    (void)state;
    compare_table("core", PFM_PMU_INTEL_CORE);
}

static void nehalem_encodes_as_libpfm4_does(void **state)
{
    (void)state;
    compare_table("nhm", PFM_PMU_INTEL_NHM);
}

static void skylake_encodes_as_libpfm4_does(void **state)
{
    (void)state;
    compare_table("skl", PFM_PMU_INTEL_SKL);
}

static void pentium_4_encodes_as_libpfm4_does(void **state)
{
    (void)state;
    compare_table("netburst", PFM_PMU_INTEL_NETBURST);
}

static void prescott_encodes_as_libpfm4_does(void **state)
{
    (void)state;
    compare_table("netburst_p", PFM_PMU_INTEL_NETBURST_P);
}

static void amd_encodes_as_libpfm4_does(void **state)
{
    static const struct {
        const char *name;
        pfm_pmu_t table;
    } tables[] = {
        {"amd64_k7", PFM_PMU_AMD64_K7},
        {"amd64_k8_revb", PFM_PMU_AMD64_K8_REVB},
        {"amd64_k8_revc", PFM_PMU_AMD64_K8_REVC},
        {"amd64_k8_revd", PFM_PMU_AMD64_K8_REVD},
        {"amd64_k8_reve", PFM_PMU_AMD64_K8_REVE},
        {"amd64_k8_revf", PFM_PMU_AMD64_K8_REVF},
        {"amd64_k8_revg", PFM_PMU_AMD64_K8_REVG},
        {"amd64_fam10h_barcelona", PFM_PMU_AMD64_FAM10H_BARCELONA},
        {"amd64_fam10h_shanghai", PFM_PMU_AMD64_FAM10H_SHANGHAI},
        {"amd64_fam10h_istanbul", PFM_PMU_AMD64_FAM10H_ISTANBUL},
        {"amd64_fam11h_turion", PFM_PMU_AMD64_FAM11H_TURION},
        {"amd64_fam12h_llano", PFM_PMU_AMD64_FAM12H_LLANO},
        {"amd64_fam14h_bobcat", PFM_PMU_AMD64_FAM14H_BOBCAT},
        {"amd64_fam15h_interlagos", PFM_PMU_AMD64_FAM15H_INTERLAGOS},
        {"amd64_fam16h", PFM_PMU_AMD64_FAM16H},
        {"amd64_fam17h_zen1", PFM_PMU_AMD64_FAM17H_ZEN1},
        {"amd64_fam17h_zen2", PFM_PMU_AMD64_FAM17H_ZEN2},
        {"amd64_fam19h_zen3", PFM_PMU_AMD64_FAM19H_ZEN3},
        {"amd64_fam19h_zen4", PFM_PMU_AMD64_FAM19H_ZEN4},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++)
        compare_table(tables[i].name, tables[i].table);
}

/* ---- Every other table: names that both have ---- */

struct oracle_names {
    unsigned theirs;    /* that libpfm4 encodes */
    unsigned both;      /* of them, that upmu has */
    unsigned agreed;    /* of these */
    unsigned corrected; /* that differ, and a second source says as upmu does */
};

static bool has_own_test(const char *name)
{
    static const char *const names[] = {"core", "nhm", "skl", "netburst", "netburst_p"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "amd64", 5) == 0;
}

/* A name of libpfm4's that upmu does not have is no disagreement: its names are Intel's. */
static void compare_name(struct oracle_names *names, struct oracle_tally *tally, const char *text)
{
    struct oracle_words ours = {0, 0}, twin = {0, 0}, theirs = {0, 0};
    char name[TEXT_SIZE], difference[TEXT_SIZE];
    const struct oracle_exception *exception;
    enum upmu_status status;

    write_text(name, "%s::%s:u=1:k=1", tally->pmu.name, text);
    if (encode_theirs(name, &theirs) != PFM_SUCCESS)
        return;
    names->theirs++;
    status = encode_ours(&tally->pmu, name, &ours, &twin);
    if (status == UPMU_ERR_NO_SUCH_EVENT || status == UPMU_ERR_NO_SUCH_ATTRIBUTE ||
        status == UPMU_ERR_NO_SUCH_MASK || status == UPMU_ERR_MASK_REQUIRED)
        return;
    names->both++;
    if (status == UPMU_OK && (same_words(&ours, &theirs) || same_words(&twin, &theirs))) {
        names->agreed++;
        return;
    }
    if (status != UPMU_OK)
        write_text(difference, "upmu refuses: %s", upmu_status_text(status));
    else
        write_text(difference, "select^%#llx payload^%#llx", (unsigned long long)(ours.select ^ theirs.select),
                   (unsigned long long)(ours.payload ^ theirs.payload));
    exception = explain(tally, text, difference);
    names->corrected += exception && oracle_exception_is_ours(exception);
}

static void compare_names(const pfm_pmu_info_t *table)
{
    struct oracle_names names = {0, 0, 0, 0};
    struct oracle_tally tally;
    pfm_event_info_t info;
    char text[TEXT_SIZE];
    unsigned counted;

    memset(&tally, 0, sizeof tally);
    if (upmu_pmu_by_name(&tally.pmu, table->name) != UPMU_OK)
        return;
    tally.pmu.name = table->name;
    for (int event = table->first_event; event != -1; event = pfm_get_event_next(event)) {
        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        assert_int_equal(pfm_get_event_info(event, PFM_OS_NONE, &info), PFM_SUCCESS);
        compare_name(&names, &tally, info.name);
        for (int i = 0; i < info.nattrs; i++) {
            pfm_event_attr_info_t attribute;

            assert_int_equal(describe_attribute(event, i, &attribute), PFM_SUCCESS, i);
            if (attribute.type != PFM_ATTR_UMASK)
                continue;
            write_text(text, "%s:%s", info.name, attribute.name);
            compare_name(&names, &tally, text);
        }
    }
    if (!names.both)
        return;
    counted = names.both - names.corrected;
    print_message("    %s: of %u names that libpfm4 encodes upmu has %u: %u agree, %u differ and a second source says "
                  "as upmu does, %u upmu lacks: %u.%02u %% agree where no second source corrects it\n",
                  table->name, names.theirs, names.both, names.agreed, names.corrected, counted - names.agreed,
                  names.agreed * 100u / counted, names.agreed * 10000u / counted % 100u);
    assert_int_equal(tally.shown, 0);
    assert_compare(names.agreed * 100u, >=, counted * NAMES_AGREE_PER_CENT);
}

static void names_of_every_other_model_mean_what_they_mean_to_libpfm4(void **state)
{
    unsigned tables = 0;

    (void)state;
    for (int i = 0; i < PFM_PMU_MAX; i++) {
        pfm_pmu_info_t info;

        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        if (pfm_get_pmu_info((pfm_pmu_t)i, &info) != PFM_SUCCESS || info.type != PFM_PMU_TYPE_CORE ||
            has_own_test(info.name))
            continue;
        compare_names(&info);
        tables++;
    }
    assert_compare(tables, >, 20);
}

/* Runs last: the tables were compared. */
static void every_exception_explains_its_rows_by_a_second_source(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (unsigned i = 0; i < exceptions.count; i++) {
        const struct oracle_exception *exception = &exceptions.line[i];

        if (exception->used == 0 || exception->used != strtoul(exception->rows, NULL, 10)) {
            print_message("    exceptions.tsv:%u: %s::%s explains %u rows, not %s\n", exception->number, exception->pmu,
                          exception->pattern, exception->used, exception->rows);
            wrong++;
        }
        assert_true(exception->reason[0] && exception->source[0]);
        assert_null(strstr(exception->source, "libpfm4"));
    }
    assert_int_equal(wrong, 0);
}

/* What the name of the shared object says: libpfm4's own version number stays at 4.0. */
static void the_library_is_libpfm4_itself(void **state)
{
    char line[512], *path = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");

    (void)state;
    assert_non_null(maps);
    while (!path && fgets(line, sizeof line, maps))
        path = strstr(line, "/libpfm.so.4");
    (void)fclose(maps);
    assert_non_null(path);
    path[strcspn(path, "\n")] = '\0';
    print_message("    compared with %s\n", path + 1);
    assert_int_equal(pfm_get_version() >> 16, 4);
}

static int start_both(void **state)
{
    (void)state;
    if (setenv("LIBPFM_ENCODE_INACTIVE", "1", 1) != 0 || pfm_initialize() != PFM_SUCCESS)
        return 1;
    return oracle_exceptions_read(&exceptions, UPMU_SOURCE_DIR "/tests/oracle/exceptions.tsv") ? 0 : 1;
}

static int stop_both(void **state)
{
    (void)state;
    pfm_terminate();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_libpfm4_itself),
        cmocka_unit_test(core_2_encodes_as_libpfm4_does),
        cmocka_unit_test(nehalem_encodes_as_libpfm4_does),
        cmocka_unit_test(skylake_encodes_as_libpfm4_does),
        cmocka_unit_test(pentium_4_encodes_as_libpfm4_does),
        cmocka_unit_test(prescott_encodes_as_libpfm4_does),
        cmocka_unit_test(amd_encodes_as_libpfm4_does),
        cmocka_unit_test(names_of_every_other_model_mean_what_they_mean_to_libpfm4),
        cmocka_unit_test(every_exception_explains_its_rows_by_a_second_source),
    };

    return cmocka_run_group_tests_name("oracle", tests, start_both, stop_both);
}

/* SPDX-License-Identifier: MIT */
/*
 * The program: seed after seed; a violation is shrunk and told.
 *
 *   host [seeds=N] [steps=N] [seed=N] [family=NAME] [model=NAME] [only=LIST] [tell] [shrink=SECONDS]
 *        [first=SEED] [most=VIOLATIONS] [without=RULE] [threads] [soak] [atomic] [each] [strict]
 *
 * `soak`: goes on until all that a soak has to contain was done, and tells each minute how far it is.
 * `threads`: CPUs are threads of the system (for ThreadSanitizer), and a seed decides less.
 * `atomic`: inside code something comes only before atomic accesses, wherever a compiler begins its blocks; with `each`
 * the figures of each seed are printed: of two compilers they are the same.
 * `only` is a list of steps of the seed, "3,7-9"; `tell` prints them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/host/simulated.h"

#define STEPS_MOST 60000u

/*
 * What runs when nothing is asked for: a few seconds of one processor.  Seeds that break a
 * rule today are left out, so that a new violation fails the run; they are named in its output.
 */
#if defined(HOST_AS_THREADS)
#define SEEDS 12
#define STEPS 1500
#define OPEN NULL
#elif defined(__SANITIZE_ADDRESS__)
#define SEEDS 27
#define STEPS 2000
#define OPEN ""
#else
#define SEEDS 140
#define STEPS 3000
#define OPEN ""
#endif

/* Seeds beyond the first SEEDS that once broke a rule, in STEPS steps without threads. */
static const uint64_t broke[] = {940502};

#if defined(HOST_AS_THREADS)
#define AS_THREADS true
/* Asked for by ThreadSanitizer; other options come by TSAN_OPTIONS. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "halt_on_error=1:exitcode=66";
}
#else
#define AS_THREADS false
#endif

static const struct hardware_family *const families[] = {HOST_FAMILIES};

static struct {
    uint64_t seed;
    bool one_seed, tell, threads, soak, usual, atomic, each;
    unsigned seeds, steps, shrink_seconds;
    const char *family, *model, *only, *except;
    unsigned most; /* violations until it stops */
    uint32_t themes; /* that every seed has */
} asked = {.most = 3,
           .seed = 1,
           .seeds = SEEDS,
           .steps = STEPS,
           .threads = AS_THREADS,
           .shrink_seconds = AS_THREADS ? 0 : 60};

static unsigned pairs;

static struct {
    const struct hardware_family *family;
    unsigned model;
} pair[256];

static void find_models(void)
{
    for (unsigned f = 0; f < sizeof families / sizeof families[0]; f++)
        for (unsigned m = 0; m < families[f]->model_count; m++)
            if ((!asked.family || !strcmp(asked.family, families[f]->name)) &&
                (!asked.model || !strcmp(asked.model, families[f]->models[m].name))) {
                pair[pairs].family = families[f];
                pair[pairs++].model = m;
            }
}

/* Is a number in a list such as "3,7-9"? */
static bool is_listed(const char *list, unsigned number)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (number >= first && number <= last)
            return true;
        if (*end != ',')
            return false;
        list = end + 1;
    }
    return false;
}

static void print_list(const struct step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned first = i;

        while (i + 1u < count && steps[i + 1u].number == steps[i].number + 1u)
            i++;
        printf("%s%u", first ? "," : "", steps[first].number);
        if (i > first)
            printf("-%u", steps[i].number);
    }
}

static void tell_steps(const struct setting *setting, const struct step *steps, unsigned count)
{
    char line[400];

    steps_tell_setting(setting, line, sizeof line);
    printf("    %s\n", line);
    for (unsigned i = 0; i < count; i++) {
        steps_tell(setting, &steps[i], line, sizeof line);
        printf("    %s\n", line);
    }
}

static void tell_violation(const struct setting *setting, struct step *steps, unsigned count,
                           const struct verdict *verdict)
{
    unsigned left = count;

    printf("VIOLATION of rule \"%s\" with seed %llu at step %u: %s\n", rule_names[verdict->rule],
           (unsigned long long)setting->seed, verdict->step, verdict->text);
    if (asked.shrink_seconds && !asked.only)
        left = shrink_list(setting, steps, count, verdict->rule, asked.shrink_seconds);
    if (left <= 60)
        tell_steps(setting, steps, left);
    printf("    %u of %u steps are enough; ", left, asked.steps);
    printf("again: tests/host/host family=%s model=%s themes=%u seed=%llu steps=%u only=",
           setting->family->name, setting->family->models[setting->model].name, asked.themes,
           (unsigned long long)setting->seed, asked.steps);
    print_list(steps, left);
    printf("\n");
}

static void add_figures(struct figures *sum, const struct figures *figures)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)figures;

    for (unsigned i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void print_figures(const struct figures *f, unsigned seeds, double seconds)
{
#define N(field) ((unsigned long long)f->field)
    printf("    %u seeds in %.0f s: %llu steps, %llu calls, %llu hook calls and %llu points inside code (%.1f million "
           "hook calls a second)\n",
           seeds, seconds, N(steps), N(calls), N(hooks), N(blocks),
           seconds > 0 ? (double)f->hooks / seconds / 1e6 : 0.0);
    printf("    %llu blocks of memory given back, %llu remote calls, %llu interrupts (%llu own, %llu of other sources, "
           "of these %llu with none of ours possible; %llu handled, %llu stale, %llu not ours), %llu faults\n",
           N(frees), N(remote), N(interrupts), N(own), N(foreign), N(strange), N(answers[UPMU_PMI_HANDLED]),
           N(answers[UPMU_PMI_STALE]), N(answers[UPMU_PMI_NOT_OURS]), N(faults));
    printf("    %llu thread switches, %llu moves in the middle of a call, %llu bursts of events, %llu reads (%llu "
           "exact), %llu samples and %llu of units, %llu of %llu estimates beyond their bound\n",
           N(switches), N(migrations), N(events), N(reads), N(exact), N(samples), N(unit_samples), N(beyond),
           N(estimates));
    printf("    %llu units opened, %llu bursts of events and %llu accesses there, %llu times handed over, %llu times "
           "without a CPU; %llu times a box vanished or returned\n",
           N(units), N(unit_events), N(unit_accesses), N(hand_overs), N(orphans), N(vanished));
    printf("    %llu vCPUs made, %llu entries, %llu calls of theirs, %llu hook calls in runs with them; %llu values "
           "read (%llu had counted, and were exact; %llu in registers that pass), %llu interrupts injected, %llu times "
           "one was due, %llu carried over\n",
           N(guests), N(entries), N(guest_calls), N(guest_hooks), N(guest_reads), N(guest_exact), N(passed),
           N(injected), N(due), N(carried));
    printf("    %llu calls for pages and events, %llu values and %llu overflows stored there; %llu times another CPU "
           "of the guest came between\n",
           N(page_calls), N(page_values), N(page_overflows), N(stirs));
    printf(
        "    %llu schedules of precise events (%llu of batches), %llu records and %llu for which no room was left, "
        "%llu precise samples judged (%llu of batches), %llu too old; %llu batches beside a record that does not say "
        "whose it is\n",
        N(precise_sessions), N(batch_sessions), N(precise_records) - N(precise_dropped), N(precise_dropped),
        N(precise_samples), N(batch_samples), N(precise_old), N(batch_unnamed));
    printf("    %llu traces in memory, %llu branches stored and %llu shown; %llu that had gone round; %llu panics\n",
           N(traces), N(traced), N(traced_shown), N(trace_rings), N(panics));
    printf(
        "    %llu schedules of sessions with branches; %llu branches recorded or not, %llu reads judged, %llu samples "
        "with branches (%llu as their record has them) and %llu without, %llu branches shown\n",
        N(branch_sessions), N(branches), N(branch_reads), N(branch_samples), N(branch_stored), N(branch_without),
        N(branches_shown));
#undef N
}

/* What a soak contains at least. */
static bool is_enough(const struct figures *f, unsigned seeds)
{
    return seeds >= 1000 && f->hooks >= 1000000000 && f->steps >= 10000000 && f->frees >= 1000000 &&
           f->remote >= 1000000 && f->interrupts >= 10000000;
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

static void tell_progress(const struct figures *f, unsigned seeds, double seconds)
{
    static unsigned minutes;

    if (!asked.soak || seconds < 60.0 * (minutes + 1u))
        return;
    minutes = (unsigned)(seconds / 60.0);
    printf("    %u bits, %u minutes: %u seeds, %llu million hook calls of 1000\n", (unsigned)(8 * sizeof(void *)),
           minutes, seeds, (unsigned long long)f->hooks / 1000000);
    (void)fflush(stdout);
}

/* All of them, in the order of struct figures. */
static void tell_figures(uint64_t seed, const struct verdict *verdict)
{
    const uint64_t *figure = (const uint64_t *)(const void *)&verdict->figures;

    printf("seed %llu: %s;", (unsigned long long)seed, verdict->rule == RULE_NONE ? "fine" : rule_names[verdict->rule]);
    for (unsigned i = 0; i < sizeof verdict->figures / sizeof *figure; i++)
        printf(" %llu", (unsigned long long)figure[i]);
    printf("\n");
}

static bool one_seed(uint64_t seed, struct verdict *verdict, struct step *steps)
{
    struct setting setting;
    unsigned count = 0;
    unsigned which = (unsigned)(seed % pairs);

    steps_setting(seed, pair[which].family, pair[which].model, &setting);
    setting.threads = asked.threads;
    setting.atomic = asked.atomic;
    setting.themes |= asked.themes &
                      (pair[which].family == &hardware_intel ? ~0u : ~(1u << THEME_PRECISE | 1u << THEME_TRACES)) &
                      (pair[which].family->depth ? ~0u : ~(1u << THEME_BRANCHES));
    steps_make(&setting, steps, asked.steps);
    for (unsigned i = 0; i < asked.steps; i++)
        if (!asked.only || is_listed(asked.only, i))
            steps[count++] = steps[i];
    if (asked.tell)
        tell_steps(&setting, steps, count);
    shrink_run(&setting, steps, count, verdict);
    if (asked.each)
        tell_figures(seed, verdict);
    if (verdict->rule == RULE_NONE)
        return true;
    tell_violation(&setting, steps, count, verdict);
    return false;
}

static void leave_out(const char *name)
{
    for (unsigned rule = 0; rule < RULES; rule++)
        if (!strcmp(name, rule_names[rule])) {
            rules_off |= UINT32_C(1) << rule;
            return;
        }
    fprintf(stderr, "there is no rule \"%s\"; --help lists them\n", name);
    exit(2);
}

static void print_help(void)
{
    puts("usage: host [NAME=VALUE...] [tell] [threads]\n"
         "A simulated host that a seed decides; one run for each seed, violations shrunk to few steps.\n"
         "  seeds=N first=N   so many seeds, from this one on      seed=N     this one alone\n"
         "  except=LIST       not these seeds: 3,7-9               only=LIST  these steps\n"
         "  steps=N           steps of a run\n"
         "  family=NAME       intel, p6, netburst, amd             model=NAME one of its models\n"
         "  without=RULE      does not look at a rule (below)      most=N     stops after so many violations\n"
         "  shrink=SECONDS    time to shrink a violation           tell       prints the steps\n"
         "  themes=MASK       every seed has these themes (enum theme in simulated.h; 512, precise: on Intel's PMUs; "
         "1024, branches: there and\n"
         "                    on AMD's; 2048, traces: on Intel's)\n"
         "  threads           CPUs are threads (make test-host-threads)\n"
         "  atomic            inside code, points before atomic accesses only: runs are those of every compiler\n"
         "  each              prints the figures of each seed\n"
         "  strict            what is known to be wrong breaks its rule, too\n"
         "  soak              goes on until 1,000 seeds, 10^9 hook calls, 10^7 steps, 10^6 blocks given back, 10^6\n"
         "                    remote calls and 10^7 interrupts are reached\n"
         "HOST_SEEDS, HOST_STEPS, HOST_EXCEPT, HOST_WITHOUT and HOST_SHRINK say the same; HOST_TRACE=1 prints each "
         "access.\n"
         "Rules:");
    for (unsigned rule = 0; rule < RULES; rule++)
        if (rule_names[rule])
            printf("  %s\n", rule_names[rule]);
}

/* HOST_SEEDS, HOST_STEPS, HOST_SHRINK and HOST_THREADS, where no argument says otherwise. */
static void read_environment(void)
{
    const char *seeds = getenv("HOST_SEEDS"), *steps = getenv("HOST_STEPS");

    if (getenv("HOST_WITHOUT"))
        leave_out(getenv("HOST_WITHOUT"));
    if (getenv("HOST_SHRINK"))
        asked.shrink_seconds = (unsigned)strtoul(getenv("HOST_SHRINK"), NULL, 10);
    if (seeds)
        asked.seeds = (unsigned)strtoul(seeds, NULL, 10);
    if (steps)
        asked.steps = (unsigned)strtoul(steps, NULL, 10);
    if (asked.steps > STEPS_MOST)
        asked.steps = STEPS_MOST;
    asked.threads |= getenv("HOST_THREADS") != NULL;
    asked.except = getenv("HOST_EXCEPT") || seeds || steps ? getenv("HOST_EXCEPT") : OPEN;
    asked.usual = !seeds && asked.steps == 3000 && !asked.threads;
}

static void read_arguments(int argc, char **argv)
{
    if (argc > 1) {
        asked.except = getenv("HOST_EXCEPT");
        asked.usual = false;
    }
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        unsigned long long number = value ? strtoull(value + 1, NULL, 0) : 0;

        value = value ? value + 1 : "";
        if (!strncmp(argv[i], "seeds=", 6))
            asked.seeds = (unsigned)number;
        else if (!strncmp(argv[i], "steps=", 6))
            asked.steps = number < STEPS_MOST ? (unsigned)number : STEPS_MOST;
        else if (!strncmp(argv[i], "seed=", 5))
            asked.seed = number, asked.one_seed = true;
        else if (!strncmp(argv[i], "first=", 6))
            asked.seed = number;
        else if (!strncmp(argv[i], "family=", 7))
            asked.family = value;
        else if (!strncmp(argv[i], "model=", 6))
            asked.model = value;
        else if (!strncmp(argv[i], "except=", 7))
            asked.except = value;
        else if (!strncmp(argv[i], "only=", 5))
            asked.only = value;
        else if (!strncmp(argv[i], "shrink=", 7))
            asked.shrink_seconds = (unsigned)number;
        else if (!strncmp(argv[i], "without=", 8))
            leave_out(value);
        else if (!strncmp(argv[i], "themes=", 7))
            asked.themes = (uint32_t)number;
        else if (!strncmp(argv[i], "most=", 5))
            asked.most = (unsigned)number;
        else if (!strcmp(argv[i], "threads"))
            asked.threads = true;
        else if (!strcmp(argv[i], "tell"))
            asked.tell = true;
        else if (!strcmp(argv[i], "soak"))
            asked.soak = true;
        else if (!strcmp(argv[i], "atomic"))
            asked.atomic = true;
        else if (!strcmp(argv[i], "each"))
            asked.each = true;
        else if (!strcmp(argv[i], "strict"))
            rules_strict = true;
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help();
            exit(0);
        } else {
            fprintf(stderr, "\"%s\" is no argument; --help lists them\n", argv[i]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct verdict *verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct step *steps = malloc(STEPS_MOST * sizeof *steps);
    struct figures sum;
    struct timespec begun;
    unsigned bad = 0, seeds, done;

    read_environment();
    read_arguments(argc, argv);
    find_models();
    if (!pairs || !steps || verdict == MAP_FAILED)
        return 2;
    seeds = asked.one_seed ? 1u : asked.seeds;
    memset(&sum, 0, sizeof sum);
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    if (asked.except && *asked.except)
        printf("    left out: seeds that break a rule today (tests/host/README.md): %s\n", asked.except);
    for (done = 0; (done < seeds || (asked.soak && !is_enough(&sum, done))) && bad < asked.most; done++) {
        if (asked.except && is_listed(asked.except, (unsigned)(asked.seed + done)))
            continue;
        bad += !one_seed(asked.seed + done, verdict, steps);
        add_figures(&sum, &verdict->figures);
        tell_progress(&sum, done + 1u, seconds_since(&begun));
    }
    for (unsigned i = 0; asked.usual && i < sizeof broke / sizeof broke[0] && bad < asked.most; i++, done++) {
        bad += !one_seed(broke[i], verdict, steps);
        add_figures(&sum, &verdict->figures);
    }
    print_figures(&sum, done, seconds_since(&begun));
    printf("[  %s ] no_rule_is_broken_whatever_comes_between_two_hook_calls\n", bad ? "FAILED" : "     OK");
    free(steps);
    return bad != 0;
}

/* SPDX-License-Identifier: MIT */
/* Programs of named cases: `program` prints the names, `program NAME` runs one, in a process of its own. */
#ifndef ZEPHYR_CASE_H
#define ZEPHYR_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/sim/sim.h"
#include "provider.h"
#include "stand_in.h"
#include "upmu_zephyr.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The same of two numbers, which are printed. */
#define EQUAL(found, wanted)                                                                                           \
    do {                                                                                                               \
        long long found_ = (long long)(found), wanted_ = (long long)(wanted);                                          \
        if (found_ != wanted_) {                                                                                       \
            printf("%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #found, found_, wanted_);                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct zephyr_case {
    const char *name;
    void (*run)(void);
};

#define CASE(function)                                                                                                 \
    {                                                                                                                  \
#function, function                                                                                            \
    }

static inline int run_case(const struct zephyr_case *cases, unsigned count, int words, char **word)
{
    for (unsigned i = 0; i < count; i++) {
        if (words < 2)
            puts(cases[i].name);
        else if (strcmp(cases[i].name, word[1]) == 0)
            cases[i].run();
    }
    return 0;
}

/* The provider of this name, which has to be there. */
static inline const struct perf_event_provider *provider(const char *name)
{
    extern const struct perf_event_provider __start_providers[], __stop_providers[];

    for (const struct perf_event_provider *found = __start_providers; found < __stop_providers; found++)
        if (strcmp(found->name, name) == 0)
            return found;
    printf("no provider %s\n", name);
    exit(1);
}

static inline uint64_t id_of(const struct perf_event_provider *of, const char *event)
{
    uint64_t id = UINT64_MAX;

    EQUAL(of->api->lookup(of->context, event, &id), 0);
    return id;
}

/* A session of one event, attached to a thread and started. */
static inline void follow(struct upmu_session *session, struct k_thread *thread)
{
    EQUAL(upmu_session_init(session, upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&session->set, "instructions", NULL), UPMU_OK);
    EQUAL(upmu_zephyr_attach(session, thread), UPMU_OK);
    EQUAL(upmu_session_start(session), UPMU_OK);
}

static inline uint64_t exact(struct upmu_session *session)
{
    struct upmu_count count;

    EQUAL(upmu_set_read(&session->set, 0, 1, &count), UPMU_OK);
    EQUAL(count.quality, UPMU_QUALITY_EXACT);
    return count.value;
}

#endif

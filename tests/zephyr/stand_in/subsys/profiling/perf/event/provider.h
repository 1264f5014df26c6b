/* SPDX-License-Identifier: MIT */
/*
 * What a provider of performance events fills in, by the names that Zephyr's pull request 119863 has in November 2026;
 * the text is our own.  Providers stand in a section of their own, as there.
 */
#ifndef STAND_IN_PROVIDER_H
#define STAND_IN_PROVIDER_H

#include <stdint.h>

typedef int (*perf_event_list_cb_t)(const char *event_name, const char *description, void *user_data);

struct perf_event_provider_api {
    int (*list)(void *context, perf_event_list_cb_t callback, void *user_data);
    int (*lookup)(void *context, const char *event_name, uint64_t *event_id);
    int (*prepare)(void *context, uint64_t event_id);
    int (*start)(void *context, uint64_t event_id, uint64_t *baseline);
    int (*stop)(void *context, uint64_t event_id, uint64_t *final_count);
};

struct perf_event_provider {
    const char *name;
    const char *description;
    const struct perf_event_provider_api *api;
    void *context;
};

#define PERF_EVENT_PROVIDER_DEFINE(_name, _description, _api, _context)                                                \
    static const struct perf_event_provider __attribute__((section("providers"), used))                               \
    perf_event_provider_##_name = {                                                                                    \
        .name = #_name, .description = (_description), .api = (_api), .context = (_context)}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The log: records in the caller's memory until they are written to the file.  What finds no room is counted, and told
 * by a record of its own as soon as there is room.
 */
#include <stddef.h>
#include <string.h>
#include "abi/pmc/upmu_pmc.h"

#if UPMU_NAMES

_Static_assert(sizeof(struct pmclog_words) == 16 && sizeof(struct pmclog_value) == 24 &&
                   sizeof(struct pmclog_allocate) == 32,
               "records are the same for 32 and 64 bits, and 8-aligned");

static bool put(struct upmu_pmcs *pmcs, void *record, unsigned type, size_t bytes)
{
    struct pmclog_header *header = record;

    if (!pmcs->log_open)
        return false;
    header->pl_length = (uint16_t)bytes;
    header->pl_type = (uint16_t)type;
    header->pl_sequence = pmcs->log_sequence++;
    if (pmcs->log_bytes - pmcs->log_used < bytes) {
        pmcs->log_dropped++;
        pmcs->stats.pm_log_dropped++;
        return false;
    }
    memcpy(pmcs->log + pmcs->log_used, record, bytes);
    pmcs->log_used += bytes;
    pmcs->stats.pm_log_records++;
    return true;
}

static void add(struct upmu_pmcs *pmcs, void *record, unsigned type, size_t bytes)
{
    uint32_t dropped = pmcs->log_dropped;
    struct pmclog_words notice = {.pl_word = {dropped, 0}};

    if (dropped && pmcs->log_open && pmcs->log_bytes - pmcs->log_used >= sizeof notice + bytes) {
        pmcs->log_dropped = 0;
        (void)put(pmcs, &notice, PMCLOG_TYPE_DROPNOTIFY, sizeof notice);
    }
    (void)put(pmcs, record, type, bytes);
}

void upmu_pmc_log_words(struct upmu_pmcs *pmcs, unsigned type, uint32_t first, uint32_t second)
{
    struct pmclog_words record = {.pl_word = {first, second}};

    add(pmcs, &record, type, sizeof record);
}

void upmu_pmc_log_allocate(struct upmu_pmcs *pmcs, pmc_id_t id, const struct upmu_pmc *pmc)
{
    struct pmclog_allocate record = {.pl_pmcid = id,
                                     .pl_flags = pmc->flags,
                                     .pl_catalogue = pmc->event.id.catalogue,
                                     .pl_row = pmc->event.id.row,
                                     .pl_masks = pmc->event.id.masks,
                                     .pl_config = pmc->event.config};

    add(pmcs, &record, PMCLOG_TYPE_PMCALLOCATE, sizeof record);
}

static void add_value(struct upmu_pmcs *pmcs, unsigned type, const struct upmu_pmc *pmc, uint32_t word, uint64_t value)
{
    struct pmclog_value record = {.pl_pmcid = upmu_pmc_id(pmcs, pmc), .pl_word = word, .pl_value = value};

    add(pmcs, &record, type, sizeof record);
}

void upmu_pmc_log_samples(struct upmu_pmcs *pmcs)
{
    for (unsigned i = 0; i < pmcs->capacity; i++) {
        struct upmu_pmc *pmc = &pmcs->pmcs[i];
        struct upmu_sample sample;

        if (!pmc->owner || (pmc->mode != PMC_MODE_SS && pmc->mode != PMC_MODE_TS))
            continue;
        while (upmu_ring_next(&pmc->session.ring, &sample)) {
            pmcs->stats.pm_samples++;
            pmcs->stats.pm_lost += sample.lost;
            if (pmc->owner == pmcs->log_owner)
                add_value(pmcs, PMCLOG_TYPE_PCSAMPLE, pmc, sample.flags & UPMU_SAMPLE_USER ? 1 : 0, sample.ip);
        }
    }
}

void upmu_pmc_log_switch(struct upmu_pmcs *pmcs, int32_t pid)
{
    for (unsigned i = 0; i < pmcs->capacity; i++) {
        struct upmu_pmc *pmc = &pmcs->pmcs[i];
        struct upmu_count count;

        if (pmc->owner && pmc->owner == pmcs->log_owner && pmc->pid == pid && pmc->flags & PMC_F_LOG_PROCCSW &&
            upmu_session_read(&pmc->session, 0, 1, &count) == UPMU_OK)
            add_value(pmcs, PMCLOG_TYPE_PROCCSW, pmc, (uint32_t)pid, count.value);
    }
}

enum upmu_status upmu_pmc_log_flush(struct upmu_pmcs *pmcs)
{
    size_t length;

    if (!pmcs->log_open)
        return UPMU_ERR_STATE;
    upmu_pmc_log_samples(pmcs);
    length = pmcs->log_used;
    pmcs->log_used = 0;
    return !length || pmcs->log_write(pmcs->context, pmcs->log_file, pmcs->log, length) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_pmc_log_configure(struct upmu_pmcs *pmcs, uint32_t owner, int32_t file)
{
    enum upmu_status status, ended;

    if (pmcs->log_open && pmcs->log_owner != owner)
        return UPMU_ERR_BUSY;
    if (file < 0) {
        if (!pmcs->log_open)
            return UPMU_ERR_STATE;
        status = upmu_pmc_log_flush(pmcs); /* room for the last record */
        upmu_pmc_log_words(pmcs, PMCLOG_TYPE_CLOSELOG, 0, 0);
        ended = upmu_pmc_log_flush(pmcs);
        pmcs->log_open = false;
        pmcs->log_owner = 0;
        return status == UPMU_OK ? ended : status;
    }
    if (!pmcs->log || !pmcs->log_write)
        return UPMU_ERR_HOOK_MISSING;
    if (pmcs->log_open)
        return UPMU_ERR_STATE;
    pmcs->log_open = true;
    pmcs->log_owner = owner;
    pmcs->log_file = file;
    pmcs->log_used = pmcs->log_sequence = pmcs->log_dropped = 0;
    upmu_pmc_log_words(pmcs, PMCLOG_TYPE_INITIALIZE, PMC_VERSION, 0);
    return UPMU_OK;
}

#endif

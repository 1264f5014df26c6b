/* SPDX-License-Identifier: MIT */
/*
 * The log: records stay in memory of the host (upmu_pmc_log.bytes) until they are written to the file. Samples for
 * which the log has no room wait in the rings of their PMCs. Any other record that finds no room is dropped and
 * counted. As soon as there is room for two records, a record DROPNOTIFY before the next one says how many were
 * dropped.
 */
#include <stddef.h>
#include <string.h>
#include <upmu/session.h>
#include "abi/pmc/upmu_pmc.h"

#if UPMU_NAMES

_Static_assert(sizeof(struct pmclog_words) == 16 && sizeof(struct pmclog_value) == 24 &&
                   sizeof(struct pmclog_allocate) == 32,
               "records are the same for 32 and 64 bits, and 8-aligned");

/* Return the log of an owner; owner 0: a log that is free. NULL: there is none. */
static struct upmu_pmc_log *log_of(const struct upmu_pmcs *pmcs, uint32_t owner)
{
    for (unsigned i = 0; i < pmcs->log_count; i++)
        if (pmcs->logs[i].owner == owner)
            return &pmcs->logs[i];
    return NULL;
}

static void write_record(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log, void *record, unsigned type, size_t bytes)
{
    struct pmclog_header *header = record;

    header->pl_length = (uint16_t)bytes;
    header->pl_type = (uint16_t)type;
    header->pl_sequence = log->sequence++;
    if (log->size - log->used < bytes) {
        log->dropped++;
        pmcs->stats.pm_log_dropped++;
        return;
    }
    memcpy(log->bytes + log->used, record, bytes);
    log->used += bytes;
    pmcs->stats.pm_log_records++;
}

static void add_record(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log, void *record, unsigned type, size_t bytes)
{
    struct pmclog_words notice = {.pl_word = {log->dropped, 0}};

    if (log->dropped && log->size - log->used >= sizeof notice + bytes) {
        log->dropped = 0;
        write_record(pmcs, log, &notice, PMCLOG_TYPE_DROPNOTIFY, sizeof notice);
    }
    write_record(pmcs, log, record, type, bytes);
}

bool upmu_pmc_log_words(struct upmu_pmcs *pmcs, uint32_t owner, unsigned type, uint32_t first, uint32_t second)
{
    struct pmclog_words record = {.pl_word = {first, second}};
    struct upmu_pmc_log *log = owner ? log_of(pmcs, owner) : NULL;

    if (log)
        add_record(pmcs, log, &record, type, sizeof record);
    return log != NULL;
}

void upmu_pmc_log_allocate(struct upmu_pmcs *pmcs, pmc_id_t id, const struct upmu_pmc *pmc)
{
    struct pmclog_allocate record = {.pl_pmcid = id,
                                     .pl_flags = pmc->flags,
                                     .pl_catalogue = pmc->event.id.catalogue,
                                     .pl_row = pmc->event.id.row,
                                     .pl_masks = pmc->event.id.masks,
                                     .pl_config = pmc->event.config};
    struct upmu_pmc_log *log = log_of(pmcs, pmc->owner);

    if (log)
        add_record(pmcs, log, &record, PMCLOG_TYPE_PMCALLOCATE, sizeof record);
}

static void add_value(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log, unsigned type, const struct upmu_pmc *pmc,
                      uint32_t word, uint64_t value)
{
    struct pmclog_value record = {.pl_pmcid = upmu_pmc_id(pmcs, pmc), .pl_word = word, .pl_value = value};

    add_record(pmcs, log, &record, type, sizeof record);
}

/*
 * Move samples from the rings of the PMCs of a log's owner into the log as records. Returns true if the rings are empty
 * now, false if the log has no room for a further sample and a DROPNOTIFY.
 */
static bool take_samples(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log)
{
    const size_t room = sizeof(struct pmclog_words) + sizeof(struct pmclog_value);

    for (unsigned i = 0; i < pmcs->capacity; i++) {
        struct upmu_pmc *pmc = &pmcs->pmcs[i];
        struct upmu_sample sample;

        if (pmc->owner != log->owner || (pmc->mode != PMC_MODE_SS && pmc->mode != PMC_MODE_TS))
            continue;
        for (;;) {
            if (log->size - log->used < room)
                return false;
            if (!upmu_ring_next(&pmc->session.ring, &sample))
                break;
            pmcs->stats.pm_samples++;
            pmcs->stats.pm_lost += sample.lost;
            add_value(pmcs, log, PMCLOG_TYPE_PCSAMPLE, pmc, sample.flags & UPMU_SAMPLE_USER ? 1 : 0, sample.ip);
        }
    }
    return true;
}

void upmu_pmc_log_samples(struct upmu_pmcs *pmcs)
{
    for (unsigned i = 0; i < pmcs->log_count; i++)
        if (pmcs->logs[i].owner)
            (void)take_samples(pmcs, &pmcs->logs[i]);
}

void upmu_pmc_log_switch(struct upmu_pmcs *pmcs, int32_t pid)
{
    for (unsigned i = 0; i < pmcs->capacity; i++) {
        struct upmu_pmc *pmc = &pmcs->pmcs[i];
        struct upmu_pmc_log *log = pmc->owner ? log_of(pmcs, pmc->owner) : NULL;
        struct upmu_count count;

        /*
         * A PMC whose thread has ended is detached, and still has that thread's number, which another process may have
         * now.
         */
        if (log && pmc->pid == pid && pmc->flags & PMC_F_LOG_PROCCSW && pmc->session.state != UPMU_SESSION_DETACHED &&
            upmu_set_read(&pmc->session.set, 0, 1, &count) == UPMU_OK)
            add_value(pmcs, log, PMCLOG_TYPE_PROCCSW, pmc, (uint32_t)pid, count.value);
    }
}

/*
 * Write the records of a log, and the samples of its owner's PMCs, to the file. Records leave the memory even if the
 * file takes nothing: otherwise a full log would stay full.
 */
static enum upmu_status flush_log(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log)
{
    /* a limit: samples that come meanwhile must not keep the loop from ending */
    unsigned turns = pmcs->capacity * UPMU_PMC_RING_WORDS;
    size_t length;
    bool all, written;

    do {
        all = take_samples(pmcs, log);
        length = log->used;
        log->used = 0;
        written = !length || pmcs->log_write(pmcs->context, log->owner, log->file, log->bytes, length);
    } while (!all && written && length && turns-- > 0);
    return written ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_pmc_log_flush(struct upmu_pmcs *pmcs, uint32_t owner)
{
    struct upmu_pmc_log *log = owner ? log_of(pmcs, owner) : NULL;

    return log ? flush_log(pmcs, log) : UPMU_ERR_STATE;
}

static enum upmu_status close_log(struct upmu_pmcs *pmcs, struct upmu_pmc_log *log)
{
    enum upmu_status status = flush_log(pmcs, log), ended; /* the first flush makes room for the last record */

    (void)upmu_pmc_log_words(pmcs, log->owner, PMCLOG_TYPE_CLOSELOG, 0, 0);
    ended = flush_log(pmcs, log);
    log->owner = 0;
    return status == UPMU_OK ? ended : status;
}

/*
 * Return a log for an owner without one. Without may_system() this is a free log, unless the owner's user has its share
 * of the logs. With may_system() it is a free log, or else that of an owner without may_system(), which is closed
 * first. NULL: no log can be given.
 */
static struct upmu_pmc_log *free_log(struct upmu_pmcs *pmcs, uint32_t owner, uint32_t user)
{
    struct upmu_pmc_log *log = log_of(pmcs, 0);
    bool may = upmu_pmc_may_system(pmcs, owner);
    unsigned left = upmu_pmc_share(pmcs->log_count);

    for (unsigned i = 0; !may && i < pmcs->log_count; i++)
        if (pmcs->logs[i].owner && pmcs->logs[i].user == user && !--left)
            return NULL;
    for (unsigned i = 0; !log && i < pmcs->log_count && may; i++)
        if (!upmu_pmc_may_system(pmcs, pmcs->logs[i].owner)) {
            log = &pmcs->logs[i];
            (void)close_log(pmcs, log);
        }
    return log;
}

enum upmu_status upmu_pmc_log_configure(struct upmu_pmcs *pmcs, uint32_t owner, int32_t file)
{
    struct upmu_pmc_log *log = owner ? log_of(pmcs, owner) : NULL;
    uint32_t user = upmu_pmc_user_of(pmcs, owner);

    if (!owner || (file < 0) != (log != NULL))
        return UPMU_ERR_STATE;
    if (log)
        return close_log(pmcs, log);
    if (!pmcs->logs || !pmcs->log_write)
        return UPMU_ERR_HOOK_MISSING;
    log = free_log(pmcs, owner, user);
    if (!log)
        return UPMU_ERR_BUSY;
    log->owner = owner;
    log->user = user;
    log->file = file;
    log->used = log->sequence = log->dropped = 0;
    (void)upmu_pmc_log_words(pmcs, owner, PMCLOG_TYPE_INITIALIZE, PMC_VERSION, 0);
    return UPMU_OK;
}

#endif

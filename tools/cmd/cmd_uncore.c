/* SPDX-License-Identifier: MIT */
/*
 * uncore: the units outside the cores that the machine has, and what its memory controllers count of a copy of known
 * size.
 */
#include <tools/cmd/cmd_args.h>

/* Bytes of each direction that the copy moves at least. */
#define COPY_BYTES (UINT64_C(256) << 20)
#define LINE_BYTES 64u

/* Events that count lines read from and written to memory, by generation. */
static const char *const bandwidth[] = {
    "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR",
    "imc/data_reads,imc/data_writes",
    "imc_free_running/data_read,imc_free_running/data_write",
    "uncore/QMC_NORMAL_READS.ANY,uncore/QMC_WRITES.FULL.ANY",
};

static void print_units(struct cmd *cmd)
{
    const struct upmu_unit_list *list = &cmd->units;
    char path[80];

    cmd_coloured(cmd, CMD_TITLE, "unit                            PMU                     counters  bits\n");
    for (unsigned i = 0; i < list->unit_count; i++) {
        const struct upmu_unit_type *type = list->pmu[list->unit[i].type].type;

        (void)upmu_unit_path(list, &list->unit[i], path, sizeof path);
        cmd_print(cmd, "%-30s  %-22s  %8u  %4u\n", path, type->pmu, (unsigned)type->counters, (unsigned)type->width);
    }
}

/* Copy the upper half of the buffer to the lower one; the bytes copied. */
static uint64_t copy(const struct cmd_live *live)
{
    size_t words = live->buffer_bytes / (2 * sizeof(uintptr_t));
    volatile uintptr_t *buffer = live->buffer;
    uint64_t copied = 0;

    for (; copied < COPY_BYTES; copied += words * sizeof *buffer)
        for (size_t i = 0; i < words; i++)
            buffer[i] = buffer[words + i];
    return copied;
}

static int measure(struct cmd *cmd, const char *events)
{
    struct upmu_uncore_region *dies = cmd->dies;
    struct upmu_count lines[2];
    uint64_t copied = 0;
    enum upmu_status status = upmu_uncore_region_begin(dies, CMD_DIES);

    if (status == UPMU_OK) {
        copied = copy(cmd->live);
        status = upmu_uncore_region_end(dies, CMD_DIES, lines, 2);
    }
    if (upmu_uncore_region_close(dies, CMD_DIES) != UPMU_OK || status != UPMU_OK)
        return cmd_refusal(cmd, status, &dies->region.session.why);
    cmd_print(cmd, "\ncopied   %U MiB in steps of %U KiB: %s\n", copied >> 20, (uint64_t)cmd->live->buffer_bytes >> 11,
              events);
    cmd_print(cmd, "read     %U MiB\nwritten  %U MiB\n", lines[0].value * LINE_BYTES >> 20,
              lines[1].value * LINE_BYTES >> 20);
    return CMD_OK;
}

/* The first events that the memory controllers have. */
static int measure_copy(struct cmd *cmd)
{
    const struct upmu_why *why = &cmd->dies->region.session.why;
    enum upmu_status status = UPMU_ERR_NO_SUCH_PMU;

    if (cmd->simulated) {
        cmd_print(cmd, "\n(A simulated CPU copies nothing.)\n");
        return CMD_OK;
    }
    for (unsigned i = 0; i < sizeof bandwidth / sizeof bandwidth[0]; i++) {
        status = upmu_uncore_region_open(cmd->dies, CMD_DIES, cmd->machine, bandwidth[i]);
        if (status == UPMU_OK)
            return measure(cmd, bandwidth[i]);
        if (status != UPMU_ERR_NO_SUCH_PMU && status != UPMU_ERR_NO_SUCH_EVENT)
            return cmd_refusal(cmd, status, why);
    }
    cmd_print(cmd, "\n(No events of memory controllers are known here.)\n");
    return CMD_OK;
}

int cmd_uncore(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_unit_list *list = &cmd->units;
    enum upmu_status status;
    int result = cmd_target_open(cmd, args);

    if (result != CMD_OK)
        return result;
    status = cmd_target_units(cmd, 0);
    if (status != UPMU_OK && status != UPMU_ERR_NO_SPACE && status != UPMU_ERR_NO_PMU) {
        result = cmd_refusal(cmd, status, &cmd->machine->why);
    } else if (!list->unit_count) {
        cmd_print(cmd, "no units outside the cores were found%s\n",
                  cmd->pmu->capabilities & UPMU_PMU_HYPERVISOR ? ": a hypervisor is present" : "");
    } else {
        print_units(cmd);
        result = measure_copy(cmd);
    }
    cmd_target_close(cmd);
    return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * Make the PMU (struct upmu_uncore_pmu) of a type of unit: its table of registers and its counters. Built-in types are
 * unpacked from the tables first. Also: the i-th built-in PMU, and the generations of a CPU.
 */
#include "backends/uncore/uncore_tables.h"
#include "core/catalog/catalog.h"
#include "core/hw/register.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_UNCORE

#define UNCORE_ALL (~UINT64_C(0))
#define UNCORE_BIT(n) (UINT64_C(1) << (n))
#define UNCORE_ENABLE UNCORE_BIT(22)
#define UNCORE_EX_SWITCH 0xc00u /* the MSR of UPMU_UNCORE_SWITCH_28 */

enum {
    /* box control; its gates are bits of its shadow from bit 32 on, which the register does not have */
    UNCORE_CLASS_CONTROL,
    UNCORE_CLASS_CONTROL_BLIND, /* box control that reads as 0 (UPMU_UNCORE_FREEZE_ENABLE) */
    UNCORE_CLASS_ENABLES,       /* style GLOBAL: the register with the gates of all counters */
    UNCORE_CLASS_COUNTER,
    UNCORE_CLASS_COUNTER_32,
    UNCORE_CLASS_COUNTER_FREE,
    UNCORE_CLASS_COUNTER_FREE_32,
    UNCORE_CLASS_COUNTER_SECOND,
    UNCORE_CLASS_SELECT_OWN, /* style SELECT: the select's enable bit is the counter's gate */
    UNCORE_CLASS_SELECT_OWN_31,
    UNCORE_CLASS_SELECT, /* a select with enable bit 22; the gate is in another register */
    UNCORE_CLASS_SELECT_32,
    UNCORE_CLASS_SELECT_0,    /* as UNCORE_CLASS_SELECT, but enabled by bit 0 */
    UNCORE_CLASS_SELECT_LIVE, /* as UNCORE_CLASS_SELECT, but without an enable bit */
    UNCORE_CLASS_SELECT_LIVE_32,
    UNCORE_CLASS_FILTER,
    UNCORE_CLASS_FILTER_SECOND,
    UNCORE_CLASS_SWITCH, /* an MSR of several types of units, whose counters count only while its enable bits are set */
    UNCORE_CLASSES
};

#define UNCORE_COUNTER_CLASS(how, size, where)                                                                         \
    {                                                                                                                  \
        .kind = UPMU_KIND_COUNTER, .access = (how), .load_rank = 5, .release_rank = 5, .promised = 1,                  \
        .second = (where), .bits = (size), .owned = UNCORE_ALL, .hardware = UNCORE_ALL                                 \
    }
#define UNCORE_SELECT_CLASS(size, enable, own)                                                                         \
    {                                                                                                                  \
        .kind = UPMU_KIND_SELECT, .load_rank = 1, .release_rank = 2, .found = 1, .promised = 1, .bits = (size),        \
        .owned = UNCORE_ALL, .gates = (own) ? (enable) : 0, .in_use = (enable), .session = UNCORE_ALL,                 \
        .privileged = UNCORE_ALL                                                                                       \
    }
#define UNCORE_CONTROL_CLASS(how, idle)                                                                                \
    {                                                                                                                  \
        .kind = UPMU_KIND_CONTROL, .access = (how), .load_rank = 7, .found = 1, .promised = 1, .bits = 32,             \
        .owned = UNCORE_ALL, .gates = UNCORE_ALL << 32, .idle_value = (idle)                                           \
    }
#define UNCORE_FILTER_CLASS(where)                                                                                     \
    {                                                                                                                  \
        .kind = UPMU_KIND_PAYLOAD, .release_rank = 4, .found = 1, .promised = 1, .bits = 32, .second = (where),        \
        .owned = UNCORE_ALL, .session = UNCORE_ALL, .privileged = UNCORE_ALL                                           \
    }

static const struct upmu_register_class unit_classes[UNCORE_CLASSES] = {
    [UNCORE_CLASS_CONTROL] = UNCORE_CONTROL_CLASS(UPMU_ACCESS_RW, 0),
    [UNCORE_CLASS_CONTROL_BLIND] = UNCORE_CONTROL_CLASS(UPMU_ACCESS_WO, 0x10000),
    [UNCORE_CLASS_ENABLES] = {.kind = UPMU_KIND_CONTROL,
                              .load_rank = 7,
                              .found = 1,
                              .promised = 1,
                              .owned = UNCORE_ALL,
                              .gates = 0x1ffffffffu},
    [UNCORE_CLASS_COUNTER] = UNCORE_COUNTER_CLASS(UPMU_ACCESS_RW, 0, 0),
    [UNCORE_CLASS_COUNTER_32] = UNCORE_COUNTER_CLASS(UPMU_ACCESS_RW, 32, 0),
    [UNCORE_CLASS_COUNTER_FREE] = UNCORE_COUNTER_CLASS(UPMU_ACCESS_RO, 0, 0),
    [UNCORE_CLASS_COUNTER_FREE_32] = UNCORE_COUNTER_CLASS(UPMU_ACCESS_RO, 32, 0),
    [UNCORE_CLASS_COUNTER_SECOND] = UNCORE_COUNTER_CLASS(UPMU_ACCESS_RO, 0, 1),
    [UNCORE_CLASS_SELECT_OWN] = UNCORE_SELECT_CLASS(0, UNCORE_ENABLE, 1),
    [UNCORE_CLASS_SELECT_OWN_31] = UNCORE_SELECT_CLASS(0, UNCORE_BIT(31), 1),
    [UNCORE_CLASS_SELECT] = UNCORE_SELECT_CLASS(0, UNCORE_ENABLE, 0),
    [UNCORE_CLASS_SELECT_32] = UNCORE_SELECT_CLASS(32, UNCORE_ENABLE, 0),
    [UNCORE_CLASS_SELECT_0] = UNCORE_SELECT_CLASS(32, UNCORE_BIT(0), 0),
    [UNCORE_CLASS_SELECT_LIVE] = UNCORE_SELECT_CLASS(0, UNCORE_ALL, 0),
    [UNCORE_CLASS_SELECT_LIVE_32] = UNCORE_SELECT_CLASS(32, UNCORE_ALL, 0),
    [UNCORE_CLASS_FILTER] = UNCORE_FILTER_CLASS(0),
    [UNCORE_CLASS_FILTER_SECOND] = UNCORE_FILTER_CLASS(1),
    [UNCORE_CLASS_SWITCH] =
        {.kind = UPMU_KIND_AUX, .load_rank = 7, .release_rank = 7, .found = 1, .promised = 1, .owned = UNCORE_ALL},
};

#define UNCORE_TEN(prefix)                                                                                             \
    prefix "0\0" prefix "1\0" prefix "2\0" prefix "3\0" prefix "4\0" prefix "5\0" prefix "6\0" prefix "7\0" prefix     \
           "8\0" prefix "9\0"
#define UNCORE_SIX(prefix) prefix "10\0" prefix "11\0" prefix "12\0" prefix "13\0" prefix "14\0" prefix "15\0"
static const char unit_names[] =
    UNCORE_TEN("CTL") UNCORE_SIX("CTL") UNCORE_TEN("CTR") UNCORE_SIX("CTR") "FILTER0\0FILTER1\0FILTER2\0FILTER3\0"
                                                                            "FIXED_CTL\0FIXED_CTR\0BOX_CTL\0GLOBAL_CTL";
#define UNCORE_NAME_SELECT 0u
#define UNCORE_NAME_COUNTER 86u
#define UNCORE_NAME_FILTER 172u
#define UNCORE_NAME_FIXED_SELECT (UNCORE_NAME_FILTER + 32u)
#define UNCORE_NAME_FIXED_COUNTER (UNCORE_NAME_FIXED_SELECT + 10u)
#define UNCORE_NAME_CONTROL (UNCORE_NAME_FIXED_COUNTER + 10u)
#define UNCORE_NAME_SWITCH (UNCORE_NAME_CONTROL + 8u)

/* Return the offset in unit_names of the i-th register's name, "CTL3" or "CTL12". `first`: that of register 0. */
static unsigned name_of(unsigned first, unsigned i)
{
    return first + 5 * i + (i > 10 ? i - 10 : 0);
}

/* ---- Registers ---- */

static unsigned add_row(struct upmu_uncore_pmu *out, uint32_t address, unsigned class, unsigned counter, unsigned name)
{
    unsigned row = out->table.row_count++;

    out->row[row] = (struct upmu_register){address, (uint8_t) class, (uint8_t)counter, (uint16_t)name};
    upmu_rows_set(out->pmu.present, row);
    return row;
}

/* Return the class of selects whose enable bit is `bit` (0xff: they have none) and that are `step` apart. */
static unsigned select_class(const struct upmu_unit_type *type, unsigned bit, unsigned step)
{
    bool narrow = type->space == UPMU_SPACE_MMIO ? (type->quirks & UPMU_UNCORE_SELECT_32) || type->register_bits == 32
                                                 : type->space == UPMU_SPACE_PCI && step < 8;

    if (type->style == UPMU_UNIT_SELECT)
        return bit == 31 ? UNCORE_CLASS_SELECT_OWN_31 : UNCORE_CLASS_SELECT_OWN;
    if (bit == 0)
        return UNCORE_CLASS_SELECT_0;
    if (bit == 0xff)
        return narrow ? UNCORE_CLASS_SELECT_LIVE_32 : UNCORE_CLASS_SELECT_LIVE;
    return narrow ? UNCORE_CLASS_SELECT_32 : UNCORE_CLASS_SELECT;
}

static unsigned counter_class(const struct upmu_unit_type *type, bool fixed)
{
    bool narrow =
        (type->quirks & UPMU_UNCORE_COUNTER_32) || (type->space == UPMU_SPACE_MMIO && type->register_bits == 32);

    if (type->style != UPMU_UNIT_FREE)
        return narrow ? UNCORE_CLASS_COUNTER_32 : UNCORE_CLASS_COUNTER;
    if (fixed && (type->quirks & UPMU_UNCORE_SECOND_FIXED))
        return UNCORE_CLASS_COUNTER_SECOND;
    return narrow ? UNCORE_CLASS_COUNTER_FREE_32 : UNCORE_CLASS_COUNTER_FREE;
}

/* Set row and bit of the gate of counter i. `enable`: the enable bit of its select. */
static void set_gate(const struct upmu_unit_type *type, struct upmu_counter *counter, unsigned i, unsigned enable)
{
    bool fixed = i >= UPMU_FIXED_COUNTER(0);

    counter->gate_row = 0;
    switch (type->style) {
    case UPMU_UNIT_FREE:
        counter->gate_row = counter->value_row;
        break;
    case UPMU_UNIT_SELECT:
        counter->gate_row = counter->select_row;
        counter->gate_bit = (uint8_t)enable;
        break;
    case UPMU_UNIT_GLOBAL:
        if (fixed)
            counter->gate_bit = type->quirks & UPMU_UNCORE_FIXED_GATE_31 ? 31 : 32;
        else
            counter->gate_bit = (uint8_t)i;
        break;
    default:
        counter->gate_bit = (uint8_t)(32 + i);
    }
}

static void add_unit_counter(struct upmu_uncore_pmu *out, unsigned i, unsigned select, unsigned value)
{
    const struct upmu_unit_type *type = out->type;
    bool fixed = i >= UPMU_FIXED_COUNTER(0);
    unsigned enable = fixed ? (type->quirks & UPMU_UNCORE_FIXED_ENABLE_0 ? 0 : 22) : type->enable_bit;
    struct upmu_counter counter = {.value_row = (uint8_t)value,
                                   .write_row = (uint8_t)value,
                                   .select_row = (uint8_t)(type->style == UPMU_UNIT_FREE ? value : select),
                                   .width = fixed ? type->fixed_width : type->width,
                                   .rdpmc = UPMU_NO_RDPMC};

    /*
     * RDPMC indices of AMD: six counters of L3, and the first four of the data fabric, follow one another; the fabric's
     * fifth one is 16.
     */
    if (type->rdpmc != 0xffff)
        counter.rdpmc = type->rdpmc + i + (type->rdpmc == 6 && i >= 4 ? 6 : 0);
    counter.write_bits = counter.width;
    set_gate(type, &counter, i, enable);
    upmu_register_add_counter(&out->pmu, i, &counter);
    out->pmu.preference[out->pmu.preference_count++] = (uint8_t)i;
    if (!fixed)
        out->pmu.general |= UPMU_BIT32(i);
}

/*
 * Add the general counters, then the fixed one. The rows of all general selects stand before those of general counters.
 */
static void add_unit_counters(struct upmu_uncore_pmu *out)
{
    const struct upmu_unit_type *type = out->type;
    bool free = type->style == UPMU_UNIT_FREE;
    unsigned select = out->table.row_count, value, class = select_class(type, type->enable_bit, type->select_step);

    for (unsigned i = 0; i < type->counters && !free; i++)
        (void)add_row(out, type->select + i * type->select_step, class, i, name_of(UNCORE_NAME_SELECT, i));
    value = out->table.row_count;
    for (unsigned i = 0; i < type->counters; i++)
        (void)add_row(out, type->counter + i * type->counter_step, counter_class(type, false), i,
                      name_of(UNCORE_NAME_COUNTER, i));
    for (unsigned i = 0; i < type->counters; i++)
        add_unit_counter(out, i, select + i, value + i);
    if (type->fixed_width) {
        unsigned i = UPMU_FIXED_COUNTER(0);

        class = select_class(type, type->quirks & UPMU_UNCORE_FIXED_ENABLE_0 ? 0 : 22, 4);
        select = free ? 0 : add_row(out, type->fixed_select, class, i, UNCORE_NAME_FIXED_SELECT);
        add_unit_counter(out, i, select,
                         add_row(out, type->fixed_counter, counter_class(type, true), i, UNCORE_NAME_FIXED_COUNTER));
    }
}

void upmu_uncore_describe(const struct upmu_unit_type *type, struct upmu_uncore_pmu *out)
{
    struct upmu_pmu *pmu = &out->pmu;

    memset(pmu, 0, sizeof *pmu);
    out->type = type;
    out->packed = 0;
    out->table = (struct upmu_register_table){
        .rows = out->row, .classes = unit_classes, .text = unit_names, .class_count = UNCORE_CLASSES};
    pmu->name = type->pmu;
    pmu->title = type->title;
    pmu->backend = &upmu_uncore_backend;
    pmu->table = &out->table;
#if UPMU_NAMES
    if (type->catalog)
        pmu->catalog = upmu_catalog_find(type->catalog);
#endif
    pmu->capabilities = UPMU_PMU_NO_PMI | UPMU_PMU_KEEPS;
    if (type->quirks & UPMU_UNCORE_SATURATES)
        pmu->capabilities |= UPMU_PMU_SATURATES;
    pmu->quirks = type->quirks;
    pmu->index = UPMU_UNIT_PMU;
    pmu->status_row = pmu->ack_row = pmu->inuse_row = UPMU_NO_ROW;
    pmu->min_period = 1;
    pmu->max_period = UNCORE_ALL >> 1;
    for (unsigned i = 0; i < UNCORE_CLASSES; i++)
        pmu->limit[i] = UNCORE_ALL;
    switch (type->style) {
    case UPMU_UNIT_FREE:
        pmu->capabilities |= UPMU_PMU_FREE;
        break;
    case UPMU_UNIT_SELECT:
        break;
    case UPMU_UNIT_GLOBAL:
        pmu->capabilities |= UPMU_PMU_GLOBAL_CTRL;
        (void)add_row(out, type->control, UNCORE_CLASS_ENABLES, UPMU_NO_COUNTER, UNCORE_NAME_SWITCH);
        break;
    default:
        (void)add_row(out, type->control,
                      type->quirks & UPMU_UNCORE_FREEZE_ENABLE ? UNCORE_CLASS_CONTROL_BLIND : UNCORE_CLASS_CONTROL,
                      UPMU_NO_COUNTER, UNCORE_NAME_CONTROL);
    }
    add_unit_counters(out);
    for (unsigned i = 0; i < type->filters; i++)
        (void)add_row(out, type->filter[i],
                      type->quirks & UPMU_UNCORE_SECOND_FILTERS ? UNCORE_CLASS_FILTER_SECOND : UNCORE_CLASS_FILTER,
                      UPMU_NO_COUNTER, UNCORE_NAME_FILTER + 8 * i);
    if (type->quirks & (UPMU_UNCORE_ABSOLUTE | UPMU_UNCORE_SWITCH_28))
        (void)add_row(out, type->quirks & UPMU_UNCORE_ABSOLUTE ? type->control : UNCORE_EX_SWITCH, UNCORE_CLASS_SWITCH,
                      UPMU_NO_COUNTER, UNCORE_NAME_SWITCH);
}

bool upmu_uncore_clash(const struct upmu_uncore_pmu *uncore, uint64_t apart)
{
    const struct upmu_register *row = uncore->row, *end = row + uncore->table.row_count;

    for (const struct upmu_register *a = row; a < end; a++) {
        const struct upmu_register_class *class = &unit_classes[a->class_index];
        unsigned bytes = uncore->type->space == UPMU_SPACE_MSR ? 1 : class->bits == 32 ? 4 : 8;

        if (bytes > 1 && (a->address % 4u || (uncore->type->space == UPMU_SPACE_PCI && a->address + bytes > 0x1000)))
            return true;
        for (const struct upmu_register *b = row; b < end; b++)
            if (b->address + apart - a->address < bytes && (apart || a != b) &&
                class->second == unit_classes[b->class_index].second)
                return true;
    }
    return false;
}

/* ---- Built-in types ---- */

static const char *text_at(unsigned offset)
{
    return offset ? &upmu_uncore_text[offset] : NULL;
}

/*
 * Compose a type's PMU name ("skx_unc_cha") and title ("Skylake-X cha"). If only a table of discovery knows the type,
 * its `number` is in the name; -1: it is known.
 */
static void compose_names(const struct upmu_uncore_generation *generation, const struct upmu_uncore_box *box,
                          int number, struct upmu_uncore_pmu *out)
{
    const char *name = text_at(box->name), *prefix = text_at(generation->libpfm),
               *catalog = text_at(generation->catalog);
    struct upmu_text text;
    size_t length;

    upmu_text_begin(&text, out->text, sizeof out->text);
    if (number >= 0) {
        upmu_text_string(&text, name);
        upmu_text_char(&text, '_');
        upmu_text_decimal(&text, (uint64_t)number);
        upmu_text_char(&text, '\0');
        name = out->text;
    }
    out->made.name = name;
    out->made.pmu = &out->text[text.length];
    /* A generation without a prefix has the catalogue's name less its last three letters: "skx_unc" of "skx_uncore". */
    if (prefix)
        upmu_text_string(&text, prefix);
    else
        upmu_text_bytes(&text, catalog, upmu_text_length(catalog) - 3);
    length = upmu_text_length(name) - box->cut;
    if (length && catalog) {
        upmu_text_char(&text, '_');
        upmu_text_bytes(&text, name, length);
    }
    upmu_text_char(&text, '\0');
    out->made.title = &out->text[text.length];
    upmu_text_string(&text, text_at(generation->title));
    upmu_text_char(&text, ' ');
    upmu_text_string(&text, name);
    (void)upmu_text_end(&text);
}

/* Set the bits of box control that freeze the box, that reset it, and that must be set all the time. */
static UPMU_APART void set_control(struct upmu_unit_type *type)
{
    if (type->style == UPMU_UNIT_BOX) {
        type->freeze = 0x100;
        type->reset = 3;
        type->control_idle = type->quirks & UPMU_UNCORE_FREEZE_ENABLE ? 0x10000 : 0;
    } else if (type->style == UPMU_UNIT_DISCOVERED) {
        type->freeze = 1;
        type->reset = 0x300;
    } else if (type->style == UPMU_UNIT_CLIENT_IMC) {
        type->freeze = 1;
    } else if (type->quirks & UPMU_UNCORE_ABSOLUTE) {
        type->control_idle = (uint32_t)1 << 29;
    }
    /*
     * Boxes with reset bits have several counters; a type of such boxes has one here if sources disagree about the
     * others. Another driver may use these others, which a reset would clear: so such a box is never reset.
     */
    if (type->counters == 1)
        type->reset = 0;
}

/*
 * Set in a type what a table of discovery says: address space, number and width of counters, offsets and steps of box
 * control, selects and counters. Filters and the fixed counter stay as the built-in layout has them.
 */
static UPMU_APART void apply_found(const struct upmu_uncore_found *found, struct upmu_unit_type *type)
{
    bool wide = found->space == UPMU_SPACE_PCI;

    type->space = (uint8_t)found->space;
    type->counters = found->counters;
    type->width = found->width;
    type->control = found->control;
    type->select = found->control + (uint32_t)found->select;
    type->counter = found->control + (uint32_t)found->counter;
    type->select_step = type->counter_step = 1;
    if (found->space == UPMU_SPACE_MSR)
        return;
    type->counter_step = 8;
    /* In PCI space selects have 64 bits; in memory those of CXL have 64 (UPMU_UNCORE_WIDE_STEP), others 32. */
    type->select_step = wide || (type->quirks & UPMU_UNCORE_WIDE_STEP) ? 8 : 4;
    if (type->select_step == 4) {
        type->quirks |= UPMU_UNCORE_SELECT_32;
        type->select_mask &= 0xffffffffu;
    }
}

/* How many bytes of struct upmu_unit_type, from `style` on, have the same members as the start of a layout. */
#define UNCORE_LIKE (offsetof(struct upmu_unit_type, control) - offsetof(struct upmu_unit_type, style))
_Static_assert(sizeof(struct upmu_uncore_found) == sizeof((struct upmu_uncore_pmu *)0)->found, "no holes");
_Static_assert(UNCORE_LIKE == offsetof(struct upmu_uncore_layout, control) &&
                   offsetof(struct upmu_unit_type, scope) - offsetof(struct upmu_unit_type, style) ==
                       offsetof(struct upmu_uncore_layout, scope) &&
                   offsetof(struct upmu_unit_type, rdpmc) - offsetof(struct upmu_unit_type, style) ==
                       offsetof(struct upmu_uncore_layout, rdpmc),
               "a layout begins as a type goes on");

void upmu_uncore_use_reading(struct upmu_uncore_pmu *pmu, const struct upmu_uncore_reading *reading)
{
    struct upmu_counter *counter = &pmu->pmu.counter[reading->counter];

    pmu->row[counter->value_row].address = reading->msr;
    counter->width = counter->write_bits = reading->width;
}

void upmu_uncore_make(unsigned generation, unsigned row, const struct upmu_uncore_found *found,
                      struct upmu_uncore_pmu *out)
{
    const struct upmu_uncore_generation *of = &upmu_uncore_generations[generation];
    const struct upmu_uncore_row *packed = &upmu_uncore_rows[row];
    const struct upmu_uncore_layout *layout = &upmu_uncore_layouts[packed->layout];
    const struct upmu_uncore_box *box = &upmu_uncore_boxes[packed->box];
    const uint16_t *filter = &upmu_uncore_words[layout->filter_list];
    struct upmu_unit_type *type = &out->made;

    memset(type, 0, sizeof *type);
    memcpy((char *)type + offsetof(struct upmu_unit_type, style), layout, UNCORE_LIKE);
    compose_names(of, box, packed->rule == UPMU_UNCORE_RULE_OTHER ? found->type : -1, out);
    type->prefix = text_at(box->prefix);
    type->catalog = text_at(of->catalog);
    type->number = box->number;
    type->control = (uint32_t)layout->control;
    type->select = (uint32_t)layout->select;
    type->counter = (uint32_t)layout->counter;
    type->fixed_select = (uint32_t)layout->fixed_select;
    type->fixed_counter = (uint32_t)layout->fixed_counter;
    for (unsigned i = 0; i < layout->filters; i++) {
        type->filter[i] = filter[2 * i];
        type->filter_mask[i] = upmu_uncore_masks[filter[2 * i + 1]];
    }
    type->select_mask = upmu_uncore_masks[packed->mask];
    type->rate_mhz = upmu_uncore_rates[layout->rate];
    set_control(type);
    if (found) {
        memcpy(out->found, found, sizeof *found);
        apply_found(found, type);
    }
    upmu_uncore_describe(type, out);
    out->packed = (uint16_t)(row + 1);
    out->pmu.variant = (uint8_t)(generation + 1); /* 0: a host's own type */
    for (unsigned i = 0; layout->counter_list && i < type->counters; i++)
        out->row[out->pmu.counter[i].value_row].address = upmu_uncore_words[layout->counter_list + i];
    if (!upmu_uncore_has_readings(packed))
        return;
    for (const struct upmu_uncore_reading *reading = &upmu_uncore_readings[packed->words]; reading->width; reading++)
        upmu_uncore_use_reading(out, reading);
}

/*
 * Return the number of counters of a type that is described without a machine, although only the machine's table of
 * discovery has the number: 4, or as many as the rules of its events name.
 */
static uint8_t counters_on_paper(const struct upmu_uncore_row *row)
{
    const struct upmu_uncore_rule *rule = &upmu_uncore_rules[row->rules];
    uint8_t counters = 4;

    /* The `rules` of a free-running type are an index of words. */
    for (; upmu_uncore_layouts[row->layout].style != UPMU_UNIT_FREE && rule->mask; rule++)
        while (rule->what >> counters)
            counters++;
    return counters;
}

bool upmu_uncore_pmu_at(unsigned index, struct upmu_uncore_pmu *out_pmu)
{
    for (unsigned i = 0; i < upmu_uncore_generation_count; i++) {
        const struct upmu_uncore_generation *generation = &upmu_uncore_generations[i];

        for (unsigned row = generation->first; row < generation->first + (unsigned)generation->rows; row++) {
            unsigned rule = upmu_uncore_rows[row].rule;
            struct upmu_uncore_found found = {.space = upmu_uncore_layouts[upmu_uncore_rows[row].layout].space,
                                              .counters = counters_on_paper(&upmu_uncore_rows[row]),
                                              .width = 48,
                                              .select = 0x40,
                                              .counter = 8};

            if (rule == UPMU_UNCORE_RULE_BROKEN || index-- > 0)
                continue;
            upmu_uncore_make(i, row, rule == UPMU_UNCORE_RULE_TABLE ? &found : NULL, out_pmu);
            return true;
        }
    }
    return false;
}

int upmu_uncore_generation_of(bool amd, unsigned family, unsigned model, unsigned stepping, unsigned i)
{
    for (unsigned k = 0; k < upmu_uncore_cpu_count; k++) {
        const struct upmu_uncore_cpu *cpu = &upmu_uncore_cpus[k];
        unsigned from = cpu->stepping & 0x7fu;
        bool more = k + 1u < upmu_uncore_cpu_count;

        if (cpu->family != family || model < cpu->first || model > cpu->last || amd != cpu->stepping >> 7 ||
            stepping < from)
            continue;
        /*
         * The next row is for the same model from a later stepping on, which this CPU has: that row is the right one.
         */
        if (more && (cpu[1].stepping & 0x7fu) && cpu[1].first == cpu->first && stepping >= (cpu[1].stepping & 0x7fu))
            continue;
        if (!i--)
            return cpu->generation;
    }
    return -1;
}

#endif

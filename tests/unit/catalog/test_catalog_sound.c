/* SPDX-License-Identifier: MIT */
/*
 * Catalogues from outside with one flaw each, which one check of upmu_catalog_load() finds:
 * the bytes of a good file are changed in one place, and its checksum is put right.
 */
#include <stdlib.h>

#include "tests/common/host.h"

#include "core/catalog/catalog_table.h"
#include "tests/common/blobs.h"

#define BYTES (BLOB_ROOM + 8192u)

static uint8_t file[BYTES], good[BYTES];
static size_t size;

/* Take the blob whose catalogue has a name, for the checks that follow. */
static void take(const char *name)
{
    for (unsigned i = 0; i < blob_count(); i++) {
        size = blob_make(i, good);
        memcpy(file, good, size);
        if (strcmp(upmu_catalog_name(upmu_catalog_loaded(file, 0)), name) == 0)
            return;
    }
    fail_msg("no file of %s", name);
}

/* In a block of just its size, so that the address sanitizer sees what is read outside. */
static enum upmu_status load(void)
{
    uint8_t *exact = malloc(size);
    enum upmu_status status;

    assert_non_null(exact);
    blob_seal(file, size);
    memcpy(exact, file, size);
    status = upmu_catalog_load(exact, size);
    free(exact);
    return status;
}

/* What was changed is refused; then it is as it was. */
static void refused(const char *what, unsigned i)
{
    enum upmu_status status = load();

    if (status != UPMU_ERR_INVALID)
        fail_msg("%s (%u): status %d", what, i, (int)status);
    memcpy(file, good, size);
    assert_int_equal(load(), UPMU_OK);
}

static const struct upmu_catalog *catalog(void)
{
    return upmu_catalog_loaded(file, 0);
}

/* Its header, to change. */
static uint8_t *header(void)
{
    return file + upmu_offset(file + UPMU_FILE_DIRECTORY);
}

/* A byte of the file that was read, to change. */
static uint8_t *writable(const uint8_t *byte)
{
    return file + (byte - file);
}

static uint8_t *shared(unsigned section, unsigned i)
{
    return writable(upmu_section_at(file, section, i));
}

static uint8_t *own(unsigned section, unsigned i)
{
    return writable(upmu_section_at(header(), section, i));
}

static void put(uint8_t *at, unsigned bytes, uint32_t value)
{
    for (; bytes--; value >>= 8)
        *at++ = (uint8_t)value;
}

static const char *const some[] = {"ppro", "pm", "k7", "netburst", "skl"};
#define SOME (sizeof some / sizeof some[0])

/* ---- File and headers ---- */

static void sizes_and_counts_that_the_file_does_not_have_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        take(some[i]);
        put(file + 4, 4, (uint32_t)size + 1);
        refused("file: one byte longer", i);
        put(file + 4, 4, (uint32_t)size - 1);
        refused("file: one byte shorter", i);
        put(file + 8, 2, 0);
        refused("file: no catalogue", i);
        put(file + 8, 2, 0xffff);
        refused("file: more catalogues than bytes", i);
        put(file + 10, 2, 0xffff);
        refused("file: names behind its end", i);
        put(file + 14, 2, 0xffff);
        refused("file: shapes behind its end", i);
        put(file + 16, 2, 0xffff);
        refused("file: payloads behind its end", i);
        put(file + 24, 3, (uint32_t)size);
        refused("file: fragments behind its end", i);
        put(header() + 4, 4, (uint32_t)size);
        refused("catalogue longer than its file", i);
        put(header() + 4, 4, 0x7fffffff);
        refused("catalogue far longer than its file", i);
        put(header() + 4, 4, UPMU_CATALOG_LEAST - 1);
        refused("catalogue too short", i);
        put(header() + 8, 4, upmu_word(header() + 8) + 1);
        refused("catalogue says that it stands elsewhere", i);
        put(file + UPMU_FILE_DIRECTORY, 3, UPMU_FILE_DIRECTORY - 1);
        refused("catalogue in the header", i);
        put(file + UPMU_FILE_DIRECTORY, 3, (uint32_t)size - UPMU_CATALOG_LEAST + 1);
        refused("catalogue behind the end", i);
        put(file + UPMU_FILE_DIRECTORY, 3, 0xffffff);
        refused("catalogue far behind the end", i);
        put(header() + 4, 4, 0);
        refused("catalogue without a byte", i);
        header()[0]++;
        refused("no catalogue there", i);
        put(header() + 12, 2, upmu_half(header() + 12) & 255u);
        refused("a built-in catalogue's number", i);
        put(header() + 14, 2, 0);
        refused("no rows", i);
        put(header() + 14, 4, 0);
        refused("no rows, nor aliases", i);
        put(header() + 14, 2, 0xffff);
        refused("rows behind its end", i);
        put(header() + 16, 2, 0xffff);
        refused("aliases behind its end", i);
        header()[UPMU_OWN_NAME] = 0;
        refused("no name", i);
        header()[UPMU_OWN_NAME + 11] = header()[UPMU_OWN_NAME + 12] = 'x';
        refused("a name without end", i);
        header()[UPMU_OWN_NAME + 23] = 'x';
        refused("another name without end", i);
    }
}

/* A section begins where its catalogue ends. */
static void sections_behind_the_end_are_refused(void **state)
{
    static const unsigned sections[] = {UPMU_OWN_FILTER, UPMU_OWN_HASH, UPMU_OWN_ENTRIES, UPMU_OWN_NAMES,
                                        UPMU_OWN_TARGETS};

    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        take(some[i]);
        for (unsigned k = 0; k < sizeof sections / sizeof sections[0]; k++) {
            put(header() + (sections[k] & 255u), 3, upmu_word(header() + 4));
            refused(some[i], sections[k] & 255u);
            put(header() + (sections[k] & 255u), 3, 0xffffff);
            refused(some[i], sections[k] & 255u);
        }
    }
}

/* Behind the good one stands the same again, with another number. */
static void two_catalogues_of_a_file_have_numbers_of_their_own(void **state)
{
    uint32_t at, length;
    uint8_t *second;

    (void)state;
    take("skl");
    /* Room for three bytes more in the directory: what stands behind it moves up. */
    at = upmu_offset(file + UPMU_FILE_DIRECTORY);
    length = upmu_word(header() + 4);
    memmove(file + UPMU_FILE_DIRECTORY + 6, file + UPMU_FILE_DIRECTORY + 3, size - UPMU_FILE_DIRECTORY - 3);
    for (unsigned i = 18; i <= UPMU_FILE_DIRECTORY; i += 3)
        put(file + i, 3, upmu_offset(file + i) + 3);
    at += 3;
    put(header() + 8, 4, at);
    put(file + UPMU_FILE_DIRECTORY + 3, 3, (uint32_t)size - 1);
    second = file + size - 1;
    memcpy(second, header(), length);
    put(second + 8, 4, (uint32_t)size - 1);
    put(second + 12, 2, upmu_half(second + 12) + 1);
    size += 3 + length;
    put(file + 4, 4, (uint32_t)size);
    file[8] = 2;
    assert_compare(size, <=, BYTES);
    assert_int_equal(load(), UPMU_OK);
    memcpy(good, file, size);
    memcpy(second + 12, header() + 12, 2);
    refused("two of one number", 0);
    put(file + UPMU_FILE_DIRECTORY + 3, 3, at);
    refused("one twice", 0);
    second[UPMU_OWN_NAME] = 0;
    refused("the second has no name", 0);
    put(second + 14, 2, 0);
    refused("the second has no rows", 0);
}

/* ---- Names ---- */

static void names_that_are_not_there_or_not_in_order_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        unsigned wide, rows;

        take(some[i]);
        wide = upmu_file_wide(file);
        rows = upmu_own_rows(catalog());
        put(file + 10, 2, upmu_half(file + 10) - 1);
        refused("the last name is not there", i);
        *shared(UPMU_SHARED_NAMES, 0) = 0;
        refused("a name without letters", i);
        /* A name twice, in the places of two. */
        for (unsigned k = 0; k < 4; k++) {
            uint8_t *name = own(UPMU_OWN_NAMES, wide ? 2 * (rows + 1 + k) : k);

            memcpy(name, name + 1 + wide, 1 + wide);
            refused("an alias twice", k);
            memcpy(name + 1 + wide, name, 1 + wide);
            refused("an alias twice, the other", k);
            name = own(UPMU_OWN_NAMES, k << wide);
            memcpy(name + 1 + wide, name, 1 + wide);
            refused("a name twice", k);
        }
        for (unsigned k = 0; k <= (rows + upmu_own_aliases(catalog())) / 4; k++)
            if (*own(UPMU_OWN_HASH, k)) {
                own(UPMU_OWN_HASH, k)[0]++;
                refused("names of a bucket lead elsewhere", k);
                break;
            }
    }
}

/* In a small file the last name of a block is changed to the one before: its own codes go, all are shared. */
static void two_names_of_one_text_are_refused(void **state)
{
    unsigned pairs = 0;

    (void)state;
    for (unsigned i = 0; i < SOME - 1; i++) {
        take(some[i]);
        for (unsigned n = 15; n < upmu_half(file + 10); n += 16) {
            uint8_t *name = shared(UPMU_SHARED_NAMES, upmu_half(shared(UPMU_SHARED_BLOCKS, n >> 4 << 1)));
            uint8_t room[UPMU_CODES_ROOM];
            struct upmu_item item = upmu_name_item(file, n - 1, room);
            unsigned style = 0;

            for (unsigned k = 0; k < 15; k++) {
                style = *name & 16u;
                name += (*name & 15u) < 15 ? 1u + (*name & 15u) : 2u + name[1];
            }
            if (item.count > 7)
                continue;
            *name = (uint8_t)(item.count << 5 | style);
            refused("two names of one text", n);
            pairs++;
        }
    }
    assert_compare(pairs, >, 0);
}

static void aliases_of_rows_or_masks_that_there_are_not_are_refused(void **state)
{
    unsigned chosen = 0;

    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        unsigned wide, rows;

        take(some[i]);
        wide = upmu_file_wide(file);
        rows = upmu_own_rows(catalog());
        for (unsigned k = 0; k < upmu_own_aliases(catalog()); k++) {
            struct upmu_event_id id;
            struct upmu_row row;
            unsigned at;

            upmu_member_id(catalog(), rows + 1 + k, &id);
            if (!id.masks || !upmu_catalog_row(catalog(), id.row, &row) || row.mask_count == 32)
                continue;
            at = *own(UPMU_OWN_TARGETS, k << wide);
            at = wide ? upmu_half(own(UPMU_OWN_TARGETS, 2 * k)) : at;
            put(own(UPMU_OWN_CHOSEN, at - rows) + 2, 4, id.masks | UINT32_C(1) << row.mask_count);
            refused("an alias with a mask more", k);
            put(own(UPMU_OWN_CHOSEN, at - rows) + 2, 4, UINT32_C(1) << 31);
            refused("an alias of mask 31", k);
            put(own(UPMU_OWN_CHOSEN, at - rows), 2, rows);
            refused("an alias of a row behind the last", k);
            chosen++;
            break;
        }
    }
    assert_compare(chosen, >=, 3);
}

/* ---- Rows ---- */

/* The first row that has masks, or has none. */
static unsigned row_with(bool masks)
{
    for (unsigned row = 0; row < upmu_own_rows(catalog()); row++)
        if (!upmu_row_set(catalog(), row) == !masks)
            return row;
    fail_msg("no such row");
    return 0;
}

static void rows_whose_shape_or_set_is_not_there_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        unsigned masked, flat;

        take(some[i]);
        masked = row_with(true);
        flat = row_with(false);
        put(file + 14, 2, upmu_half(file + 14) - 1);
        refused("the last shape is not there", i);
        if (upmu_file_wide(file)) {
            header()[19]--;
            refused("its last shape is not there", i);
        }
        header()[18]--;
        refused("the last set is not there", i);
        own(UPMU_OWN_ENTRIES, masked)[2] &= UPMU_ENTRY_SHAPE;
        refused("a row with masks has none", i);
        own(UPMU_OWN_ENTRIES, flat)[2] |= UPMU_ENTRY_MASKED;
        refused("a row without masks has some", i);
        put(own(UPMU_OWN_MASKED, 0), 2, 0xffff);
        refused("a set behind the file", i);
    }
}

/* What a row shares with others. */
static uint8_t *shape_of(unsigned row)
{
    unsigned shape = own(UPMU_OWN_ENTRIES, row)[2] & UPMU_ENTRY_SHAPE;

    return shared(UPMU_SHARED_SHAPES, upmu_file_wide(file) ? upmu_half(own(UPMU_OWN_SHAPES, shape)) : shape);
}

static void payloads_that_are_not_there_are_refused(void **state)
{
    unsigned plain = 0, taken = 0;

    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        take(some[i]);
        for (unsigned row = 0; row < upmu_own_rows(catalog()); row++) {
            struct upmu_row contents;
            const uint8_t *set;

            assert_true(upmu_row_read(catalog(), row, &contents, &set));
            if (!contents.msr || set)
                continue;
            put(own(UPMU_OWN_ENTRIES, row), 2, upmu_half(file + 16));
            refused("a payload behind the last", row);
            plain++;
            break;
        }
    }
    assert_compare(plain, >, 0);
    for (unsigned i = 0; i < SOME; i++) {
        unsigned flat;
        uint8_t *shape;

        take(some[i]);
        flat = row_with(false);
        shape = shape_of(flat);
        if (!upmu_half(shape + 10)) {
            put(shape + 10, 2, 1);
            refused("a register without a payload", flat);
        }
        put(shape, 2, upmu_half(shape) | UPMU_ROW_COMPOSED);
        refused("a composed row without masks", flat);
        for (unsigned row = 0; row < upmu_own_rows(catalog()); row++) {
            const uint8_t *set = upmu_row_set(catalog(), row);
            struct upmu_masks masks;

            for (unsigned k = 0; upmu_masks_find(catalog(), set, k, &masks); k++) {
                bool wide = set[0] & UPMU_SET_WIDE;

                if (!(masks.class[0] & UPMU_MASK_PAYLOAD))
                    continue;
                put(writable(set) + masks.words + (k << wide), wide ? 2 : 1, 0xffff);
                refused("a mask's payload behind the last", row);
                taken++;
            }
            if (set && set[0] & UPMU_SET_PAYLOAD) {
                put(writable(set) + 1, 2, upmu_half(file + 16));
                refused("a payload of a row with masks behind the last", row);
                taken++;
            }
        }
    }
    assert_compare(taken, >, 1);
    take("netburst");
    put(file + 16, 2, upmu_half(file + 16) - 1);
    refused("the last payload is not there", 0);
}

/* ---- Masks ---- */

/* A run of masks, and their class, to change. */
struct spot {
    uint8_t *class;
    struct upmu_masks masks; /* stands on the first mask of a run */
    unsigned row;
};

/* The next mask that begins a run, of rows that are not composed: their names have no masks in them. */
static bool next_run(struct spot *spot)
{
    struct upmu_row row;
    const uint8_t *set;
    unsigned run = spot->masks.run;

    if (spot->masks.set)
        while (upmu_masks_next(&spot->masks) && spot->masks.class)
            if (spot->masks.run != run)
                goto found;
    do {
        if (!upmu_row_read(catalog(), ++spot->row, &row, &set))
            return false;
    } while (!set || row.flags & UPMU_ROW_COMPOSED);
    upmu_masks_begin(file, set, &spot->masks);
    (void)upmu_masks_next(&spot->masks);
found:
    spot->class = writable(spot->masks.class);
    return true;
}

static struct spot first_spot(void)
{
    struct spot spot = {0};

    spot.row = (unsigned)-1;
    return spot;
}

static void groups_of_masks_that_contradict_themselves_are_refused(void **state)
{
    unsigned last = 0, defaults = 0, half = 0, order = 0;
    const unsigned excludes = UPMU_MASK_ALONE | UPMU_MASK_EXCLUSIVE;

    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        struct spot spot = first_spot();

        take(some[i]);
        while (next_run(&spot)) {
            struct upmu_unpacked row;
            const struct upmu_mask_entry *mask = &row.mask[spot.masks.index];
            bool group_of_runs, many = spot.masks.left > 0;

            assert_true(upmu_row_unpack(catalog(), spot.row, &row));
            group_of_runs = mask->last > spot.masks.index + spot.masks.left;
            if (!(mask->flags & excludes)) {
                spot.class[0] |= UPMU_MASK_LAST;
                refused("a mask that ends the groups, but stands with others", spot.row);
                last++;
            }
            if (many && !(mask->flags & UPMU_MASK_EXCLUSIVE)) {
                spot.class[0] |= UPMU_MASK_DEFAULT | UPMU_MASK_ALONE;
                refused("two defaults that stand alone", spot.row);
                defaults++;
            }
            if (group_of_runs) {
                spot.class[0] ^= UPMU_MASK_EXCLUSIVE;
                refused("a group half exclusive", spot.row);
                half++;
            }
            if (mask->last + 1u < row.row.mask_count && !spot.masks.index && !group_of_runs) {
                spot.class[2] |= UPMU_CLASS_GROUP;
                refused("a group that comes too soon", spot.row);
                order++;
            }
        }
    }
    assert_true(last && defaults && half && order);
}

/* Masks of one row with as many codes, the first of one letter: one is called like the other. */
static void two_masks_of_one_name_are_refused(void **state)
{
    unsigned pairs = 0;

    (void)state;
    for (unsigned i = 0; i < SOME - 1; i++) {
        take(some[i]);
        for (unsigned row = 0; row < upmu_own_rows(catalog()); row++) {
            struct upmu_masks one, other;
            const uint8_t *set = upmu_row_set(catalog(), row);

            for (unsigned a = 0; upmu_masks_find(catalog(), set, a, &one); a++)
                for (unsigned b = a + 1; upmu_masks_find(catalog(), set, b, &other); b++) {
                    if (one.head != other.head)
                        continue;
                    memcpy(writable(other.item.codes), one.item.codes, one.item.count);
                    refused("two masks of one name", row);
                    pairs++;
                }
        }
    }
    assert_compare(pairs, >, 0);
}

static void masks_whose_names_nobody_can_write_are_refused(void **state)
{
    unsigned longer = 0;

    (void)state;
    for (unsigned i = 0; i < SOME - 1; i++) {
        take(some[i]);
        for (unsigned row = 0; row < upmu_own_rows(catalog()); row++) {
            const uint8_t *set = upmu_row_set(catalog(), row);
            struct upmu_masks masks;
            uint8_t *head;

            if (!set || set[0] & UPMU_SET_OTHERS)
                continue;
            upmu_masks_begin(file, set, &masks);
            assert_true(upmu_masks_find(catalog(), set, masks.count - 1, &masks));
            head = writable(set) + masks.heads + masks.index;
            *head ^= 1;
            refused("a mask whose name begins with another letter", row);
            *head &= 15;
            refused("a mask without a name", row);
            if (upmu_own_rows(catalog()) - 1 > row && longer++ % 4)
                continue;
            /* The last mask's name goes on with what stands behind it. */
            for (unsigned k = 0; k < 16; k++)
                for (unsigned codes = 25; codes < 41; codes += 5) {
                    *head = (uint8_t)(0xf0 | k);
                    *writable(masks.item.codes - (masks.item.count >= UPMU_MASK_MOST)) = (uint8_t)codes;
                    refused("a mask with too long a name", row);
                }
        }
    }
    assert_compare(longer, >, 0);
}

/* A row that has a set, but no mask in it; the first letter of a name, as it is written, is a separator. */
static void sets_without_masks_and_names_behind_a_separator_are_refused(void **state)
{
    unsigned empty = 0, begin = 0;

    (void)state;
    for (unsigned i = 0; i < SOME; i++) {
        take(some[i]);
        for (unsigned row = 0; row < upmu_own_rows(catalog()); row++) {
            const uint8_t *set = upmu_row_set(catalog(), row);
            struct upmu_masks masks;
            uint8_t *run;

            if (!set)
                continue;
            run = writable(set) + (set[0] & UPMU_SET_PAYLOAD ? 3 : 1);
            if (run[0] & UPMU_LAST_RUN && !(set[0] & UPMU_SET_OTHERS)) {
                run[1] = 0;
                refused("a set without masks", row);
                empty++;
            }
            for (unsigned k = 0; upmu_masks_find(catalog(), set, k, &masks) && masks.wide; k++) {
                *writable(masks.item.codes) = '_';
                writable(set)[masks.heads + k] = '_' | 0x20;
                refused("a mask's name that begins with a separator", k);
                begin++;
            }
        }
    }
    assert_true(empty && begin);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_counts_that_the_file_does_not_have_are_refused),
        cmocka_unit_test(sections_behind_the_end_are_refused),
        cmocka_unit_test(two_catalogues_of_a_file_have_numbers_of_their_own),
        cmocka_unit_test(names_that_are_not_there_or_not_in_order_are_refused),
        cmocka_unit_test(two_names_of_one_text_are_refused),
        cmocka_unit_test(aliases_of_rows_or_masks_that_there_are_not_are_refused),
        cmocka_unit_test(rows_whose_shape_or_set_is_not_there_are_refused),
        cmocka_unit_test(payloads_that_are_not_there_are_refused),
        cmocka_unit_test(groups_of_masks_that_contradict_themselves_are_refused),
        cmocka_unit_test(two_masks_of_one_name_are_refused),
        cmocka_unit_test(masks_whose_names_nobody_can_write_are_refused),
        cmocka_unit_test(sets_without_masks_and_names_behind_a_separator_are_refused),
    };

    return cmocka_run_group_tests_name("catalog_sound", tests, NULL, NULL);
}

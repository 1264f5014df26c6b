/* SPDX-License-Identifier: MIT */
/*
 * The layout of select registers and the names of their fields, which PMUs of Intel cores and of AMD have in common.
 */
#ifndef UPMU_X86_SELECT_H
#define UPMU_X86_SELECT_H

#include "core/hw/backend.h"

#define UPMU_SELECT_UMASK UINT64_C(0xff00)
#define UPMU_SELECT_USR (UINT64_C(1) << 16)
#define UPMU_SELECT_OS (UINT64_C(1) << 17)
#define UPMU_SELECT_EDGE (UINT64_C(1) << 18)
#define UPMU_SELECT_INT (UINT64_C(1) << 20)
#define UPMU_SELECT_ANY (UINT64_C(1) << 21) /* Intel's */
#define UPMU_SELECT_EQ (UINT64_C(1) << 36)  /* Intel's */
#define UPMU_SELECT_EN (UINT64_C(1) << 22)
#define UPMU_SELECT_INV (UINT64_C(1) << 23)
#define UPMU_SELECT_CMASK (UINT64_C(0xff) << 24)
#define UPMU_SELECT_BOTH (UPMU_SELECT_USR | UPMU_SELECT_OS)

/* Kinds of payload (upmu_event.payload), named after their attributes. */
#define UPMU_X86_PAYLOAD_OFFCORE 1u /* registers of offcore responses and of off-module responses (OMR) */
#define UPMU_X86_PAYLOAD_LDLAT 2u
#define UPMU_X86_PAYLOAD_FRONTEND 3u
#define UPMU_X86_PAYLOAD_SNOOP 4u

/* The lowest threshold of the load latency facility (Linux, libpfm4 4.13). */
#define UPMU_X86_LDLAT_LEAST 3u

/* Bits of upmu_x86_field.families: the vendors whose selects have the field. */
#define UPMU_X86_INTEL 1u
#define UPMU_X86_AMD 2u
#define UPMU_X86_ALL 3u

/* An attribute of an event: a field of its select word or, if `payload` is not 0, a field of that kind of payload. */
struct upmu_x86_field {
    uint64_t bits;
    /*
     * UPMU_ATTR_… that is set when the text gives the field; UPMU_ATTR_RAW: the field is part of the event code, which
     * the text can give for raw events only; 0: no row of a catalogue sets the field, so any value other than 0 is from
     * the text
     */
    uint32_t attribute;
    uint8_t shift;
    uint8_t families;
    uint8_t payload;
    uint8_t least;
    char name[UPMU_BACKEND_X86_CORE ? 14 : 8]; /* in canonical text */
};

/* Indices of fields: first the privileges, then other fields in the order of canonical text. */
enum {
    UPMU_X86_FIELD_USR,
    UPMU_X86_FIELD_OS,
    UPMU_X86_FIELD_EDGE,
    UPMU_X86_FIELD_INV,
    UPMU_X86_FIELD_CMASK,
#if UPMU_BACKEND_X86_CORE
    UPMU_X86_FIELD_ANY,
    UPMU_X86_FIELD_IN_TX,
    UPMU_X86_FIELD_IN_TXCP,
    UPMU_X86_FIELD_EQ,
#endif
    UPMU_X86_FIELD_GUEST,
    UPMU_X86_FIELD_HOST,
    UPMU_X86_FIELD_PC,
    UPMU_X86_FIELD_PAYLOADS,
#if UPMU_BACKEND_X86_CORE
    UPMU_X86_FIELD_OFFCORE = UPMU_X86_FIELD_PAYLOADS,
    UPMU_X86_FIELD_LDLAT,
    UPMU_X86_FIELD_FRONTEND,
    UPMU_X86_FIELD_SNOOP,
    UPMU_X86_FIELD_UMASK,
    UPMU_X86_FIELD_THRESHOLD,
#else
    UPMU_X86_FIELD_UMASK = UPMU_X86_FIELD_PAYLOADS,
#endif
    UPMU_X86_FIELD_EVENT,
    UPMU_X86_FIELD_AMD_EVENT,
    UPMU_X86_FIELDS
};
extern const struct upmu_x86_field upmu_x86_fields[UPMU_X86_FIELDS];

#if UPMU_NAMES
/*
 * Return the index of the field that a word of the text names; UPMU_X86_FIELDS: the word is `precise` or `p`; a greater
 * number: the word names no field.
 */
unsigned upmu_x86_field_of(const char *name, size_t length);

/*
 * Set a field of an event to the value that the text gives; NULL: the text gives none, which is 1 for a field of one
 * bit. `settable` are the bits of the word that may be set. A field that already has a value, from the event's row or
 * from the text, keeps it: only an equal value is accepted. Returns UPMU_OK, UPMU_ERR_NO_SUCH_ATTRIBUTE,
 * UPMU_ERR_BAD_VALUE or UPMU_ERR_CONTRADICTION.
 */
enum upmu_status upmu_x86_set(struct upmu_event *event, unsigned field, uint64_t settable, const uint64_t *given);

/* Return the select bits that a row fixes in addition to code and unit mask: edge, inv, any, eq, counter mask. */
uint64_t upmu_x86_modifiers(const struct upmu_row *row);

/*
 * Append the attributes of an event as canonical text (upmu_backend.format): the fields that vendors of `families`
 * have. Precision is not among them. A raw event has no such text.
 */
void upmu_x86_format(const struct upmu_event *event, const struct upmu_row *row, unsigned families,
                     struct upmu_text *out);
#endif

/*
 * Clear the enable and interrupt bits of event->config. If neither privilege (user, kernel) is set in it, set both; if
 * the text excluded one of them (u=0), set the other. Returns UPMU_OK; UPMU_ERR_NOT_PERMITTED: config has bits outside
 * of `settable`, or config2 is not 0; UPMU_ERR_CONTRADICTION: the text excluded both.
 */
enum upmu_status upmu_x86_settle(struct upmu_event *event, uint64_t settable);

/*
 * Correct event->attributes by event->config and config1: an attribute whose field is 0 is removed. Of a raw event the
 * attributes of other fields of config than the privileges are removed, too, and UPMU_ATTR_PAYLOAD is set if config1 is
 * not 0.
 */
void upmu_x86_settle_attributes(struct upmu_event *event);

#endif

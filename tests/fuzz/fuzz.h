/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: what a target is, and the bytes it decides by.
 *
 * A target turns any bytes into calls of the library and checks what must hold
 * whatever they are.  It is built twice: as a test program, which runs the inputs
 * in tests/fuzz/corpus/TARGET and a seeded number of made ones, and for libFuzzer
 * (make fuzz).  Nothing but the input may decide what a target does.
 */
#ifndef UPMU_TESTS_FUZZ_FUZZ_H
#define UPMU_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls of the library, where a target counts them: printed in the end. */
extern uint64_t fuzz_calls;

/* Inputs are at most so long. */
#define FUZZ_INPUT 1024u

/* ---- Input, taken from the front; 0 behind its end ---- */

struct fuzz_bytes {
    const uint8_t *at;
    const uint8_t *end;
};

uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count);

static inline uint8_t fuzz_u8(struct fuzz_bytes *bytes)
{
    return (uint8_t)fuzz_take(bytes, 1);
}

static inline uint32_t fuzz_u32(struct fuzz_bytes *bytes)
{
    return (uint32_t)fuzz_take(bytes, 4);
}

static inline uint64_t fuzz_u64(struct fuzz_bytes *bytes)
{
    return fuzz_take(bytes, 8);
}

static inline bool fuzz_more(const struct fuzz_bytes *bytes)
{
    return bytes->at < bytes->end;
}

/* ---- Seeded numbers: for makers of inputs, and for noise that one seed of the input stands for ---- */

uint64_t fuzz_random(uint64_t *state);
unsigned fuzz_below(uint64_t *state, unsigned limit);

/* A word as programs choose them: 0, all ones, one bit, small, few bits, anything. */
uint64_t fuzz_word(uint64_t *state);

/* An input under construction. */
struct fuzz_draft {
    uint8_t *bytes;
    size_t length; /* at most FUZZ_INPUT */
};

void fuzz_put(struct fuzz_draft *draft, uint64_t value, unsigned count);
void fuzz_put_text(struct fuzz_draft *draft, const char *text);

/* ---- Targets ---- */

struct fuzz_target {
    const char *name;      /* of its corpus folder */
    const char *holds;     /* "any_leaves_give_the_verdict_of_the_oracle" */
    uint32_t runs;         /* made inputs of one test run … */
    uint32_t runs_of_soak; /* … and of `make soak` */
    void (*run)(const uint8_t *bytes, size_t length);
    void (*make)(uint64_t *random, struct fuzz_draft *draft);
    uint32_t calls_of_soak; /* of the library, at least; 0: ten million, if it counts them */
};

/* Each test program has one. */
extern const struct fuzz_target fuzz_target;

/* Something does not hold: say what and with which input; does not return. */
__attribute__((noreturn, format(printf, 1, 2))) void fuzz_fail(const char *format, ...);

#define FUZZ_CHECK(condition, ...)                                                                                     \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fuzz_fail(__VA_ARGS__);                                                                                    \
    } while (0)

#endif

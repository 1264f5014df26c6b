/* SPDX-License-Identifier: MIT */
/*
 * Calls of S-mode: RISC-V SBI 3.0, for one hart. What S-mode passes in a0 to a7 is in frame->x[10] to frame->x[17].
 */
#include <examples/sbi_firmware/firmware.h>

#if defined(__riscv)

#include <port/riscv_native/riscv_csr.h>

#define UART ((volatile uint8_t *)0x10000000)
#define UART_STATUS 5u
#define UART_HAS_BYTE 1u
#define FINISH ((volatile uint32_t *)0x00100000)
#define FINISH_PASS 0x5555u
#define FINISH_FAIL 0x13333u
#define FINISH_RESET 0x7777u

#define SPEC_VERSION 0x03000000ul
#define IMPLEMENTATION 0x75706d75ul /* none of the specification's list */
#define ALREADY_AVAILABLE (-6)
#define SSI (1ul << 1)

enum extension {
    LEGACY_PUT = 1,
    LEGACY_GET = 2,
    BASE = 0x10,
    TIME = 0x54494d45,
    IPI = 0x735049,
    RFENCE = 0x52464e43,
    HSM = 0x48534d,
    RESET = 0x53525354,
    CONSOLE = 0x4442434e
};

/* The firmware's events of its calls: codes of the specification. */
enum {
    SET_TIMER = 5,
    IPI_SENT,
    IPI_RECEIVED,
    FENCE_I_SENT,
    FENCE_I_RECEIVED,
    SFENCE_SENT,
    SFENCE_RECEIVED,
    SFENCE_ASID_SENT,
    SFENCE_ASID_RECEIVED
};

static struct upmu_sbi_answer answer_with(long error, unsigned long value)
{
    return (struct upmu_sbi_answer){.error = error, .value = value};
}

static void note_event(unsigned code)
{
    if (firmware_hart.has_pmu)
        upmu_sbi_pmu_firmware(&firmware_hart.pmu, code);
}

void firmware_put(char c)
{
    *UART = (uint8_t)c;
}

int firmware_get(void)
{
    return UART[UART_STATUS] & UART_HAS_BYTE ? *UART : -1;
}

static bool is_there(unsigned long extension)
{
    static const unsigned long all[] = {LEGACY_PUT, LEGACY_GET, BASE, TIME, IPI, RFENCE, HSM, RESET, CONSOLE};

    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (extension == all[i])
            return true;
    return extension == UPMU_SBI_PMU_EXTENSION && firmware_hart.has_pmu;
}

static struct upmu_sbi_answer call_base(unsigned long function, const unsigned long a[6])
{
    switch (function) {
    case 0:
        return answer_with(0, SPEC_VERSION);
    case 1:
        return answer_with(0, IMPLEMENTATION);
    case 2:
        return answer_with(0, UPMU_VERSION_MAJOR << 16 | UPMU_VERSION_MINOR);
    case 3:
        return answer_with(0, is_there(a[0]));
    case 4:
        return answer_with(0, UPMU_RV_GET("mvendorid"));
    case 5:
        return answer_with(0, UPMU_RV_GET("marchid"));
    case 6:
        return answer_with(0, UPMU_RV_GET("mimpid"));
    default:
        return answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    }
}

/* Is this hart the only one of a list? *out_named: is it in the list at all? */
static bool is_this_hart(unsigned long mask, unsigned long base, bool *out_named)
{
    unsigned long id = firmware_hart.id;

    *out_named = base == ~0ul || (id >= base && id - base < __riscv_xlen && mask >> (id - base) & 1u);
    return base == ~0ul || !mask || (*out_named && mask == 1ul << (id - base));
}

static struct upmu_sbi_answer call_ipi(const unsigned long a[6])
{
    bool named;

    if (!is_this_hart(a[0], a[1], &named))
        return answer_with(UPMU_SBI_INVALID_PARAM, 0);
    if (named) {
        note_event(IPI_SENT);
        UPMU_RV_SET("mip", SSI);
        note_event(IPI_RECEIVED);
    }
    return answer_with(0, 0);
}

static struct upmu_sbi_answer call_fence(unsigned long function, const unsigned long a[6])
{
    bool named;

    if (function > 2)
        return answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    if (!is_this_hart(a[0], a[1], &named))
        return answer_with(UPMU_SBI_INVALID_PARAM, 0);
    if (named) {
        note_event(FENCE_I_SENT + 2 * (unsigned)function);
        if (function == 0)
            __asm__ volatile("fence.i" : : : "memory");
        else
            __asm__ volatile("sfence.vma" : : : "memory");
        note_event(FENCE_I_RECEIVED + 2 * (unsigned)function);
    }
    return answer_with(0, 0);
}

static struct upmu_sbi_answer call_hsm(unsigned long function, const unsigned long a[6])
{
    switch (function) {
    case 0:
        return answer_with(a[0] == firmware_hart.id ? ALREADY_AVAILABLE : UPMU_SBI_INVALID_PARAM, 0);
    case 1:
        return answer_with(UPMU_SBI_FAILED, 0); /* the last hart does not stop */
    case 2:
        return answer_with(a[0] == firmware_hart.id ? 0 : UPMU_SBI_INVALID_PARAM, 0);
    case 3:
        if ((uint32_t)a[0])
            return answer_with((uint32_t)a[0] == 0x80000000u ? UPMU_SBI_NOT_SUPPORTED : UPMU_SBI_INVALID_PARAM, 0);
        __asm__ volatile("wfi" : : : "memory");
        return answer_with(0, 0);
    default:
        return answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    }
}

static struct upmu_sbi_answer call_reset(unsigned long function, const unsigned long a[6])
{
    if (function)
        return answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    if ((uint32_t)a[0] > 2 || (uint32_t)a[1] > 1)
        return answer_with(UPMU_SBI_INVALID_PARAM, 0);
    *FINISH = (uint32_t)a[0] ? FINISH_RESET : (uint32_t)a[1] ? FINISH_FAIL : FINISH_PASS;
    for (;;)
        __asm__ volatile("wfi");
}

static struct upmu_sbi_answer call_console(unsigned long function, const unsigned long a[6])
{
    unsigned long done = 0;
    int byte;

    if (function == 2) {
        firmware_put((char)a[0]);
        return answer_with(0, 0);
    }
    if (function > 2)
        return answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    if (a[2] || a[1] < FIRMWARE_BASE + FIRMWARE_SIZE || a[1] > firmware_hart.ram_end ||
        a[0] > firmware_hart.ram_end - a[1])
        return answer_with(UPMU_SBI_INVALID_PARAM, 0);
    for (volatile char *at = (volatile char *)a[1]; done < a[0]; done++)
        if (function == 0)
            firmware_put(at[done]);
        else if ((byte = firmware_get()) >= 0)
            at[done] = (char)byte;
        else
            break;
    return answer_with(0, done);
}

void firmware_call(struct firmware_frame *frame)
{
    const unsigned long *a = &frame->x[10];
    struct upmu_sbi_answer answer = answer_with(UPMU_SBI_NOT_SUPPORTED, 0);
    unsigned long extension = frame->x[17], function = frame->x[16];

    switch (extension) {
    case LEGACY_PUT: /* the two calls of the first version have one result, in a0 */
        firmware_put((char)a[0]);
        frame->x[10] = 0;
        return;
    case LEGACY_GET:
        frame->x[10] = (unsigned long)firmware_get();
        return;
    case BASE:
        answer = call_base(function, a);
        break;
    case TIME:
        if (function == 0) {
            note_event(SET_TIMER);
            firmware_set_timer(__riscv_xlen == 32 ? (uint64_t)a[1] << 32 | a[0] : a[0]);
            answer = answer_with(0, 0);
        }
        break;
    case IPI:
        if (function == 0)
            answer = call_ipi(a);
        break;
    case RFENCE:
        answer = call_fence(function, a);
        break;
    case HSM:
        answer = call_hsm(function, a);
        break;
    case RESET:
        answer = call_reset(function, a);
        break;
    case CONSOLE:
        answer = call_console(function, a);
        break;
    case UPMU_SBI_PMU_EXTENSION:
        if (firmware_hart.has_pmu)
            answer = upmu_sbi_pmu_call(&firmware_hart.pmu, function, a);
        break;
    default:
        break;
    }
    frame->x[10] = (unsigned long)answer.error;
    frame->x[11] = answer.value;
}

#endif

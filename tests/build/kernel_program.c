/* SPDX-License-Identifier: MIT */
/*
 * The example kernel with nothing but its console; with COUNTS also with tests/build/minimum_program.c, by the port for
 * ring 0.  tools/size.py links both: the difference is what a kernel grows by.
 */
#include <examples/kernel/kernel.h>

__attribute__((noreturn)) void kernel_main(uint32_t magic, uint32_t information);
int minimum_program(const struct upmu_port *port);

void kernel_main(uint32_t magic, uint32_t information)
{
    static const char lines[] = "kernel\n";

    (void)magic, (void)information;
    kernel_console_open();
#if COUNTS
    static struct upmu_x86_native native;

    upmu_x86_native_port(&native, NULL, 0, 0);
    if (minimum_program(&native.port) == 0)
#endif
        kernel_write(NULL, lines, sizeof lines - 1);
    for (;;)
        __asm__ volatile("cli\n\thlt");
}

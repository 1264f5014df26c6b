# SPDX-License-Identifier: MIT
#
# The SBI firmware from the top, and a program in S-mode that calls it (tests/foreign).  Its own makefile is an
# embedder's.  Included by the Makefile.

SBI_MISSING := $(call MISSING,riscv64,sbi-)
SBI_PROGRAMS := $(if $(SBI_MISSING),,build/sbi_firmware/firmware.elf build/sbi_firmware/caller.elf)

build/sbi_firmware/firmware.elf: FORCE
	+@$(MAKE) --no-print-directory -s -C examples/sbi_firmware V="$(V)"
build/sbi_firmware/caller.elf: tests/foreign/sbi_caller.c tests/foreign/sbi_caller.ld
	@mkdir -p $(@D)
	$(QUIET)$(sbi-riscv64_CC) -o $@ -T $(basename $<).ld $<

foreign-programs: $(SBI_PROGRAMS)
FOREIGN_PARTS += foreign-sbi

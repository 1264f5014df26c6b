# SPDX-License-Identifier: MIT
#
# The SBI firmware from the top, and a program in S-mode that calls it (tests/foreign).  Its own makefile is an
# embedder's.  Included by the Makefile.

SBI_MISSING := $(call MISSING,riscv64 riscv32,sbi-)
SBI_PROGRAMS := $(if $(SBI_MISSING),,$(addprefix build/sbi_firmware/,firmware.elf firmware32.elf caller.elf caller32.elf) \
	build/foreign/riscv64_s.elf build/foreign/riscv32_s.elf)

build/sbi_firmware/firmware.elf build/sbi_firmware/firmware32.elf: FORCE
	+@$(MAKE) --no-print-directory -s -C examples/sbi_firmware XLEN=$(if $(findstring 32,$@),32,64) V="$(V)"
build/sbi_firmware/caller.elf build/sbi_firmware/caller32.elf: tests/foreign/sbi_caller.c tests/foreign/sbi_caller.ld
	@mkdir -p $(@D)
	$(QUIET)$(sbi-riscv$(if $(findstring 32,$@),32,64)_CC) -o $@ -T $(basename $<).ld $<

foreign-programs: $(SBI_PROGRAMS)
FOREIGN_PARTS += foreign-sbi

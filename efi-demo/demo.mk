# SPDX-License-Identifier: MIT
#
# The UEFI demo: build/demo/x64/upmu.efi, build/demo/ia32/upmu.efi and build/demo/arm64/upmu.efi, booted under
# QEMU.  Included by the Makefile, which has set LIB_SOURCES and SIM_SOURCES.

DEMO_SOURCES := build/library.c $(SIM_SOURCES) $(sort $(wildcard tools/cmd/*.c efi-demo/*.c examples/common/*.c))
DEMO_EFI_INCLUDE ?= /usr/include/efi

demo_x64_CC := $(CC) -m64 -mno-red-zone -DGNU_EFI_USE_MS_ABI -maccumulate-outgoing-args
demo_x64_PORT := port/efi/efi_port.c port/efi/efi_stubs.c
demo_x64_INCLUDE = $(DEMO_EFI_INCLUDE)
demo_x64_EFI := $(DEMO_EFI_INCLUDE)/x86_64
demo_x64_LIB := /usr/lib
demo_x64_NAME := x86_64
demo_x64_TOOLS :=
demo_x64_TARGET := --target=efi-app-x86_64
demo_x64_BFD := elf_x86_64
demo_ia32_CC := $(CC) -m32
demo_ia32_PORT := $(demo_x64_PORT)
demo_ia32_INCLUDE = $(DEMO_EFI_INCLUDE)
demo_ia32_EFI := $(DEMO_EFI_INCLUDE)/ia32
demo_ia32_LIB := /usr/lib32
demo_ia32_NAME := ia32
demo_ia32_TOOLS :=
demo_ia32_TARGET := --target=efi-app-ia32
demo_ia32_BFD := elf_i386
# AArch64: GNU-EFI's package for arm64 cannot stand beside that for amd64, and `make deps-foreign` unpacks it.  All
# backends are in, as the simulated CPUs are x86's.  (No linker makes a PE file of it: crt0 has its header.)
DEMO_ARM64_GNU_EFI ?= build/foreign/arm64/usr
demo_arm64_CC := aarch64-linux-gnu-gcc-12 -mno-outline-atomics $(addprefix -DUPMU_,$(addsuffix =1,BACKEND_X86_CORE \
	BACKEND_X86_P4 BACKEND_AMD BACKEND_PARAVIRT PRELUDES METRICS UNCORE EVENTS_ALL))
demo_arm64_PORT := port/efi_arm64/efi_arm64.c port/arm64_native/arm64_native.c
demo_arm64_INCLUDE = $(DEMO_ARM64_GNU_EFI)/include/efi
demo_arm64_EFI = $(demo_arm64_INCLUDE)/aarch64
demo_arm64_LIB = $(DEMO_ARM64_GNU_EFI)/lib
demo_arm64_NAME := aarch64
demo_arm64_TOOLS := aarch64-linux-gnu-
demo_arm64_TARGET := -O binary
demo_arm64_BFD := aarch64linux --defsym=EFI_SUBSYSTEM=0xa

# (-O1: compiled in two thirds of the time)
DEMO_CFLAGS := -std=c11 -O1 -ffreestanding -fpic -fshort-wchar -fvisibility=hidden -fno-stack-protector \
	-fno-strict-aliasing -fno-asynchronous-unwind-tables -mgeneral-regs-only -Iinclude -I.
DEMO_SECTIONS := .text .sdata .data .rodata .dynamic .dynsym .rel .rela '.rel.*' '.rela.*' .reloc

define DEMO_RULES
build/demo/$(1)/efi-demo/%.o: efi-demo/%.c
	@mkdir -p $$(@D)
	$$(QUIET)$$(demo_$(1)_CC) $$(DEMO_CFLAGS) -Wall -Wextra -Wshadow -Werror -isystem $$(demo_$(1)_INCLUDE) \
		-isystem $$(demo_$(1)_EFI) -MMD -MP -c -o $$@ $$<
build/demo/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(QUIET)$$(demo_$(1)_CC) $$(DEMO_CFLAGS) $$(WARNINGS) -MMD -MP -c -o $$@ $$<
build/demo/$(1)/upmu.so: $$(patsubst %.c,build/demo/$(1)/%.o,$$(DEMO_SOURCES) $$(demo_$(1)_PORT))
	$$(QUIET)$$(demo_$(1)_TOOLS)ld -m $$(demo_$(1)_BFD) -nostdlib -znocombreloc -T $$(demo_$(1)_LIB)/elf_$$(demo_$(1)_NAME)_efi.lds \
		-shared -Bsymbolic --no-undefined --no-warn-rwx-segments -L$$(demo_$(1)_LIB) \
		$$(demo_$(1)_LIB)/crt0-efi-$$(demo_$(1)_NAME).o $$^ -o $$@ -lefi -lgnuefi
build/demo/$(1)/upmu.efi: build/demo/$(1)/upmu.so
	$$(QUIET)$$(demo_$(1)_TOOLS)objcopy $$(addprefix -j ,$$(DEMO_SECTIONS)) $$(demo_$(1)_TARGET) $$< $$@
endef
$(foreach arch,x64 ia32 arm64,$(eval $(call DEMO_RULES,$(arch))))

.PHONY: demo demo-run test-demo demo-apps usb
demo-apps: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi

build/upmu-usb.img: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi efi-demo/usb-readme.txt efi-demo/make-usb.sh
	$(QUIET)efi-demo/make-usb.sh $@ $(wordlist 1,3,$^)

ifeq ($(wildcard $(DEMO_EFI_INCLUDE)/efi.h),)
demo demo-run usb:
	@echo "$@: gnu-efi is not installed; 'make deps-demo' installs it" && false
else
PROGRAMS += $(if $(shell command -v qemu-system-x86_64),demo-apps)
demo: build/demo/x64/upmu.efi
	@tests/demo/run-demo.sh show x64 $<

demo-run: build/demo/x64/upmu.efi
	@tests/demo/run-demo.sh run x64 $<

usb: build/upmu-usb.img
	@echo "$< is ready to be written to a USB stick; docs/DEMO.md says how"
endif

test-demo:
	@tests/demo/test-demo.sh "$(MAKE)"

# SPDX-License-Identifier: MIT
#
# The UEFI demo: build/demo/x64/upmu.efi, build/demo/ia32/upmu.efi and build/demo/arm64/upmu.efi, booted under
# QEMU.  Included by the Makefile, which has set LIB_SOURCES and SIM_SOURCES.  efi-demo/machines.tsv has the architectures.

DEMO_SOURCES := build/library.c $(SIM_SOURCES) $(sort $(wildcard tools/cmd/*.c efi-demo/*.c examples/common/*.c))
DEMO_EFI_INCLUDE ?= /usr/include/efi
DEMO_ARM64_GNU_EFI ?= build/foreign/arm64/usr

# (-O1: compiled in two thirds of the time)
DEMO_CFLAGS := -std=c11 -O1 -ffreestanding -fpic -fshort-wchar -fvisibility=hidden -fno-stack-protector \
	-fno-strict-aliasing -fno-asynchronous-unwind-tables -mgeneral-regs-only -Iinclude -I.
DEMO_SECTIONS := .text .sdata .data .rodata .dynamic .dynsym .rel .rela '.rel.*' '.rela.*' .reloc

define DEMO_RULES
$(call KEEP_FLAGS,build/demo/$(1)/flags,$(demo-$(1)_CC) $(DEMO_CFLAGS) $(WARNINGS) $(demo-$(1)_INCLUDE))
build/demo/$(1)/efi-demo/%.o: efi-demo/%.c build/demo/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(demo-$(1)_CC) $$(DEMO_CFLAGS) -Wall -Wextra -Wshadow -Werror -isystem $$(demo-$(1)_INCLUDE) \
		-isystem $$(demo-$(1)_EFI) -MMD -MP -c -o $$@ $$<
build/demo/$(1)/%.o: %.c build/demo/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(demo-$(1)_CC) $$(DEMO_CFLAGS) $$(WARNINGS) -MMD -MP -c -o $$@ $$<
build/demo/$(1)/upmu.so: $$(patsubst %.c,build/demo/$(1)/%.o,$$(DEMO_SOURCES) $$(demo-$(1)_PORT))
	$$(QUIET)$$(demo-$(1)_TOOLS)ld -m $$(demo-$(1)_LD) -nostdlib -znocombreloc -T $$(demo-$(1)_LIB)/elf_$$(demo-$(1)_CALLED)_efi.lds \
		-shared -Bsymbolic --no-undefined --no-warn-rwx-segments -L$$(demo-$(1)_LIB) \
		$$(demo-$(1)_LIB)/crt0-efi-$$(demo-$(1)_CALLED).o $$^ -o $$@ -lefi -lgnuefi
build/demo/$(1)/upmu.efi: build/demo/$(1)/upmu.so
	$$(QUIET)$$(demo-$(1)_TOOLS)objcopy $$(addprefix -j ,$$(DEMO_SECTIONS)) $$(demo-$(1)_OBJCOPY) $$< $$@
endef
$(foreach arch,x64 ia32 arm64,$(eval $(call DEMO_RULES,$(arch))))

.PHONY: demo demo-run test-demo demo-apps usb screenshots demo-efi-arm demo-efi-arm-run usb-arm deps-demo-arm
DEMO_MISSING := $(if $(wildcard $(DEMO_EFI_INCLUDE)/efi.h),,$(DEMO_EFI_INCLUDE)/efi.h)
demo-apps: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi
PROGRAMS += $(if $(DEMO_MISSING),,$(if $(shell command -v qemu-system-x86_64),demo-apps))

build/upmu-usb.img: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi efi-demo/usb-readme.txt efi-demo/make-usb.sh
	$(QUIET)efi-demo/make-usb.sh $@ efi-demo/usb-readme.txt X64 build/demo/x64/upmu.efi IA32 build/demo/ia32/upmu.efi
build/upmu-usb-arm.img: build/demo/arm64/upmu.efi efi-demo/usb-readme.txt efi-demo/make-usb.sh
	$(QUIET)efi-demo/make-usb.sh $@ efi-demo/usb-readme.txt AA64 $<

DEMO_X64 := $(if $(DEMO_MISSING),,build/demo/x64/upmu.efi)
demo demo-run: $(DEMO_X64)
	@$(call NEED,$(DEMO_MISSING),deps-demo) tests/demo/run-demo.sh $(if $(filter %-run,$@),run,show) x64 $<

# What documents show of it; a blank screen is an error.
screenshots: $(DEMO_X64)
	@$(call NEED,$(DEMO_MISSING),deps-demo) $(PYTHON) tools/screenshots.py $< docs/screenshots

test-demo:
	@$(demo_PROGRAMS) "$(MAKE)"

# AArch64, where QEMU has a PMU: by hand, in test-foreign and in soak, not in `make test`.
DEMO_ARM_MISSING := $(call LACKS,demo-arm64)
demo-efi-arm demo-efi-arm-run: $(if $(DEMO_ARM_MISSING),,build/demo/arm64/upmu.efi)
	@$(call NEED,$(DEMO_ARM_MISSING),deps-demo-arm) tests/demo/run-demo.sh $(if $(filter %-run,$@),run,show) arm64 $<

usb: $(if $(DEMO_MISSING),,build/upmu-usb.img)
	@$(call NEED,$(DEMO_MISSING),deps-demo) echo "$< is ready to be written to a USB stick; docs/DEMO.md says how"
usb-arm: $(if $(DEMO_ARM_MISSING),,build/upmu-usb-arm.img)
	@$(call NEED,$(DEMO_ARM_MISSING),deps-demo-arm) echo "$< is ready to be written to a USB stick; docs/DEMO.md says how"

FOREIGN_PARTS += foreign-demos
FOREIGN_DEMOS := $(if $(DEMO_ARM_MISSING),,build/demo/arm64/upmu.efi build/upmu-usb-arm.img) virt-kernels

# GNU-EFI for arm64: by lists of packages of its own, so that the system's architectures stay as they are.
DEMO_ARM_APT := -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null \
	-o Dir::State::Lists="$$PWD/lists" -o Dir::Cache="$$PWD"
deps-foreign: deps-demo-arm
deps-demo-arm: apt
	$(APT_UPDATE)
	$(APT_INSTALL) $($@_DEBIAN)
	mkdir -p build/foreign/apt/lists/partial build/foreign/arm64
	cd build/foreign/apt && apt-get $(DEMO_ARM_APT) update && apt-get $(DEMO_ARM_APT) download gnu-efi && \
		dpkg -x gnu-efi_*_arm64.deb ../arm64

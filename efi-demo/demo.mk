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
$(call KEEP_FLAGS,build/demo/$(1)/flags,$(demo_$(1)_CC) $(DEMO_CFLAGS) $(WARNINGS) $(demo_$(1)_INCLUDE))
build/demo/$(1)/efi-demo/%.o: efi-demo/%.c build/demo/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(demo_$(1)_CC) $$(DEMO_CFLAGS) -Wall -Wextra -Wshadow -Werror -isystem $$(demo_$(1)_INCLUDE) \
		-isystem $$(demo_$(1)_EFI) -MMD -MP -c -o $$@ $$<
build/demo/$(1)/%.o: %.c build/demo/$(1)/flags
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

.PHONY: demo-efi-arm demo-efi-arm-run usb-arm deps-demo-arm test-foreign-demos
.PHONY: demo demo-run test-demo demo-apps usb screenshots
demo-apps: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi

build/upmu-usb.img: build/demo/x64/upmu.efi build/demo/ia32/upmu.efi efi-demo/usb-readme.txt efi-demo/make-usb.sh
	$(QUIET)efi-demo/make-usb.sh $@ efi-demo/usb-readme.txt X64 build/demo/x64/upmu.efi IA32 build/demo/ia32/upmu.efi
build/upmu-usb-arm.img: build/demo/arm64/upmu.efi efi-demo/usb-readme.txt efi-demo/make-usb.sh
	$(QUIET)efi-demo/make-usb.sh $@ efi-demo/usb-readme.txt AA64 $<

ifeq ($(wildcard $(DEMO_EFI_INCLUDE)/efi.h),)
demo demo-run usb screenshots:
	@echo "$@: gnu-efi is not installed; 'make deps-demo' installs it" && false
else
PROGRAMS += $(if $(shell command -v qemu-system-x86_64),demo-apps)
demo: build/demo/x64/upmu.efi
	@tests/demo/run-demo.sh show x64 $<

demo-run: build/demo/x64/upmu.efi
	@tests/demo/run-demo.sh run x64 $<

# What documents show of it; a blank screen is an error.
screenshots: build/demo/x64/upmu.efi
	@$(PYTHON) tools/screenshots.py $< docs/screenshots

usb: build/upmu-usb.img
	@echo "$< is ready to be written to a USB stick; docs/DEMO.md says how"
endif

test-demo:
	@tests/demo/test-demo.sh "$(MAKE)"

# ---- AArch64, where QEMU has a PMU: by hand, in test-foreign and in soak, not in `make test` ----

DEMO_ARM_NEEDS := aarch64-linux-gnu-gcc-12 qemu-system-aarch64 $(DEMO_ARM64_GNU_EFI)/lib/crt0-efi-aarch64.o \
	/usr/share/AAVMF/AAVMF_CODE.fd mformat /sbin/sfdisk
DEMO_ARM_MISSING := $(strip $(foreach n,$(DEMO_ARM_NEEDS),$(if $(if $(findstring /,$n),$(wildcard $n),$(shell command -v $n)),,$n)))

ifneq ($(DEMO_ARM_MISSING),)
demo-efi-arm demo-efi-arm-run usb-arm:
	@echo "$@: not installed: $(DEMO_ARM_MISSING); 'make deps-demo-arm' installs it" && false
else
demo-efi-arm: build/demo/arm64/upmu.efi
	@tests/demo/run-demo.sh show arm64 $<

demo-efi-arm-run: build/demo/arm64/upmu.efi
	@tests/demo/run-demo.sh run arm64 $<

usb-arm: build/upmu-usb-arm.img
	@echo "$< is ready to be written to a USB stick; docs/DEMO.md says how"
endif

FOREIGN_PARTS += foreign-demos
FOREIGN_DEMOS := $(if $(DEMO_ARM_MISSING),,build/demo/arm64/upmu.efi build/upmu-usb-arm.img) virt-kernels
test-foreign-demos: $(FOREIGN_DEMOS)
	@DEMO_ARM_MISSING="$(DEMO_ARM_MISSING)" VIRT_MISSING="$(VIRT_MISSING)" $(PYTHON) tests/run_layer.py foreign-demos --jobs $(JOBS) tests/foreign/test_demos.py

# GNU-EFI for arm64: by lists of packages of its own, so that the system's architectures stay as they are.
DEMO_ARM_APT := -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null \
	-o Dir::State::Lists="$$PWD/lists" -o Dir::Cache="$$PWD"
deps-foreign: deps-demo-arm
deps-demo-arm: apt
	$(APT_UPDATE)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove --no-install-recommends \
		qemu-system-arm qemu-efi-aarch64 gcc-12-aarch64-linux-gnu mtools fdisk
	mkdir -p build/foreign/apt/lists/partial build/foreign/arm64
	cd build/foreign/apt && apt-get $(DEMO_ARM_APT) update && apt-get $(DEMO_ARM_APT) download gnu-efi && \
		dpkg -x gnu-efi_*_arm64.deb ../arm64

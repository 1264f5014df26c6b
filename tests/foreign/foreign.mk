# SPDX-License-Identifier: MIT
#
# The library on machines that others made: Arm and RISC-V of QEMU, with picolibc.  A machine whose compiler, library or
# emulator is missing is skipped by name.  Nothing here is needed by the library or by its embedders.
# tests/foreign/machines.tsv has what each needs.  In `make test` (whose programs share tokens) two machines run; `make
# test-foreign` and `make soak` run all.

FOREIGN_AT ?= build/foreign
FOREIGN_BUILDS := aarch64 arm riscv32 riscv64
FOREIGN_MACHINES := $(FOREIGN_BUILDS) riscv32_s riscv64_s
FOREIGN_SHARE := aarch64 riscv32
FOREIGN_SOURCES := $(filter-out core/results/%,$(sort $(wildcard core/*/*.c))) events/catalog_foreign.c events/catalog_models.c tests/foreign/main.c
FOREIGN_OPTIONS ?=
# (-O1: compiled in two thirds of the time, run as fast; what the linker would leave out is not compiled)
FOREIGN_CFLAGS := -std=c11 -O1 -ffreestanding $(WARNINGS) -Iinclude -I.
FOREIGN_S_SOURCES := $(FOREIGN_SOURCES) $(filter backends/% port/%,$(riscv64_SOURCES)) tests/foreign/machine_riscv_s.c \
	tests/foreign/guest_riscv.c tests/foreign/hypervisor_riscv.c tests/foreign/vs_guest_riscv.c $(sort $(wildcard abi/sbi/*.c))
build/foreign/%_s.elf: FOREIGN_MEMORY = $(call foreign_memory,0x80400000,0x81400000)

foreign_memory = -Wl,--gc-sections $(patsubst %,-Wl$(COMMA)--defsym=%,__flash=$(1) __flash_size=0x1000000 __ram=$(2) \
	__ram_size=$(or $(FOREIGN_RAM),0x400000) __stack_size=$(or $(FOREIGN_STACK),0x8000))
FOREIGN_MEMORY = $(foreign_memory)

FOREIGN_MISSING := $(call MISSING,$(FOREIGN_MACHINES))
FOREIGN_THERE := $(call THERE,$(FOREIGN_MACHINES),$(FOREIGN_MISSING))
PROGRAMS += $(patsubst %,build/foreign/%.elf,$(filter $(FOREIGN_SHARE),$(FOREIGN_THERE)))

define FOREIGN_RULES
$(call KEEP_FLAGS,$(FOREIGN_AT)/$(1)/flags,$($(1)_CC) $(FOREIGN_CFLAGS) $(FOREIGN_OPTIONS) $($(1)_LIBC))
$(FOREIGN_AT)/$(1)/%.o: %.c $(FOREIGN_AT)/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(FOREIGN_CFLAGS) $$(FOREIGN_OPTIONS) $$(if $$(filter tests/%,$$<),$$($(1)_LIBC)) -MMD -MP -c -o $$@ $$<
build/foreign/$(1).elf: $$(patsubst %.c,build/foreign/$(1)/%.o,$$(FOREIGN_SOURCES) $$($(1)_SOURCES))
	$$(QUIET)$$($(1)_LINK)
endef
$(foreach m,$(FOREIGN_BUILDS),$(eval $(call FOREIGN_RULES,$(m))))
define FOREIGN_S_RULES
build/foreign/$(1)_s.elf: $$(patsubst %.c,build/foreign/$(1)/%.o,$$(FOREIGN_S_SOURCES))
	$$(QUIET)$$(subst --crt0=semihost,-nostartfiles,$$($(1)_LINK))
endef
$(foreach m,riscv32 riscv64,$(eval $(call FOREIGN_S_RULES,$(m))))

# Unit programs as they are, on the simulated x86 CPUs, which run there: registers of 32 bits, strict alignment, another
# compiler.  Which: tests/layers.tsv; those of riscv32-soak run in `make soak`.
FOREIGN_UNITS := $(foreach m,$(filter $(FOREIGN_THERE),riscv32 aarch64),$(patsubst %,build/foreign/units/$(m)/test_%.elf, \
	$(foreign-units_$(m)) $(foreign-units_$(m)-$(FOREIGN_RUNS))))
# (The library as one source, and little optimised: compiled in half the time; the boots above run it at -O1.)
UNITS_SOURCES := build/library.c $(SIM_SOURCES) tests/common/host.c tests/common/state.c
UNITS_FLAGS := -std=gnu11 -w -Itests/foreign/cmocka -Iinclude -I. -DUPMU_SOURCE_DIR='"."' \
	-DUPMU_FOR_X86=1 -DUPMU_BACKEND_ARM_PMUV3=0 -DUPMU_BACKEND_RISCV_HPM=0

define FOREIGN_UNIT_RULES
$(call KEEP_FLAGS,build/foreign/units/$(1)/flags,$($(1)_CC) $(UNITS_FLAGS) $($(1)_FLAGS) $($(1)_LIBC))
build/foreign/units/$(1)/%.o: %.c build/foreign/units/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(UNITS_FLAGS) $$($(1)_FLAGS) $$(if $$(filter tests/%,$$<),-O0,-Og) $$($(1)_LIBC) -MMD -MP -c -o $$@ $$<
$$(filter build/foreign/units/$(1)/%,$$(FOREIGN_UNITS)): $$(UNITS_SOURCES:%.c=build/foreign/units/$(1)/%.o)
	$$(QUIET)$$($(1)_LINK)
endef
$(foreach m,aarch64 riscv32,$(eval $(call FOREIGN_UNIT_RULES,$(m))))
define FOREIGN_UNIT
$(1): $$(patsubst %.c,$$(dir $(1))%.o,$$(wildcard tests/unit/*/$$(basename $$(notdir $(1))).c))
endef
$(foreach u,$(FOREIGN_UNITS),$(eval $(call FOREIGN_UNIT,$(u))))
build/foreign/units/%: FOREIGN_RAM := 0x3000000
build/foreign/units/%: FOREIGN_STACK := 0x80000
FOREIGN_PARTS += foreign-units

# Events that the library reads at run time.
build/foreign/outside.bin: tests/foreign/outside_arm.tsv tests/foreign/outside_riscv.tsv tools/catalog_pack.py
	@mkdir -p $(@D)
	$(QUIET)$(PYTHON) tools/catalog_pack.py --blob $@ $(filter %.tsv,$^)
$(patsubst %,build/foreign/%/tests/foreign/main.o,$(FOREIGN_BUILDS)): build/foreign/outside.bin

.PHONY: test-foreign mutants-foreign deps-foreign foreign-made foreign-programs
FOREIGN_NOW := $(if $(UPMU_TEST_TOKENS),$(filter $(FOREIGN_SHARE),$(FOREIGN_THERE)),$(FOREIGN_THERE))
foreign-programs: $(FOREIGN_NOW:%=build/foreign/%.elf) $(FOREIGN_UNITS) $(FOREIGN_DEMOS)
foreign-made:
	+@$(if $(findstring jobserver,$(MAKEFLAGS)),:,$(MAKE) --no-print-directory -j$(JOBS) foreign-programs)

# A share in `make test`, else all parts; what they run is made first, with all processors.
FOREIGN_PARTS += foreign-machines
ifneq ($(UPMU_TEST_TOKENS),)
test-foreign: test-foreign-machines
else
test-foreign: foreign-made
	+@$(PYTHON) tests/run_all.py --parts "$(MAKE)" $(FOREIGN_PARTS)
endif

# What all the library needs from outside, where FOREIGN_OPTIONS were used.
.PHONY: foreign-closure
FOREIGN_BUILT := $(filter $(FOREIGN_BUILDS),$(FOREIGN_THERE))
foreign-closure: $(foreach m,$(FOREIGN_BUILT),$(patsubst %.c,$(FOREIGN_AT)/$(m)/%.o, \
		$(sort $(wildcard core/*/*.c events/*.c)) $(filter backends/% port/%,$($(m)_SOURCES))))
	@$(PYTHON) tests/foreign/closure.py $(FOREIGN_AT) $(FOREIGN_BUILT)

# Is each change of the library in tests/foreign/mutants.tsv noticed there?
mutants-foreign: $(FOREIGN_THERE:%=build/foreign/%.elf)
	@$(PYTHON) tests/foreign/mutants.py

# gcc-aarch64-linux-gnu, on which Debian's picolibc for AArch64 depends, removes gcc-multilib: that library is unpacked
# instead of installed.  So is AArch32's compiler: of its 800 MB, 75 are wanted.
FOREIGN_ARM_FILES := bin/arm-none-eabi-gcc $(patsubst %,lib/gcc/arm-none-eabi/*/%,cc1 collect2 include liblto_plugin.so \
	lto-wrapper thumb/v7-a/nofp)
FOREIGN_ARM_LIBC_FILES := $(patsubst %,lib/picolibc/arm-none-eabi/%,include lib/picolibc.ld lib/thumb/v7-a/nofp)
foreign_unpack = dpkg --fsys-tarfile deb/$(1)_*.deb | tar -x --wildcards $(patsubst %,'./usr/%',$(2))
deps-foreign: apt
	$(APT_UPDATE)
	$(APT_INSTALL) $($@_DEBIAN)
	mkdir -p build/foreign/deb
	cd build/foreign/deb && rm -f *.deb && apt-get download picolibc-aarch64-linux-gnu gcc-arm-none-eabi \
		binutils-arm-none-eabi picolibc-arm-none-eabi
	cd build/foreign && dpkg -x deb/picolibc-aarch64-linux-gnu_*.deb . && dpkg -x deb/binutils-arm-none-eabi_*.deb .
	cd build/foreign && $(call foreign_unpack,gcc-arm-none-eabi,$(FOREIGN_ARM_FILES))
	cd build/foreign && $(call foreign_unpack,picolibc-arm-none-eabi,$(FOREIGN_ARM_LIBC_FILES))

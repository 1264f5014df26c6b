# SPDX-License-Identifier: MIT
#
# The library on machines that others made: Arm and RISC-V of QEMU, with picolibc.  A machine whose compiler, library or
# emulator is missing is skipped by name.  Nothing here is needed by the library or by its embedders.
# In `make test` (whose programs share tokens) two machines run; `make test-foreign` and `make soak` run all.

PYTHON ?= python3
FOREIGN_AT ?= build/foreign
FOREIGN_BUILDS := aarch64 arm riscv32 riscv64
FOREIGN_MACHINES := $(FOREIGN_BUILDS) riscv32_s riscv64_s
FOREIGN_SHARE := aarch64 riscv32
FOREIGN_LIBC := build/foreign/usr/lib/picolibc/aarch64-linux-gnu
FOREIGN_SOURCES := $(filter-out core/results/%,$(sort $(wildcard core/*/*.c))) events/catalog_foreign.c events/catalog_models.c tests/foreign/main.c
FOREIGN_OPTIONS ?=
# (-O1: compiled in two thirds of the time, run as fast; what the linker would leave out is not compiled)
FOREIGN_CFLAGS := -std=c11 -O1 -ffreestanding -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion \
	-Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -Iinclude -I.

aarch64_NEEDS := aarch64-linux-gnu-gcc-12 qemu-system-aarch64 $(FOREIGN_LIBC)/lib/crt0-semihost.o
aarch64_CC := aarch64-linux-gnu-gcc-12 -mgeneral-regs-only -mno-outline-atomics -fno-pic -fno-pie -fno-stack-protector
aarch64_SOURCES := $(wildcard backends/arm_pmuv3/*.c port/arm64_native/*.c) tests/foreign/machine_aarch64.c
aarch64_LIBC := -isystem $(FOREIGN_LIBC)/include
aarch64_LINK = aarch64-linux-gnu-gcc-12 -nostdlib -static -no-pie -o $@ $(FOREIGN_LIBC)/lib/crt0-semihost.o $(filter %.o,$^) \
	-L$(FOREIGN_LIBC)/lib -T picolibc.ld $(call FOREIGN_MEMORY,0x40400000,0x41400000) -Wl,--build-id=none,-no-pie \
	-Wl,--start-group -lc -lsemihost -lgcc -Wl,--end-group

# (Objects for A32; the libraries are Thumb's, which Debian has for Armv7-A.)
FOREIGN_ARM_LIBC := build/foreign/usr/lib/picolibc/arm-none-eabi
FOREIGN_ARM_GCC := build/foreign/usr/bin/arm-none-eabi-gcc
arm_NEEDS := $(FOREIGN_ARM_GCC) qemu-system-arm $(FOREIGN_ARM_LIBC)/lib/thumb/v7-a/nofp/crt0-semihost.o
arm_CC := $(FOREIGN_ARM_GCC) -march=armv7ve -marm -mfloat-abi=soft -mgeneral-regs-only
arm_SOURCES := $(wildcard backends/arm_pmuv3/*.c port/arm32_native/*.c) tests/foreign/machine_arm.c
arm_LIBC := -isystem $(FOREIGN_ARM_LIBC)/include
arm_LINK = $(FOREIGN_ARM_GCC) -march=armv7-a -mthumb -mfloat-abi=soft -nostdlib -static -o $@ \
	$(FOREIGN_ARM_LIBC)/lib/thumb/v7-a/nofp/crt0-semihost.o $(filter %.o,$^) -L$(FOREIGN_ARM_LIBC)/lib/thumb/v7-a/nofp \
	-L$(FOREIGN_ARM_LIBC)/lib -T picolibc.ld $(call FOREIGN_MEMORY,0x40400000,0x41400000) -Wl,--build-id=none \
	-Wl,--start-group -lc -lsemihost -lgcc -Wl,--end-group

riscv64_NEEDS := riscv64-unknown-elf-gcc qemu-system-riscv64 /usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs
riscv64_CC := riscv64-unknown-elf-gcc -march=rv64imac_zicsr -mabi=lp64 -mcmodel=medany
riscv64_SOURCES := $(wildcard backends/riscv_hpm/*.c port/riscv_native/*.c port/riscv_sbi/*.c) tests/foreign/machine_riscv.c tests/foreign/firmware_riscv.c \
	examples/virt/virt_qemu.c
riscv64_LIBC := --specs=picolibc.specs
# (Its libraries are found only by a -march without _zicsr.)
riscv64_LINK = riscv64-unknown-elf-gcc --specs=picolibc.specs --crt0=semihost --oslib=semihost -march=rv64imac -mabi=lp64 \
	-mcmodel=medany -o $@ $(filter %.o,$^) $(call FOREIGN_MEMORY,0x80000000,0x81000000)

riscv32_NEEDS := riscv64-unknown-elf-gcc qemu-system-riscv32 /usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs
riscv32_CC := riscv64-unknown-elf-gcc -march=rv32imac_zicsr -mabi=ilp32 -mcmodel=medany
riscv32_SOURCES := $(riscv64_SOURCES)
riscv32_LIBC := --specs=picolibc.specs
riscv32_LINK = riscv64-unknown-elf-gcc --specs=picolibc.specs --crt0=semihost --oslib=semihost -march=rv32imac -mabi=ilp32 \
	-mcmodel=medany -o $@ $(filter %.o,$^) $(call FOREIGN_MEMORY,0x80000000,0x81000000)

# In S-mode, behind QEMU's OpenSBI, the same but for the machine's file.  (Debian has no OpenSBI of 32 bits.)
FOREIGN_OPENSBI := /usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin
FOREIGN_OPENSBI_32 := /usr/share/qemu/opensbi-riscv32-generic-fw_dynamic.bin
riscv64_s_NEEDS := $(riscv64_NEEDS) $(FOREIGN_OPENSBI)
riscv32_s_NEEDS := $(riscv32_NEEDS) $(FOREIGN_OPENSBI_32)
FOREIGN_S_SOURCES := $(FOREIGN_SOURCES) $(filter backends/% port/%,$(riscv64_SOURCES)) tests/foreign/machine_riscv_s.c
build/foreign/%_s.elf: FOREIGN_MEMORY = $(call foreign_memory,0x80400000,0x81400000)

foreign_memory = -Wl,--gc-sections $(patsubst %,-Wl$(comma)--defsym=%,__flash=$(1) __flash_size=0x1000000 __ram=$(2) \
	__ram_size=$(or $(FOREIGN_RAM),0x400000) __stack_size=$(or $(FOREIGN_STACK),0x8000))
FOREIGN_MEMORY = $(foreign_memory)
comma := ,

# What of a machine's needs is there: programs by name, files by path.
foreign_has = $(if $(findstring /,$(1)),$(wildcard $(1)),$(shell command -v $(1)))
FOREIGN_MISSING := $(foreach m,$(FOREIGN_MACHINES),$(foreach n,$($(m)_NEEDS),$(if $(call foreign_has,$(n)),,$(m):$(n))))
FOREIGN_THERE := $(filter-out $(foreach x,$(FOREIGN_MISSING),$(firstword $(subst :, ,$(x)))),$(FOREIGN_MACHINES))
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
# compiler.  Those of UNITS_LONG take 10 to 30 seconds, and run in `make soak`.
UNITS := session_steps pmi bank budget life metrics message spec
UNITS_LONG := sets masking place
FOREIGN_UNITS := $(UNITS:%=riscv32/test_%) $(foreach t,session_steps pmi bank,aarch64/test_$(t)) \
	$(if $(filter soak,$(FOREIGN_RUNS)),$(UNITS_LONG:%=riscv32/test_%))
FOREIGN_UNITS := $(foreach u,$(FOREIGN_UNITS),$(if $(filter $(patsubst %/,%,$(dir $(u))),$(FOREIGN_THERE)),build/foreign/units/$(u).elf))
# (The library as one source, and little optimised: compiled in half the time; the boots above run it at -O1.)
UNITS_SOURCES := build/library.c $(sort $(wildcard port/sim/*.c)) tests/common/host.c tests/common/state.c
UNITS_FLAGS := -std=gnu11 -w -Itests/foreign/cmocka -Iinclude -I. -DUPMU_SOURCE_DIR='"."' \
	-DUPMU_FOR_X86=1 -DUPMU_BACKEND_ARM_PMUV3=0 -DUPMU_BACKEND_RISCV_HPM=0
units_riscv32 := -DUPMU_UNCORE=0
# (AArch64's library is also that of hosts.mk.)
units_aarch64 = $(if $(filter build/%,$<),-include tests/host/interleave.h)
unit_source = $(wildcard tests/unit/*/$(1).c)

define FOREIGN_UNIT_RULES
$(call KEEP_FLAGS,build/foreign/units/$(1)/flags,$($(1)_CC) $(UNITS_FLAGS) $(units_$(1)) $($(1)_LIBC))
build/foreign/units/$(1)/%.o: %.c build/foreign/units/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(UNITS_FLAGS) $$(units_$(1)) $$(if $$(filter tests/%,$$<),-O0,-Og) $$($(1)_LIBC) -MMD -MP -c -o $$@ $$<
endef
$(foreach m,aarch64 riscv32,$(eval $(call FOREIGN_UNIT_RULES,$(m))))
define FOREIGN_UNIT_LINK
$(1): $$(patsubst %.c,$$(patsubst %/,%,$$(dir $(1)))/%.o,$$(UNITS_SOURCES) $$(call unit_source,$$(basename $$(notdir $(1)))))
	$$(QUIET)$$($$(notdir $$(patsubst %/,%,$$(dir $(1))))_LINK)
endef
$(foreach u,$(FOREIGN_UNITS),$(eval $(call FOREIGN_UNIT_LINK,$(u))))
build/foreign/units/%: FOREIGN_RAM := 0x3000000
build/foreign/units/%: FOREIGN_STACK := 0x80000

.PHONY: test-foreign-units
FOREIGN_PARTS += foreign-units
test-foreign-units: $(FOREIGN_UNITS)
	@FOREIGN_UNITS="$(FOREIGN_UNITS)" FOREIGN_MISSING="$(FOREIGN_MISSING)" $(PYTHON) tests/run_layer.py foreign-units \
		--jobs $(JOBS) tests/foreign/test_units.py

# Events that the library reads at run time.
build/foreign/outside.bin: tests/foreign/outside_arm.tsv tests/foreign/outside_riscv.tsv tools/catalog_pack.py
	@mkdir -p $(@D)
	$(QUIET)$(PYTHON) tools/catalog_pack.py --blob $@ $(filter %.tsv,$^)
$(patsubst %,build/foreign/%/tests/foreign/main.o,$(FOREIGN_BUILDS)): build/foreign/outside.bin

.PHONY: test-foreign test-foreign-machines mutants-foreign deps-foreign
FOREIGN_NOW := $(if $(UPMU_TEST_TOKENS),$(filter $(FOREIGN_SHARE),$(FOREIGN_THERE)),$(FOREIGN_THERE))
.PHONY: foreign-made foreign-programs
foreign-programs: $(FOREIGN_NOW:%=build/foreign/%.elf) $(FOREIGN_UNITS) $(FOREIGN_DEMOS)
foreign-made:
	+@$(if $(findstring jobserver,$(MAKEFLAGS)),:,$(MAKE) --no-print-directory -j$(JOBS) foreign-programs)
test-foreign-machines: $(FOREIGN_NOW:%=build/foreign/%.elf)
	@FOREIGN_NOW="$(FOREIGN_NOW)" FOREIGN_MISSING="$(FOREIGN_MISSING)" FOREIGN_OPENSBI_32="$(FOREIGN_OPENSBI_32)" \
		$(PYTHON) tests/run_layer.py foreign --jobs $(JOBS) tests/foreign/test_foreign.py

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
FOREIGN_PACKAGES := qemu-system-arm qemu-system-misc gcc-12-aarch64-linux-gnu gcc-riscv64-unknown-elf \
	picolibc-riscv64-unknown-elf
FOREIGN_ARM_FILES := bin/arm-none-eabi-gcc $(patsubst %,lib/gcc/arm-none-eabi/*/%,cc1 collect2 include liblto_plugin.so \
	lto-wrapper thumb/v7-a/nofp)
FOREIGN_ARM_LIBC_FILES := $(patsubst %,lib/picolibc/arm-none-eabi/%,include lib/picolibc.ld lib/thumb/v7-a/nofp)
foreign_unpack = dpkg --fsys-tarfile deb/$(1)_*.deb | tar -x --wildcards $(patsubst %,'./usr/%',$(2))
deps-foreign: apt
	$(APT_UPDATE)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove --no-install-recommends $(FOREIGN_PACKAGES)
	mkdir -p build/foreign/deb
	cd build/foreign/deb && rm -f *.deb && apt-get download picolibc-aarch64-linux-gnu gcc-arm-none-eabi \
		binutils-arm-none-eabi picolibc-arm-none-eabi
	cd build/foreign && dpkg -x deb/picolibc-aarch64-linux-gnu_*.deb . && dpkg -x deb/binutils-arm-none-eabi_*.deb .
	cd build/foreign && $(call foreign_unpack,gcc-arm-none-eabi,$(FOREIGN_ARM_FILES))
	cd build/foreign && $(call foreign_unpack,picolibc-arm-none-eabi,$(FOREIGN_ARM_LIBC_FILES))

# SPDX-License-Identifier: MIT
#
# The library's real ring-0 instructions, executed in a process where they fault and
# are answered by the silicon model.  Included by the Makefile.

# (The 32-bit port also runs in Bochs and in the demo: here it waits for TRAP_RUNS=soak.)
TRAP_WIDE := $(filter soak,$(TRAP_RUNS))
TRAP_BUILDS := gcc-64 $(if $(TRAP_WIDE),$(if $(HAVE_CMOCKA_32),clang-32))
TRAP_TESTS := $(sort $(patsubst %.c,%,$(wildcard tests/trap/test_*.c)))
TRAP_HELPERS := $(filter-out tests/trap/test_%.c,$(wildcard tests/trap/*.c)) tests/common/workload.S

# (handlers may be entered anywhere: no vector registers, memory functions by byte)
TRAP_CFLAGS := -mgeneral-regs-only -fno-stack-protector -fno-builtin
gcc-64_TRAP := -fno-tree-loop-distribute-patterns -fcf-protection=none
# (the kernel's asm/ headers serve both widths, but only the 64-bit search path has them)
clang-32_TRAP := -idirafter /usr/include/x86_64-linux-gnu

define TRAP_RULES
build/$(1)/tests/trap/%.o: HOST_CFLAGS += $(TRAP_CFLAGS) $$($(1)_TRAP)
build/$(1)/tests/common/workload.o: tests/common/workload.S
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) -c -o $$@ $$<
build/$(1)/tests/trap/%: build/$(1)/tests/trap/%.o $(patsubst %,build/$(1)/%.o,$(basename $(TRAP_HELPERS))) \
		build/$(1)/port/x86_native/x86_native.o build/$(1)/libsim.a build/$(1)/libupmu.a
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) \
		-Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group -lcmocka
endef
$(foreach build,$(TRAP_BUILDS),$(eval $(call TRAP_RULES,$(build))))

TRAP_SKIPPED := $(if $(TRAP_WIDE),,--skipped "the 32-bit build: TRAP_RUNS=soak runs it")
ifneq ($(TRAP_WIDE),)
TRAP_SKIPPED := $(if $(HAVE_CMOCKA_32),,--skipped "the 32-bit build: libcmocka-dev:i386 is not installed")
endif
TRAP_PROGRAMS := $(foreach build,$(TRAP_BUILDS),$(TRAP_TESTS:%=build/$(build)/%))
PROGRAMS += $(TRAP_PROGRAMS)
.PHONY: test-trap
test-trap: $(TRAP_PROGRAMS)
	@$(PYTHON) tests/run_layer.py trap --jobs $(JOBS) $(TRAP_SKIPPED) $^

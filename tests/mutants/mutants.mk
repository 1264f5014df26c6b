# SPDX-License-Identifier: MIT
#
# Mutants: are the tests able to fail?  Rules of the silicon model switched round and
# lines of the library changed (tests/mutants/mutants.tsv), one at a time; some test
# has to notice.  Included by the Makefile.
#
#   make test-mutants           all of them, with progress, some minutes
#   make test-mutants-sample    every MUTANT_STEP-th
#   make test-mutants MUTANT_ONLY=TEXT   those of both tables whose name contains it: an error if there are none
#   make test-rows              every ROW_STEP-th mutation of tests/mutants/requirements.tsv, as `make test` does
#
# The library is a shared object here, so that one mutant costs one compilation.  Its symbols are bound when it is
# loaded (-z now): the trap tests would count the dynamic linker at the first call of each function.  The
# mutations of requirements are linked with the objects of gcc-64.

MUTANT_STEP ?= 12
MUTANT_ONLY ?=
ROW_STEP ?= 41

mutants_CC := $(CC) -m64
mutants_FLAGS := -O1 -fPIC
$(eval $(call BUILD_RULES,mutants))

MUTANT_LIB := $(LIB_SOURCES:%.c=build/mutants/%.o)
MUTANT_SIM := $(SIM_SOURCES:%.c=build/mutants/%.o)
MUTANT_TESTS := $(patsubst %,build/mutants/tests/%,$(unit_TESTS:%=unit/%) \
	$(addprefix inject/test_,inject inject_amd inject_p4 meet phases start_over step) trap/test_trap_sample \
	$(addprefix fuzz/test_fuzz_,callers calls leaves raw split))

# The model's rules are switched by an environment variable (tests/mutants/switch.c).
build/mutants/port/sim/sim.o: LIB_CFLAGS += -DUPMU_SIM_MUTANT=upmu_sim_mutant

build/mutants/libupmu.so: $(MUTANT_LIB)
	$(QUIET)$(mutants_CC) -shared -Wl,-z,now -o $@ $^

define MUTANT_LINK
build/mutants/tests/$(1)/%: build/mutants/tests/$(1)/%.o $$($(1)_HELPERS:%.c=build/mutants/%.o) $$(MUTANT_SIM) \
		build/mutants/tests/mutants/switch.o build/mutants/libupmu.so
	$$(QUIET)$$(mutants_CC) -no-pie -o $$@ $$(filter %.o,$$^) -Lbuild/mutants -lupmu -lcmocka
endef
$(foreach layer,unit inject fuzz,$(eval $(call MUTANT_LINK,$(layer))))

# (One of another layer: what an overflow inside a call loses is seen by real steps only.)
MUTANT_TRAP := $(patsubst %,build/mutants/%.o,tests/trap/test_trap_sample $(basename $(TRAP_HELPERS))) \
	build/mutants/port/x86_native/x86_native.o $(MUTANT_SIM)
build/mutants/tests/trap/%.o: HOST_CFLAGS += $(TRAP_CFLAGS) $(gcc-64_TRAP)
build/mutants/tests/common/workload.o: tests/common/workload.S
	@mkdir -p $(@D)
	$(QUIET)$(mutants_CC) -c -o $@ $<
build/mutants/tests/trap/test_trap_sample: $(MUTANT_TRAP) build/mutants/tests/mutants/switch.o build/mutants/libupmu.so
	$(QUIET)$(mutants_CC) -no-pie -Wl,-z,now -o $@ $(filter %.o,$^) -Lbuild/mutants -lupmu -lcmocka

MUTANT_RUN = @LD_LIBRARY_PATH=build/mutants $(PYTHON) tests/mutants/mutants.py --jobs $(JOBS) --only "$(MUTANT_ONLY)" \
	--compile '$(mutants_CC) $(LIB_CFLAGS) $(mutants_FLAGS) -w' --host '$(mutants_CC) $(subst -DUPMU_SOURCE_DIR='"$(CURDIR)"',,$(HOST_CFLAGS)) -O0 -w' \
	--objects '$(MUTANT_LIB)' --test-objects '$(unit_HELPERS:%.c=build/mutants/%.o) build/mutants/tests/inject/fork_step.o $(MUTANT_SIM) build/mutants/tests/mutants/switch.o'

# The programs that rows need are made first.
ROW_RUN = $(PYTHON) tests/mutants/rows.py --jobs $(JOBS) --only "$(MUTANT_ONLY)" \
	--library '$(gcc-64_CC) $(LIB_CFLAGS) -O1 -w' --host '$(gcc-64_CC) $(subst -DUPMU_SOURCE_DIR='"$(CURDIR)"',,$(HOST_CFLAGS)) -O0 -w' \
	$(foreach layer,$(LAYERS),--helpers '$(layer)=$($(layer)_HELPERS:%.c=build/gcc-64/%.o)')
ROWS = +@$(MAKE) --no-print-directory build/gcc-64/libsim.a build/gcc-64/libupmu.a $$($(ROW_RUN) $(1) --programs) && $(ROW_RUN) $(1)

.PHONY: test-mutants test-mutants-sample test-rows test-rows-all
test-mutants: $(MUTANT_TESTS)
	$(MUTANT_RUN) --both $^
	$(call ROWS,--both)
test-mutants-sample: $(MUTANT_TESTS)
	$(MUTANT_RUN) --both --step $(MUTANT_STEP) $^
	$(call ROWS,--both --step $(ROW_STEP))
test-rows:
	$(call ROWS,--step $(ROW_STEP))
test-rows-all:
	$(call ROWS)

# SPDX-License-Identifier: MIT
#
# Mutants: are the tests able to fail?  Rules of the silicon model switched round and
# lines of the library changed (tests/mutants/mutants.tsv), one at a time; some test
# has to notice.  Included by the Makefile.
#
#   make test-mutants           all of them, with progress, some minutes
#   make test-mutants-sample    every MUTANT_STEP-th
#   make test-mutants MUTANT_ONLY=TEXT   those of both tables whose name contains it: an error if there are none
#   make test-mutants MUTANT_SINCE=COMMIT   rows of both tables that came after this commit
#   make test-rows              every ROW_STEP-th mutation of tests/mutants/requirements.tsv, as `make test` does
#
# The library is a shared object here, so that one mutant costs one compilation.  Its symbols are bound when it is
# loaded (-z now): the trap tests would count the dynamic linker at the first call of each function.  The
# mutations of requirements are linked with the objects of gcc-64.

MUTANT_STEP ?= 12
MUTANT_ONLY ?=
ROW_STEP ?= 45

MUTANT_LIB := $(LIB_SOURCES:%.c=build/mutants/%.o)
MUTANT_SIM := $(SIM_SOURCES:%.c=build/mutants/%.o)
MUTANT_SWITCH := build/mutants/tests/mutants/switch.o
MUTANT_TESTS := $(patsubst %,build/mutants/tests/%,$(unit_TESTS:%=unit/%) $(mutants_PROGRAMS))

# The model's rules are switched by an environment variable (tests/mutants/switch.c).
build/mutants/models/sim/sim.o: LIB_CFLAGS += -DUPMU_SIM_MUTANT=upmu_sim_mutant

build/mutants/libupmu.so: $(MUTANT_LIB)
	$(QUIET)$(mutants_CC) -shared -Wl,-z,now -o $@ $^

# (trap's helpers have the port, too)
define MUTANT_LINK
build/mutants/tests/$(1)/%: build/mutants/tests/$(1)/%.o $$(patsubst %,build/mutants/%.o,$$(basename $$($(1)_HELPERS))) $$(MUTANT_SIM) \
		$$(MUTANT_SWITCH) build/mutants/libupmu.so
	$$(QUIET)$$(mutants_CC) -no-pie $(if $(filter trap,$(1)),-Wl$(COMMA)-z$(COMMA)now) -o $$@ $$(filter %.o,$$^) -Lbuild/mutants -lupmu -lcmocka
endef
$(foreach layer,unit inject fuzz trap,$(eval $(call MUTANT_LINK,$(layer))))

MUTANT_RUN = @LD_LIBRARY_PATH=build/mutants $(PYTHON) tests/mutants/mutants.py --jobs $(JOBS) --only "$(MUTANT_ONLY)" \
	--compile '$(mutants_CC) $(LIB_CFLAGS) $(mutants_FLAGS) -w' --host '$(mutants_CC) $(subst -DUPMU_SOURCE_DIR='"$(CURDIR)"',,$(HOST_CFLAGS)) -O0 -w' \
	--objects '$(MUTANT_LIB)' --test-objects '$(unit_HELPERS:%.c=build/mutants/%.o) build/mutants/tests/inject/fork_step.o $(MUTANT_SIM) $(MUTANT_SWITCH)'

# The programs that rows need are made first.
ROW_RUN = $(PYTHON) tests/mutants/rows.py --jobs $(JOBS) --only "$(MUTANT_ONLY)" \
	--library '$(gcc-64_CC) $(LIB_CFLAGS) -O1 -w' --host '$(gcc-64_CC) $(subst -DUPMU_SOURCE_DIR='"$(CURDIR)"',,$(HOST_CFLAGS)) -O0 -w' \
	$(foreach layer,$(C_LAYERS),--helpers '$(layer)=$($(layer)_HELPERS:%.c=build/gcc-64/%.o)')
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

# SPDX-License-Identifier: MIT
#
# The simulated host (tests/host/README.md): a program of its own for each build of the
# library, whose code is instrumented so that something may happen at each block.
# Included by the Makefile.
#
#   make test-host              the fakes by value; a fixed number of seeds and steps
#   make soak SOAK="host-64 host-32 threads host-sanitized"   10^9 hook calls each (tests/soak.tsv)
#   make test-host-sanitized    the fakes and a second of the host under AddressSanitizer
#   make test-host-threads      its CPUs, and guests of each door, as threads under ThreadSanitizer, without suppressions
#   make test-host-mutants      takes mends back: does it notice?

HOST_SOURCES := $(sort $(filter-out tests/host/test_%.c,$(wildcard tests/host/*.c)))
# The PMU of guests, and their pages, are linked beside the library, and instrumented as it is.
HOST_ABI := $(sort $(wildcard abi/guest/*.c abi/guest/x86/*.c abi/paravirt/*.c))
HOST_OBJECTS = $(patsubst %.c,build/$(1)/%.o,$(HOST_SOURCES) $(HOST_ABI))

define HOST_RULES
build/$(1)/tests/host/host: $$(call HOST_OBJECTS,$(1)) build/$(1)/libupmu.a
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
endef
$(foreach build,host host-asan host-32,$(eval $(call HOST_RULES,$(build))))
# CPUs as threads.
build/tsan/tests/host/host: $(call HOST_OBJECTS,tsan) build/tsan/library.o
	$(QUIET)$(tsan_CC) -no-pie -fsanitize=thread -o $@ $(filter %.o,$^) -lpthread
# Guests of doors that the simulated host has not: each program is one source, with the library where it needs one.
GUEST_THREADS := $(patsubst tests/guest/%.c,build/tsan/tests/guest/%,$(wildcard tests/guest/threads_*.c))
$(GUEST_THREADS): build/tsan/tests/guest/%: tests/guest/%.c build/library.c build/tsan/flags
	@mkdir -p $(@D)
	$(QUIET)$(tsan_CC) $(HOST_CFLAGS) -O1 -g1 -no-pie -fsanitize=thread -MMD -MP -MF $@.d -MT $@ -o $@ $< -lpthread

# Does it notice when a mend is taken back?  Those of tests/host/mends.tsv (MEND: whose number or mutant contains it), or
# rows of tests/mutants/mutants.tsv whose name contains MUTANT_ONLY.
MENDS = MENDS_COMPILE='$(host_CC) $(LIB_CFLAGS) $(host_POINTS) $(host_FLAGS) -w' \
	MENDS_OBJECTS='$(call HOST_OBJECTS,host) $(LIB_SOURCES:%.c=build/host/%.o)'
.PHONY: test-host-mutants
test-host-mutants: build/host/tests/host/host
	@$(MENDS) $(PYTHON) tests/host/mends.py $(if $(MUTANT_ONLY),--rows "$(MUTANT_ONLY)") $(if $(MEND),--only "$(MEND)")

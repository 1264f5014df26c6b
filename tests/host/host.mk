# SPDX-License-Identifier: MIT
#
# The simulated host (tests/host/README.md): a program of its own for each build of the
# library, whose code is instrumented so that something may happen at each block.
# Included by the Makefile.
#
#   make test-host              the fakes by value; a fixed number of seeds and steps
#   make soak-host              64 and 32 bits at the same time, 10^9 hook calls each (with two processors about an hour),
#                               or HOST_SEEDS of HOST_STEPS steps; HOST_THREADS_SEEDS as threads; then test-host-mutants
#   make test-host-mutants      takes mends back: does it notice?

HOST_SEEDS ?=
HOST_STEPS ?= 3000
HOST_THREADS_SEEDS ?= 300

BUILDS_OF_HOST := host host-asan host-32
host_CC := $(CC) -m64
# (-O1: compiled in two thirds of the time, run as fast)
host_FLAGS := -O1
host-32_CC := $(CC) -m32
host-32_FLAGS := -O2
host-asan_CC := $(CC) -m64
# (it runs for a second: optimising it takes longer)
host-asan_FLAGS := $(asan_FLAGS) -O0
host-asan_LINK := $(asan_LINK)

HOST_SOURCES := $(sort $(filter-out tests/host/test_%.c,$(wildcard tests/host/*.c)))
HOST_FAMILIES := $(foreach family,intel p6 netburst amd,$(if $(wildcard tests/host/hardware_$(family).c),&hardware_$(family),))
empty :=
comma := ,
space := $(empty) $(empty)

# The PMU of guests, and their pages, are linked beside the library, and instrumented as it is.
HOST_ABI := $(sort $(wildcard abi/guest/*.c abi/guest/x86/*.c abi/paravirt/*.c))
define ABI_RULES
build/$(1)/abi/%.o: abi/%.c build/$(1)/flags
	$(call COMPILE,$(1))
endef

# CPUs as threads: the library alone is instrumented, so that only what orders the library counts.
tsan_CC := $(CLANG) -m64 -DHOST_AS_THREADS
# (it runs for a second: optimising it takes longer)
tsan_FLAGS := -O0 -g1
$(eval $(call BUILD_RULES,tsan))
$(eval $(call ABI_RULES,tsan))
build/tsan/library.o build/tsan/abi/%.o: LIB_CFLAGS += -fsanitize=thread
build/tsan/tests/host/host: $(HOST_SOURCES:%.c=build/tsan/%.o) $(HOST_ABI:%.c=build/tsan/%.o) build/tsan/library.o
	$(QUIET)$(tsan_CC) -no-pie -fsanitize=thread -o $@ $(filter %.o,$^) -lpthread

HOST_POINTS := -fsanitize-coverage=trace-pc -include tests/host/interleave.h
$(foreach build,$(BUILDS_OF_HOST),$(eval $(build)_POINTS := $(HOST_POINTS)))
define HOST_RULES
$(call BUILD_RULES,$(1))
$(call ABI_RULES,$(1))
build/$(1)/core/%.o build/$(1)/backends/%.o build/$(1)/abi/%.o: LIB_CFLAGS += $(HOST_POINTS)
build/$(1)/tests/host/host: $$(HOST_SOURCES:%.c=build/$(1)/%.o) $$(HOST_ABI:%.c=build/$(1)/%.o) build/$(1)/libupmu.a
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
endef
$(foreach build,$(BUILDS_OF_HOST),$(eval $(call HOST_RULES,$(build))))
HOST_CFLAGS_OF_MAIN = '-DHOST_FAMILIES=$(subst $(space),$(comma),$(strip $(HOST_FAMILIES)))'
$(patsubst %,build/%/tests/host/host_main.o,$(BUILDS_OF_HOST) tsan): HOST_CFLAGS += $(HOST_CFLAGS_OF_MAIN)

# The fakes alone, against the facts.
FAKE_TESTS := $(patsubst tests/host/%.c,%,$(wildcard tests/host/test_*.c))
FAKES := $(wildcard tests/host/hardware_*.c)
define FAKE_RULES
build/$(1)/tests/host/test_%: build/$(1)/tests/host/test_%.o $$(FAKES:%.c=build/$(1)/%.o)
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$^ -lcmocka
endef
$(foreach build,gcc-64 clang-64 asan,$(eval $(call FAKE_RULES,$(build))))

# Does it notice when a mend is taken back?  Those of tests/host/mends.tsv (MEND: whose number or mutant contains it), or
# rows of tests/mutants/mutants.tsv whose name contains MUTANT_ONLY.
MENDS = MENDS_COMPILE='$(host_CC) $(LIB_CFLAGS) $(HOST_POINTS) $(host_FLAGS) -w' \
	MENDS_OBJECTS='$(HOST_SOURCES:%.c=build/host/%.o) $(HOST_ABI:%.c=build/host/%.o) $(LIB_SOURCES:%.c=build/host/%.o)'
.PHONY: test-host-mutants
test-host-mutants: build/host/tests/host/host
	@$(MENDS) $(PYTHON) tests/host/mends.py $(if $(MUTANT_ONLY),--rows "$(MUTANT_ONLY)") $(if $(MEND),--only "$(MEND)")

HOST_LAYER := $(FAKE_TESTS:%=build/gcc-64/tests/host/%) build/host/tests/host/host build/tsan/tests/host/host
# (a build of the library of its own, for a second of running)
HOST_SANITIZED := $(FAKE_TESTS:%=build/asan/tests/host/%) build/host-asan/tests/host/host
PROGRAMS += $(HOST_LAYER)
HOST_LENGTH = $(if $(HOST_SEEDS),seeds=$(HOST_SEEDS),soak)
.PHONY: test-host soak-host
test-host: $(HOST_LAYER)
	@MENDS=sample $(MENDS) $(PYTHON) tests/run_layer.py host --jobs $(JOBS) \
		--skipped "host and its fakes under AddressSanitizer: make soak-host runs them" $^ tests/host/mends.py
soak-host: build/host/tests/host/host build/host-32/tests/host/host build/tsan/tests/host/host $(HOST_SANITIZED)
	@$(PYTHON) tests/run_layer.py host-sanitized --jobs $(JOBS) $(HOST_SANITIZED)
	@build/host/tests/host/host steps=$(HOST_STEPS) $(HOST_LENGTH) & wide=$$!; failed=0; \
	build/host-32/tests/host/host steps=$(HOST_STEPS) $(HOST_LENGTH) || failed=1; \
	wait $$wide && exit $$failed
	@HOST_SEEDS=$(HOST_THREADS_SEEDS) HOST_STEPS=$(HOST_STEPS) build/tsan/tests/host/host
	@$(MAKE) --no-print-directory test-host-mutants

# Its CPUs as threads under ThreadSanitizer, without suppressions.
.PHONY: test-host-threads
test-host-threads: build/tsan/tests/host/host
	@$(PYTHON) tests/run_layer.py host-threads --jobs 1 $<

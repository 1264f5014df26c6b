# SPDX-License-Identifier: MIT
#
# The simulated host (docs/DESIGN.md): a program of its own for each build of the
# library, whose code is instrumented so that something may happen at each block.
# Included by the Makefile.
#
#   make test-host              the fakes by value; a fixed number of seeds and steps
#   make soak-host              as many as asked: HOST_SEEDS of HOST_STEPS steps

HOST_SEEDS ?= 2000
HOST_STEPS ?= 20000

BUILDS_OF_HOST := host host-asan
host_CC := $(CC) -m64
host_FLAGS := -O2
host-asan_CC := $(CC) -m64
host-asan_FLAGS := $(asan_FLAGS)
host-asan_LINK := $(asan_LINK)

HOST_SOURCES := $(sort $(filter-out tests/host/test_%.c,$(wildcard tests/host/*.c)))
HOST_FAMILIES := $(foreach family,intel p6 netburst amd,$(if $(wildcard tests/host/hardware_$(family).c),&hardware_$(family),))
empty :=
comma := ,
space := $(empty) $(empty)

define HOST_RULES
$(call BUILD_RULES,$(1))
build/$(1)/core/%.o build/$(1)/backends/%.o: LIB_CFLAGS += -fsanitize-coverage=trace-pc -include tests/host/interleave.h
build/$(1)/tests/host/host: $$(HOST_SOURCES:%.c=build/$(1)/%.o) build/$(1)/libupmu.a
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^)
endef
$(foreach build,$(BUILDS_OF_HOST),$(eval $(call HOST_RULES,$(build))))
HOST_CFLAGS_OF_MAIN = '-DHOST_FAMILIES=$(subst $(space),$(comma),$(strip $(HOST_FAMILIES)))'
$(BUILDS_OF_HOST:%=build/%/tests/host/host_main.o): HOST_CFLAGS += $(HOST_CFLAGS_OF_MAIN)

# The fakes alone, against the facts.
FAKE_TESTS := $(patsubst tests/host/%.c,%,$(wildcard tests/host/test_*.c))
FAKES := $(wildcard tests/host/hardware_*.c)
define FAKE_RULES
build/$(1)/tests/host/test_%: build/$(1)/tests/host/test_%.o $$(FAKES:%.c=build/$(1)/%.o)
	$$(QUIET)$$($(1)_CC) -no-pie $$($(1)_LINK) -o $$@ $$^ -lcmocka
endef
$(foreach build,gcc-64 clang-64 asan,$(eval $(call FAKE_RULES,$(build))))

HOST_PROGRAMS := $(BUILDS_OF_HOST:%=build/%/tests/host/host)
.PHONY: test-host soak-host
test-host: $(foreach b,gcc-64 asan,$(FAKE_TESTS:%=build/$(b)/tests/host/%)) $(HOST_PROGRAMS)
	@$(PYTHON) tests/run_layer.py host --jobs $(JOBS) $^
soak-host: $(HOST_PROGRAMS)
	@HOST_SEEDS=$(HOST_SEEDS) HOST_STEPS=$(HOST_STEPS) build/host/tests/host/host

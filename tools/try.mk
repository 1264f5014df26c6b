# SPDX-License-Identifier: MIT
#
# make try: the first command of README.md.  It counts on the silicon model, and needs make and a C compiler alone.
# Nothing is optimised, and the events are those of one model, because that compiles soonest.

TRY_CC := $(or $(shell command -v $(CC)),cc)
TRY_FLAGS := -std=c11 -O0 -w -Iinclude -I. -DUPMU_FOR_X86=1 -DUPMU_EVENTS_ALL=0 -DUPMU_EVENTS_skl=1
TRY_OBJECTS := build/try/library.o $(SIM_SOURCES:%.c=build/try/%.o) build/try/examples/try.o

$(eval $(call KEEP_FLAGS,build/try/flags,$(TRY_CC) $(TRY_FLAGS)))
build/try/%.o: %.c build/try/flags
	@mkdir -p $(@D)
	$(QUIET)$(TRY_CC) $(TRY_FLAGS) -MMD -MP -c -o $@ $<
build/try/library.o: build/library.c build/try/flags
	$(QUIET)$(TRY_CC) $(TRY_FLAGS) -MMD -MP -c -o $@ $<
build/try/try: $(TRY_OBJECTS)
	$(QUIET)$(TRY_CC) -o $@ $^

# As many jobs as processors, unless make has been told how many.
TRY_JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(or $(shell getconf _NPROCESSORS_ONLN 2>/dev/null),2))
.PHONY: try
try:
	+@$(MAKE) --no-print-directory $(TRY_JOBS) build/try/try
	@build/try/try

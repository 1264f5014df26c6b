# SPDX-License-Identifier: MIT
#
# What an embedder's makefile needs; it builds nothing by itself.
#
#     include third_party/upmu/upmu.mk
#     CFLAGS  += $(UPMU_DEFINES) $(UPMU_INCLUDES)
#     SOURCES += $(UPMU_SOURCES)
#     third_party/upmu/%.o: CFLAGS += $(UPMU_CFLAGS)
#
# Include it by a path without blanks (a relative one will do).  UPMU_OPTIONS has options
# of include/upmu/config.h, for each file: UPMU_OPTIONS := UPMU_THREADS=0 UPMU_PACK=0
# Choosing single backends or catalogues is done by options; sources that are left
# out by them compile to nothing.

UPMU_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

UPMU_SOURCES := $(sort $(wildcard $(UPMU_DIR)/core/*/*.c $(UPMU_DIR)/backends/*/*.c $(UPMU_DIR)/events/*.c))

# The first is for files that include <upmu/upmu.h>, the second for upmu's own files.
UPMU_INCLUDES := -I$(UPMU_DIR)/include -I$(UPMU_DIR)

# Events of these models only (UPMU_EVENTS="skl zen2 p4"; docs/CATALOGUES.md has the names);
# all of them if it is empty.  (EVENTS is the host's: it was upmu's once.)
UPMU_EVENTS ?=
UPMU_MODELS := $(patsubst p4,netburst,$(UPMU_EVENTS))
UPMU_EVENTS_KNOWN := $(if $(UPMU_MODELS)$(EVENTS)$(UPMU_OPTIONS),$(shell sed -n 's/^ \* models: //p' $(UPMU_DIR)/events/catalog_models.c))
$(foreach model,$(filter-out $(UPMU_EVENTS_KNOWN),$(UPMU_MODELS)),$(error UPMU_EVENTS: no events of $(model)))
ifneq ($(EVENTS),)
ifeq ($(filter-out $(UPMU_EVENTS_KNOWN) p4,$(EVENTS))$(UPMU_EVENTS),)
$(warning EVENTS does nothing: the events of single models are chosen by UPMU_EVENTS)
endif
endif
# A mistyped option would leave nothing out, without a word.  (A copy of the sources alone has no table.)
UPMU_OPTIONS_TABLE := $(if $(UPMU_OPTIONS),$(wildcard $(UPMU_DIR)/tools/options.tsv))
UPMU_OPTIONS_KNOWN := $(UPMU_EVENTS_KNOWN:%=UPMU_EVENTS_%) \
	$(if $(UPMU_OPTIONS_TABLE),$(shell sed -n 's/^\(UPMU_[A-Z0-9_]*\).*/\1/p' $(UPMU_OPTIONS_TABLE)),UPMU_%)
$(foreach option,$(UPMU_OPTIONS),$(if $(filter-out $(UPMU_OPTIONS_KNOWN),$(firstword $(subst =, ,$(option)))), \
	$(error UPMU_OPTIONS: no option $(option): include/upmu/config.h has their names)))
UPMU_EVENT_OPTIONS := $(if $(UPMU_MODELS),-DUPMU_EVENTS_ALL=0 $(UPMU_MODELS:%=-DUPMU_EVENTS_%=1))
UPMU_DEFINES := $(strip $(UPMU_EVENT_OPTIONS) $(UPMU_OPTIONS:%=-D%))

# Flags that the sources are written for; -mgeneral-regs-only because the
# interrupt handler must not touch vector registers.
UPMU_CFLAGS := -std=c11 -ffreestanding -mgeneral-regs-only $(UPMU_DEFINES)

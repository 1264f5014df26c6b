# SPDX-License-Identifier: MIT
#
# What an embedder's makefile needs; it builds nothing by itself.
#
#     include third_party/upmu/upmu.mk
#     CFLAGS  += $(UPMU_INCLUDES)
#     SOURCES += $(UPMU_SOURCES)
#
# Include it by a path without blanks (a relative one will do).  Options of
# include/upmu/config.h go on the compiler's command line, the same for each file.
# Choosing single backends or catalogues is done by options; sources that are left
# out by them compile to nothing.

UPMU_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

UPMU_SOURCES := $(sort $(wildcard $(UPMU_DIR)/core/*.c $(UPMU_DIR)/backends/*/*.c $(UPMU_DIR)/events/*.c))

# The first is for whoever includes <upmu/upmu.h>, the second for upmu's own files.
UPMU_INCLUDES := -I$(UPMU_DIR)/include -I$(UPMU_DIR)

# Flags that the sources are written for; -mgeneral-regs-only because the
# interrupt handler must not touch vector registers.
UPMU_CFLAGS := -std=c11 -ffreestanding -mgeneral-regs-only

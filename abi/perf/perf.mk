# SPDX-License-Identifier: MIT
#
# The layer of perf_event_open, for embedders: after upmu.mk,
#
#     include third_party/upmu/abi/perf/perf.mk
#     SOURCES += $(UPMU_PERF_SOURCES)

UPMU_PERF_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/perf/*.c))

# SPDX-License-Identifier: MIT
#
# The perfmon2 layer, for embedders: after upmu.mk,
#
#     include third_party/upmu/abi/perfmon2/perfmon2.mk
#     SOURCES += $(UPMU_PERFMON2_SOURCES)

UPMU_PERFMON2_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/perfmon2/*.c))

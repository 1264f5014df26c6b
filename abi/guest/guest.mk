# SPDX-License-Identifier: MIT
#
# The PMU that a hypervisor shows its guests, for embedders: after upmu.mk,
#
#     include third_party/upmu/abi/guest/guest.mk
#     SOURCES += $(UPMU_GUEST_SOURCES)

UPMU_GUEST_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/guest/*.c $(UPMU_DIR)/abi/guest/x86/*.c))

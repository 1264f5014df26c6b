# SPDX-License-Identifier: MIT
#
# The PMU that a hypervisor shows its guests, for embedders: after upmu.mk,
#
#     include third_party/upmu/abi/guest/guest.mk
#     SOURCES += $(UPMU_GUEST_SOURCES)
#
# On AArch64 set UPMU_GUEST_DOOR := arm before it.

UPMU_GUEST_DOOR ?= x86
UPMU_GUEST_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/guest/*.c $(UPMU_DIR)/abi/guest/$(UPMU_GUEST_DOOR)/*.c))

# SPDX-License-Identifier: MIT
#
# The hypervisor's half of the paravirtual PMU, for embedders: after upmu.mk and abi/guest/guest.mk,
#
#     include third_party/upmu/abi/paravirt/paravirt.mk
#     SOURCES += $(UPMU_GUEST_SOURCES) $(UPMU_PARAVIRT_SOURCES)

UPMU_PARAVIRT_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/paravirt/*.c))

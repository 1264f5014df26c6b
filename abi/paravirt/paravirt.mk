# SPDX-License-Identifier: MIT
#
# The hypervisor's half of the paravirtual PMU, for embedders, with that of guests (abi/guest), which it calls: after upmu.mk,
#
#     include third_party/upmu/abi/paravirt/paravirt.mk
#     SOURCES += $(UPMU_GUEST_SOURCES) $(UPMU_PARAVIRT_SOURCES)

include $(UPMU_DIR)/abi/guest/guest.mk
UPMU_PARAVIRT_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/paravirt/*.c))

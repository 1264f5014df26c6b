# SPDX-License-Identifier: MIT
#
# The PMU extension of the SBI, for firmware: after upmu.mk,
#
#     include third_party/upmu/abi/sbi/sbi.mk
#     SOURCES += $(UPMU_SBI_SOURCES)
#
# The firmware needs no other source of upmu for it, but a port (port/riscv_native).

UPMU_SBI_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/sbi/*.c))

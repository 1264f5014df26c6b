# SPDX-License-Identifier: MIT
#
# The PMU extension of the SBI, for firmware and for hypervisors in HS-mode: after upmu.mk,
#
#     include third_party/upmu/abi/sbi/sbi.mk
#     SOURCES += $(UPMU_SBI_SOURCES)
#
# It needs no other source of upmu, but a port: port/riscv_native in M-mode, port/riscv_sbi in HS-mode.

UPMU_SBI_SOURCES := $(sort $(wildcard $(UPMU_DIR)/abi/sbi/*.c))

# SPDX-License-Identifier: MIT
#
# The kernels for QEMU's AArch64 and RISC-V from the top: `make demo-arm`, `make demo-riscv`.  Their own makefile is an
# embedder's, with a copy of upmu (`make vendor`).  Included by the Makefile.

VIRT_MACHINES := arm64 riscv64
VIRT_MISSING := $(call MISSING,$(VIRT_MACHINES),virt-)
VIRT_THERE := $(call THERE,$(VIRT_MACHINES),$(VIRT_MISSING))

.PHONY: demo-arm demo-riscv virt-kernels $(VIRT_MACHINES:%=virt-%)
virt-kernels: $(VIRT_THERE:%=virt-%)
$(VIRT_MACHINES:%=virt-%): virt-%: vendor
	+@$(MAKE) --no-print-directory -s -C examples/virt UPMU=../../build/vendor V="$(V)" $*

demo-arm: VIRT := arm64
demo-riscv: VIRT := riscv64
demo-arm: $(filter virt-arm64,$(VIRT_THERE:%=virt-%))
demo-riscv: $(filter virt-riscv64,$(VIRT_THERE:%=virt-%))
demo-arm demo-riscv:
	@$(if $(filter $(VIRT),$(VIRT_THERE)),,$(call NEED,$(VIRT_MISSING),deps-foreign)) examples/virt/boot.sh $(VIRT) build/virt/upmu-$(VIRT).elf

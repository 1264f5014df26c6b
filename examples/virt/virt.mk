# SPDX-License-Identifier: MIT
#
# The kernels for QEMU's AArch64 and RISC-V from the top: `make demo-arm`, `make demo-riscv`.  Their own makefile is an
# embedder's, with a copy of upmu (`make vendor`).  Included by the Makefile.

VIRT_MACHINES := arm64 riscv64
VIRT_NEEDS_arm64 := aarch64-linux-gnu-gcc-12 qemu-system-aarch64
VIRT_NEEDS_riscv64 := riscv64-unknown-elf-gcc qemu-system-riscv64
VIRT_MISSING := $(strip $(foreach m,$(VIRT_MACHINES),$(foreach n,$(VIRT_NEEDS_$m),$(if $(shell command -v $n),,$m:$n))))
VIRT_THERE := $(filter-out $(foreach x,$(VIRT_MISSING),$(firstword $(subst :, ,$x))),$(VIRT_MACHINES))

.PHONY: demo-arm demo-riscv virt-kernels $(VIRT_MACHINES:%=virt-%)
virt-kernels: $(VIRT_THERE:%=virt-%)
$(VIRT_MACHINES:%=virt-%): virt-%: vendor
	+@$(MAKE) --no-print-directory -s -C examples/virt UPMU=../../build/vendor V="$(V)" $*

define VIRT_DEMO
ifeq ($(filter $(2),$(VIRT_THERE)),)
$(1):
	@echo "$$@: not installed: $(VIRT_MISSING); 'make deps-foreign' installs it" && false
else
$(1): virt-$(2)
	@examples/virt/boot.sh $(2) build/virt/upmu-$(2).elf
endif
endef
$(eval $(call VIRT_DEMO,demo-arm,arm64))
$(eval $(call VIRT_DEMO,demo-riscv,riscv64))

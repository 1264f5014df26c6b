# SPDX-License-Identifier: MIT
#
# The example kernel under QEMU, by every loader.  Included by the Makefile.

.PHONY: test-kernel
ifeq ($(shell command -v qemu-system-x86_64),)
test-kernel: kernel
	@$(PYTHON) tests/run_layer.py kernel --skipped "booting it: qemu-system-x86_64 is not installed (make deps)"
else
HAVE_NASM := $(shell command -v nasm)
HAVE_GRUB := $(and $(shell command -v grub-mkrescue),$(shell command -v xorriso),$(wildcard /usr/lib/grub/i386-pc))
KERNEL_PARTS := kernel $(if $(HAVE_NASM),kernel-images $(if $(HAVE_GRUB),kernel-iso))
PROGRAMS += $(KERNEL_PARTS)
test-kernel: $(KERNEL_PARTS)
	@$(PYTHON) tests/run_layer.py kernel tests/kernel/test_kernel.py
endif

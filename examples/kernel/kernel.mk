# SPDX-License-Identifier: MIT
#
# The example kernel from the top: `make kernel`, `make demo-bios`.  Its own makefile is
# an embedder's.  Included by the Makefile.

.PHONY: kernel kernel-images kernel-iso demo-bios
kernel:
	+@$(MAKE) --no-print-directory -s -C examples/kernel CC="$(CC)" V="$(V)"
kernel-images: kernel
	+@$(MAKE) --no-print-directory -s -C examples/kernel CC="$(CC)" V="$(V)" images
kernel-iso: kernel-images
	+@$(MAKE) --no-print-directory -s -C examples/kernel CC="$(CC)" V="$(V)" iso

demo-bios: kernel
	@$(PYTHON) tests/kernel/demo_bios.py

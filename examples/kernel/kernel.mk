# SPDX-License-Identifier: MIT
#
# The example kernel from the top: `make kernel`, `make demo-bios`.  Its own makefile is
# an embedder's.  Included by the Makefile.

.PHONY: kernel demo-bios
kernel:
	+@$(MAKE) --no-print-directory -C examples/kernel CC="$(CC)"

demo-bios: kernel
	@$(PYTHON) tests/kernel/demo_bios.py

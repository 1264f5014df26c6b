# SPDX-License-Identifier: MIT
#
# The example kernel on every identity that Bochs has.  Included by the Makefile.

.PHONY: test-bochs
ifeq ($(and $(shell command -v bochs),$(shell command -v nasm)),)
test-bochs:
	@$(PYTHON) tests/run_layer.py bochs --skipped "all of it: bochs or nasm is not installed (make deps)"
else
test-bochs: kernel-images
	@$(PYTHON) tests/run_layer.py bochs tests/bochs/test_bochs.py
endif

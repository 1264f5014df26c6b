# SPDX-License-Identifier: MIT
#
# The example kernel as a guest of an own monitor on /dev/kvm.  Included by the
# Makefile.

VM_TESTS := $(sort $(patsubst tests/vm/%.c,build/gcc-64/tests/vm/%,$(wildcard tests/vm/test_*.c)))
VM_HELPERS := $(filter-out tests/vm/test_%.c,$(wildcard tests/vm/*.c)) tests/trap/trap_decode.c

build/gcc-64/tests/vm/test_%: build/gcc-64/tests/vm/test_%.o $(VM_HELPERS:%.c=build/gcc-64/%.o) build/gcc-64/libsim.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $(filter %.o,$^) build/gcc-64/libsim.a -lcmocka

PROGRAMS += kernel $(VM_TESTS)
.PHONY: test-vm
test-vm: kernel $(VM_TESTS)
	@$(PYTHON) tests/run_layer.py vm --jobs $(JOBS) $(VM_TESTS)

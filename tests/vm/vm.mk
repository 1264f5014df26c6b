# SPDX-License-Identifier: MIT
#
# The example kernel as a guest of an own monitor on /dev/kvm.  Included by the
# Makefile.

VM_TESTS := $(sort $(patsubst tests/vm/%.c,build/gcc-64/tests/vm/%,$(wildcard tests/vm/test_*.c)))
VM_HELPERS := $(filter-out tests/vm/test_%.c,$(wildcard tests/vm/*.c)) tests/trap/trap_decode.c \
	$(wildcard tests/common/*.c)

build/gcc-64/tests/vm/test_%: build/gcc-64/tests/vm/test_%.o $(VM_HELPERS:%.c=build/gcc-64/%.o) build/gcc-64/libsim.a \
		build/gcc-64/libupmu.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka

PROGRAMS += kernel $(VM_TESTS)
.PHONY: test-vm test-vm-guest
test-vm: kernel $(VM_TESTS)
	@$(PYTHON) tests/run_layer.py vm --jobs $(JOBS) $(VM_TESTS)

# The kernel on the guest engine alone; with VM_RUNS=soak 20 times each.
test-vm-guest: kernel build/gcc-64/tests/vm/test_vm_guest
	@$(PYTHON) tests/run_layer.py vm --jobs $(JOBS) build/gcc-64/tests/vm/test_vm_guest

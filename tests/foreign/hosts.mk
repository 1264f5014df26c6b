# SPDX-License-Identifier: MIT
#
# The simulated host of tests/host, made for other processors, where another compiler makes the code and char is unsigned.
# It runs as a Linux program under QEMU's user mode; its hardware stays x86's.
#
#   make test-foreign-hosts   a few seeds on AArch64, little optimised (a part of test-foreign)
#   make mutants-foreign-hosts   is each change of hosts_mutants.tsv noticed?
#   make soak-foreign-hosts   HOSTS_SEEDS on AArch64 and RISC-V as on x86, and as many with points inside code

HOSTS_SEEDS ?= 1000
HOSTS_SOAK := $(filter soak,$(FOREIGN_RUNS))
HOSTS := $(if $(HOSTS_SOAK),aarch64 riscv64,aarch64)
HOSTS_AT := build/foreign/hosts/$(if $(HOSTS_SOAK),soak,test)
HOSTS_LEVEL := $(if $(HOSTS_SOAK),-O1,-O0)

HOSTS_FOR := $(HOSTS_LEVEL) -DUPMU_FOR_X86=1 -DUPMU_BACKEND_ARM_PMUV3=0 -DUPMU_BACKEND_RISCV_HPM=0
HOSTS_LIB = $(filter-out -mgeneral-regs-only,$(LIB_CFLAGS)) $(HOSTS_FOR) \
	$(if $(HOSTS_SOAK),$(host_POINTS),$(filter-out -fsanitize-coverage=%,$(host_POINTS)))
HOSTS_MISSING := $(call MISSING,$(HOSTS),hosts-)
HOSTS_THERE := $(call THERE,$(HOSTS),$(HOSTS_MISSING))
HOSTS_PROGRAMS := $(HOSTS_THERE:%=$(HOSTS_AT)/%/host)

define HOSTS_RULES
$(call KEEP_FLAGS,$(HOSTS_AT)/$(1)/flags,$(hosts-$(1)_CC) $(HOSTS_LIB) $(hosts-$(1)_LIB) $(HOST_CFLAGS) -O1)
$(HOSTS_AT)/$(1)/library.o: build/library.c $(HOSTS_AT)/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(hosts-$(1)_CC) $$(HOSTS_LIB) $$(hosts-$(1)_LIB) -MMD -MP -c -o $$@ $$<
$(HOSTS_AT)/$(1)/abi/%.o: abi/%.c $(HOSTS_AT)/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(hosts-$(1)_CC) $$(HOSTS_LIB) $$(hosts-$(1)_LIB) -MMD -MP -c -o $$@ $$<
# (upmu_thread_switch() has points for other CPUs where the library has its code: it is inline here, as on x86)
$(HOSTS_AT)/$(1)/tests/host/%.o: tests/host/%.c $(HOSTS_AT)/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$(hosts-$(1)_CC) $$(HOST_CFLAGS) $$($$(notdir $$<)_CFLAGS) $$(HOSTS_FOR) -O1 -MMD -MP -c -o $$@ $$<
$(HOSTS_AT)/$(1)/host: $$(patsubst %.c,$(HOSTS_AT)/$(1)/%.o,$$(HOST_SOURCES) $$(HOST_ABI)) $$(or $$(hosts-$(1)_LIBRARY),$(HOSTS_AT)/$(1)/library.o)
	$$(QUIET)$$(hosts-$(1)_CC) -static -no-pie -o $$@ $$^ $$(hosts-$(1)_LINK)
endef
$(foreach m,$(HOSTS_THERE),$(eval $(call HOSTS_RULES,$(m))))

# What x86 does with the same seeds: where that program was made it is kept up to date (making
# it takes longer than all of this).
HOSTS_X86 := build/host/tests/host/host
HOSTS_X86 := $(if $(HOSTS_SOAK),$(HOSTS_X86),$(wildcard $(HOSTS_X86)))

.PHONY: soak-foreign-hosts
foreign-programs: $(HOSTS_PROGRAMS)
FOREIGN_PARTS += foreign-hosts
soak-foreign-hosts:
	@FOREIGN_RUNS=soak $(MAKE) --no-print-directory test-foreign-hosts

# Is each change of the library in tests/foreign/hosts_mutants.tsv noticed on AArch64?  (A changed file is found first.)
.PHONY: mutants-foreign-hosts
hosts_mutant := build/foreign/hosts/mutant
mutants-foreign-hosts: $(filter %/aarch64/host,$(HOSTS_PROGRAMS))
	$(if $^,@HOSTS="$^" HOSTS_COMPILE='$(hosts-aarch64_CC) -I$(hosts_mutant) $(HOSTS_LIB) $(hosts-aarch64_LIB) -w -c -o $(hosts_mutant)/library.o build/library.c' \
		HOSTS_LINK='$(hosts-aarch64_CC) -static -no-pie -o $(hosts_mutant)/host $(hosts_mutant)/library.o \
			$(patsubst %.c,$(HOSTS_AT)/aarch64/%.o,$(HOST_SOURCES) $(HOST_ABI))' \
		$(PYTHON) $(foreign-hosts_PROGRAMS) --mutants,@echo "[  SKIPPED ] mutants of the simulated host on AArch64: make deps-foreign")

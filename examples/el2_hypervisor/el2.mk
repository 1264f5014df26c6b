# SPDX-License-Identifier: MIT
#
# The hypervisor for QEMU's AArch64 from the top: `make demo-el2` runs its small guest.  Its own makefile is an embedder's.
# Included by the Makefile.

EL2_MISSING := $(call MISSING,arm64,el2-)

.PHONY: demo-el2 el2-arm64 deps-linux-arm
el2-arm64: $(if $(EL2_MISSING),,build/foreign/el2_init)
	+@$(if $(EL2_MISSING),:,$(MAKE) --no-print-directory -s -C examples/el2_hypervisor V="$(V)")
build/foreign/el2_init: tests/foreign/el2_init.c
	@mkdir -p $(@D)
	$(QUIET)aarch64-linux-gnu-gcc-12 -std=c11 -Os -Wall -Wextra -Werror -ffreestanding -nostdlib -static -fno-stack-protector \
		-mgeneral-regs-only -o $@ $<

demo-el2: el2-arm64
	@$(call NEED,$(EL2_MISSING),deps-foreign) examples/el2_hypervisor/boot.sh build/el2/el2.bin build/el2/guest.bin

FOREIGN_PARTS += foreign-el2
FOREIGN_DEMOS += el2-arm64

# Debian's kernel for arm64, by lists of packages of its own: the system's architectures stay as they are.
deps-linux-arm: apt
	mkdir -p build/foreign/apt/lists/partial build/foreign/arm64
	cd build/foreign/apt && apt-get $(DEMO_ARM_APT) update && rm -f linux-image-*.deb && apt-get $(DEMO_ARM_APT) download \
		"$$(apt-cache $(DEMO_ARM_APT) depends linux-image-arm64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')" && \
		dpkg --fsys-tarfile linux-image-*_arm64.deb | tar -x -C ../arm64 --wildcards './boot/vmlinuz-*'
	mv build/foreign/arm64/boot/vmlinuz-* build/foreign/arm64/boot/vmlinuz

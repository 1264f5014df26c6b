#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boot the hypervisor under QEMU.  usage: boot.sh EL2.BIN GUEST [INITRD]
# GUEST is an image for EL1: guest.bin, or the Image of a Linux, with INITRD.
# An instruction is a nanosecond (-icount): QEMU counts instructions of AArch64 only so.
set -eu
hypervisor=$1
guest=$2
set -- ${3:+-initrd "$3"}
exec qemu-system-aarch64 -M virt,virtualization=on,gic-version=3,highmem=off -cpu cortex-a57 -m 256 -nic none -icount shift=0 \
	-display none -serial stdio -monitor none -kernel "$hypervisor" "$@" -append console=ttyAMA0 \
	-device "loader,file=$guest,addr=0x41200000,force-raw=on"

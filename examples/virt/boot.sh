#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boot the kernel under QEMU.  usage: boot.sh arm64|riscv64 KERNEL.ELF [CPU]
# An instruction is a nanosecond (-icount): QEMU counts instructions of AArch64 only so.
set -eu
machine=$1
kernel=$2
case $machine in
arm64) set -- qemu-system-aarch64 -cpu "${3:-cortex-a57}" ;;
riscv64) set -- qemu-system-riscv64 -bios none -cpu "${3:-rv64,pmu-num=16,sscofpmf=on}" ;;
*) echo "boot.sh: no machine '$machine'" >&2; exit 2 ;;
esac
exec "$@" -M virt -nic none -m 64 -icount shift=0 -display none -serial stdio -monitor none -kernel "$kernel"

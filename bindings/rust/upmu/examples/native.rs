// SPDX-License-Identifier: MIT
//! A port for a kernel in ring 0 of x86-64 with one CPU. On a host it is compiled, and cannot run.
#![deny(unsafe_op_in_unsafe_fn)]
use core::arch::{asm, x86_64::__cpuid_count};
use upmu::{Cpu, Machine, Port};

struct Native;

static PORT: Native = Native;
static MACHINE: Machine = Machine::new();
static CPU: Cpu = Cpu::new();

// SAFETY: the functions do what their names say; with several CPUs, this_cpu() finds the executing one.
unsafe impl Port for Native {
    const RDPMC: bool = true;
    const KERNEL_MODE: bool = true;

    unsafe fn rdmsr(&self, msr: u32) -> Option<u64> {
        let (low, high): (u32, u32);
        // SAFETY: in ring 0; the library asks for registers that CPUID promises.
        unsafe {
            asm!("rdmsr", in("ecx") msr, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
        };
        Some(u64::from(high) << 32 | u64::from(low))
    }
    unsafe fn wrmsr(&self, msr: u32, value: u64) -> bool {
        let (low, high) = (value as u32, (value >> 32) as u32);
        // SAFETY: as rdmsr; the registers are the PMU's.
        unsafe { asm!("wrmsr", in("ecx") msr, in("eax") low, in("edx") high, options(nostack, preserves_flags)) };
        true
    }
    unsafe fn rdpmc(&self, index: u32) -> Option<u64> {
        let (low, high): (u32, u32);
        // SAFETY: as rdmsr; the library asks for counters that there are.
        unsafe {
            asm!("rdpmc", in("ecx") index, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
        };
        Some(u64::from(high) << 32 | u64::from(low))
    }
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        // SAFETY: every x86-64 has CPUID.
        #[allow(unused_unsafe)]
        let found = unsafe { __cpuid_count(leaf, subleaf) };
        [found.eax, found.ebx, found.ecx, found.edx]
    }
    fn this_cpu(&self) -> Option<&'static Cpu> {
        Some(&CPU)
    }
    fn irq_save(&self) -> usize {
        let flags: usize;
        // SAFETY: in ring 0.
        unsafe { asm!("pushfq", "pop {}", "cli", out(reg) flags) };
        flags
    }
    unsafe fn irq_restore(&self, flags: usize) {
        if flags & 1 << 9 != 0 {
            // SAFETY: interrupts were on at irq_save().
            unsafe { asm!("sti", options(nostack)) };
        }
    }
}

/// Call it once, in ring 0.
pub fn begin() -> Result<(), upmu::Error> {
    MACHINE.init(&PORT)?;
    CPU.init(&MACHINE)
}

fn main() {
    // A kernel would call begin() here; in user mode RDMSR faults.
    let _ = begin;
}

// SPDX-License-Identifier: MIT
//! A hypervisor's loop on the model: `cargo run --example hypervisor --features guest,sim`. Its guest is a list of
//! steps; in a real one, the hardware runs the guest, and its exits take their place.
use std::pin::Pin;
use upmu::guest::{shape, Access, Door, Inject, Level, Policy, Vcpu};
use upmu::sim::{self, Model};
use upmu::{Cpu, Error, Frame, Machine, Thread};

static PORT: Model = Model::new();
static MACHINE: Machine = Machine::new();
static CPU: Cpu = Cpu::new();
static IDLE: Thread = Thread::new(0, 0);
static POLICY: Policy = Policy::new(Level::Ipc);
static VCPU: Vcpu<8> = Vcpu::new(1, 1);

/// What the guest does until it leaves to the hypervisor.
enum Step {
    Wrmsr(u32, u64),
    Rdmsr(u32),
    Lvtpc(u32),
    Work,
}
use Step::*;

/// The guest counts instructions and has an interrupt after 5,000.
const GUEST: [Step; 9] = [
    Lvtpc(0x400),                   // the interrupt is an NMI
    Wrmsr(0x38f, 0),                // IA32_PERF_GLOBAL_CTRL: all counters stand still
    Wrmsr(0x4c1, (1 << 48) - 5000), // IA32_A_PMC0
    Wrmsr(0x186, 0x5300c0),         // IA32_PERFEVTSEL0: instructions, with interrupts
    Wrmsr(0x38f, 1),
    Work,
    Wrmsr(0x38f, 0),
    Rdmsr(0xc1),  // IA32_PMC0
    Rdmsr(0x3f1), // IA32_PEBS_ENABLE, which no guest has
];

/// The NMI of the host.
fn entry(cpu: &'static Cpu, frame: &Frame) {
    // SAFETY: the model calls it where the interrupt of that CPU comes.
    let _ = unsafe { cpu.interrupt(Some(frame)) };
}

fn run(pmu: Pin<&Vcpu<8>>) -> Result<(), Error> {
    for step in &GUEST {
        // SAFETY: the program's one thread has switched to the thread of the vCPU.
        let entry = unsafe { pmu.enter() }?;
        if entry.inject != Inject::None {
            println!("inject {:?}", entry.inject);
        }
        if let Work = step {
            PORT.work(sim::Work { instructions: 12000, cycles: 9000, ..Default::default() });
        }
        pmu.exit()?;
        let access = match *step {
            Wrmsr(msr, value) => pmu.wrmsr(msr, value)?,
            Rdmsr(msr) => pmu.rdmsr(msr)?,
            Lvtpc(value) => {
                pmu.set_lvtpc(value)?;
                Access::Done(0)
            }
            Work => continue, // an interrupt of the host: the hypervisor has executed nothing
        };
        match (access, step) {
            (Access::Done(value), Rdmsr(msr)) => println!("{msr:x}h is {value}"),
            (Access::Fault, Rdmsr(msr) | Wrmsr(msr, _)) => println!("{msr:x}h: #GP"),
            _ => (),
        }
        if access != Access::Fault {
            pmu.retired(1, 0, false)?;
        }
    }
    Ok(())
}

fn host() -> Result<(), Error> {
    let pmu = Pin::static_ref(&VCPU);
    // SAFETY: this program has one thread.
    unsafe { PORT.init("skl", &[&CPU], entry) }?;
    MACHINE.init(&PORT)?;
    CPU.init(&MACHINE)?;
    pmu.open(&MACHINE, &shape(&MACHINE, Door::Intel, &POLICY)?, &POLICY)?;
    // SAFETY: this is the scheduler; the CPU goes from the one thread to the other, and back.
    unsafe { CPU.switch(Pin::static_ref(&IDLE), pmu.thread()) }?;
    let result = run(pmu);
    // SAFETY: as before.
    unsafe { CPU.switch(pmu.thread(), Pin::static_ref(&IDLE)) }?;
    result.and(pmu.close()).and(CPU.fini())
}

fn main() {
    if let Err(error) = host() {
        println!("{error}");
    }
}

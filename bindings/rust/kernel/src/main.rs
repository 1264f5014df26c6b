// SPDX-License-Identifier: MIT
//! A kernel in Rust that counts, follows a thread and samples: on the silicon model, because QEMU has no PMU on x86, and
//! then it asks the CPU itself. `docs/RUST.md` says how to boot it.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]
mod memory;
#[allow(dead_code)]
#[path = "../../upmu/examples/native.rs"]
mod native;
use core::arch::{asm, global_asm};
use core::fmt::{self, Write};
use core::pin::Pin;
use upmu::sim::{Model, Work};
use upmu::{Count, Cpu, Error, Frame, Machine, Region, RingMemory, Sampling, Session, Thread};

global_asm!(include_str!("rust_start.S"), options(att_syntax));

static MODEL: Model = Model::new();
static MACHINE: Machine = Machine::new();
static CPU: Cpu = Cpu::new();
static REGION: Region = Region::new();
static THREADS: [Thread; 2] = [Thread::new(1, 1), Thread::new(1, 2)];
static FOLLOWER: Session = Session::new();
static PROFILE: Session = Session::new();
static RING: RingMemory<512> = RingMemory::new();

/// The serial line, COM1.
struct Serial;

/// # Safety
/// The port is one of a device that the kernel owns.
unsafe fn port_write(port: u16, value: u8) {
    // SAFETY: in ring 0; the rest is the caller's promise.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) };
}

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: COM1, which QEMU reads at once.
            unsafe { port_write(0x3f8, byte) };
        }
        Ok(())
    }
}

/// The NMI's entry.
fn entry(cpu: &'static Cpu, frame: &Frame) {
    // SAFETY: the model calls it where the interrupt of that CPU comes.
    let _ = unsafe { cpu.interrupt(Some(frame)) };
}

/// The model is told what a real CPU would do.
fn work() {
    MODEL.work(Work { instructions: 12000, cycles: 9000, branches: 2000, mispredicts: 31, ip: 0x1000, ip_step: 4 });
}

fn count(out: &mut Serial) -> Result<(), Error> {
    let (region, mut counts) = (Pin::static_ref(&REGION), [Count::default(); 3]);
    region.open(&CPU, "instructions,cycles,branch-misses")?;
    region.measure(&mut counts, work)?;
    let _ = writeln!(out, "region: {} {} {}", counts[0].value, counts[1].value, counts[2].value);
    region.close()
}

fn follow(out: &mut Serial) -> Result<(), Error> {
    let (session, mut counts) = (Pin::static_ref(&FOLLOWER), [Count::default()]);
    let [idle, worker] = [0, 1].map(|i| Pin::static_ref(&THREADS[i]));
    session.open(&MACHINE)?;
    session.add("instructions")?;
    // SAFETY: the worker does not run.
    unsafe { session.attach_thread(worker, None) }?;
    session.start()?;
    for (prev, next) in [(idle, worker), (worker, idle), (idle, worker), (worker, idle)] {
        // SAFETY: the one CPU goes from `prev`, which ran, to `next`, with interrupts off.
        unsafe { CPU.switch(prev, next) }?;
        work();
    }
    session.read(&mut counts)?;
    let _ = writeln!(out, "thread: {}", counts[0].value);
    worker.exit()?;
    session.close()
}

fn sample(out: &mut Serial) -> Result<(), Error> {
    let session = Pin::static_ref(&PROFILE);
    session.open(&MACHINE)?;
    session.add_sampled("instructions", &Sampling::every(5000))?;
    session.ring(&RING)?;
    session.attach_cpu(&CPU)?;
    session.start()?;
    work();
    session.stop()?;
    while let Some(sample) = session.next_sample()? {
        let _ = writeln!(out, "sample: {:#x}", sample.ip);
    }
    session.detach()?;
    if session.add("instrutions").is_err() {
        let _ = writeln!(out, "refused: {}", session.why()?);
    }
    session.close()
}

fn on_the_model(out: &mut Serial) -> Result<(), Error> {
    // SAFETY: this kernel has one CPU and no interrupts.
    unsafe { MODEL.init("skl", &[&CPU], entry) }?;
    MACHINE.init(&MODEL)?;
    CPU.init(&MACHINE)?;
    count(out)?;
    follow(out)?;
    sample(out)?;
    CPU.fini()
}

fn end(code: u8) -> ! {
    // SAFETY: QEMU's isa-debug-exit.
    unsafe { port_write(0x501, code) };
    loop {
        core::hint::spin_loop();
    }
}

#[no_mangle]
extern "C" fn kernel_main() -> ! {
    let out = &mut Serial;
    let result = on_the_model(out);
    if let Err(error) = result {
        let _ = writeln!(out, "model: {error}");
    }
    let _ = match native::begin() {
        Ok(()) => writeln!(out, "this CPU: has counters"),
        Err(error) => writeln!(out, "this CPU: {error}"),
    };
    end(if result.is_ok() { 0x10 } else { 0x11 })
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let _ = writeln!(Serial, "{info}");
    end(0x12)
}

// SPDX-License-Identifier: MIT
//! Counts a piece of code on a model of Intel's Skylake: `cargo run --example count --features sim`.
//! In a kernel, your port takes the model's place: docs/RUST.md.
use std::pin::Pin;
use upmu::sim::{Model, Work};
use upmu::{Count, Cpu, Error, Machine, Region};

static PORT: Model = Model::new();
static MACHINE: Machine = Machine::new();
static CPU: Cpu = Cpu::new();
static REGION: Region = Region::new();

/// On a real CPU this is the code to measure; the model is told what it did.
fn work() {
    PORT.work(Work { instructions: 12000, cycles: 9000, branches: 2000, mispredicts: 31, ..Work::default() });
}

fn measure() -> Result<(), Error> {
    // SAFETY: this program has one thread.
    unsafe { PORT.init("skl", &[&CPU], |_, _| ()) }?;
    MACHINE.init(&PORT)?;
    CPU.init(&MACHINE)?;
    let (region, mut counts) = (Pin::static_ref(&REGION), [Count::default(); 3]);
    region.open(&CPU, "instructions,cycles,branch-misses")?;
    region.measure(&mut counts, work)?;
    for count in &counts {
        println!("{}", count.value);
    }
    region.close()?;
    CPU.fini()
}

fn main() {
    if let Err(error) = measure() {
        println!("{error}");
    }
}

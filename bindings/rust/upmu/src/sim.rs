// SPDX-License-Identifier: MIT
//! A model of a CPU in the place of a kernel's port: for tests, and to try upmu on any host.
use crate::port::{shielded, Port, RemoteWork};
use crate::{Cpu, Error, Frame};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use upmu_sys::sim::*;
use upmu_sys::upmu_port;

/// The handler of the PMU's interrupt, which comes as an NMI of that CPU.
pub type Handler = fn(&'static Cpu, &Frame);

/// A machine of up to four CPUs, one of which executes at a time.
#[repr(C)]
pub struct Model {
    /// First, so that C's pointer to it is one to the whole.
    raw: UnsafeCell<upmu_sim>,
    handler: UnsafeCell<Option<Handler>>,
    ready: AtomicBool,
}

// SAFETY: init() is unsafe, and its callers promise that one thread at a time uses the model.
unsafe impl Sync for Model {}

/// What the executing CPU does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles that they took.
    pub cycles: u64,
    /// Of the instructions, branches.
    pub branches: u64,
    /// Of the branches, mispredicted ones.
    pub mispredicts: u64,
    /// Where instruction 0 is.
    pub ip: u64,
    /// From one instruction to the next.
    pub ip_step: u64,
}

impl Model {
    /// A model that is not initialised.
    pub const fn new() -> Self {
        Model {
            raw: UnsafeCell::new(upmu_sim::zeroed()),
            handler: UnsafeCell::new(None),
            ready: AtomicBool::new(false),
        }
    }

    /// Be a machine with these CPUs of the model `profile` ("skl"); the first executes.
    ///
    /// # Safety
    /// From now on one thread at a time uses the model, and what upmu has on it: its machine, CPUs, sessions and
    /// threads.
    pub unsafe fn init(&'static self, profile: &str, cpus: &[&'static Cpu], handler: Handler) -> Result<(), Error> {
        // SAFETY: a text with a NUL.
        let found = unsafe { upmu_sim_profile(with_nul(profile)?.as_ptr()) };
        if found.is_null() || !(1..=4).contains(&cpus.len()) {
            return Err(Error::Invalid);
        }
        if self.ready.swap(true, Ordering::AcqRel) {
            return Err(Error::State);
        }
        // SAFETY: the model is a static, and this thread alone uses it, by the caller's promise; CPUs are statics.
        unsafe {
            *self.handler.get() = Some(handler);
            upmu_sim_init(self.as_ptr(), found, cpus.len() as u32);
            for (number, cpu) in (0..).zip(cpus) {
                upmu_sim_bind_cpu(self.as_ptr(), number, cpu.as_ptr());
            }
            upmu_rust_sim_deliver_to(self.as_ptr(), deliver);
        }
        Ok(())
    }

    /// The executing CPU does some work; interrupts come on the way.
    pub fn work(&'static self, work: Work) {
        let Work { instructions, cycles, branches, mispredicts, ip, ip_step } = work;
        self.check();
        // SAFETY: the model is ready, and one thread uses it.
        unsafe { upmu_rust_sim_work(self.as_ptr(), instructions, cycles, branches, mispredicts, ip, ip_step) };
    }

    /// Another CPU executes from now on.
    pub fn switch_cpu(&'static self, number: u32) {
        assert!(number < 4);
        self.check();
        // SAFETY: as in work().
        unsafe { upmu_sim_switch_cpu(self.as_ptr(), number) };
    }

    fn check(&self) {
        assert!(self.ready.load(Ordering::Acquire), "the model is not initialised");
    }

    /// C's pointer, good for all of `self`.
    fn as_ptr(&self) -> *mut upmu_sim {
        self as *const Model as *mut upmu_sim
    }

    /// A copy of the model's own hooks.
    fn hooks(&self) -> upmu_port {
        self.check();
        // SAFETY: the model is ready; its table is filled in and nothing writes it; it is copied, not referred to.
        unsafe { ptr::read(upmu_sim_port(self.as_ptr())) }
    }
}

/// The name of a profile, with the NUL that the model wants.
fn with_nul(name: &str) -> Result<[u8; 64], Error> {
    let mut bytes = [0; 64];
    if name.len() >= bytes.len() {
        return Err(Error::Invalid);
    }
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

unsafe extern "C" fn deliver(sim: *mut upmu_sim, _number: u32, frame: *const Frame) {
    // SAFETY: `sim` is of as_ptr(), so that it is good for the whole static; the frame is C's until this returns; the
    // handler was stored before the model delivered anything.
    let (model, frame) = unsafe { (&*sim.cast::<Model>(), &*frame) };
    // SAFETY: nothing writes it after init().
    let handler = unsafe { *model.handler.get() };
    shielded(|| {
        if let (Some(handler), Some(cpu)) = (handler, model.this_cpu()) {
            handler(cpu, frame);
        }
    });
}

/// Call a hook of the model.
macro_rules! call {
    ($model:ident.$hook:ident($($argument:expr),*)) => {{
        let hooks = $model.hooks();
        let hook = hooks.$hook.expect("the model has this hook");
        // SAFETY: the model's hook with its context; the other arguments are as upmu/port.h has them, in the context
        // that the trait's function is called in.
        unsafe { hook(hooks.context $(, $argument)*) }
    }};
}

// SAFETY: the model's hooks are right where one thread uses it (init).
unsafe impl Port for Model {
    const RDPMC: bool = true;
    const PMI: bool = true;
    const CLOCK: bool = true;
    const RUN_ON_CPU: bool = true;
    const FAULTS_ARE_SAFE: bool = true;

    unsafe fn rdmsr(&self, msr: u32) -> Option<u64> {
        let mut value = 0;
        call!(self.rdmsr(msr, &mut value)).then_some(value)
    }
    unsafe fn wrmsr(&self, msr: u32, value: u64) -> bool {
        call!(self.wrmsr(msr, value))
    }
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        let mut out = [0; 4];
        call!(self.cpuid(leaf, subleaf, out.as_mut_ptr()));
        out
    }
    fn this_cpu(&self) -> Option<&'static Cpu> {
        let cpu = call!(self.this_cpu());
        if cpu.is_null() {
            return None;
        }
        // SAFETY: init() bound CPUs by their as_ptr().
        Some(unsafe { Cpu::from_ptr(cpu) })
    }
    fn irq_save(&self) -> usize {
        call!(self.irq_save())
    }
    unsafe fn irq_restore(&self, state: usize) {
        call!(self.irq_restore(state));
    }
    unsafe fn rdpmc(&self, index: u32) -> Option<u64> {
        let mut value = 0;
        call!(self.rdpmc(index, &mut value)).then_some(value)
    }
    unsafe fn pmi_rearm(&self) {
        call!(self.pmi_rearm());
    }
    fn clock_ns(&self) -> u64 {
        call!(self.clock_ns())
    }
    fn run_on_cpu(&self, cpu: &'static Cpu, work: RemoteWork) -> bool {
        call!(self.run_on_cpu(cpu.as_ptr(), work.function, work.argument))
    }
}

// SPDX-License-Identifier: MIT
//! The hooks of a kernel, as a trait, and the functions that C calls.
use crate::error::text_at;
use crate::Cpu;
use core::ffi::c_void;
use core::mem;
use core::ptr;
use upmu_sys::{upmu_cpu, upmu_port};

/// What upmu needs of a kernel. The first six functions are enough to count; a constant says which of the others there
/// are. `docs/PORTING.md`, section 5, says what does not work without one.
///
/// # Safety
/// The library is driven by these functions, and its memory is only as safe as they are correct:
/// - `this_cpu` returns the [`Cpu`] of the CPU that executes it, always the same, and no other CPU's.
/// - Between `irq_save` and the `irq_restore` of its value this CPU runs nothing else but NMIs, and the code stays on
///   it.
/// - `run_on_cpu` runs the work once, on that CPU with interrupts off, before it returns true; never, if it returns
///   false.
/// - No function takes a lock, waits, allocates or calls upmu (but for the other CPU's work in `run_on_cpu`): they run
///   in the handler of the PMU's interrupt, which may be an NMI. `log` and `run_on_cpu` do not run there.
///
/// A function that panics ends the program: a panic cannot pass through C.
pub unsafe trait Port: Sync + 'static {
    /// `rdpmc` is there. Without it `rdmsr` reads counters.
    const RDPMC: bool = false;
    /// `pmi_rearm` is there. Without it nothing can be sampled, and [`Cpu::poll`] keeps counts exact.
    const PMI: bool = false;
    /// `clock_ns` is there. Without it times are 0.
    const CLOCK: bool = false;
    /// `run_on_cpu` is there. Without it a call for another CPU's session is refused with `WrongCpu`.
    const RUN_ON_CPU: bool = false;
    /// `request_tick` is there.
    const REQUEST_TICK: bool = false;
    /// `log` is there.
    const LOG: bool = false;
    /// Time between two calls of [`Cpu::tick`], 0 if unknown.
    const TICK_NS: u64 = 0;
    /// `rdmsr`, `wrmsr` and `rdpmc` survive #GP and return `None` or false.
    const FAULTS_ARE_SAFE: bool = false;
    /// All calls and handlers of the library run in ring 0.
    const KERNEL_MODE: bool = false;

    /// Read a model-specific register of the executing CPU; `None`: the access faulted.
    ///
    /// # Safety
    /// The library calls it, with interrupts off.
    unsafe fn rdmsr(&self, msr: u32) -> Option<u64>;

    /// Write one; false: the access faulted.
    ///
    /// # Safety
    /// The library calls it, with interrupts off, for registers of the PMU.
    unsafe fn wrmsr(&self, msr: u32, value: u64) -> bool;

    /// CPUID of the executing CPU: EAX, EBX, ECX, EDX.
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4];

    /// The CPU that executes this, from before its [`Cpu::init`] on. `None`: it has no `Cpu`.
    fn this_cpu(&self) -> Option<&'static Cpu>;

    /// Disable maskable interrupts on this CPU, and return their former state.
    fn irq_save(&self) -> usize;

    /// Restore that state.
    ///
    /// # Safety
    /// `state` is of the last `irq_save` on this CPU that has not been restored yet.
    unsafe fn irq_restore(&self, state: usize);

    /// RDPMC with this ECX; `None`: it faulted.
    ///
    /// # Safety
    /// The library calls it, with interrupts off.
    unsafe fn rdpmc(&self, index: u32) -> Option<u64> {
        let _ = index;
        None
    }

    /// Unmask the performance-counter entry of this CPU's local APIC.
    ///
    /// # Safety
    /// The library calls it, with interrupts off; the handler that calls [`Cpu::interrupt`] is installed.
    unsafe fn pmi_rearm(&self) {}

    /// Monotonic time in nanoseconds.
    fn clock_ns(&self) -> u64 {
        0
    }

    /// Run `work` on `cpu` with interrupts off, and wait for it; false: that CPU cannot be reached.
    fn run_on_cpu(&self, cpu: &'static Cpu, work: RemoteWork) -> bool {
        let _ = (cpu, work);
        false
    }

    /// Have [`Cpu::tick`] called soon on this CPU: a self-interrupt.
    fn request_tick(&self) {}

    /// One line for the kernel's log: a fake PMU, a foreign owner.
    fn log(&self, line: &str) {
        let _ = line;
    }
}

/// What [`Port::run_on_cpu`] runs on the other CPU.
pub struct RemoteWork {
    pub(crate) function: upmu_sys::remote_work,
    pub(crate) argument: *mut c_void,
}

// SAFETY: the library gives it away to be run on another CPU, and waits meanwhile (upmu/port.h, run_on_cpu).
unsafe impl Send for RemoteWork {}

impl RemoteWork {
    /// Run it.
    ///
    /// # Safety
    /// This CPU is the one that [`Port::run_on_cpu`] was called for, interrupts are off, and that call has not
    /// returned.
    pub unsafe fn run(self) {
        // SAFETY: the library's function with the library's argument, which is good until run_on_cpu returns; the
        // rest is the caller's promise.
        unsafe { (self.function)(self.argument) }
    }
}

/// Call a function of the kernel for C. Its panic must not unwind through C: a second panic, here, ends the program.
pub(crate) fn shielded<R>(function: impl FnOnce() -> R) -> R {
    struct Shield;
    impl Drop for Shield {
        fn drop(&mut self) {
            panic!("upmu: a hook or a handler has panicked");
        }
    }
    let shield = Shield;
    let result = function();
    mem::forget(shield);
    result
}

/// The port that a table has as its context.
///
/// # Safety
/// `context` is that of a table made by [`table`] for a port of this type.
unsafe fn port<P: Port>(context: *mut c_void) -> &'static P {
    // SAFETY: the pointer was made of a `&'static P`.
    unsafe { &*context.cast::<P>() }
}

/// Store what a hook has read; false: it faulted.
///
/// # Safety
/// `out` may be written.
unsafe fn store(out: *mut u64, value: Option<u64>) -> bool {
    if let Some(value) = value {
        // SAFETY: by the caller's promise.
        unsafe { out.write(value) };
    }
    value.is_some()
}

/// The functions that C calls.
macro_rules! hooks {
    ($($name:ident($port:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? { $body:expr })*) => {$(
        #[allow(unused_unsafe)]
        unsafe extern "C" fn $name<P: Port>(context: *mut c_void $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: `context` is the table's.
            let $port = unsafe { port::<P>(context) };
            shielded(|| {
                // SAFETY: C calls each hook in the context that upmu/port.h names, which is what the trait's
                // functions ask for; it gives a place for each value that is read, texts with a NUL, and CPUs of
                // `Cpu::init` alone; all of these stay until the hook returns. It restores what it has saved.
                unsafe { $body }
            })
        }
    )*};
}
hooks! {
    rdmsr(port, msr: u32, out: *mut u64) -> bool { store(out, port.rdmsr(msr)) }
    wrmsr(port, msr: u32, value: u64) -> bool { port.wrmsr(msr, value) }
    cpuid(port, leaf: u32, subleaf: u32, out: *mut u32) { out.cast::<[u32; 4]>().write(port.cpuid(leaf, subleaf)) }
    this_cpu(port) -> *mut upmu_cpu { port.this_cpu().map_or(ptr::null_mut(), Cpu::as_ptr) }
    irq_save(port) -> usize { port.irq_save() }
    irq_restore(port, state: usize) { port.irq_restore(state) }
    rdpmc(port, index: u32, out: *mut u64) -> bool { store(out, port.rdpmc(index)) }
    pmi_rearm(port) { port.pmi_rearm() }
    clock_ns(port) -> u64 { port.clock_ns() }
    run_on_cpu(port, cpu: *mut upmu_cpu, function: upmu_sys::remote_work, argument: *mut c_void) -> bool {
        port.run_on_cpu(Cpu::from_ptr(cpu), RemoteWork { function, argument })
    }
    request_tick(port) { port.request_tick() }
    log(port, line: *const u8) { port.log(text_at(line)) }
}

/// The hooks of `port`, as C wants them.
pub(crate) fn table<P: Port>(port: &'static P) -> upmu_port {
    upmu_port {
        context: port as *const P as *mut c_void,
        rdmsr: Some(rdmsr::<P>),
        wrmsr: Some(wrmsr::<P>),
        cpuid: Some(cpuid::<P>),
        this_cpu: Some(this_cpu::<P>),
        irq_save: Some(irq_save::<P>),
        irq_restore: Some(irq_restore::<P>),
        rdpmc: if P::RDPMC { Some(rdpmc::<P>) } else { None },
        pmi_rearm: if P::PMI { Some(pmi_rearm::<P>) } else { None },
        clock_ns: if P::CLOCK { Some(clock_ns::<P>) } else { None },
        allow_rdpmc: None,
        run_on_cpu: if P::RUN_ON_CPU { Some(run_on_cpu::<P>) } else { None },
        request_tick: if P::REQUEST_TICK { Some(request_tick::<P>) } else { None },
        tick_ns: P::TICK_NS,
        log: if P::LOG { Some(log::<P>) } else { None },
        msr_faults_are_safe: P::FAULTS_ARE_SAFE,
        in_kernel_mode: P::KERNEL_MODE,
        hypercall: None,
        shared_page: None,
        pci_read: None,
        pci_write: None,
        mmio_map: None,
        mmio_unmap: None,
        mmio_read: None,
        mmio_write: None,
        cpu_place: None,
        nearest_cpu: None,
        show_unit: None,
        own_unit: None,
    }
}

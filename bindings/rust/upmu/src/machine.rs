// SPDX-License-Identifier: MIT
//! The machine and its CPUs: statics.
use crate::error::Why;
use crate::gate::{Gate, Shared, Using, SHUT};
use crate::port::{table, Port};
use crate::{Error, Frame, Thread};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::pin::Pin;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use upmu_sys::layout;

/// A machine: one static.
pub struct Machine {
    raw: UnsafeCell<upmu_sys::upmu_machine>,
    port: UnsafeCell<MaybeUninit<upmu_sys::upmu_port>>,
    /// `raw` and `port` are filled in.
    ready: AtomicBool,
    /// Used while events are looked up, changed while a CPU is initialised.
    pmus: Shared,
}

// SAFETY: `port` is written once, before `ready`. `raw` is given to the C library alone, whose calls on a machine may
// come from any CPU, except that no PMU is looked for while upmu_cpu_init() and upmu_cpu_resume() add one: `pmus`
// sees to it.
unsafe impl Sync for Machine {}

impl Machine {
    /// A machine without a port.
    pub const fn new() -> Self {
        Machine {
            raw: UnsafeCell::new(upmu_sys::upmu_machine::zeroed()),
            port: UnsafeCell::new(MaybeUninit::uninit()),
            ready: AtomicBool::new(false),
            pmus: Shared::new(),
        }
    }

    /// Begin to use this machine, once. No register is touched.
    pub fn init<P: Port>(&'static self, port: &'static P) -> Result<(), Error> {
        let _alone = self.pmus.change()?;
        if self.ready.load(Ordering::Acquire) {
            return Err(Error::State);
        }
        // SAFETY: only this call writes `port`: `pmus` is held, and `ready`, after which it is read, is not set.
        unsafe { (*self.port.get()).write(table(port)) };
        // SAFETY: the static machine and the table in it stay; nothing else uses them yet. Sizes are C's: one build
        // script has compiled the library and asked for them, with the same options.
        Error::check(unsafe { upmu_sys::upmu_machine_init(self.raw.get(), self.port.get().cast()) })?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    /// Why the last [`Cpu::init`] was refused.
    pub fn why(&'static self) -> Result<Why, Error> {
        let _unchanged = self.pmus.read()?;
        // SAFETY: it lies in the machine, zero or C's, and only upmu_machine_init() and upmu_cpu_init() write it, which
        // hold `pmus`.
        Ok(unsafe { Why::copy(self.raw.get().cast::<u8>().add(layout::upmu_machine_why_AT)) })
    }

    /// For calls of C, and while they look for PMUs.
    pub(crate) fn in_use(&'static self) -> Result<(*mut upmu_sys::upmu_machine, Using<'static>), Error> {
        let using = self.pmus.read()?;
        if self.ready.load(Ordering::Acquire) {
            Ok((self.raw.get(), using))
        } else {
            Err(Error::State)
        }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

/// What [`Cpu::interrupt`] says of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pmi {
    /// Check your other sources.
    NotOurs,
    /// A counter of this CPU has overflowed.
    Handled,
    /// Maybe ours: check your other sources, and drop it if none raised it.
    Stale,
}

/// A logical CPU: one static each, for instance in an array.
#[repr(C)]
pub struct Cpu {
    /// First, so that C's pointer to it is one to the whole.
    raw: UnsafeCell<upmu_sys::upmu_cpu>,
    /// Lent to the library while the CPU is initialised: its calls need less stack.
    work: UnsafeCell<upmu_sys::upmu_place_work>,
    /// Not null while the CPU is initialised.
    machine: AtomicPtr<Machine>,
    /// Entered by `init`: two machines have two `pmus`.
    begins: Gate,
}

// SAFETY: `raw` and `work` are given to the C library alone, which compares each call's CPU with the executing one
// (`Port::this_cpu`, which every port has) and switches interrupts off (`irq_save`) before it uses them.
unsafe impl Sync for Cpu {}

impl Cpu {
    /// A CPU that is not initialised.
    pub const fn new() -> Self {
        Cpu {
            raw: UnsafeCell::new(upmu_sys::upmu_cpu::zeroed()),
            work: UnsafeCell::new(upmu_sys::upmu_place_work::zeroed()),
            machine: AtomicPtr::new(ptr::null_mut()),
            begins: Gate::new(),
        }
    }

    /// Take over the PMU of the executing CPU, which `Port::this_cpu` must say is this one. CPUs are initialised one
    /// at a time: `Busy` means that another one is, or that events are being looked up at this moment.
    pub fn init(&'static self, machine: &'static Machine) -> Result<(), Error> {
        let _alone = self.begins.enter(SHUT)?;
        self.take_over(machine, || {
            if !self.machine.load(Ordering::Acquire).is_null() {
                return Err(Error::State);
            }
            // SAFETY: this is the executing CPU, and stays it (take_over); the statics stay; no other CPU of the
            // machine is initialised at this moment (take_over), nor is this one for another machine, by a handler of
            // NMIs (begins); without domains each CPU acts as if it were alone.
            Error::check(unsafe { upmu_sys::upmu_cpu_init(self.as_ptr(), machine.raw.get(), ptr::null()) })?;
            self.machine.store(machine as *const Machine as *mut Machine, Ordering::Release);
            // SAFETY: the CPU is initialised; `work` is a static's, and lent to this CPU alone.
            let lent = Error::check(unsafe { upmu_sys::upmu_cpu_use_work(self.as_ptr(), self.work.get()) });
            lent.or_else(|error| self.fini().and(Err(error)))
        })
    }

    /// Detach every session, and restore the registers as `init` found them.
    pub fn fini(&'static self) -> Result<(), Error> {
        let status = self.call(upmu_sys::upmu_cpu_fini);
        if matches!(status, Ok(()) | Err(Error::Port)) {
            self.machine.store(ptr::null_mut(), Ordering::Release);
        }
        status
    }

    /// Call it before the registers lose their contents: sleep, offline.
    pub fn suspend(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_suspend)
    }

    /// Continue after [`Cpu::suspend`]. `Busy`: as in [`Cpu::init`].
    pub fn resume(&'static self) -> Result<(), Error> {
        self.take_over(self.machine()?, || self.call(upmu_sys::upmu_cpu_resume))
    }

    /// Call it after other software has changed registers: a world switch, a microcode update.
    pub fn changed(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_changed)
    }

    /// Fold the running counters that only count into 64-bit counts. Call it from the clock tick, at least once within
    /// half a counter's range.
    pub fn poll(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_poll)
    }

    /// Call it from the clock tick, in the place of `poll`, where sessions share counters or follow threads.
    pub fn tick(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_tick)
    }

    /// In a hypervisor: a guest runs from now on. The last call before the guest's first instruction.
    pub fn enter_guest(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_enter_guest)
    }

    /// The guest runs no more. The first call after its last instruction.
    pub fn leave_guest(&'static self) -> Result<(), Error> {
        self.call(upmu_sys::upmu_cpu_leave_guest)
    }

    /// A call that takes the CPU alone. One that is not initialised is left as it is, as in C.
    fn call(&'static self, function: unsafe extern "C" fn(*mut upmu_sys::upmu_cpu) -> u32) -> Result<(), Error> {
        if self.machine.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        // SAFETY: the function is one of the library's; the CPU is a static whose upmu_cpu_init() has ended
        // (`machine`), and the library refuses it on another CPU.
        Error::check(unsafe { function(self.as_ptr()) })
    }

    /// Handle an interrupt of the PMU. After `Handled`, too, ask every source that can say whether it raised one.
    ///
    /// # Safety
    /// This CPU is the executing one, and the call comes from its handler of NMIs, or of the PMU's vector with
    /// interrupts off.
    pub unsafe fn interrupt(&'static self, frame: Option<&Frame>) -> Pmi {
        let frame = frame.map_or(ptr::null(), |frame| frame as *const Frame);
        // SAFETY: `frame` is NULL or good until the call returns; the rest is the caller's promise.
        match unsafe { upmu_sys::upmu_pmi_handle(self.as_ptr(), frame) } {
            layout::UPMU_PMI_HANDLED => Pmi::Handled,
            layout::UPMU_PMI_STALE => Pmi::Stale,
            _ => Pmi::NotOurs,
        }
    }

    /// In the scheduler: this CPU goes from `prev` to `next`. An idle thread is a thread, too.
    ///
    /// # Safety
    /// This CPU is the executing one; `prev` ran on it and `next` runs nowhere; they differ; interrupts are off.
    /// A thread that runs ends (its drop, [`Thread::exit`]) on its CPU, or after a switch from it: the library knows
    /// which thread a CPU runs, and writes there.
    pub unsafe fn switch(&'static self, prev: Pin<&Thread>, next: Pin<&Thread>) -> Result<(), Error> {
        // SAFETY: the CPU is a static, and threads are pinned until upmu_thread_exit(), in their drop; the rest is the
        // caller's promise.
        Error::check(unsafe { upmu_sys::upmu_thread_switch(self.as_ptr(), prev.as_ptr(), next.as_ptr()) })
    }

    /// The machine of an initialised CPU.
    pub(crate) fn machine(&'static self) -> Result<&'static Machine, Error> {
        let machine = self.machine.load(Ordering::Acquire);
        // SAFETY: it is null, or was made of a `&'static Machine`.
        unsafe { machine.as_ref() }.ok_or(Error::NoPmu)
    }

    /// C's pointer, good for all of `self`: see from_ptr().
    pub(crate) fn as_ptr(&'static self) -> *mut upmu_sys::upmu_cpu {
        self as *const Cpu as *mut upmu_sys::upmu_cpu
    }

    /// # Safety
    /// The pointer is of `as_ptr`.
    pub(crate) unsafe fn from_ptr(cpu: *mut upmu_sys::upmu_cpu) -> &'static Cpu {
        // SAFETY: as_ptr() made it of a `&'static Cpu`; all that C writes there is in an UnsafeCell.
        unsafe { &*cpu.cast::<Cpu>() }
    }

    /// Run `work` while this is the executing CPU, with interrupts off, and no other CPU of the machine does the same.
    fn take_over(
        &'static self,
        machine: &'static Machine,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        drop(machine.in_use()?);
        let _alone = machine.pmus.change()?;
        // SAFETY: the machine is ready: its port is filled in, and does not change any more.
        let port = unsafe { (*machine.port.get()).assume_init_ref() };
        if let (Some(save), Some(restore), Some(this_cpu)) = (port.irq_save, port.irq_restore, port.this_cpu) {
            // SAFETY: a hook of a port, with its context.
            let state = unsafe { save(port.context) };
            // SAFETY: as before.
            let here = unsafe { this_cpu(port.context) } == self.as_ptr();
            let result = if here { work() } else { Err(Error::WrongCpu) };
            // SAFETY: as before; `work` has restored what it saved itself.
            unsafe { restore(port.context, state) };
            return result;
        }
        Err(Error::HookMissing)
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

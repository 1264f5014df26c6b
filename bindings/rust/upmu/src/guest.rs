// SPDX-License-Identifier: MIT
//! The PMU that a hypervisor shows its guests: the feature `guest`. `docs/GUESTS.md` in upmu's tree explains it.
//!
//! A hypervisor has a [`Vcpu`] for each virtual CPU, whose thread is [`Vcpu::thread`]: the scheduler goes to it by
//! [`Cpu::switch`](crate::Cpu::switch). Around each run of the guest there are [`Vcpu::enter`], which says what to
//! inject, and [`Vcpu::exit`]. Exits of RDMSR, WRMSR, RDPMC and CPUID go to the calls of these names.
//!
//! ```
//! use core::pin::Pin;
//! use upmu::guest::{Access, Inject, Vcpu};
//! use upmu::Error;
//!
//! enum Exit {
//!     Rdmsr(u32),
//!     Wrmsr(u32, u64),
//!     Other,
//! }
//! # struct Hardware;
//! # impl Hardware {
//! #     fn inject(&mut self, _what: Inject) {}
//! #     fn run(&mut self) -> Exit { Exit::Other }
//! #     fn answer(&mut self, _value: u64) {}
//! #     fn general_protection(&mut self) {}
//! #     fn skip_instruction(&mut self) {}
//! #     fn other(&mut self) {}
//! # }
//!
//! /// One round of the loop that runs a vCPU.
//! ///
//! /// # Safety
//! /// The thread of `pmu` runs on this CPU, and the code stays there.
//! unsafe fn round(pmu: Pin<&Vcpu<8>>, hardware: &mut Hardware) -> Result<(), Error> {
//!     // SAFETY: by the caller's promise.
//!     let entry = unsafe { pmu.enter() }?;
//!     hardware.inject(entry.inject);
//!     let reason = hardware.run();
//!     pmu.exit()?;
//!     let access = match reason {
//!         Exit::Rdmsr(msr) => pmu.rdmsr(msr)?,
//!         Exit::Wrmsr(msr, value) => pmu.wrmsr(msr, value)?,
//!         Exit::Other => Access::NotOurs,
//!     };
//!     match access {
//!         Access::Fault => hardware.general_protection(),
//!         Access::NotOurs | Access::Shared(_) => hardware.other(),
//!         Access::Done(value) => {
//!             hardware.answer(value); // of a read
//!             hardware.skip_instruction();
//!             pmu.retired(1, 0, false)?;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
use crate::gate::{Gate, OPEN, SHUT};
use crate::session::end_or_stop;
use crate::{Error, Machine, Thread};
use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::pin::Pin;
use core::ptr;
use upmu_sys::guest as sys;
use upmu_sys::layout;

// The members that are read here by themselves.
const _: () = assert!(layout::upmu_guest_waiting_BYTES == 4 && layout::upmu_guest_x86_lvtpc_BYTES == 4);

/// What a guest's CPUID shows of its PMU: [`shape`] makes the widest that is honest, whose fields may be lowered.
#[doc(inline)]
pub use upmu_sys::guest::upmu_guest_shape as Shape;

/// The most bytes of a saved vCPU ([`Vcpu::save`]).
pub const STATE_BYTES: usize = layout::UPMU_GUEST_STATE_BYTES as usize;

/// Which registers a guest sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Intel's architectural performance monitoring.
    Intel,
    /// AMD: C001_0000h to C001_0007h.
    AmdK7,
    /// AMD, PerfCtrExtCore: also C001_0200h to C001_020Bh.
    AmdCore,
    /// AMD, PerfMonV2: also C000_0300h to C000_0303h.
    AmdV2,
}

/// Which events a guest may count.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// Cycles, instructions, reference cycles, without edge, invert or counter mask: the default.
    Ipc,
    /// The architectural events. This level and those behind it need [`Policy::beside_strangers`].
    Arch,
    /// What the filter allows.
    List(&'static Filter),
    /// All events.
    All,
    /// None: registers only keep their values.
    Off,
}

/// Events in the coding of Linux KVM (KVM_SET_PMU_EVENT_FILTER), for [`Level::List`]: a static.
#[repr(transparent)]
#[derive(Debug)]
pub struct Filter(sys::upmu_guest_filter);

// SAFETY: the value is never written, and its pointer is of a `&'static [u64]`.
unsafe impl Sync for Filter {}

impl Filter {
    /// These events are counted, and the fixed counters of the bits of `fixed`.
    pub const fn allow(entries: &'static [u64], fixed: u32) -> Self {
        Self::new(layout::UPMU_GUEST_FILTER_ALLOW, entries, fixed)
    }

    /// All other events are counted, and all other fixed counters.
    pub const fn deny(entries: &'static [u64], fixed: u32) -> Self {
        Self::new(layout::UPMU_GUEST_FILTER_DENY, entries, fixed)
    }

    /// Entries have a mask of unit masks in bits 63:56, and bit 55 excludes.
    pub const fn masked(mut self) -> Self {
        self.0.flags = layout::UPMU_GUEST_FILTER_MASKED as u8;
        self
    }

    const fn new(action: u32, entries: &'static [u64], fixed: u32) -> Self {
        // The library refuses more than 300 before it looks at one.
        let count = if entries.len() > u16::MAX as usize { u16::MAX } else { entries.len() as u16 };
        Filter(sys::upmu_guest_filter {
            action: action as u8,
            flags: 0,
            count,
            fixed_bitmap: fixed,
            entry: entries.as_ptr(),
        })
    }
}

/// What a host grants a guest: a static, which all vCPUs of the guest may share.
#[repr(transparent)]
#[derive(Debug)]
pub struct Policy(sys::upmu_guest_policy);

// SAFETY: the value is never written, and its pointer is of a `&'static Filter`.
unsafe impl Sync for Policy {}

impl Policy {
    /// A policy of this level, without flags and limits.
    pub const fn new(level: Level) -> Self {
        let (level, filter) = match level {
            Level::Ipc => (layout::UPMU_GUEST_IPC, ptr::null()),
            Level::Arch => (layout::UPMU_GUEST_ARCH, ptr::null()),
            Level::List(filter) => (layout::UPMU_GUEST_LIST, &filter.0 as *const sys::upmu_guest_filter),
            Level::All => (layout::UPMU_GUEST_ALL, ptr::null()),
            Level::Off => (layout::UPMU_GUEST_OFF, ptr::null()),
        };
        Policy(sys::upmu_guest_policy {
            level: level as u8,
            flags: 0,
            max_counters: 0,
            filter,
            min_period: 0,
            payload: [0; 2],
        })
    }

    /// Levels above `Ipc` show a guest what the hyper-thread beside it does: accept that, or let no other guest run
    /// there.
    pub const fn beside_strangers(self) -> Self {
        self.with(layout::UPMU_GUEST_BESIDE_STRANGERS)
    }

    /// The hypervisor's APIC decides on interrupts: an entry says [`Inject::Pmi`].
    pub const fn own_lapic(self) -> Self {
        self.with(layout::UPMU_GUEST_OWN_LAPIC)
    }

    /// [`Vcpu::enter`] says `DoesNotFit` where the host has no counter for one of the guest's.
    pub const fn strict(self) -> Self {
        self.with(layout::UPMU_GUEST_STRICT)
    }

    /// The port needs no interrupts: overflows are found at entries.
    pub const fn polled(self) -> Self {
        self.with(layout::UPMU_GUEST_POLLED)
    }

    /// So many counters of a vCPU count at the same time, at most; the others wait.
    pub const fn max_counters(mut self, counters: u8) -> Self {
        self.0.max_counters = counters;
        self
    }

    /// A counter interrupts the host once in so many events, at most; below 2^32.
    pub const fn min_period(mut self, events: u64) -> Self {
        self.0.min_period = events;
        self
    }

    const fn with(mut self, flag: u32) -> Self {
        self.0.flags |= flag as u8;
        self
    }
}

/// The widest shape that this machine can show honestly to a guest of this policy. `NoPmu`: no CPU is initialised.
pub fn shape(machine: &'static Machine, door: Door, policy: &'static Policy) -> Result<Shape, Error> {
    let (machine, _using) = machine.in_use()?;
    let door = match door {
        Door::Intel => layout::UPMU_GUEST_INTEL,
        Door::AmdK7 => layout::UPMU_GUEST_AMD_K7,
        Door::AmdCore => layout::UPMU_GUEST_AMD_CORE,
        Door::AmdV2 => layout::UPMU_GUEST_AMD_V2,
    };
    let mut shape = Shape::default();
    // SAFETY: the machine is ready, and no CPU is initialised meanwhile (in_use); the policy is a static, and is only
    // read; the shape is a local.
    Error::check(unsafe { sys::upmu_guest_shape_default(machine, door, &policy.0, &mut shape) })?;
    Ok(shape)
}

/// The answer to a trapped access. `u64` is the value of a read, and 0 for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is done.
    Done(u64),
    /// Inject #GP.
    Fault,
    /// No register of the PMU: the hypervisor's other handlers decide.
    NotOurs,
    /// DEBUGCTL: bits 11 and 12 are the guest's PMU's, and this is all that a read has here; the other bits are the
    /// hypervisor's.
    Shared(u64),
}

/// What to inject at an entry. It is said once: keep it until the guest can take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inject {
    /// Nothing.
    None,
    /// An NMI.
    Nmi,
    /// An interrupt of this vector, 16 or higher.
    Vector(u8),
    /// With [`Policy::own_lapic`]: the performance-counter entry of the virtual APIC.
    Pmi,
}

/// What [`Vcpu::enter`] has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an interrupt is said once"]
pub struct Entry {
    /// What to inject.
    pub inject: Inject,
    /// What went wrong. The guest may run all the same.
    pub trouble: Option<Error>,
}

/// The PMU of a virtual CPU, on so many sessions of the host: one for each virtual counter that counts at the same time
/// as others, 32 at most.
///
/// Pin it: a static and `Pin::static_ref`, or `Box::pin`.
pub struct Vcpu<const SESSIONS: usize> {
    raw: UnsafeCell<sys::upmu_guest>,
    sessions: UnsafeCell<[upmu_sys::upmu_session; SESSIONS]>,
    thread: Thread,
    gate: Gate,
    _pinned: PhantomPinned,
}

// SAFETY: every call goes through `gate`, one at a time, except those on `thread`, which is Sync itself. The library's
// handler notes overflows in `raw`, and changes `sessions`; both are UnsafeCells.
unsafe impl<const SESSIONS: usize> Sync for Vcpu<SESSIONS> {}

impl<const SESSIONS: usize> Vcpu<SESSIONS> {
    const EMPTY: upmu_sys::upmu_session = upmu_sys::upmu_session::zeroed();

    /// A vCPU without a PMU; the numbers of its thread are those of [`Thread::new`].
    pub const fn new(pid: u32, tid: u32) -> Self {
        Vcpu {
            raw: UnsafeCell::new(sys::upmu_guest::zeroed()),
            sessions: UnsafeCell::new([Self::EMPTY; SESSIONS]),
            thread: Thread::new(pid, tid),
            gate: Gate::new(),
            _pinned: PhantomPinned,
        }
    }

    /// The host's thread that runs it, for [`Cpu::switch`](crate::Cpu::switch). Sessions of the host can follow it,
    /// too.
    pub fn thread(self: Pin<&Self>) -> Pin<&Thread> {
        // SAFETY: the thread is pinned with the whole: it is not moved out, nor is a `&mut` to it given away, and it is
        // dropped in its place.
        unsafe { self.map_unchecked(|vcpu| &vcpu.thread) }
    }

    /// Make its PMU, with the registers of a reset, before its thread runs for the first time. `Unsupported`: the shape
    /// shows what the policy never counts. `CompiledOut`: an option is 0 that guests need (UPMU_WORLDS, UPMU_THREADS,
    /// UPMU_SAMPLING, UPMU_FORMATS).
    pub fn open(
        self: Pin<&Self>,
        machine: &'static Machine,
        shape: &Shape,
        policy: &'static Policy,
    ) -> Result<(), Error> {
        let mut entered = self.gate.enter(SHUT)?;
        let (machine, _using) = machine.in_use()?;
        let memory = sys::upmu_guest_memory {
            sessions: self.sessions.get().cast(),
            count: SESSIONS as u32,
            thread: self.thread.as_ptr(),
        };
        // SAFETY: the vCPU, with its sessions and its thread, is pinned until it is closed, in drop at the latest; the
        // library does not know it (SHUT), and nothing else calls on it meanwhile (gate). The machine and the policy
        // are statics; shape and memory are copied. There are `count` sessions: more than 32 are refused.
        Error::check(unsafe { sys::upmu_guest_init(self.raw.get(), machine, shape, &policy.0, &memory) })?;
        entered.state = OPEN;
        Ok(())
    }

    /// End its PMU, outside of the guest. `WrongCpu`, `Busy`: a session is in use on another CPU; call again.
    pub fn close(self: Pin<&Self>) -> Result<(), Error> {
        let mut entered = self.gate.enter(OPEN)?;
        let status = Error::check(self.fini());
        if matches!(status, Ok(()) | Err(Error::Port)) {
            entered.state = SHUT;
        }
        status
    }

    /// The guest executes RDMSR.
    pub fn rdmsr(self: Pin<&Self>, msr: u32) -> Result<Access, Error> {
        let _entered = self.gate.enter(OPEN)?;
        let mut value = 0;
        // SAFETY: an open vCPU, behind its gate; `value` is a local.
        let access = unsafe { sys::upmu_guest_rdmsr(self.raw.get(), msr, &mut value) };
        Ok(answer(access, value))
    }

    /// The guest executes WRMSR.
    pub fn wrmsr(self: Pin<&Self>, msr: u32, value: u64) -> Result<Access, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        Ok(answer(unsafe { sys::upmu_guest_wrmsr(self.raw.get(), msr, value) }, 0))
    }

    /// The guest executes RDPMC, which its CPL and CR4.PCE allow.
    pub fn rdpmc(self: Pin<&Self>, ecx: u32) -> Result<Access, Error> {
        let _entered = self.gate.enter(OPEN)?;
        let mut value = 0;
        // SAFETY: as in rdmsr().
        let access = unsafe { sys::upmu_guest_rdpmc(self.raw.get(), ecx, &mut value) };
        Ok(answer(access, value))
    }

    /// The guest executes CPUID: put the PMU into the answer (EAX, EBX, ECX, EDX) that the hypervisor would give. True:
    /// the answer was changed.
    pub fn cpuid(self: Pin<&Self>, leaf: u32, subleaf: u32, answer: &mut [u32; 4]) -> Result<bool, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate; C reads and writes the four words.
        Ok(unsafe { sys::upmu_guest_cpuid(self.raw.get(), leaf, subleaf, answer.as_mut_ptr()) })
    }

    /// The guest writes the performance-counter entry of its local APIC (offset 340h).
    pub fn set_lvtpc(self: Pin<&Self>, value: u32) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        unsafe { sys::upmu_guest_lvtpc(self.raw.get(), value) };
        Ok(())
    }

    /// The guest reads that entry.
    pub fn lvtpc(self: Pin<&Self>) -> Result<u32, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: a member of an open vCPU, which only calls behind the gate write.
        Ok(unsafe { self.word(layout::upmu_guest_x86_AT + layout::upmu_guest_x86_lvtpc_AT) })
    }

    /// The guest writes the spurious-interrupt vector register of its local APIC: bit 8.
    pub fn set_lapic_enabled(self: Pin<&Self>, enabled: bool) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        unsafe { sys::upmu_guest_lapic(self.raw.get(), enabled) };
        Ok(())
    }

    /// The hypervisor has executed instructions for the guest: after the access, and after the instruction pointer has
    /// moved on; not where it injects a fault.
    pub fn retired(self: Pin<&Self>, instructions: u64, branches: u64, user: bool) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        unsafe { sys::upmu_guest_retired(self.raw.get(), instructions, branches, user) };
        Ok(())
    }

    /// The last call before the guest runs: its counters are opened. `Err`: nothing was done.
    ///
    /// # Safety
    /// [`Vcpu::thread`] runs on the executing CPU: the last [`Cpu::switch`](crate::Cpu::switch) there went to it. The
    /// code stays on this CPU until the call returns.
    pub unsafe fn enter(self: Pin<&Self>) -> Result<Entry, Error> {
        let _entered = self.gate.enter(OPEN)?;
        let mut entry = sys::upmu_guest_entry::default();
        // SAFETY: an open vCPU, behind its gate; the library attaches its sessions to its thread, which runs here, by
        // the caller's promise; `entry` is a local.
        let status = unsafe { sys::upmu_guest_enter(self.raw.get(), &mut entry) };
        let inject = match u32::from(entry.inject) {
            layout::UPMU_GUEST_INJECT_NMI => Inject::Nmi,
            layout::UPMU_GUEST_INJECT_VECTOR => Inject::Vector(entry.vector),
            layout::UPMU_GUEST_INJECT_PMI => Inject::Pmi,
            _ => Inject::None,
        };
        Ok(Entry { inject, trouble: Error::check(status).err() })
    }

    /// The first call after the guest ran: its counters are closed.
    pub fn exit(self: Pin<&Self>) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        Error::check(unsafe { sys::upmu_guest_exit(self.raw.get()) })
    }

    /// Counters that are to count and have no counter of the host: bit n is general counter n, bit 16 + i fixed
    /// counter i.
    pub fn waiting(self: Pin<&Self>) -> Result<u32, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: as in lvtpc().
        Ok(unsafe { self.word(layout::upmu_guest_waiting_AT) })
    }

    /// A reset of the vCPU, outside of the guest. (INIT changes nothing.)
    pub fn reset(self: Pin<&Self>) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate.
        unsafe { sys::upmu_guest_reset(self.raw.get()) };
        Ok(())
    }

    /// Another policy from the next entry on, outside of the guest. `State`: [`Policy::own_lapic`] differs.
    pub fn set_policy(self: Pin<&Self>, policy: &'static Policy) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate; the policy is a static.
        Error::check(unsafe { sys::upmu_guest_policy_change(self.raw.get(), &policy.0) })
    }

    /// Save it, to continue elsewhere; returns the number of bytes, [`STATE_BYTES`] at most.
    pub fn save(self: Pin<&Self>, state: &mut [u8]) -> Result<usize, Error> {
        let _entered = self.gate.enter(OPEN)?;
        let mut used = 0;
        // SAFETY: an open vCPU, behind its gate; C writes no more bytes than there are.
        Error::check(unsafe {
            sys::upmu_guest_save(self.raw.get(), state.as_mut_ptr().cast(), state.len(), &mut used)
        })?;
        Ok(used)
    }

    /// Continue a saved vCPU in this one, which is of the same shape. The bytes may be anything: all are checked.
    pub fn restore(self: Pin<&Self>, state: &[u8]) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open vCPU, behind its gate; there are so many bytes, and none is kept.
        Error::check(unsafe { sys::upmu_guest_restore(self.raw.get(), state.as_ptr().cast(), state.len()) })
    }

    /// Close its sessions. `Port` only where all are closed: C returns it, too, where another one is left.
    fn fini(&self) -> u32 {
        let end = || {
            // SAFETY: callers are behind the gate of an open vCPU, or in its drop.
            unsafe { sys::upmu_guest_fini(self.raw.get()) }
        };
        match end() {
            status if status == Error::Port.status() => match end() {
                layout::UPMU_OK => status,
                left => left,
            },
            status => status,
        }
    }

    /// # Safety
    /// At this offset there is a 32-bit member, which nothing writes meanwhile.
    unsafe fn word(&self, offset: usize) -> u32 {
        // SAFETY: by the caller's promise; offsets are C's.
        unsafe { self.raw.get().cast::<u8>().add(offset).cast::<u32>().read() }
    }
}

fn answer(access: u32, value: u64) -> Access {
    match access {
        layout::UPMU_GUEST_DONE => Access::Done(value),
        layout::UPMU_GUEST_FAULT => Access::Fault,
        layout::UPMU_GUEST_SHARED => Access::Shared(value),
        _ => Access::NotOurs,
    }
}

impl<const SESSIONS: usize> Drop for Vcpu<SESSIONS> {
    fn drop(&mut self) {
        // The thread is dropped behind this, with its own exit: sessions of the host may be attached to it.
        if self.gate.may_be_open() {
            end_or_stop(|| self.fini());
        }
    }
}

// SPDX-License-Identifier: MIT
//! Sessions: events that run together, their counts and samples.
use crate::error::{bytes_of, Why};
use crate::gate::{Gate, OPEN, SHUT};
use crate::{Cpu, Error, Machine, Sample, Thread, EVENTS};
use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::ops::Deref;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::{hint, ptr};
use upmu_sys::layout;

// The members that are read here by themselves.
const _: () = assert!(layout::upmu_session_state_BYTES == 1 && layout::upmu_set_count_BYTES == 1);

/// How a count was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// The event was counted all the time it was enabled.
    Exact,
    /// Estimated from part of the time; see `error`.
    Scaled,
    /// Raw: some of the time is missing, how much is unknown.
    Partial,
    /// No value: never started, or never had a counter.
    NeverRan,
    /// 0, on a CPU where no counter was ever seen to move.
    Unproven,
}

/// One result. It has the fields of C's `struct upmu_count`, by [`Deref`]:
///
/// | field | |
/// |---|---|
/// | `value: u64` | events, scaled where [`Count::quality`] says so |
/// | `raw: u64` | events really counted |
/// | `error: u64` | the part of `value` that is uncertain; 0 of an exact count |
/// | `enabled_ns: u64` | time between start and stop; 0 without [`Port::CLOCK`](crate::Port::CLOCK) |
/// | `running_ns: u64` | of it, the time with a counter |
/// | `left: u64`, `reset: u64` | of a sampled event: events until the next sample, and the present period |
/// | `lost: u32` | of a sampled event: periods that ended without a sample |
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub(crate) upmu_sys::upmu_count);

impl Count {
    /// How it was obtained.
    pub fn quality(&self) -> Quality {
        match self.0.quality {
            layout::UPMU_QUALITY_EXACT => Quality::Exact,
            layout::UPMU_QUALITY_SCALED => Quality::Scaled,
            layout::UPMU_QUALITY_PARTIAL => Quality::Partial,
            layout::UPMU_QUALITY_NEVER_RAN => Quality::NeverRan,
            _ => Quality::Unproven,
        }
    }
}

impl Deref for Count {
    type Target = upmu_sys::upmu_count;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// How an event is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling(upmu_sys::upmu_sampling);

impl Sampling {
    /// A sample every `events` events.
    pub fn every(events: u64) -> Self {
        Sampling(upmu_sys::upmu_sampling { period: events, ..Default::default() })
    }

    /// So many samples in a second; needs `Port::CLOCK`.
    pub fn per_second(samples: u32) -> Self {
        Sampling(upmu_sys::upmu_sampling { frequency: samples, ..Default::default() })
    }

    /// Each further period is longer by a random number of these bits.
    pub fn random(mut self, mask: u64, seed: u64) -> Self {
        self.0.random_mask = mask;
        self.0.random_seed = seed;
        self
    }
}

/// Memory for samples: a static. It belongs to one session at a time, until that is closed or gets another one.
pub struct RingMemory<const WORDS: usize> {
    words: UnsafeCell<[u64; WORDS]>,
    used: AtomicBool,
}

// SAFETY: `words` is only given to the C library, for the session that has set `used`.
unsafe impl<const WORDS: usize> Sync for RingMemory<WORDS> {}

impl<const WORDS: usize> RingMemory<WORDS> {
    /// A sample takes 6 words; the library wants at least 32.
    pub const fn new() -> Self {
        RingMemory { words: UnsafeCell::new([0; WORDS]), used: AtomicBool::new(false) }
    }
}

impl<const WORDS: usize> Default for RingMemory<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Bound to nothing: add events, give a ring, attach. Counts stay readable.
    Detached,
    /// Attached.
    Stopped,
    /// Counting.
    Running,
    /// Stopped by a full ring until [`Session::restart`].
    Masked,
    /// Its CPU is suspended.
    Suspended,
    /// Started, but its thread does not run, or its counters are in use.
    Waiting,
}

/// Where a session counts, in a hypervisor: see [`Cpu::enter_guest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Everywhere.
    Both,
    /// In the host.
    Host,
    /// In guests.
    Guest,
}

/// Events that run together, on a CPU or with a thread: open, add events, attach, start, read.
///
/// Pin it: a static and `Pin::static_ref`, or `Box::pin`.
pub struct Session {
    raw: UnsafeCell<upmu_sys::upmu_session>,
    gate: Gate,
    /// Used behind the gate.
    held: UnsafeCell<Held>,
    _pinned: PhantomPinned,
}

/// What a session holds of others.
struct Held {
    machine: Option<&'static Machine>,
    ring: Option<&'static AtomicBool>,
}

impl Held {
    fn give_back_ring(&mut self) {
        if let Some(used) = self.ring.take() {
            used.store(false, Ordering::Release);
        }
    }
}

// SAFETY: every call goes through `gate`, one at a time. The library's own accesses from other CPUs (a switch of the
// session's thread, its interrupt handler) are ordered by the library, and are to `raw`, an UnsafeCell.
unsafe impl Sync for Session {}

impl Session {
    /// A session that is not open.
    pub const fn new() -> Self {
        Session {
            raw: UnsafeCell::new(upmu_sys::upmu_session::zeroed()),
            gate: Gate::new(),
            held: UnsafeCell::new(Held { machine: None, ring: None }),
            _pinned: PhantomPinned,
        }
    }

    /// Make it an empty session of `machine`.
    pub fn open(self: Pin<&Self>, machine: &'static Machine) -> Result<(), Error> {
        let mut entered = self.gate.enter(SHUT)?;
        let (raw_machine, _using) = machine.in_use()?;
        // SAFETY: the session is pinned until it is closed, in drop at the latest; it is in no list of the library
        // (SHUT), and nothing else calls on it meanwhile (gate). The machine is a static, and ready.
        Error::check(unsafe { upmu_sys::upmu_session_init(self.raw.get(), raw_machine) })?;
        // SAFETY: behind the gate.
        unsafe { (*self.held.get()).machine = Some(machine) };
        entered.state = OPEN;
        Ok(())
    }

    /// Add events that are counted: `"instructions,cycles:u"`.
    pub fn add(self: Pin<&Self>, events: &str) -> Result<(), Error> {
        self.add_list(events, ptr::null())
    }

    /// Add events that are sampled.
    pub fn add_sampled(self: Pin<&Self>, events: &str, sampling: &Sampling) -> Result<(), Error> {
        self.add_list(events, &sampling.0)
    }

    fn add_list(self: Pin<&Self>, events: &str, sampling: *const upmu_sys::upmu_sampling) -> Result<(), Error> {
        let (text, _entered) = (bytes_of(events)?, self.gate.enter(OPEN)?);
        let (_, _using) = self.machine()?.in_use()?;
        // SAFETY: an open session, behind its gate; the text has so many bytes; `sampling` is NULL or good, and nothing
        // of both is kept but copies. No CPU is initialised meanwhile (in_use).
        Error::check(unsafe { upmu_sys::upmu_set_add_n(self.set(), text.as_ptr(), text.len(), sampling) })
    }

    /// Give it memory for samples.
    pub fn ring<const WORDS: usize>(self: Pin<&Self>, memory: &'static RingMemory<WORDS>) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        if memory.used.swap(true, Ordering::Acquire) {
            return Err(Error::State);
        }
        let (words, bytes) = (memory.words.get().cast(), WORDS * 8);
        // SAFETY: an open session, behind its gate; a static's words, which are this session's alone since `used` was
        // set.
        let status = Error::check(unsafe { upmu_sys::upmu_session_ring(self.raw.get(), words, bytes) });
        if status.is_err() {
            memory.used.store(false, Ordering::Release);
            return status;
        }
        // SAFETY: behind the gate.
        let held = unsafe { &mut *self.held.get() };
        held.give_back_ring();
        held.ring = Some(&memory.used);
        Ok(())
    }

    /// Stop (`State::Masked`) when the ring is full, instead of losing samples.
    pub fn mask_on_full(self: Pin<&Self>, mask: bool) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open session, behind its gate.
        unsafe { upmu_sys::upmu_session_mask_on_full(self.raw.get(), mask) };
        Ok(())
    }

    /// Be multiplexed with other sessions that share: wait where counters are in use. [`Cpu::tick`] rotates them.
    pub fn share(self: Pin<&Self>, share: bool) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open session, behind its gate.
        Error::check(unsafe { upmu_sys::upmu_session_share(self.raw.get(), share) })
    }

    /// Count in the host or in guests alone. Events may say the same of themselves: `cycles:guest`.
    pub fn world(self: Pin<&Self>, world: World) -> Result<(), Error> {
        let world = match world {
            World::Both => layout::UPMU_WORLD_BOTH,
            World::Host => layout::UPMU_WORLD_HOST,
            World::Guest => layout::UPMU_WORLD_GUEST,
        };
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open session, behind its gate.
        Error::check(unsafe { upmu_sys::upmu_session_world(self.raw.get(), world) })
    }

    /// Bind it to a CPU, the executing one.
    pub fn attach_cpu(self: Pin<&Self>, cpu: &'static Cpu) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        if !ptr::eq(cpu.machine()?, self.machine()?) {
            return Err(Error::Invalid);
        }
        // SAFETY: an open session, behind its gate, pinned until it is closed; a static CPU of the same machine.
        Error::check(unsafe { upmu_sys::upmu_session_attach_cpu(self.raw.get(), cpu.as_ptr()) })
    }

    /// Bind it to a thread, whose counts it then has, wherever the thread runs.
    ///
    /// # Safety
    /// `cpu` is the executing CPU, and `thread` runs on it; or `cpu` is `None`, and `thread` does not run and does not
    /// begin to while this call lasts. [`Thread::exit`] of it is not in progress. As long as the session is attached:
    /// - the thread runs on CPUs of the session's machine alone;
    /// - it ends (its drop, [`Thread::exit`]) on the CPU where it runs, or while it runs nowhere;
    /// - [`Session::why`] is not called while it ends on another CPU, which may write the details of a refusal.
    pub unsafe fn attach_thread(
        self: Pin<&Self>,
        thread: Pin<&Thread>,
        cpu: Option<&'static Cpu>,
    ) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        if let Some(cpu) = cpu {
            if !ptr::eq(cpu.machine()?, self.machine()?) {
                return Err(Error::Invalid);
            }
        }
        let cpu = cpu.map_or(ptr::null_mut(), Cpu::as_ptr);
        // SAFETY: an open session, behind its gate, pinned until it is closed; a thread pinned until
        // upmu_thread_exit(), in its drop, which detaches the session; the rest is the caller's promise.
        Error::check(unsafe { upmu_sys::upmu_session_attach_thread(self.raw.get(), thread.as_ptr(), cpu) })
    }

    /// Start to count.
    pub fn start(self: Pin<&Self>) -> Result<(), Error> {
        self.call(upmu_sys::upmu_session_start)
    }

    /// Stop; counts and configuration stay.
    pub fn stop(self: Pin<&Self>) -> Result<(), Error> {
        self.call(upmu_sys::upmu_session_stop)
    }

    /// Continue a masked session.
    pub fn restart(self: Pin<&Self>) -> Result<(), Error> {
        self.call(upmu_sys::upmu_session_restart)
    }

    /// Unbind it from its CPU or thread; counts stay readable.
    pub fn detach(self: Pin<&Self>) -> Result<(), Error> {
        self.call(upmu_sys::upmu_session_detach)
    }

    /// End it: its events are forgotten, its ring is free, and it can be opened again.
    pub fn close(self: Pin<&Self>) -> Result<(), Error> {
        let mut entered = self.gate.enter(OPEN)?;
        // SAFETY: an open session, behind its gate.
        let status = Error::check(unsafe { upmu_sys::upmu_session_close(self.raw.get()) });
        if matches!(status, Ok(()) | Err(Error::Port)) {
            // SAFETY: behind the gate; the library has forgotten the session and its ring.
            unsafe { (*self.held.get()).give_back_ring() };
            entered.state = SHUT;
        }
        status
    }

    /// Read the first events, as many as `counts` has room for; returns how many these are.
    pub fn read(self: Pin<&Self>, counts: &mut [Count]) -> Result<usize, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: it lies in an open session; only calls on a detached session change it, and these need the gate.
        let events = unsafe { self.at(layout::upmu_session_set_AT + layout::upmu_set_count_AT).read() };
        let count = counts.len().min(events.into()).min(EVENTS);
        // SAFETY: an open session, behind its gate; `counts` has room for `count` of C's counts (repr(transparent)).
        Error::check(unsafe {
            upmu_sys::upmu_set_read(self.set(), 0, count as u32, counts.as_mut_ptr().cast())
        })?;
        Ok(count)
    }

    /// Take the oldest sample out of the ring.
    pub fn next_sample(self: Pin<&Self>) -> Result<Option<Sample>, Error> {
        let (_entered, mut sample) = (self.gate.enter(OPEN)?, Sample::default());
        // SAFETY: the ring of an open session, read by one at a time (gate); its memory is held.
        let found = unsafe { upmu_sys::upmu_ring_next(self.at(layout::upmu_session_ring_AT).cast(), &mut sample) };
        Ok(if found { Some(sample) } else { None })
    }

    /// Samples that found no room so far.
    pub fn lost(self: Pin<&Self>) -> Result<u32, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: the ring of an open session.
        Ok(unsafe { upmu_sys::upmu_ring_lost(self.at(layout::upmu_session_ring_AT).cast()) })
    }

    /// What it is doing.
    pub fn state(self: Pin<&Self>) -> Result<State, Error> {
        let _entered = self.gate.enter(OPEN)?;
        Ok(self.state_now())
    }

    /// The details of the last refusal. `State`: the session is started, and a switch or a tick may write them now.
    pub fn why(self: Pin<&Self>) -> Result<Why, Error> {
        let _entered = self.gate.enter_any()?;
        if !matches!(self.state_now(), State::Detached | State::Stopped) {
            return Err(Error::State);
        }
        // SAFETY: zero, or C's. While it is not started only calls on the session write it, which the gate keeps out,
        // and the end of its thread, which attach_thread()'s callers keep out.
        Ok(unsafe { Why::copy(self.at(layout::upmu_session_why_AT)) })
    }

    /// A call that takes the session alone.
    fn call(self: Pin<&Self>, function: unsafe extern "C" fn(*mut upmu_sys::upmu_session) -> u32) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open session, behind its gate; the function is one of the library's.
        Error::check(unsafe { function(self.raw.get()) })
    }

    fn state_now(&self) -> State {
        let state = self.at(layout::upmu_session_state_AT).cast::<AtomicU8>();
        // SAFETY: a byte of the session, zero or C's, which the library may store at any moment, as a whole.
        match u32::from(unsafe { &*state }.load(Ordering::Acquire)) {
            layout::UPMU_SESSION_STOPPED => State::Stopped,
            layout::UPMU_SESSION_RUNNING => State::Running,
            layout::UPMU_SESSION_MASKED => State::Masked,
            layout::UPMU_SESSION_SUSPENDED => State::Suspended,
            layout::UPMU_SESSION_WAITING => State::Waiting,
            _ => State::Detached,
        }
    }

    /// A place in it. The pointer is good for the whole.
    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: offsets are C's, of members of this structure.
        unsafe { self.raw.get().cast::<u8>().add(offset) }
    }

    /// The C session's first set of events.
    fn set(&self) -> *mut core::ffi::c_void {
        self.at(layout::upmu_session_set_AT).cast()
    }

    /// Its machine; behind the gate.
    fn machine(&self) -> Result<&'static Machine, Error> {
        // SAFETY: callers are behind the gate.
        unsafe { (*self.held.get()).machine }.ok_or(Error::State)
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.gate.may_be_open() {
            end_or_stop(|| {
                // SAFETY: it was pinned, so that the library's pointers to it are right; no call on it can be in
                // progress.
                unsafe { upmu_sys::upmu_session_close(self.raw.get()) }
            });
            self.held.get_mut().give_back_ring();
        }
    }
}

/// End an object before its memory goes. If the library still uses it (another CPU, a call that this one has
/// interrupted), the program must not go on: a panic, and a second one where the first unwinds.
pub(crate) fn end_or_stop(end: impl Fn() -> u32) {
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            panic!("upmu: dropped where it cannot be closed");
        }
    }
    // Another CPU may be about to leave the object.
    for _ in 0..1000 {
        match Error::check(end()) {
            Err(Error::Busy) => hint::spin_loop(),
            Err(Error::WrongCpu) => break,
            _ => return,
        }
    }
    let _stop = Stop;
    panic!("upmu: dropped on another CPU, or inside a call");
}

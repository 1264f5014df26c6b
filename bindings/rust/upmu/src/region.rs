// SPDX-License-Identifier: MIT
//! Regions: the short form around a piece of code.
use crate::error::{bytes_of, Why};
use crate::gate::{Gate, OPEN, SHUT};
use crate::session::end_or_stop;
use crate::{Count, Cpu, Error, EVENTS};
use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::pin::Pin;
use upmu_sys::layout;

// A member that is read here by itself.
const _: () = assert!(layout::upmu_region_events_BYTES == 4);

/// Counts a piece of code on one CPU. Its events run from open to close, so that begin and end only read counters.
///
/// Pin it: a static and `Pin::static_ref`, or `Box::pin`.
pub struct Region {
    raw: UnsafeCell<upmu_sys::upmu_region>,
    gate: Gate,
    _pinned: PhantomPinned,
}

// SAFETY: as for Session.
unsafe impl Sync for Region {}

impl Region {
    /// A region that is not open.
    pub const fn new() -> Self {
        Region { raw: UnsafeCell::new(upmu_sys::upmu_region::zeroed()), gate: Gate::new(), _pinned: PhantomPinned }
    }

    /// Set it up on the executing CPU, with a list of events.
    pub fn open(self: Pin<&Self>, cpu: &'static Cpu, events: &str) -> Result<(), Error> {
        let (text, mut entered) = (bytes_of(events)?, self.gate.enter(SHUT)?);
        let (_, _using) = cpu.machine()?.in_use()?;
        // SAFETY: the region is pinned until it is closed, in drop at the latest; the library does not know it (SHUT;
        // it is closed if this fails), and nothing else calls on it meanwhile (gate). The CPU is a static, the text
        // has so many bytes and is not kept, no CPU is initialised meanwhile (in_use).
        Error::check(unsafe {
            upmu_sys::upmu_region_open_n(self.raw.get(), cpu.as_ptr(), text.as_ptr(), text.len())
        })?;
        entered.state = OPEN;
        Ok(())
    }

    /// Run `work`, and put the counts into `counts`; returns what `work` returns.
    pub fn measure<R>(self: Pin<&Self>, counts: &mut [Count], work: impl FnOnce() -> R) -> Result<R, Error> {
        self.begin()?;
        let result = work();
        self.end(counts)?;
        Ok(result)
    }

    /// Begin a measurement.
    pub fn begin(self: Pin<&Self>) -> Result<(), Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open region, behind its gate.
        Error::check(unsafe { upmu_sys::upmu_region_begin(self.raw.get()) })
    }

    /// End it: counts since the last begin, as many as `counts` has room for; returns how many these are.
    pub fn end(self: Pin<&Self>, counts: &mut [Count]) -> Result<usize, Error> {
        let _entered = self.gate.enter(OPEN)?;
        // SAFETY: an open region, behind its gate.
        Error::check(unsafe { upmu_sys::upmu_region_end(self.raw.get()) })?;
        let base = self.raw.get().cast::<u8>();
        // SAFETY: offsets are C's; begin and end alone write these members, and the gate keeps them out.
        let (first, events) = unsafe {
            let events = base.add(layout::upmu_region_events_AT).cast::<u32>().read();
            (base.add(layout::upmu_region_count_AT).cast::<Count>(), events as usize)
        };
        let count = counts.len().min(events).min(EVENTS);
        for (i, out) in counts[..count].iter_mut().enumerate() {
            // SAFETY: `i` is below EVENTS, the length of C's array; its elements are Count's (repr(transparent)).
            *out = unsafe { first.add(i).read() };
        }
        Ok(count)
    }

    /// Stop and detach; it can be opened again.
    pub fn close(self: Pin<&Self>) -> Result<(), Error> {
        let mut entered = self.gate.enter(OPEN)?;
        // SAFETY: an open region, behind its gate.
        let status = Error::check(unsafe { upmu_sys::upmu_region_close(self.raw.get()) });
        if matches!(status, Ok(()) | Err(Error::Port)) {
            entered.state = SHUT;
        }
        status
    }

    /// Why [`Region::open`] was refused. `State`: the region is open, so that its session runs, and a handler or a tick
    /// may write the details now.
    pub fn why(self: Pin<&Self>) -> Result<Why, Error> {
        let _entered = self.gate.enter(SHUT)?;
        let at = layout::upmu_region_session_AT + layout::upmu_session_why_AT;
        // SAFETY: it lies in the region, zero or C's; the library does not know the region (SHUT), and calls that would
        // change that need the gate.
        Ok(unsafe { Why::copy(self.raw.get().cast::<u8>().add(at)) })
    }
}

impl Default for Region {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.gate.may_be_open() {
            end_or_stop(|| {
                // SAFETY: as for Session.
                unsafe { upmu_sys::upmu_region_close(self.raw.get()) }
            });
        }
    }
}

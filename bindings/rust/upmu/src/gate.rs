// SPDX-License-Identifier: MIT
//! One call at a time for each object; none waits.
use crate::Error;
use core::sync::atomic::{AtomicU32, AtomicU8, Ordering};

/// The library does not know the object.
pub(crate) const SHUT: u8 = 0;
/// The library knows the object.
pub(crate) const OPEN: u8 = 1;
const ENTERED: u8 = 2;

pub(crate) struct Gate(AtomicU8);

/// A call in progress; its end leaves the gate in `state`.
pub(crate) struct Entered<'a> {
    gate: &'a Gate,
    pub(crate) state: u8,
}

impl Gate {
    pub(crate) const fn new() -> Self {
        Gate(AtomicU8::new(SHUT))
    }

    /// Begin a call, if the gate is in the state `wanted`.
    pub(crate) fn enter(&self, wanted: u8) -> Result<Entered<'_>, Error> {
        match self.0.compare_exchange(wanted, ENTERED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(state) => Ok(Entered { gate: self, state }),
            Err(ENTERED) => Err(Error::Busy),
            Err(_) => Err(Error::State),
        }
    }

    /// Begin a call in either state.
    pub(crate) fn enter_any(&self) -> Result<Entered<'_>, Error> {
        self.enter(OPEN).or_else(|_| self.enter(SHUT)).map_err(|_| Error::Busy)
    }

    /// May the library know the object? (A call that never ended, because its thread was killed, counts as yes.)
    pub(crate) fn may_be_open(&mut self) -> bool {
        *self.0.get_mut() != SHUT
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.gate.0.store(self.state, Ordering::Release);
    }
}

/// Many may use what one changes.
pub(crate) struct Shared(AtomicU32);
const CHANGING: u32 = u32::MAX;

/// It is being used, or changed.
pub(crate) struct Using<'a>(&'a Shared, u32);

impl Shared {
    pub(crate) const fn new() -> Self {
        Shared(AtomicU32::new(0))
    }

    pub(crate) fn read(&self) -> Result<Using<'_>, Error> {
        let one_more = |users: u32| users.checked_add(1).filter(|&users| users != CHANGING);
        match self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Using(self, 1)),
            Err(_) => Err(Error::Busy),
        }
    }

    pub(crate) fn change(&self) -> Result<Using<'_>, Error> {
        match self.0.compare_exchange(0, CHANGING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Using(self, CHANGING)),
            Err(_) => Err(Error::Busy),
        }
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(self.1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_inside_a_call_is_refused() {
        let gate = Gate::new();
        assert!(matches!(gate.enter(OPEN), Err(Error::State)));
        let mut call = gate.enter(SHUT).unwrap_or_else(|_| panic!("nothing is in progress"));
        for state in [SHUT, OPEN] {
            assert!(matches!(gate.enter(state), Err(Error::Busy)));
        }
        assert!(matches!(gate.enter_any(), Err(Error::Busy)));
        call.state = OPEN;
        drop(call);
        assert!(gate.enter(OPEN).is_ok());
        assert!(gate.enter_any().is_ok());
    }

    #[test]
    fn an_object_in_a_call_that_never_ends_may_be_known() {
        let mut gate = Gate::new();
        assert!(!gate.may_be_open());
        core::mem::forget(gate.enter(SHUT));
        assert!(gate.may_be_open());
    }

    #[test]
    fn nothing_is_used_while_it_is_changed() {
        let shared = Shared::new();
        let (one, two) = (shared.read(), shared.read());
        assert!(one.is_ok() && two.is_ok() && shared.change().is_err());
        drop(one);
        assert!(shared.change().is_err());
        drop(two);
        let change = shared.change();
        assert!(change.is_ok() && shared.read().is_err() && shared.change().is_err());
        drop(change);
        assert!(shared.read().is_ok());
    }
}

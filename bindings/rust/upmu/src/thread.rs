// SPDX-License-Identifier: MIT
//! Threads of the kernel, which sessions follow.
use crate::session::end_or_stop;
use crate::Error;
use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::mem;
use core::pin::Pin;
use upmu_sys::{layout, upmu_thread};

// The numbers that new() writes.
const _: () = assert!(layout::upmu_thread_pid_BYTES == 4 && layout::upmu_thread_tid_BYTES == 4);

/// What a kernel embeds in its thread structure, which it pins. [`crate::Cpu::switch`] switches.
pub struct Thread {
    raw: UnsafeCell<upmu_thread>,
    _pinned: PhantomPinned,
}

// SAFETY: the library orders its accesses from several CPUs; no call of this crate reads or writes `raw` itself.
unsafe impl Sync for Thread {}

impl Thread {
    /// A thread without sessions; the kernel's numbers for it, which messages show.
    pub const fn new(pid: u32, tid: u32) -> Self {
        // What upmu_thread_init() does: all zero but these numbers. (The call is no `const fn`.)
        let (mut bytes, mut i) = ([0; mem::size_of::<upmu_thread>()], 0);
        while i < 4 {
            bytes[layout::upmu_thread_pid_AT + i] = pid.to_ne_bytes()[i];
            bytes[layout::upmu_thread_tid_AT + i] = tid.to_ne_bytes()[i];
            i += 1;
        }
        // SAFETY: the type is memory of this size, for which any bytes will do.
        let raw = unsafe { mem::transmute::<[u8; mem::size_of::<upmu_thread>()], upmu_thread>(bytes) };
        Thread { raw: UnsafeCell::new(raw), _pinned: PhantomPinned }
    }

    /// The thread ends: its sessions are detached, and stay readable. `WrongCpu`: it runs on another CPU; `Busy`: call
    /// again. Dropping it does the same.
    pub fn exit(self: Pin<&Self>) -> Result<(), Error> {
        // SAFETY: it is pinned, so that the library's pointers to it are right; that no session is being attached, and
        // that it does not run on another CPU, are promises of those who call attach_thread() and switch().
        Error::check(unsafe { upmu_sys::upmu_thread_exit(self.as_ptr()) })
    }

    pub(crate) fn as_ptr(&self) -> *mut upmu_thread {
        self.raw.get()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        end_or_stop(|| {
            // SAFETY: as in exit(). A thread that was never pinned has no sessions and runs nowhere, and the call finds
            // nothing to do.
            unsafe { upmu_sys::upmu_thread_exit(self.as_ptr()) }
        });
    }
}

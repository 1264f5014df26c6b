// SPDX-License-Identifier: MIT
//! upmu counts what a processor does, by name: for kernels, hypervisors and firmware in Rust.
//!
//! A kernel implements [`Port`], has one static [`Machine`] and a static [`Cpu`] for each logical CPU, and calls
//! [`Machine::init`] and [`Cpu::init`]. Then it counts: a piece of code with a [`Region`], a CPU or a [`Thread`] with a
//! [`Session`], which can sample, too. `docs/RUST.md` in upmu's tree is the guide.
//!
//! ```
//! use core::pin::Pin;
//! use upmu::{Count, Cpu, Error, Region};
//!
//! static REGION: Region = Region::new();
//!
//! fn measure(cpu: &'static Cpu, work: impl FnOnce()) -> Result<[u64; 2], Error> {
//!     let (region, mut counts) = (Pin::static_ref(&REGION), [Count::default(); 2]);
//!     region.open(cpu, "instructions,cycles")?;
//!     region.measure(&mut counts, work)?;
//!     region.close()?;
//!     Ok([counts[0].value, counts[1].value])
//! }
//! ```
//!
//! # Memory
//!
//! The C library keeps pointers to machines, CPUs, sessions and threads, and its interrupt handler writes through
//! them. So machines and CPUs are statics, the others are pinned, and their calls take `Pin<&Self>`: a shared
//! reference to an `UnsafeCell`, through which others may write. A session, region or thread that is dropped is
//! closed. If that cannot be done, because the CPU that it runs on is another one, the program ends: two panics,
//! which is an abort where panics unwind.
//!
//! Two calls for one object at the same moment, from two CPUs or from an interrupt handler, are refused with
//! [`Error::Busy`].
#![no_std]
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks)]
#![allow(clippy::assertions_on_constants)] // of layouts: the constants are the C compiler's

mod error;
mod gate;
#[cfg(feature = "guest")]
pub mod guest;
mod machine;
mod port;
mod region;
mod session;
#[cfg(feature = "sim")]
pub mod sim;
mod thread;

pub use error::{Error, Why};
pub use machine::{Cpu, Machine, Pmi};
pub use port::{Port, RemoteWork};
pub use region::Region;
pub use session::{Count, Quality, RingMemory, Sampling, Session, State, World};
pub use thread::Thread;
/// What an interrupt interrupted: fill in what is known, leave the rest 0.
#[doc(inline)]
pub use upmu_sys::upmu_frame as Frame;
/// One sample of a [`Session`]: a copy.
#[doc(inline)]
pub use upmu_sys::upmu_sample as Sample;

/// Events of one session or region, at most (the option UPMU_SET_EVENTS).
pub const EVENTS: usize = upmu_sys::layout::UPMU_SET_EVENTS as usize;

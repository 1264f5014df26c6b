// SPDX-License-Identifier: MIT
//! What a refused call returns.
use core::fmt;
use upmu_sys::layout;

macro_rules! errors {
    ($($(#[$about:meta])* $name:ident = $number:ident,)*) => {
        /// Why a call was refused: the statuses of `upmu/status.h`. Its text says it in words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$about])* $name,)*
            /// A status that this crate does not know.
            Unknown(u32),
        }

        impl Error {
            /// All that have names.
            pub const ALL: &'static [Error] = &[$(Error::$name,)*];

            /// The number in C.
            pub const fn status(self) -> u32 {
                match self {
                    $(Error::$name => layout::$number,)*
                    Error::Unknown(status) => status,
                }
            }

            /// `Ok` or the error that a call of the C library returned.
            pub(crate) const fn check(status: u32) -> Result<(), Error> {
                match status {
                    layout::UPMU_OK => Ok(()),
                    $(layout::$number => Err(Error::$name),)*
                    other => Err(Error::Unknown(other)),
                }
            }
        }
    };
}
errors! {
    /// Not a specification; why.position is the place.
    Syntax = UPMU_ERR_SYNTAX,
    /// The `pmu::` prefix names no PMU of this machine.
    NoSuchPmu = UPMU_ERR_NO_SUCH_PMU,
    /// No catalogue of the PMU has the name.
    NoSuchEvent = UPMU_ERR_NO_SUCH_EVENT,
    /// The event has no such unit mask.
    NoSuchMask = UPMU_ERR_NO_SUCH_MASK,
    /// The PMU has no such attribute.
    NoSuchAttribute = UPMU_ERR_NO_SUCH_ATTRIBUTE,
    /// Not a number, or out of the attribute's range.
    BadValue = UPMU_ERR_BAD_VALUE,
    /// One field given twice with different values.
    Contradiction = UPMU_ERR_CONTRADICTION,
    /// The event has no default unit mask.
    MaskRequired = UPMU_ERR_MASK_REQUIRED,
    /// Two masks of one group.
    MasksExclusive = UPMU_ERR_MASKS_EXCLUSIVE,
    /// No performance-monitoring unit, or a fake one.
    NoPmu = UPMU_ERR_NO_PMU,
    /// This PMU, port or version of upmu cannot do it.
    Unsupported = UPMU_ERR_UNSUPPORTED,
    /// A register access faulted.
    Port = UPMU_ERR_PORT,
    /// No placement exists; the why names a conflicting subset.
    DoesNotFit = UPMU_ERR_DOES_NOT_FIT,
    /// The placement search reached its step limit.
    TooHard = UPMU_ERR_TOO_HARD,
    /// A register that upmu owns was found changed.
    Changed = UPMU_ERR_CHANGED,
    /// Another CPU took a shared resource in the meantime.
    LostClaim = UPMU_ERR_LOST_CLAIM,
    /// No CPU that is online may drive the unit.
    NoCpu = UPMU_ERR_NO_CPU,
    /// No records of this event at the level of precise=; why.levels has the others.
    NotPrecise = UPMU_ERR_NOT_PRECISE,
    /// Header and library are of different builds.
    Version = UPMU_ERR_VERSION,
    /// A mandatory hook is NULL, or an optional one is needed.
    HookMissing = UPMU_ERR_HOOK_MISSING,
    /// A local call inside another local call: nothing was done.
    Busy = UPMU_ERR_BUSY,
    /// Must run on the session's CPU, which cannot be reached (run_on_cpu).
    WrongCpu = UPMU_ERR_WRONG_CPU,
    /// Not possible in this state (see struct upmu_session).
    State = UPMU_ERR_STATE,
    /// The caller's memory or a stated capacity is used up.
    NoSpace = UPMU_ERR_NO_SPACE,
    /// An argument is outside its documented range.
    Invalid = UPMU_ERR_INVALID,
    /// Left out by a build option.
    CompiledOut = UPMU_ERR_COMPILED_OUT,
    /// No further item.
    End = UPMU_ERR_END,
    /// The register or the value is not allowed at this level.
    NotPermitted = UPMU_ERR_NOT_PERMITTED,
    /// Encoded for a PMU that is not this CPU's.
    WrongPmu = UPMU_ERR_WRONG_PMU,
    /// The library's tables are all zero: the linker script lost .data.rel.ro.
    NotLinked = UPMU_ERR_NOT_LINKED,
    /// An event of a unit outside the cores belongs to no thread.
    NotPerThread = UPMU_ERR_NOT_PER_THREAD,
    /// The caller's output did not take the bytes (upmu/results.h).
    Write = UPMU_ERR_WRITE,
    /// Bytes that are not the whole log that was written.
    Damaged = UPMU_ERR_DAMAGED,
    /// Not a formula (upmu/metric.h); why.position is the place.
    Formula = UPMU_ERR_FORMULA,
    /// No such metric of the PMU, or no such name in a formula.
    NoSuchName = UPMU_ERR_NO_SUCH_NAME,
    /// A formula divides by 0.
    Division = UPMU_ERR_DIVISION,
    /// A formula needs a count that has no value, or only of part of the time.
    NotCounted = UPMU_ERR_NOT_COUNTED,
}

impl Error {
    /// The error in words, for logs: "no such event".
    pub fn text(self) -> &'static str {
        // SAFETY: the call takes any number, touches no memory of ours, and returns constant text with a NUL at its
        // end, never NULL (upmu/status.h).
        unsafe { text_at(upmu_sys::upmu_status_text(self.status())) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.text())
    }
}

/// The text of C at `begin`; what is not UTF-8 is left out.
///
/// # Safety
/// `begin` points to bytes that end with a NUL and do not change while `'a` lasts.
pub(crate) unsafe fn text_at<'a>(begin: *const u8) -> &'a str {
    let mut length = 0;
    // SAFETY: all bytes up to the NUL may be read, by the caller's promise.
    while unsafe { *begin.add(length) } != 0 {
        length += 1;
    }
    // SAFETY: the same bytes.
    core::str::from_utf8(unsafe { core::slice::from_raw_parts(begin, length) }).unwrap_or("")
}

/// The bytes of a text, for a call that wants their number: C would take a NUL among them for the end.
pub(crate) fn bytes_of(text: &str) -> Result<&[u8], Error> {
    match text.as_bytes() {
        bytes if bytes.contains(&0) => Err(Error::Syntax),
        bytes => Ok(bytes),
    }
}

/// The details of a refusal, as a value: its text is one line, such as "no such event: instrs; nearest: instructions".
pub struct Why(upmu_sys::upmu_why);

// SAFETY: the value is never written, and its one pointer is to a PMU of a `Machine`, which is a static.
unsafe impl Send for Why {}
// SAFETY: as for Send.
unsafe impl Sync for Why {}

impl Why {
    /// A copy of the one at `why`.
    ///
    /// # Safety
    /// `why` points into an object of the C library, which does not write there at this moment.
    pub(crate) unsafe fn copy(why: *const u8) -> Self {
        // SAFETY: by the caller's promise there is a struct upmu_why, aligned as C aligns it; the type is
        // MaybeUninit, so that any bytes of it will do, padding and pointers included.
        Why(unsafe { why.cast::<upmu_sys::upmu_why>().read() })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = [0; 256];
        // SAFETY: `self.0` is a whole struct upmu_why, zero (no refusal) or C's own, whose PMU stays; `line` has so
        // many bytes, of which the call writes no more, with a NUL.
        unsafe { upmu_sys::upmu_why_text(&self.0, line.as_mut_ptr(), line.len()) };
        // SAFETY: `line` ends with a NUL, and is a local that nothing else writes.
        to.write_str(unsafe { text_at(line.as_ptr()) })
    }
}

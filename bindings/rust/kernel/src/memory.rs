// SPDX-License-Identifier: MIT
//! The four functions that compilers and upmu call. Debian has no compiler_builtins for this target, which has them.
use core::arch::asm;

/// # Safety
/// As in C.
#[no_mangle]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: by the caller's promise.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags))
    };
    to
}

/// # Safety
/// As in C.
#[no_mangle]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= bytes {
        // SAFETY: what is copied first is not read afterwards.
        return unsafe { memcpy(to, from, bytes) };
    }
    let last = bytes.wrapping_sub(1);
    // SAFETY: by the caller's promise; from the end, because the beginning is written last.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") bytes => _, inout("rdi") to.wrapping_add(last) => _,
            inout("rsi") from.wrapping_add(last) => _, options(nostack))
    };
    to
}

/// # Safety
/// As in C.
#[no_mangle]
unsafe extern "C" fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8 {
    // SAFETY: by the caller's promise.
    unsafe {
        asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") to => _, in("al") value as u8,
            options(nostack, preserves_flags))
    };
    to
}

/// # Safety
/// As in C.
#[no_mangle]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, bytes: usize) -> i32 {
    for i in 0..bytes {
        // SAFETY: by the caller's promise. (Volatile: compilers make a call of memcmp of the loop.)
        let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls from compiled code that keep every register, so that a call which is hardly ever made does
//! not drive values out of registers on the way that is always taken.
//!
//! Invariant: compiled code has no extended general-purpose registers, and mask registers only beside
//! AVX-512BW (see [`super::library`]), so that what is saved here is all there is.

use margay_codegen::{Io, Notes};

use super::run::op;
use super::watching::watch_linear;

/// [`watch_linear`] of a load, or of a store whose values nobody asks for.
unsafe extern "C" fn watch(
    io: *mut Io,
    site: u32,
    mask: u32,
    base: u64,
    u: u64,
    _notes: *mut Notes,
) -> u32 {
    // SAFETY: this is what compiled code was called with.
    unsafe { watch_linear((*io).context, site, mask, base, u, std::ptr::null()) }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86 {
    use std::mem::{offset_of, size_of};

    use margay_codegen::{Io, Noted, Notes};

    use super::{op, watch};

    /// Functions that save what `$save` says around [`op`], and around [`watch`], unless that notes.
    macro_rules! keeping {
        ($name:ident, $watch:ident, $room:literal, $save:literal, $restore:literal) => {
            keeping!($name(context: *mut u8, pc: u32, mask: u32), op, "", $room, $save, $restore);
            keeping!(
                $watch(io: *mut Io, site: u32, mask: u32, base: u64, u: u64, notes: *mut Notes),
                watch,
                "test r9, r9
                 jz 2f
                 mov rax, [r9 + {next}]
                 cmp rax, [r9 + {end}]
                 jae 2f
                 mov [rax + {base}], rcx
                 mov [rax + {u}], r8
                 mov [rax + {number}], esi
                 mov [rax + {mask}], edx
                 push rcx
                 mov ecx, [rdi + {io_warp}]
                 mov [rax + {warp}], ecx
                 mov ecx, [rdi + {io_blocks}]
                 mov [rax + {blocks}], ecx
                 pop rcx
                 add rax, {bytes}
                 mov [r9 + {next}], rax
                 xor eax, eax
                 ret
                 2:",
                $room, $save, $restore,
                next = const offset_of!(Notes, next),
                end = const offset_of!(Notes, end),
                base = const offset_of!(Noted, base),
                u = const offset_of!(Noted, u),
                number = const offset_of!(Noted, number),
                mask = const offset_of!(Noted, mask),
                warp = const offset_of!(Noted, warp),
                blocks = const offset_of!(Noted, blocks),
                bytes = const size_of::<Noted>(),
                io_warp = const offset_of!(Io, warp),
                io_blocks = const offset_of!(Io, blocks)
            );
        };
        (
            $name:ident($($arg:ident: $ty:ty),*), $op:ident, $first:literal,
            $room:literal, $save:literal, $restore:literal $(, $at:ident = const $place:expr)*
        ) => {
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                std::arch::naked_asm!(
                    $first,
                    "push rbp",
                    "mov rbp, rsp",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "push rdi",
                    "push r8",
                    "push r9",
                    "push r10",
                    "push r11",
                    concat!("sub rsp, ", $room),
                    "and rsp, -64",
                    $save,
                    "vzeroupper",
                    "call {op}",
                    $restore,
                    "lea rsp, [rbp - 64]",
                    "pop r11",
                    "pop r10",
                    "pop r9",
                    "pop r8",
                    "pop rdi",
                    "pop rsi",
                    "pop rdx",
                    "pop rcx",
                    "pop rbp",
                    "ret",
                    op = sym $op,
                    $($at = const $place,)*
                )
            }
        };
    }

    keeping!(
        op_keeping_256,
        watch_keeping_256,
        "512",
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
         vmovups [rsp + 32*\\n], ymm\\n
         .endr",
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
         vmovups ymm\\n, [rsp + 32*\\n]
         .endr"
    );
    keeping!(
        op_keeping_512,
        watch_keeping_512,
        "2112",
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
         vmovups [rsp + 64*\\n], zmm\\n
         .endr
         .irp n,0,1,2,3,4,5,6,7
         kmovq [rsp + 2048 + 8*\\n], k\\n
         .endr",
        ".irp n,0,1,2,3,4,5,6,7
         kmovq k\\n, [rsp + 2048 + 8*\\n]
         .endr
         .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
         vmovups zmm\\n, [rsp + 64*\\n]
         .endr"
    );
}

/// [`op`] for a caller that counts on its registers.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub fn op_keeping() -> unsafe extern "C" fn(*mut u8, u32, u32) -> u32 {
    if std::is_x86_feature_detected!("avx512bw") {
        x86::op_keeping_512
    } else {
        x86::op_keeping_256
    }
}

/// Nothing is compiled for this machine.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub fn op_keeping() -> unsafe extern "C" fn(*mut u8, u32, u32) -> u32 {
    op
}

/// What [`watch`] is.
type Watch = unsafe extern "C" fn(*mut Io, u32, u32, u64, u64, *mut Notes) -> u32;

/// [`watch_linear`] likewise, which notes where it may.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub fn watch_keeping() -> Watch {
    if std::is_x86_feature_detected!("avx512bw") {
        x86::watch_keeping_512
    } else {
        x86::watch_keeping_256
    }
}

/// Nothing is compiled for this machine.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub fn watch_keeping() -> Watch {
    watch
}

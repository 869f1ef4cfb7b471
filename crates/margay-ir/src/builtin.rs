// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device library: `__nv_*` functions that an engine computes itself.
//!
//! clang leaves CUDA's math as calls to externs named `__nv_sinf`, `__nv_pow`, … (libdevice's
//! names). A row here gives a name its operand types; its lane function is in
//! `margay-exec/src/semantics/libdevice`.

use crate::types::Ty;

macro_rules! builtins {
    ($( $variant:ident $name:literal ($($arg:ident)*) -> ($($ret:ident)*) )*) => {
        /// A device-library function. Pointer results (`__nv_sincosf`) are further results here:
        /// lowering stores them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Builtin { $( $variant, )* }

        impl Builtin {
            pub const ALL: &'static [Builtin] = &[ $( Builtin::$variant, )* ];
            /// libdevice's name.
            pub const fn name(self) -> &'static str { match self { $( Builtin::$variant => $name, )* } }
            pub const fn args(self) -> &'static [Ty] { match self { $( Builtin::$variant => &[$(Ty::$arg),*], )* } }
            pub const fn rets(self) -> &'static [Ty] { match self { $( Builtin::$variant => &[$(Ty::$ret),*], )* } }
            pub fn by_name(name: &str) -> Option<Builtin> {
                match name { $( $name => Some(Builtin::$variant), )* _ => None }
            }
        }
    };
}

builtins! {
    Sinf "__nv_sinf" (F32) -> (F32)
    Sin  "__nv_sin"  (F64) -> (F64)
    // Trailing pointer arguments become results.
    Sincosf "__nv_sincosf" (F32) -> (F32 F32)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of all functions.
//!
//! A row has a function's name, its arguments' names and types, its results' types, its formula,
//! and, where some lanes need more than a formula, the function that computes one of those.

use crate::ops::Ops;
use crate::value::{F32, F64, I32, I64, Mask};
use crate::{approx, single};

/// A lane's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    F32,
    F64,
    I32,
    I64,
}

/// An argument or a result of [`emit`].
pub enum Value<O: Ops> {
    F32(O::F32),
    F64(O::F64),
    I32(O::I32),
    I64(O::I64),
}

impl<O: Ops> Clone for Value<O> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops> Copy for Value<O> {}

/// What [`emit`] wrote.
pub struct Emitted<O: Ops> {
    /// The results, as many as [`Function::rets`] has.
    pub results: Vec<Value<O>>,
    /// Lanes whose results are of no use: [`crate::planes::slow`] computes them.
    pub slow: Option<O::Mask>,
}

/// Results of which some lanes are slow.
pub struct Checked<T, O: Ops> {
    pub value: T,
    pub slow: Mask<O>,
}

/// What a formula returns.
pub(crate) trait Results<O: Ops> {
    fn emitted(self) -> Emitted<O>;
}

/// A lane's value to and from the untyped one.
pub(crate) trait Typed<O: Ops>: Sized {
    fn from_value(o: O, v: Value<O>) -> Option<Self>;
    fn value(self) -> Value<O>;
}

macro_rules! typed {
    ($($t:ident)*) => { $(
        impl<O: Ops> Typed<O> for $t<O> {
            fn from_value(o: O, v: Value<O>) -> Option<Self> {
                match v {
                    Value::$t(v) => Some($t { o, v }),
                    _ => None,
                }
            }
            fn value(self) -> Value<O> {
                Value::$t(self.v)
            }
        }
        impl<O: Ops> Results<O> for $t<O> {
            fn emitted(self) -> Emitted<O> {
                Emitted { results: vec![self.value()], slow: None }
            }
        }
    )* };
}
typed!(F32 F64 I32 I64);

impl<O: Ops, A: Typed<O>, B: Typed<O>> Results<O> for (A, B) {
    fn emitted(self) -> Emitted<O> {
        Emitted { results: vec![self.0.value(), self.1.value()], slow: None }
    }
}

impl<O: Ops, T: Results<O>> Results<O> for Checked<T, O> {
    fn emitted(self) -> Emitted<O> {
        Emitted { slow: Some(self.slow.v), ..self.value.emitted() }
    }
}

/// Hands the table to another macro.
macro_rules! table {
    ($then:ident) => {
        $then! {
            Expf "__nv_expf" (x: F32) -> (F32) = single::exponential::expf;
            Exp2f "__nv_exp2f" (x: F32) -> (F32) = single::exponential::exp2f;
            Exp10f "__nv_exp10f" (x: F32) -> (F32) = single::exponential::exp10f;
            Logf "__nv_logf" (x: F32) -> (F32) = single::logarithm::logf;
            Log2f "__nv_log2f" (x: F32) -> (F32) = single::logarithm::log2f;
            Log10f "__nv_log10f" (x: F32) -> (F32) = single::logarithm::log10f;
            Sinf "__nv_sinf" (x: F32) -> (F32) = single::trig::sinf, slow single::trig::slow_sinf;
            Cosf "__nv_cosf" (x: F32) -> (F32) = single::trig::cosf, slow single::trig::slow_cosf;
            Tanf "__nv_tanf" (x: F32) -> (F32) = single::trig::tanf, slow single::trig::slow_tanf;
            Sincosf "__nv_sincosf" (x: F32) -> (F32 F32)
                = single::trig::sincosf, slow single::trig::slow_sincosf;
            RcpApprox "rcp.approx.f32" (x: F32) -> (F32) = approx::rcp::<_, false>;
            RcpApproxFtz "rcp.approx.ftz.f32" (x: F32) -> (F32) = approx::rcp::<_, true>;
            SqrtApprox "sqrt.approx.f32" (x: F32) -> (F32) = approx::sqrt::<_, false>;
            SqrtApproxFtz "sqrt.approx.ftz.f32" (x: F32) -> (F32) = approx::sqrt::<_, true>;
            Ex2Approx "ex2.approx.f32" (x: F32) -> (F32) = approx::ex2::<_, false>;
            Ex2ApproxFtz "ex2.approx.ftz.f32" (x: F32) -> (F32) = approx::ex2::<_, true>;
            Lg2Approx "lg2.approx.f32" (x: F32) -> (F32) = approx::lg2::<_, false>;
            Lg2ApproxFtz "lg2.approx.ftz.f32" (x: F32) -> (F32) = approx::lg2::<_, true>;
        }
    };
}
pub(crate) use table;

macro_rules! declare {
    ($( $variant:ident $name:literal ($($arg:ident: $ty:ident),*) -> ($($ret:ident)*)
        = $formula:expr $(, slow $slow:expr)?; )*) => {
        /// A function with a formula.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Function { $( #[doc = $name] $variant, )* }

        impl Function {
            pub const ALL: &'static [Function] = &[ $( Function::$variant, )* ];

            /// libdevice's name, or PTX's mnemonic.
            pub const fn name(self) -> &'static str {
                match self { $( Function::$variant => $name, )* }
            }

            /// Types of the arguments.
            pub const fn args(self) -> &'static [Type] {
                match self { $( Function::$variant => &[$(Type::$ty),*], )* }
            }

            /// Types of the results. Those that a C function writes through pointers come last.
            pub const fn rets(self) -> &'static [Type] {
                match self { $( Function::$variant => &[$(Type::$ret),*], )* }
            }

            /// The function of a libdevice name or a PTX mnemonic. `None` where there is no formula.
            pub fn by_name(name: &str) -> Option<Function> {
                match name { $( $name => Some(Function::$variant), )* _ => None }
            }
        }

        /// Writes a function's formula with `o`. `None` if the arguments' types are not
        /// [`Function::args`].
        pub fn emit<O: Ops>(o: O, function: Function, args: &[Value<O>]) -> Option<Emitted<O>> {
            let mut args = args.iter().copied();
            let emitted = match function {
                $( Function::$variant => {
                    $( let $arg = $ty::from_value(o, args.next()?)?; )*
                    let formula = $formula;
                    Results::<O>::emitted(formula($($arg),*))
                } )*
            };
            args.next().is_none().then_some(emitted)
        }
    };
}
table!(declare);

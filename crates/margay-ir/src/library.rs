// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device-library functions that read memory, and so cannot be builtins on lane values: they are
//! functions of IR, given to a module that declares them and leaves them undefined.
//!
//! Limit: faults inside them have no source line.

use crate::module::{Linkage, Module};
use crate::text::parse_module;

/// `__nv_norm` and its like: the square root of a sum of squares, one element after the other, so
/// that nothing overflows on the way (CUDA gives no error bound for these).
fn norm(name: &str) -> Option<String> {
    let double = !name.ends_with('f');
    let (ty, class, size, hypot) = match double {
        true => ("f64", "d", 8, "__nv_hypot"),
        false => ("f32", "w", 4, "__nv_hypotf"),
    };
    let bits = if double { "i64" } else { "i32" };
    let last = match name {
        "__nv_norm" | "__nv_normf" => String::new(),
        "__nv_rnorm" | "__nv_rnormf" => format!("  %2 = frcp.{ty} %2\n"),
        _ => return None,
    };
    Some(format!(
        "module version=8.0 sm=0 target=\"\" address_bits=64
func \"{name}\" internal {{
  param \"n\" offset=0 size=4 align=4 place=%0:i32
  param \"p\" offset=0 size=8 align=8 place=%1:i64
  result \"r\" offset=0 size={size} align={size} place=%2:{ty}
  regs w d {class}*2 p
b0:
  %2 = mov.{ty} 0x0
  br b1
b1:
  %4 = icmp.i32 {{gt.s}} %0, 0x0
  condbr %4, b2, b3
b2:
  %3 = ld.{bits} {{generic}} %1
  %2 = builtin.{ty} {{{hypot}}} %2, %3
  %1 = add.i64 %1, {size}
  %0 = sub.i32 %0, 1
  br b1
b3:
{last}  ret
}}
"
    ))
}

/// Defines the library functions that the module declares without a body.
pub(crate) fn provide(module: &mut Module) {
    for function in &mut module.functions {
        if !function.blocks.is_empty() || function.is_entry {
            continue;
        }
        let Some(text) = norm(&function.name) else { continue };
        let parsed = parse_module(&text).map(|m| m.functions);
        let Ok([body]) = parsed.as_deref() else {
            unreachable!("the library's text is well-formed: a test parses all of it")
        };
        let address_taken = function.address_taken;
        *function = body.clone();
        function.linkage = Linkage::Internal;
        function.address_taken = address_taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Function;

    #[test]
    fn declarations_get_bodies() {
        let names = ["__nv_norm", "__nv_normf", "__nv_rnorm", "__nv_rnormf", "other"];
        let functions: Vec<Function> =
            names.iter().map(|n| Function { name: (*n).into(), ..Function::default() }).collect();
        let mut module = Module { functions, ..Module::default() };
        provide(&mut module);
        for f in &module.functions[..4] {
            assert_eq!(f.blocks.len(), 4, "{}", f.name);
        }
        assert!(module.functions[4].blocks.is_empty());
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each kernel of a PTX text uses: `margay cc -Xptxas -v`.
//!
//! Limit: there is no ptxas here, so that the number of registers is an estimate
//! (`margay_ir::analysis::registers`), and nothing is spilled.

use std::sync::Arc;

use margay_arch::{ComputeCapability, Limits};
use margay_exec::program::{LinkError, LoadedModule, Program};
use margay_ir as ir;

use crate::function::registers_for;

/// Of one kernel. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelUsage {
    pub name: String,
    /// The rest, or the function that another module must define before anything is known.
    pub resources: Result<Resources, String>,
}

/// What a launch of a kernel takes. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: u32,
    /// Of a thread, where no recursion and no call through a pointer makes it open.
    pub stack: u32,
    /// Whether the stack may grow beyond that.
    pub stack_is_open: bool,
    pub static_shared: u32,
    pub parameters: u32,
}

/// What a module uses. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleUsage {
    /// `__device__` variables.
    pub global: u64,
    /// `__constant__` variables.
    pub constant: u64,
    pub kernels: Vec<KernelUsage>,
}

/// Of a PTX text, for the target that it names; `None` if it does not parse, which others report.
pub fn of_ptx(text: &[u8]) -> Option<ModuleUsage> {
    of_module(crate::image::lower(text).ok()?)
}

/// Of what a linker made, for a device of compute capability `sm` (times ten).
pub fn of_linked(image: &[u8], sm: u32) -> Option<ModuleUsage> {
    of_module(crate::link::relink(image, sm).ok()?)
}

/// Of a module, for its target; `None` if nobody made a GPU like it.
pub fn of_module(module: ir::Module) -> Option<ModuleUsage> {
    let limits = ComputeCapability::from_sm(module.sm).limits()?;
    let size = |wanted: ir::Space| -> u64 {
        module.globals.iter().filter(|g| g.space == wanted).map(|g| g.size).sum()
    };
    let (global, constant) = (size(ir::Space::Global), size(ir::Space::Const));
    // It is decoded and never run, so that any address will do.
    let addresses = vec![0x1000; module.globals.len()];
    let module = Arc::new(LoadedModule { ir: Arc::new(module), addresses, uid: 0 });
    let functions = module.ir.functions.iter().enumerate();
    let kernels = functions
        .filter(|(_, f)| f.is_entry && !f.blocks.is_empty())
        .map(|(id, f)| KernelUsage {
            name: f.name.to_string(),
            resources: match Program::link(&module, ir::FuncId(id as u32)) {
                Ok(program) => Ok(resources(limits, f, &program)),
                Err(LinkError::Undefined { callee, .. }) => {
                    Err(format!("it calls '{callee}', which is not linked yet"))
                }
                Err(
                    error @ (LinkError::Unsupported(_)
                    | LinkError::NotAnEntry(_)
                    | LinkError::Malformed { .. }),
                ) => Err(error.to_string()),
            },
        })
        .collect();
    Some(ModuleUsage { global, constant, kernels })
}

fn resources(limits: &Limits, function: &ir::Function, program: &Program) -> Resources {
    let info = program.info();
    Resources {
        registers: registers_for(limits, &function.limits, program.registers()),
        stack: info.local_bytes,
        stack_is_open: info.uses_recursion_or_indirect_calls,
        static_shared: info.static_shared,
        parameters: info.param_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kernel_and_of_one_that_is_not_complete() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
             .global .align 4 .b8 g[100];\n.const .align 4 .b8 c[12];\n\
             .extern .func f();\n\
             .visible .entry k(.param .u64 p, .param .u32 q) .maxnreg 16\n\
             { .shared .align 4 .b8 s[64]; .local .align 8 .b8 l[40]; .reg .b32 a; .reg .b64 d;\n\
               mov.u64 d, l; ld.local.u32 a, [l]; st.shared.u32 [s], a; ret; }\n\
             .visible .entry open() { call f; ret; }\n";
        let usage = of_ptx(text.as_bytes()).unwrap();
        assert_eq!((usage.global, usage.constant), (100, 12));
        let [k, open] = &usage.kernels[..] else { panic!("{usage:?}") };
        let of_k = k.resources.as_ref().unwrap();
        assert_eq!((of_k.static_shared, of_k.parameters), (64, 12));
        assert!(of_k.stack >= 40 && !of_k.stack_is_open, "{of_k:?}");
        assert!((1..=16).contains(&of_k.registers), "{of_k:?}");
        assert_eq!(open.resources, Err("it calls 'f', which is not linked yet".into()));
        assert_eq!(of_ptx(b"no ptx"), None);
    }
}

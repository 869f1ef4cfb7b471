// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sizes that a module may have on a compute capability. ptxas and the driver's compiler refuse
//! what is larger, so `margay cc`, `margay ptx` and the loader do, with these words.

use std::fmt::Write as _;

use margay_arch::{ComputeCapability, Limits};
use margay_exec::program::static_shared;
use margay_ir as ir;

/// What exceeds the limits, a line each; `None` if nothing does. Sizes are bytes.
///
/// Static shared memory may not use what a kernel can opt in to: only dynamic shared memory may (CUDA C++
/// Programming Guide, "Shared Memory" of 7.x and later).
pub fn exceeded(code: &ir::Module, limits: &Limits) -> Option<String> {
    let log = module_and_parameters(code, limits) + &shared(code, limits);
    (!log.is_empty()).then_some(log)
}

/// Of constant variables and of parameters, without shared memory: OpenCL holds that against the device when a kernel
/// is enqueued (`clEnqueueNDRangeKernel`, CL_OUT_OF_RESOURCES).
pub fn module_and_parameters(code: &ir::Module, limits: &Limits) -> String {
    let mut log = String::new();
    let constants = code.globals.iter().filter(|g| g.space == ir::Space::Const);
    let constants: u64 = constants.map(|g| g.size).sum();
    let most = limits.constant_memory.value;
    if constants > u64::from(most) {
        let _ = writeln!(
            log,
            "error   : the module has {constants} bytes of constant variables, the most is {most}"
        );
    }
    // More than 4352 bytes are allowed from PTX 8.1 on (PTX ISA, "Kernel Function Parameters").
    let parameters = match code.ptx_version < (8, 1) {
        true => limits.max_parameters.value.min(4352),
        false => limits.max_parameters.value,
    };
    for f in code.functions.iter().filter(|f| f.is_entry && f.param_size > parameters) {
        let _ = writeln!(
            log,
            "error   : '{}' has {} bytes of parameters, the most is {parameters}",
            f.name, f.param_size
        );
    }
    log
}

/// Kernels with more static shared memory than there is, and how much that is.
pub fn too_much_shared<'a>(
    code: &'a ir::Module,
    limits: &Limits,
) -> impl Iterator<Item = (&'a str, u32)> {
    let most = limits.shared_per_block.value;
    code.functions.iter().enumerate().filter(|(_, f)| f.is_entry).filter_map(move |(id, f)| {
        // What cannot be linked yet is judged when it is.
        let bytes = static_shared(code, ir::FuncId(id as u32)).unwrap_or(0);
        (bytes > most).then_some((&*f.name, bytes))
    })
}

fn shared(code: &ir::Module, limits: &Limits) -> String {
    let most = limits.shared_per_block.value;
    let cure = match limits.shared_per_block_optin.value > most {
        true => ": more must be dynamic, with cudaFuncAttributeMaxDynamicSharedMemorySize",
        false => "",
    };
    let line = |(name, bytes): (&str, u32)| {
        format!(
            "error   : '{name}' has {bytes} bytes of static shared memory, the most is {most}{cure}\n"
        )
    };
    too_much_shared(code, limits).map(line).collect()
}

/// As [`exceeded`] for PTX text, on the capability that it is compiled for. What does not parse, or is
/// for a capability that nobody made, is for others to judge.
pub fn exceeded_in_ptx(text: &[u8]) -> Option<String> {
    let module = crate::image::lower(text).ok()?;
    exceeded(&module, ComputeCapability::from_sm(module.sm).limits()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sm: u32, body: &str) -> Option<String> {
        let text = format!(".version 8.0\n.target sm_{sm}\n.address_size 64\n{body}");
        exceeded_in_ptx(text.as_bytes())
    }

    #[test]
    fn static_shared_memory_counts_callees_and_never_opts_in() {
        let kernel = |bytes: u32| {
            format!(
                ".shared .b8 s[{bytes}];\n.func f() {{ st.shared.u8 [s], 1; ret; }}\n\
                 .visible .entry k() {{ call f; ret; }}\n"
            )
        };
        assert_eq!(of(90, &kernel(49152)), None);
        let log = of(90, &kernel(49153)).unwrap();
        assert_eq!(
            log,
            "error   : 'k' has 49153 bytes of static shared memory, the most is 49152: more must be \
             dynamic, with cudaFuncAttributeMaxDynamicSharedMemorySize\n"
        );
        let log = of(35, &kernel(49153)).unwrap();
        assert!(log.ends_with("the most is 49152\n"), "{log}");
    }

    #[test]
    fn parameters_and_constants() {
        let log = of(60, ".visible .entry k(.param .align 1 .b8 p[4100]) { ret; }\n").unwrap();
        assert_eq!(log, "error   : 'k' has 4100 bytes of parameters, the most is 4096\n");
        let log = of(60, ".const .b8 c[65537];\n").unwrap();
        assert!(log.contains("65537 bytes of constant variables, the most is 65536"), "{log}");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel linked for execution: its call graph decoded, its shared memory laid out.

use std::sync::Arc;

use margay_ir as ir;

/// A module whose variables have addresses. Made by the runtime when a module is loaded.
pub struct LoadedModule {
    pub ir: Arc<ir::Module>,
    /// Address of each global or constant variable, by [`ir::GlobalId`]; 0 for shared ones.
    pub addresses: Vec<u64>,
    /// Unique in the process; part of function handles.
    pub uid: u32,
}

/// Why a kernel cannot be linked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    #[error("{0}")]
    Unsupported(ir::Unsupported),
    #[error("`{caller}` calls `{callee}`, which no module defines")]
    Undefined { caller: String, callee: String },
    #[error("`{0}` is not a kernel")]
    NotAnEntry(String),
}

/// A kernel ready to launch. Cheap to share; link once, launch often.
pub struct Program {
    _private: (),
}

/// What `cudaFuncGetAttributes` and the launch checks need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramInfo {
    pub static_shared: u32,
    /// Worst-case local bytes a thread without recursion; with recursion the known part.
    pub local_bytes: u32,
    /// Bytes of constant variables of the module.
    pub const_bytes: u32,
    /// Estimated from register pressure.
    pub registers: u32,
    pub param_size: u32,
    pub uses_recursion_or_indirect_calls: bool,
    pub uses_grid_sync: bool,
}

impl Program {
    pub fn link(_module: &Arc<LoadedModule>, _entry: ir::FuncId) -> Result<Program, LinkError> {
        todo!()
    }

    pub fn info(&self) -> &ProgramInfo {
        todo!()
    }
}

/// The handle that device code sees for a function (for tables of function pointers in initialisers).
pub fn function_handle(_module_uid: u32, _function: ir::FuncId) -> u64 {
    todo!()
}

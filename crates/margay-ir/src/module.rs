// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules, functions and variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::inst::{Block, CallArg};
use crate::texture::Opaque;
use crate::types::{Class, Space};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// One PTX module after lowering. Blocks of a function are in layout order: reverse post-order
/// with loops contiguous, which is the order that the scheduler's reconvergence relies on.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`, major and minor.
    pub ptx_version: (u16, u16),
    /// `.target` as a number: `sm_90a` is 90.
    pub sm: u32,
    /// `.target` as written.
    pub target: String,
    /// 32 or 64.
    pub address_bits: u32,
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    /// File names that [`SrcLoc::file`] indexes.
    pub files: Vec<Arc<str>>,
    /// Text of files that may lie on no disk, by name: sources that a program hands over as strings.
    pub sources: BTreeMap<Arc<str>, Arc<str>>,
    /// Index 0 is "unknown".
    pub locs: Vec<SrcLoc>,
}

/// A place in the source: `.loc` where the PTX has one, and always the PTX line itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SrcLoc {
    /// Index into [`Module::files`], if a `.loc` was in force.
    pub file: Option<u32>,
    pub line: u32,
    pub column: u32,
    /// Line in the PTX text, from 1; 0 if unknown.
    pub ptx_line: u32,
    /// Index into [`Module::locs`] of the call site, for inlined code.
    pub inlined_at: Option<u32>,
    /// Name of the inlined function, if known.
    pub function: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Linkage {
    #[default]
    Internal,
    Visible,
    Weak,
    Common,
    /// Declared here, defined in another module.
    Extern,
}

/// A module-scope variable (function-scope `.shared` and `.global` ones are hoisted here).
#[derive(Clone, Debug)]
pub struct Global {
    pub name: Box<str>,
    /// `Global`, `Const` or `Shared`.
    pub space: Space,
    pub size: u64,
    pub align: u64,
    /// Initial bytes; shorter than `size` means zero-filled. Empty for shared.
    pub init: Vec<u8>,
    pub relocs: Vec<Reloc>,
    pub linkage: Linkage,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// `extern .shared x[]`: starts where static shared memory ends.
    pub dynamic_shared: bool,
    /// `.texref`, `.samplerref` or `.surfref`: eight bytes whose address is the handle. The initial
    /// bytes are [`crate::texture::SamplerFields`].
    pub opaque: Option<Opaque>,
}

/// An address inside an initialiser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloc {
    /// Byte offset in the variable.
    pub offset: u64,
    /// Bytes written: 1 to 8.
    pub width: u8,
    /// Right shift applied first, for `mask()` initialisers that pick one byte.
    pub shift: u8,
    pub target: RelocTarget,
    pub addend: i64,
    /// `generic(var)`: the generic address rather than the one in the variable's own space.
    pub generic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocTarget {
    Global(GlobalId),
    Func(FuncId),
}

/// A parameter or a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    pub name: Box<str>,
    /// Entries: offset in the parameter block, by the natural alignment rule.
    pub offset: u32,
    pub size: u32,
    pub align: u32,
    /// Device functions: where the callee keeps it.
    pub place: Option<CallArg>,
    /// `.ptr` attribute: the space pointed to. Of a device function the window of generic addresses that it is likely to point to.
    pub pointee: Option<Space>,
}

/// Performance-tuning and launch directives of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchLimits {
    pub maxntid: Option<[u32; 3]>,
    pub reqntid: Option<[u32; 3]>,
    pub minnctapersm: Option<u32>,
    pub maxnreg: Option<u32>,
    pub maxclusterrank: Option<u32>,
    pub reqnctapercluster: Option<[u32; 3]>,
    pub explicit_cluster: bool,
}

/// A PTX form that cannot run, found while lowering.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unsupported {
    /// The instruction or directive as written.
    pub form: String,
    pub reason: String,
    /// PTX line, from 1.
    pub ptx_line: u32,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PTX line {}: `{}` is not supported: {}", self.ptx_line, self.form, self.reason)
    }
}

#[derive(Clone, Debug, Default, Hash)]
pub struct Function {
    pub name: Box<str>,
    pub is_entry: bool,
    pub linkage: Linkage,
    pub params: Vec<Param>,
    pub rets: Vec<Param>,
    /// Bytes of the parameter block (entries).
    pub param_size: u32,
    /// Bytes of the function's own local frame: depot, local variables, call slots.
    pub frame_size: u32,
    pub frame_align: u32,
    /// Variables in it, as far as the compiler told: offset and size of each, in ascending order.
    pub locals: Vec<(u32, u32)>,
    /// Classes of the virtual registers.
    pub regs: Vec<Class>,
    /// Empty for a declaration. Block 0 is the entry.
    pub blocks: Vec<Block>,
    pub limits: LaunchLimits,
    /// The function's address is used as a value (indirect calls may reach it).
    pub address_taken: bool,
    pub unsupported: Vec<Unsupported>,
}

impl Module {
    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().position(|f| &*f.name == name).map(|i| FuncId(i as u32))
    }

    pub fn global(&self, name: &str) -> Option<GlobalId> {
        self.globals.iter().position(|g| &*g.name == name).map(|i| GlobalId(i as u32))
    }
}

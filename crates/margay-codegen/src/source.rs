// SPDX-License-Identifier: MIT OR Apache-2.0
//! What code is made from, and its hash.
//!
//! Invariant: two sources with one key give one text. [`crate::compile`] sees nothing but a [`Source`], and all of that is hashed by
//! what the compiler derives; what is not to count, names and lines, is not in it. What the text is written by
//! (this crate's sources, and those of the crates that it asks) is in the key too.

use std::hash::{Hash, Hasher};

use margay_ir::{Block, Function, LocId, Param, Reg};
use sha2::{Digest, Sha256};

use crate::{MAX_BLOCKS, MAX_INSTS, Options, Places, Refused, VERSION};

/// A hash of the sources that make code: see `build.rs`.
const FINGERPRINT: &str = env!("MARGAY_CODEGEN_FINGERPRINT");

/// Where the interpreter keeps what the code shares with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Byte offset of each register's plane in the frame.
    pub planes: Vec<u32>,
    /// Address of each block's first instruction.
    pub starts: Vec<u32>,
    /// Address of the function's first instruction, from which on the next two count.
    pub first: u32,
    /// Number of each memory instruction's extent.
    pub slots: Vec<u32>,
    /// Byte offset, in the constants, of the plane with each `addr`'s value; `None` for local ones.
    pub constants: Vec<Option<u32>>,
}

impl Places for Layout {
    fn plane(&self, reg: Reg) -> u32 {
        self.planes[reg.0 as usize]
    }
    fn start(&self, block: usize) -> u32 {
        self.starts[block]
    }
    fn slot(&self, pc: u32) -> u32 {
        self.slots[(pc - self.first) as usize]
    }
    fn constant(&self, pc: u32) -> Option<u32> {
        self.constants[(pc - self.first) as usize]
    }
}

/// All that the code of a function depends on.
#[derive(Clone, Debug, Hash)]
pub struct Source {
    pub(crate) function: Function,
    pub(crate) layout: Layout,
    pub(crate) options: Options,
    pub(crate) cpu: String,
    pub(crate) features: String,
}

impl Source {
    /// A function as it is to be compiled. `cpu` and `features` go to the attributes of what is made.
    pub fn new(
        function: &Function,
        layout: Layout,
        options: &Options,
        cpu: &str,
        features: &str,
    ) -> Result<Source, Refused> {
        let insts: usize = function.blocks.iter().map(|b| b.insts.len() + 1).sum();
        if insts > MAX_INSTS || function.blocks.len() > MAX_BLOCKS {
            return Err(Refused("it is too long"));
        }
        Ok(Source {
            function: bare(function),
            layout,
            options: options.clone(),
            cpu: cpu.to_owned(),
            features: features.to_owned(),
        })
    }

    /// The same for the same source in every process of one build, and of every build of the same sources.
    pub fn key(&self) -> [u8; 32] {
        let mut hasher = Stable { bytes: Vec::with_capacity(1 << 14) };
        VERSION.hash(&mut hasher);
        FINGERPRINT.hash(&mut hasher);
        cfg!(feature = "unchecked").hash(&mut hasher);
        self.hash(&mut hasher);
        Sha256::digest(&hasher.bytes).into()
    }
}

/// The function without what code must not depend on: who edits a line above it need not compile it again.
fn bare(function: &Function) -> Function {
    // Each field by its name: who adds one decides what it is.
    let Function {
        name: _,
        is_entry,
        linkage: _,
        params,
        rets,
        param_size,
        frame_size,
        frame_align,
        locals: _,
        regs,
        blocks,
        limits: _,
        address_taken: _,
        unsupported: _,
    } = function;
    let param = |p: &Param| {
        let Param { name: _, offset, size, align, place, pointee } = p;
        Param {
            name: Box::default(),
            offset: *offset,
            size: *size,
            align: *align,
            place: *place,
            pointee: *pointee,
        }
    };
    let block = |b: &Block| {
        let Block { label: _, insts, term, term_loc: _ } = b;
        let mut insts = insts.clone();
        insts.iter_mut().for_each(|inst| inst.loc = LocId(0));
        Block { label: None, insts, term: term.clone(), term_loc: LocId(0) }
    };
    Function {
        is_entry: *is_entry,
        params: params.iter().map(param).collect(),
        rets: rets.iter().map(param).collect(),
        param_size: *param_size,
        frame_size: *frame_size,
        frame_align: *frame_align,
        regs: regs.clone(),
        blocks: blocks.iter().map(block).collect(),
        ..Function::default()
    }
}

/// Everything that is hashed, one after the other: derived hashes tell lengths and variants before what
/// follows them, so that nothing runs together.
struct Stable {
    bytes: Vec<u8>,
}

impl Hasher for Stable {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = Sha256::digest(&self.bytes);
        digest[..8].iter().fold(0, |n, &byte| n << 8 | u64::from(byte))
    }
}

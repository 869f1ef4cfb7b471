// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an address to the variable that it belongs to.

use margay_arch::Space;
use margay_exec::launch::SharedArgument;
use margay_exec::mem::AllocKind;

use super::raw::{Home, RawVariable, VariableKind};
use crate::tool::LaunchView;

/// A variable and the addresses that it takes in this launch.
pub struct Found {
    pub variable: RawVariable,
    pub lo: u64,
    pub hi: u64,
}

/// A parameter that points to global memory.
struct Pointer {
    argument: u32,
    to: u64,
}

/// The variables of one launch.
pub struct Variables<'a> {
    view: &'a LaunchView<'a>,
    /// By address.
    pointers: Vec<Pointer>,
}

impl<'a> Variables<'a> {
    pub fn new(view: &'a LaunchView<'a>) -> Variables<'a> {
        let kernel = view.program.instruction(0).map(|i| i.function);
        let mut pointers = Vec::new();
        for (n, p) in kernel.iter().flat_map(|k| &k.params).enumerate() {
            let (start, end) = (p.offset as usize, (p.offset + p.size) as usize);
            let Some(bytes) = view.config.params.get(start..end) else { continue };
            // Structures hold pointers at multiples of their size.
            for value in bytes.chunks_exact(8) {
                let to = value.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
                if to != 0 && view.memory.find(to).is_some() {
                    pointers.push(Pointer { argument: n as u32, to });
                }
            }
        }
        pointers.sort_by_key(|p| p.to);
        pointers.dedup_by_key(|p| p.to);
        Variables { view, pointers }
    }

    /// The variable at an address.
    pub fn find(&self, space: Space, address: u64) -> Found {
        match space {
            Space::Shared => self.shared(address),
            Space::Local => everything(VariableKind::Stack, "stack"),
            Space::Parameter => everything(VariableKind::Parameters, "parameters"),
            Space::Global | Space::Constant => self.global(address),
        }
    }

    /// The texture, surface or image behind a handle: the parameter that has it, or the module's variable. `size`:
    /// bytes of its texels.
    pub fn texture(&self, handle: u64, size: u64) -> RawVariable {
        let module = self.view.program.module();
        if let Some(n) = module.addresses.iter().position(|a| *a == handle) {
            return named(VariableKind::Texture, &module.ir.globals[n].name, size);
        }
        let kernel = self.view.program.instruction(0).map(|i| i.function);
        let params = kernel.iter().flat_map(|k| &k.params).enumerate();
        let holds = |start: u32, end: u32| {
            let bytes = self.view.config.params.get(start as usize..end as usize);
            bytes.is_some_and(|b| b.chunks_exact(8).any(|v| v == handle.to_le_bytes()))
        };
        let mut found = params.filter(|(_, p)| holds(p.offset, p.offset + p.size));
        let argument = found.next().map(|(n, _)| n as u32);
        RawVariable { argument, ..named(VariableKind::Texture, "texture", size) }
    }

    fn shared(&self, address: u64) -> Found {
        let module = &self.view.program.module().ir;
        // Each block of a cluster has the same layout.
        let (block, offset) = (address & !0xff_ffff, address & 0xff_ffff);
        for &(id, at) in self.view.program.shared_variables() {
            let global = &module.globals[id.0 as usize];
            let at = u64::from(at);
            if !global.dynamic_shared && (at..at + global.size).contains(&offset) {
                return Found {
                    variable: named(VariableKind::Variable, &global.name, global.size),
                    lo: block + at,
                    hi: block + at + global.size,
                };
            }
        }
        let arguments = &self.view.config.shared_arguments;
        let holds = |a: &&SharedArgument| offset.wrapping_sub(a.first) < a.bytes;
        if let Some(own) = arguments.iter().find(holds) {
            let kernel = self.view.program.instruction(0).map(|i| i.function);
            let mut params = kernel.iter().flat_map(|k| &k.params);
            let argument = params.position(|p| p.offset == own.param).map(|n| n as u32);
            let variable = named(VariableKind::DynamicShared, "local memory", own.bytes);
            let variable = RawVariable { argument, ..variable };
            return Found { variable, lo: block + own.first, hi: block + own.first + own.bytes };
        }
        if !arguments.is_empty() {
            return unknown(address);
        }
        let at = u64::from(self.view.program.dynamic_shared_at());
        let size = u64::from(self.view.config.dynamic_shared);
        if size > 0 && (at..at + size).contains(&offset) {
            let dynamic = self.view.program.shared_variables().iter();
            let mut dynamic = dynamic.map(|(id, _)| &module.globals[id.0 as usize]);
            let name =
                dynamic.find(|g| g.dynamic_shared).map_or("dynamic shared memory", |g| &g.name);
            let variable = named(VariableKind::DynamicShared, name, size);
            return Found { variable, lo: block + at, hi: block + at + size };
        }
        unknown(address)
    }

    fn global(&self, address: u64) -> Found {
        let module = self.view.program.module();
        let Some(allocation) = self.view.memory.find(address) else {
            return unknown(address);
        };
        let (lo, hi) = (allocation.base, allocation.base + allocation.size);
        if let Some(n) = module.addresses.iter().position(|a| *a == lo) {
            let name = &module.ir.globals[n].name;
            return Found { variable: named(VariableKind::Variable, name, hi - lo), lo, hi };
        }
        let kind = match allocation.kind {
            AllocKind::Param => VariableKind::Parameters,
            AllocKind::Device
            | AllocKind::Managed
            | AllocKind::HostPinned
            | AllocKind::HostRegistered
            | AllocKind::Constant
            | AllocKind::Buffer
            | AllocKind::Mapped
            | AllocKind::MappedReadOnly
            | AllocKind::Heap => VariableKind::Allocation,
        };
        // Several arguments may point into one allocation: the nearest below is meant.
        let within = |p: &&Pointer| (lo..hi).contains(&p.to);
        let below = self.pointers.iter().filter(within).rev().find(|p| p.to <= address);
        let above = self.pointers.iter().filter(within).find(|p| p.to > address);
        let argument = below.map(|p| p.argument);
        let lo = below.map_or(lo, |p| p.to);
        let hi = above.map_or(hi, |p| p.to);
        let name = allocation.label.to_string();
        let home = match allocation.kind {
            AllocKind::HostPinned | AllocKind::HostRegistered => Home::Host,
            AllocKind::Device | AllocKind::Heap if allocation.device != self.view.device => {
                Home::Peer
            }
            AllocKind::Device
            | AllocKind::Heap
            | AllocKind::Managed
            | AllocKind::Constant
            | AllocKind::Buffer
            | AllocKind::Mapped
            | AllocKind::MappedReadOnly
            | AllocKind::Param => Home::Device,
        };
        Found { variable: RawVariable { kind, name, argument, size: hi - lo, home }, lo, hi }
    }
}

/// A variable's name without its function's: LLVM's back end writes OpenCL's `f.tile` as `f_$_tile`.
pub fn plain(name: &str) -> &str {
    name.split_once("_$_").map_or(name, |(_, own)| own)
}

fn named(kind: VariableKind, name: &str, size: u64) -> RawVariable {
    RawVariable { kind, name: name.to_owned(), argument: None, size, home: Home::Device }
}

fn everything(kind: VariableKind, name: &str) -> Found {
    Found { variable: named(kind, name, 0), lo: 0, hi: u64::MAX }
}

/// It will fault.
fn unknown(address: u64) -> Found {
    let variable = named(VariableKind::Unknown, "unknown", 0);
    Found { variable, lo: address, hi: address.saturating_add(1) }
}

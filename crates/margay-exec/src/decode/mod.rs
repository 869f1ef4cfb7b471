// SPDX-License-Identifier: MIT OR Apache-2.0
//! From IR to decoded code: the call graph, the layout of shared memory, the constant planes.

pub(crate) mod function;
mod select;
mod select_convert;
mod select_float;
mod select_int;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use margay_ir as ir;

pub(crate) use margay_ir::passes::inline::CALL_OVERHEAD;

use crate::program::{LinkError, LoadedModule, Program, ProgramInfo, function_handle};
use function::Decoder;
pub(crate) use select_convert::LaneFn;

/// Offset of a thread's first local frame: no local address is 0, which generic code might take
/// for null.
pub(crate) const LOCAL_START: u32 = margay_codegen::LOCAL_START;

pub(crate) fn link(module: &Arc<LoadedModule>, entry: ir::FuncId) -> Result<Program, LinkError> {
    let ir = &module.ir;
    let kernel = ir.functions.get(entry.0 as usize);
    let Some(kernel) = kernel.filter(|f| f.is_entry && !f.blocks.is_empty()) else {
        let name = kernel.map_or_else(|| format!("function {}", entry.0), |f| f.name.to_string());
        return Err(LinkError::NotAnEntry(name));
    };
    let graph = CallGraph::walk(ir, entry)?;
    let shared = SharedLayout::new(ir, &graph);
    let index: HashMap<ir::FuncId, u32> =
        graph.order.iter().enumerate().map(|(i, &f)| (f, i as u32)).collect();

    let mut decoder = Decoder::new(module, &index, &shared);
    for &id in &graph.order {
        decoder.function(id, graph.calls_itself(id))?;
    }
    let mut handles = HashMap::new();
    for (&id, &at) in &index {
        let function = &ir.functions[id.0 as usize];
        if function.address_taken && !function.is_entry {
            handles.insert(function_handle(module.uid, id), at);
        }
    }
    let const_bytes =
        ir.globals.iter().filter(|g| g.space == ir::Space::Const).map(|g| g.size as u32).sum();
    let info = ProgramInfo {
        static_shared: shared.static_size,
        local_bytes: graph.local_bytes(ir, entry),
        const_bytes,
        param_size: kernel.param_size,
        uses_recursion_or_indirect_calls: graph.indirect || graph.recursive(),
        uses_grid_sync: decoder.reads_workspace,
    };
    Ok(decoder.finish(info, &kernel.name, handles, shared.dynamic_at))
}

/// Bytes of the static shared variables that a kernel can reach, its callees' among them.
pub(crate) fn static_shared(ir: &ir::Module, entry: ir::FuncId) -> Result<u32, LinkError> {
    Ok(SharedLayout::new(ir, &CallGraph::walk(ir, entry)?).static_size)
}

/// What a kernel can reach.
pub(crate) struct CallGraph {
    /// Entry first.
    pub order: Vec<ir::FuncId>,
    edges: BTreeMap<ir::FuncId, Vec<ir::FuncId>>,
    indirect: bool,
}

impl CallGraph {
    fn walk(ir: &ir::Module, entry: ir::FuncId) -> Result<CallGraph, LinkError> {
        let mut graph = CallGraph { order: vec![entry], edges: BTreeMap::new(), indirect: false };
        let mut at = 0;
        while at < graph.order.len() {
            let id = graph.order[at];
            at += 1;
            let function = &ir.functions[id.0 as usize];
            if let Some(gap) = function.unsupported.first() {
                return Err(LinkError::Unsupported(gap.clone()));
            }
            let mut callees = Vec::new();
            for inst in function.blocks.iter().flat_map(|b| &b.insts) {
                let ir::Attr::Call(call) = &inst.attr else { continue };
                match call.callee {
                    ir::Callee::Direct(callee) => {
                        let target = ir.functions.get(callee.0 as usize);
                        if target.is_none_or(|t| t.blocks.is_empty()) {
                            let callee = match target {
                                Some(t) => t.name.to_string(),
                                None => format!("function {}", callee.0),
                            };
                            let caller = function.name.to_string();
                            return Err(LinkError::Undefined { caller, callee });
                        }
                        callees.push(callee);
                    }
                    ir::Callee::Indirect(_) => {
                        graph.indirect = true;
                        let reachable = ir.functions.iter().enumerate().filter(|(_, f)| {
                            f.address_taken && !f.is_entry && !f.blocks.is_empty()
                        });
                        callees.extend(reachable.map(|(i, _)| ir::FuncId(i as u32)));
                    }
                }
            }
            callees.sort_unstable();
            callees.dedup();
            for &callee in &callees {
                if !graph.order.contains(&callee) {
                    graph.order.push(callee);
                }
            }
            graph.edges.insert(id, callees);
        }
        Ok(graph)
    }

    /// Whether a function may come to call itself.
    fn calls_itself(&self, id: ir::FuncId) -> bool {
        let (mut seen, mut to_do) = (HashSet::new(), vec![id]);
        while let Some(at) = to_do.pop() {
            for &callee in &self.edges[&at] {
                if callee == id {
                    return true;
                }
                if seen.insert(callee) {
                    to_do.push(callee);
                }
            }
        }
        false
    }

    fn recursive(&self) -> bool {
        // A cycle exists if removing leaves, again and again, leaves something.
        let mut left: Vec<_> = self.order.clone();
        loop {
            let before = left.len();
            let now = left.clone();
            left.retain(|f| self.edges[f].iter().any(|c| now.contains(c)));
            if left.len() == before {
                return before != 0;
            }
        }
    }

    /// Stack of the deepest path; a cycle counts once.
    fn local_bytes(&self, ir: &ir::Module, entry: ir::FuncId) -> u32 {
        let mut path = Vec::new();
        self.depth(ir, entry, &mut path, &mut HashMap::new())
    }

    fn depth(
        &self,
        ir: &ir::Module,
        at: ir::FuncId,
        path: &mut Vec<ir::FuncId>,
        known: &mut HashMap<ir::FuncId, u32>,
    ) -> u32 {
        if let Some(&bytes) = known.get(&at) {
            return bytes;
        }
        if path.contains(&at) {
            return 0;
        }
        path.push(at);
        let mut below = 0u32;
        for &callee in &self.edges[&at] {
            below = below.max(self.depth(ir, callee, path, known).saturating_add(CALL_OVERHEAD));
        }
        path.pop();
        let f = &ir.functions[at.0 as usize];
        let frame = f.frame_size.next_multiple_of(16) + (f.frame_align.max(16) - 16);
        let total = below.saturating_add(frame);
        known.insert(at, total);
        total
    }
}

/// Offsets of the shared variables that a kernel can reach.
pub(crate) struct SharedLayout {
    pub offsets: HashMap<ir::GlobalId, u32>,
    pub static_size: u32,
    /// Where every `extern __shared__` array begins.
    pub dynamic_at: u32,
}

impl SharedLayout {
    fn new(ir: &ir::Module, graph: &CallGraph) -> SharedLayout {
        let mut used: Vec<ir::GlobalId> = Vec::new();
        for &id in &graph.order {
            for inst in ir.functions[id.0 as usize].blocks.iter().flat_map(|b| &b.insts) {
                if let ir::Attr::Address { of: ir::AddrOf::Global(g), .. } = inst.attr
                    && ir.globals.get(g.0 as usize).is_some_and(|v| v.space == ir::Space::Shared)
                {
                    used.push(g);
                }
            }
        }
        used.sort_unstable();
        used.dedup();
        let mut offsets = HashMap::new();
        let (mut at, mut dynamic_align) = (0u64, 16u64);
        for &g in &used {
            let variable = &ir.globals[g.0 as usize];
            let align = variable.align.max(1).next_power_of_two();
            if variable.dynamic_shared {
                dynamic_align = dynamic_align.max(align);
            } else {
                at = at.next_multiple_of(align);
                offsets.insert(g, at as u32);
                at += variable.size;
            }
        }
        let static_size = at.min(u32::MAX as u64 / 2) as u32;
        let dynamic_at = (static_size as u64).next_multiple_of(dynamic_align) as u32;
        for &g in &used {
            if ir.globals[g.0 as usize].dynamic_shared {
                offsets.insert(g, dynamic_at);
            }
        }
        SharedLayout { offsets, static_size, dynamic_at }
    }

    /// By offset.
    fn variables(&self) -> Vec<(ir::GlobalId, u32)> {
        let mut all: Vec<_> = self.offsets.iter().map(|(g, at)| (*g, *at)).collect();
        all.sort_unstable_by_key(|&(g, at)| (at, g));
        all
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs as they run where nobody watches: with the bodies of device functions in the kernel.
//!
//! Observers see calls, and the interpreter alone makes them: it is what compiled code is compared with. With a seed, too, calls stay
//! calls, as the order in which warps take their turns is then told by the instructions that they run.

use std::collections::HashSet;
use std::sync::Arc;

use margay_ir as ir;
use margay_ir::analysis::windows;
use margay_ir::passes::inline::{self, Origin};

use crate::decode::LOCAL_START;
use crate::jit::Engine;
use crate::launch::LaunchConfig;
use crate::program::{LoadedModule, Program};

/// Where the locations behind a module's own come from.
pub(crate) struct Homes {
    /// Number of the module's own locations.
    first: usize,
    /// The function that each is of, and the location of its call.
    homes: Vec<(Arc<str>, ir::LocId)>,
}

impl Homes {
    /// The function that a location that was put in is of, and the location of its call.
    pub fn find(&self, loc: ir::LocId) -> Option<&(Arc<str>, ir::LocId)> {
        self.homes.get((loc.0 as usize).checked_sub(self.first)?)
    }
}

impl Program {
    /// The program to run for a launch that nobody watches.
    pub(crate) fn unwatched(&self, config: &LaunchConfig) -> &Program {
        let engine = config.engine.unwrap_or_else(crate::jit::engine);
        if engine == Engine::Interp || config.seed.is_some() || self.calls.is_empty() {
            return self;
        }
        self.inlined.get_or_init(|| self.inline().map(Box::new)).as_deref().unwrap_or(self)
    }

    fn inline(&self) -> Option<Program> {
        let (loaded, entry) = (&self.module, self.functions.first()?.id);
        let own = &*loaded.ir;
        let mut put = Put { own, locs: own.locs.clone(), homes: Vec::new() };
        // What is not reached, and what variables hold at first, nobody asks for any more.
        let mut functions = vec![ir::Function::default(); own.functions.len()];
        for f in &self.functions {
            functions[f.id.0 as usize] = own.functions[f.id.0 as usize].clone();
        }
        let mut changed = put.inline(entry, &mut functions);
        // What still is called, from the kernel or from one another, likewise.
        let (mut seen, mut to_do) = (HashSet::new(), vec![entry]);
        while let Some(id) = to_do.pop() {
            if id != entry {
                changed |= put.inline(id, &mut functions);
            }
            let f = &functions[id.0 as usize];
            for callee in inline::callees(own, f) {
                if seen.insert(callee) && self.functions.iter().any(|f| f.id == callee) {
                    to_do.push(callee);
                }
            }
        }
        if !changed {
            return None;
        }
        windows::note(&mut functions);
        let Put { locs, homes, .. } = put;
        let globals = own.globals.iter().map(|g| ir::Global {
            name: g.name.clone(),
            init: Vec::new(),
            relocs: Vec::new(),
            opaque: g.opaque,
            ..*g
        });
        let module = ir::Module {
            functions,
            globals: globals.collect(),
            locs,
            target: own.target.clone(),
            files: own.files.clone(),
            sources: own.sources.clone(),
            ..*own
        };
        debug_assert_eq!(ir::verify(&module), Ok(()));
        let ir = Arc::new(module);
        let module = LoadedModule { ir, addresses: loaded.addresses.clone(), uid: loaded.uid };
        let mut program = Program::link(&Arc::new(module), entry).ok()?;
        program.homes = Some(Homes { first: own.locs.len(), homes });
        if self.uses_stack {
            // A thread comes exactly as deep as with all calls: each has its frame where it would have been.
            program.uses_stack = true;
            program.info.local_bytes = self.info.local_bytes;
            if program.functions.first()?.frame_size > program.info.local_bytes {
                return None;
            }
        }
        Some(program)
    }
}

/// Where what was put in came from.
struct Put<'a> {
    own: &'a ir::Module,
    /// The module's own locations, and more.
    locs: Vec<ir::SrcLoc>,
    homes: Vec<(Arc<str>, ir::LocId)>,
}

impl Put<'_> {
    /// Puts what a function calls into it. Whether there was anything.
    fn inline(&mut self, id: ir::FuncId, functions: &mut [ir::Function]) -> bool {
        let Some(found) = inline::inline(self.own, id, LOCAL_START, self.locs.len()) else {
            return false;
        };
        for Origin { loc, function, call } in found.locs {
            self.locs.push(loc);
            let name = &self.own.functions[function.0 as usize].name;
            self.homes.push((name.as_ref().into(), call));
        }
        functions[id.0 as usize] = found.function;
        true
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indices that lie outside of their array, and inside of the variable that it is a member of: what PTX does not know,
//! and OpenCL's compiler checks. It calls a function that does nothing; the calls are seen here.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use margay_exec::observe::{EventPlace, Interest, Observer, Watch};
use margay_exec::program::Program;
use margay_ir::{Attr, Callee, Inst};
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity};
use super::view::View;

/// The function that clang calls (`-fsanitize=array-bounds -fsanitize-minimal-runtime`).
const HANDLER: &str = "__ubsan_handle_out_of_bounds_minimal";

/// The calls of it in a program, by their addresses in the code.
pub fn calls(program: &Program) -> Arc<[u32]> {
    let functions = &program.module().ir.functions;
    let Some(handler) = functions.iter().position(|f| &*f.name == HANDLER) else {
        return Arc::default();
    };
    let calls_it = |pc: &u32| {
        let Some(Inst { attr: Attr::Call(call), .. }) = program.inst(*pc) else { return false };
        matches!(call.callee, Callee::Direct(id) if id.0 as usize == handler)
    };
    (0..program.code_len()).filter(calls_it).collect()
}

/// Watches a launch of a program that was compiled to be checked.
pub struct IndexObserver<'a> {
    view: View<'a>,
    /// Addresses of the calls, in order.
    calls: Arc<[u32]>,
    reported: Mutex<HashSet<u32>>,
}

impl<'a> IndexObserver<'a> {
    /// `None` if the program has no such calls.
    pub fn new(view: View<'a>) -> Option<IndexObserver<'a>> {
        let calls = view.known.index_calls(view.program);
        let reported = Mutex::default();
        (!calls.is_empty()).then_some(IndexObserver { view, calls, reported })
    }

    fn report(&self, at: EventPlace, pc: u32, mask: u32) {
        let view = &self.view;
        if !self.reported.lock().insert(pc) {
            return view.sink.again(Check::Memory, view.kernel(), (pc, pc), 1);
        }
        let finding = Finding {
            check: Check::Memory,
            severity: Severity::Warning,
            code: "memory/array-bounds".to_owned(),
            kernel: view.kernel().to_owned(),
            message: "an index lies outside of its array".to_owned(),
            cure: "keep the index below the number of elements, or declare the array larger"
                .to_owned(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: view.words,
            actors: vec![Actor {
                action: "index".to_owned(),
                block: at.ctaid,
                thread: Some(view.tid(at.warp as u16, (mask.trailing_zeros() & 31) as u8)),
                host: false,
                source: view.source(pc),
            }],
            count: 1,
        };
        view.sink.add(finding, Some((pc, pc)));
    }
}

impl Observer for IndexObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::RUNS
    }

    /// Compiled code is left at calls: the interpreter makes them.
    fn compiled(&self) -> Interest {
        Interest::empty()
    }

    fn is_quiet(&self, _memory: Range<u64>) -> bool {
        true
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(IndexWatch(self))
    }
}

struct IndexWatch<'w, 'a>(&'w IndexObserver<'a>);

impl Watch for IndexWatch<'_, '_> {
    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        let calls = &self.0.calls;
        let first = calls.partition_point(|&pc| pc < at.pc);
        for &pc in calls[first..].iter().take_while(|&&pc| pc < end) {
            self.0.report(at, pc, mask);
        }
    }
}

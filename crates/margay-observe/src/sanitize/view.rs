// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the checks need to know of a launch, and where they hand in what they find.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use margay_exec::program::Program;
use margay_exec::variables::{Variable, VariableSite, of_launch};
use margay_ir::Space;
use parking_lot::Mutex;

use super::finding::{Check, Finding, Findings, Source};
use super::programs::Known;
use crate::profile::raw::VariableKind;
use crate::profile::variables::{Variables, plain};
use crate::tool::LaunchView;
use crate::words::Words;

/// Findings of a process; shared by the checks.
#[derive(Debug, Default)]
pub struct Sink {
    state: Mutex<SinkState>,
}

#[derive(Debug, Default)]
struct SinkState {
    findings: Findings,
    /// Sites of pairs of instructions, so that a finding that comes again is only counted.
    pairs: HashMap<(Check, String, u32, u32), String>,
}

impl Sink {
    /// Adds a finding; `pair` are the addresses of its two instructions in the kernel's code.
    pub fn add(&self, finding: Finding, pair: Option<(u32, u32)>) {
        let mut state = self.state.lock();
        if let Some((a, b)) = pair {
            let key = (finding.check, finding.kernel.clone(), a, b);
            state.pairs.insert(key, finding.site());
        }
        state.findings.add(finding);
    }

    /// What was found at these two instructions was found so many times again.
    pub fn again(&self, check: Check, kernel: &str, (a, b): (u32, u32), times: u64) {
        if times == 0 {
            return;
        }
        let mut state = self.state.lock();
        if let Some(site) = state.pairs.get(&(check, kernel.to_owned(), a, b)).cloned() {
            state.findings.again(&site, times);
        }
    }

    /// At how many places something was found, as far as it was told at once.
    pub fn sites(&self) -> usize {
        self.state.lock().findings.list().len()
    }

    pub fn list(&self) -> Vec<Finding> {
        self.state.lock().findings.list().to_vec()
    }
}

/// A space as the kernel's language names it.
pub fn space_name(words: Words, space: Space) -> &'static str {
    match space {
        Space::Shared => words.say("shared", "local"),
        Space::Local => words.say("local", "private"),
        Space::Global => "global",
        Space::Const => "constant",
        Space::Param => words.say("parameter", "argument"),
        Space::Generic => "generic",
    }
}

/// A launch, as the checks see it.
pub struct View<'a> {
    pub program: &'a Arc<Program>,
    /// Compute capability times ten.
    pub sm: u32,
    /// Bytes of a block's shared memory.
    pub shared_bytes: u32,
    /// Of the kernel's language.
    pub words: Words,
    pub sink: &'a Sink,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    pub(super) known: Arc<Known>,
    launch: &'a LaunchView<'a>,
    /// Once somebody asks.
    variables: OnceLock<Mutex<Variables<'a>>>,
}

impl<'a> View<'a> {
    /// Where the kernel's variables lie in local memory, as far as that is known, and those in shared memory.
    pub fn variables_at(&self) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let (program, module) = (self.program, &self.program.module().ir);
        let range = |at: u64, size: u64| at..at.saturating_add(size);
        let locals = program.locals().map(|(at, size)| range(at, size));
        let shared = program.shared_variables().iter().filter_map(|&(id, at)| {
            let variable = &module.globals[id.0 as usize];
            (!variable.dynamic_shared).then(|| range(at.into(), variable.size))
        });
        (locals.collect(), shared.collect())
    }

    /// Whether some access of shared or local memory could leave its variable, and stay in the block's, or the thread's.
    pub fn may_leave_variables(&self) -> bool {
        let all = u64::from(self.shared_bytes);
        let is_all = |site: &VariableSite| {
            let shared = !matches!(site.variable, Variable::Local(_));
            shared && site.first == 0 && site.end >= all
        };
        !of_launch(self.launch.program, self.launch.config).iter().all(is_all)
    }

    pub fn new(launch: &'a LaunchView<'a>, known: Arc<Known>, sink: &'a Sink) -> View<'a> {
        View {
            program: launch.program,
            sm: launch.machine.sm,
            shared_bytes: launch.program.info().static_shared + launch.config.dynamic_shared,
            words: known.words(launch.program),
            sink,
            grid: launch.config.grid,
            block: launch.config.block,
            cluster: launch.config.cluster,
            known,
            launch,
            variables: OnceLock::new(),
        }
    }

    fn variables(&self) -> &Mutex<Variables<'a>> {
        self.variables.get_or_init(|| Mutex::new(Variables::new(self.launch)))
    }

    pub fn kernel(&self) -> &str {
        self.program.name()
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Linear index of a block in the grid.
    pub fn linear(&self, [x, y, z]: [u32; 3]) -> u32 {
        x + self.grid[0] * (y + self.grid[1] * z)
    }

    /// The block with this linear index.
    pub fn ctaid(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Linear index of the first block of a block's cluster.
    pub fn cluster(&self, block: u32) -> u32 {
        let id = self.ctaid(block);
        self.linear(std::array::from_fn(|d| id[d] - id[d] % self.cluster[d].max(1)))
    }

    /// Whether blocks are in clusters.
    pub fn has_clusters(&self) -> bool {
        self.cluster.iter().any(|&n| n > 1)
    }

    /// The block whose shared memory an address of one block's shared window is in, and the address there.
    pub fn shared_owner(&self, block: u32, address: u64) -> (u32, u64) {
        let Some(rank) = (address >> 24).checked_sub(1) else { return (block, address) };
        let [x, y, _] = self.cluster.map(|n| n.max(1));
        let (first, rank) = (self.ctaid(self.cluster(block)), rank as u32);
        let within = [rank % x, rank / x % y, rank / x / y];
        let owner = self.linear(std::array::from_fn(|d| first[d].saturating_add(within[d])));
        (owner, address & 0xff_ffff)
    }

    /// A thread of a block.
    pub fn tid(&self, warp: u16, lane: u8) -> [u32; 3] {
        let linear = u32::from(warp) * 32 + u32::from(lane);
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// The line of an instruction.
    pub fn source(&self, pc: u32) -> Source {
        self.program.place(pc).into()
    }

    pub fn space_name(&self, space: Space) -> &'static str {
        space_name(self.words, space)
    }

    /// The variable or allocation at an address: "`tile`, byte 128 of 4096".
    pub fn object(&self, space: Space, address: u64) -> Option<String> {
        let space = match space {
            Space::Shared => margay_arch::Space::Shared,
            Space::Local => margay_arch::Space::Local,
            Space::Global => margay_arch::Space::Global,
            Space::Const => margay_arch::Space::Constant,
            Space::Param => margay_arch::Space::Parameter,
            Space::Generic => return None,
        };
        let found = self.variables().lock().find(space, address);
        if found.variable.kind == VariableKind::Unknown {
            return None;
        }
        let what = match found.variable.argument {
            Some(n) if found.variable.kind == VariableKind::DynamicShared => {
                format!("local argument {}", n + 1)
            }
            Some(n) => format!("argument {} (`{}`)", n + 1, found.variable.name),
            None if found.variable.kind == VariableKind::DynamicShared => {
                self.words.say("dynamic shared memory", "a local argument").to_owned()
            }
            None => format!("`{}`", plain(&found.variable.name)),
        };
        Some(match found.hi.checked_sub(found.lo) {
            Some(size) if found.hi != u64::MAX => {
                format!("{what}, byte {} of {size}", address.saturating_sub(found.lo))
            }
            _ => what,
        })
    }
}

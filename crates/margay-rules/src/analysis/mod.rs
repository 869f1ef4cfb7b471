// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rules know of a pass beyond its tree: which side code runs on, launches, values, thread dependence.
//!
//! Invariant: an answer that is not certain is `None` or `false`; a rule built on these stays silent rather
//! than guess.

pub mod access;
pub mod banks;
pub mod barrier;
pub mod launch;
pub mod race;
pub mod thread;
pub mod value;

use std::collections::{BTreeSet, HashMap};

use margay_arch::Limits;

use crate::finding::Place;
use crate::front::{Environment, Language, Pass};
use crate::tree::{Decl, DeclId, Kind, NodeId, Span, Tree};
pub use launch::Launch;
pub use value::{Affine, Symbol};

/// Where code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Host,
    Device,
    Both,
}

/// A pass and what was derived from it.
pub struct Facts<'t> {
    pub tree: &'t Tree,
    pub environment: &'t Environment,
    pub limits: &'static Limits,
    pub launches: Vec<Launch>,
    sides: Vec<Option<Side>>,
}

impl<'t> Facts<'t> {
    pub fn new(tree: &'t Tree, environment: &'t Environment) -> Facts<'t> {
        let limits = environment
            .capability
            .limits()
            .unwrap_or_else(|| margay_arch::ComputeCapability::new(9, 0).limits().expect("9.0"));
        let mut facts =
            Facts { tree, environment, limits, launches: Vec::new(), sides: Vec::new() };
        facts.sides = facts.all_sides();
        facts.launches = launch::all(&facts);
        facts
    }

    /// The capability, as in `sm_90`.
    pub fn sm(&self) -> u32 {
        self.environment.capability.sm()
    }

    /// The capability as users write it: `compute capability 1.3`.
    pub fn capability(&self) -> String {
        format!("compute capability {}", self.environment.capability)
    }

    pub fn is_opencl(&self) -> bool {
        self.tree.language == Language::OpenCl
    }

    pub fn place(&self, node: NodeId) -> Place {
        self.place_of(self.tree[node].span)
    }

    pub fn place_of(&self, span: Span) -> Place {
        Place {
            file: self.tree.files[span.file.0 as usize].path.clone(),
            start: span.start as usize,
            end: span.end as usize,
        }
    }

    /// The place of a declaration's name, or of the whole if the name is not found.
    pub fn name_place(&self, node: NodeId) -> Place {
        let mut place = self.place(node);
        let Some(decl) = self.tree[node].decl else { return place };
        let name = &self.tree[decl].name;
        if let Some(at) = find_word(self.tree.text(node), name) {
            place.start += at;
            place.end = place.start + name.len();
        }
        place
    }

    /// The place of a word of a declaration, such as a qualifier.
    pub fn word_place(&self, node: NodeId, word: &str) -> Option<Place> {
        let mut place = self.place(node);
        let at = find_word(self.tree.text(node), word)?;
        place.start += at;
        place.end = place.start + word.len();
        Some(place)
    }

    /// As [`Self::word_place`] with the blanks after it: what a fix removes.
    pub fn word_and_blank(&self, node: NodeId, word: &str) -> Option<Place> {
        let mut place = self.word_place(node, word)?;
        let file = self.tree[node].span.file;
        let text = &self.tree.files[file.0 as usize].text;
        let rest = text.get(place.end..)?;
        place.end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        Some(place)
    }

    fn all_sides(&self) -> Vec<Option<Side>> {
        let mut sides: Vec<Option<Side>> = Vec::new();
        for id in self.tree.node_ids() {
            let node = &self.tree[id];
            let inherited = node.parent.and_then(|p| sides[self.index(p)]);
            let side = if node.kind.is_function() {
                Some(match node.decl {
                    Some(decl) => self.side_of(&self.tree[decl]),
                    None => Side::Host,
                })
            } else if node.kind == Kind::Lambda {
                let text = self.tree.text(id);
                let head = text.split('{').next().unwrap_or(text);
                match (head.contains("__device__"), head.contains("__host__")) {
                    (true, true) => Some(Side::Both),
                    (true, false) => Some(Side::Device),
                    (false, _) => inherited,
                }
            } else {
                inherited
            };
            sides.push(side);
        }
        sides
    }

    fn index(&self, node: NodeId) -> usize {
        node.index()
    }

    /// The side of a function.
    pub fn side_of(&self, function: &Decl) -> Side {
        if self.is_opencl() {
            return Side::Device;
        }
        let q = function.qualifiers;
        match (q.global, q.device, q.host) {
            (true, _, _) | (_, true, false) => Side::Device,
            (false, true, true) => Side::Both,
            (false, false, _) => Side::Host,
        }
    }

    /// The side of the code that a node is in; `None` outside functions.
    pub fn side(&self, node: NodeId) -> Option<Side> {
        self.sides[self.index(node)]
    }

    /// Code that this pass compiles for the device.
    pub fn on_device(&self, node: NodeId) -> bool {
        self.tree.pass == Pass::Device && matches!(self.side(node), Some(Side::Device | Side::Both))
    }

    /// Code that this pass compiles for the host.
    pub fn on_host(&self, node: NodeId) -> bool {
        self.tree.pass == Pass::Host && matches!(self.side(node), Some(Side::Host | Side::Both))
    }

    /// Nodes of device code.
    pub fn device(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = NodeId> {
        self.tree.find(wanted).filter(|n| self.on_device(*n))
    }

    /// Nodes of host code.
    pub fn host(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = NodeId> {
        self.tree.find(wanted).filter(|n| self.on_host(*n))
    }

    /// Every variable, local or not, by its defining node.
    pub fn variables(&self) -> impl Iterator<Item = (NodeId, &Decl)> {
        self.tree.find(|k| k == Kind::Variable).filter_map(|n| {
            let decl = self.tree[n].decl?;
            Some((n, &self.tree[decl]))
        })
    }

    /// Whether a variable's declaration is inside a function.
    pub fn is_local(&self, node: NodeId) -> bool {
        self.tree.above(node).any(|n| self.tree[n].kind.is_function())
    }

    /// Whether the declaration has this word before its name: `static`, `extern`.
    pub fn has_word(&self, node: NodeId, word: &str) -> bool {
        let text = self.tree.text(node);
        let name = self.tree[node].decl.map(|d| self.tree[d].name.as_str()).unwrap_or("");
        let head = find_word(text, name).map_or(text, |at| &text[..at]);
        find_word(head, word).is_some()
    }

    /// The kernels: `__global__`, or OpenCL's `kernel`.
    pub fn is_kernel(&self, function: DeclId) -> bool {
        if !self.is_opencl() {
            return self.tree[function].qualifiers.global;
        }
        self.tree[function].nodes.iter().any(|n| {
            let text = self.tree.text(*n);
            let head = text.split('(').next().unwrap_or(text);
            // An attribute before the name has parentheses of its own.
            let head = if head.contains("__attribute__") { text } else { head };
            find_word(head, "kernel").is_some() || find_word(head, "__kernel").is_some()
        })
    }

    /// The functions that a function calls by name, with the calls.
    pub fn calls(&self, function: DeclId) -> Vec<(NodeId, DeclId)> {
        let Some(body) = self.tree.body(function) else { return Vec::new() };
        self.tree
            .below(body)
            .filter(|n| self.tree[*n].kind == Kind::Call)
            .filter_map(|n| Some((n, self.tree[n].decl?)))
            .filter(|(_, d)| self.tree[*d].kind.is_function())
            .collect()
    }

    /// Functions of device code on a cycle of calls, with the call that closes it.
    pub fn recursive(&self) -> Vec<(DeclId, NodeId)> {
        let mut graph: HashMap<DeclId, Vec<(NodeId, DeclId)>> = HashMap::new();
        for &function in &self.tree.functions {
            let Some(definition) = self.tree[function].definition else { continue };
            if self.on_device(definition) && !self.tree[definition].dependent {
                graph.insert(function, self.calls(function));
            }
        }
        let mut found = Vec::new();
        for (&start, calls) in &graph {
            let closing = calls.iter().find(|(_, callee)| {
                let mut seen = BTreeSet::new();
                let mut stack = vec![*callee];
                while let Some(at) = stack.pop() {
                    if at == start {
                        return true;
                    }
                    if seen.insert(at) {
                        stack.extend(graph.get(&at).into_iter().flatten().map(|(_, d)| *d));
                    }
                }
                false
            });
            if let Some((call, _)) = closing {
                found.push((start, *call));
            }
        }
        found.sort();
        found
    }
}

/// Finds a whole word.
pub fn find_word(text: &str, word: &str) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        !text[..at].chars().next_back().is_some_and(is_word)
            && !text[at + word.len()..].chars().next().is_some_and(is_word)
    })
}

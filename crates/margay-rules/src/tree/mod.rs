// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree that rules read: nodes with places, declarations with their qualifiers, types on demand.
//!
//! Everything of the user's own files is in it, and of system headers only the declarations that those refer
//! to. Invariant: children come in source order; a node's `decl` is what it declares or refers to. Limits:
//! templates appear once, uninstantiated; below [`DEEPEST`] levels the tree is cut.

mod build;
pub mod kind;
pub mod types;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use clang_sys as cx;

use crate::front::cx as get;
use crate::front::{Language, Pass, Unit};
pub use kind::{Attribute, Binary, Kind, Unary};
pub use types::Type;

/// Levels of nesting that the tree keeps.
pub const DEEPEST: usize = 1500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// Its place in source order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

pub struct File {
    pub path: PathBuf,
    pub text: String,
}

/// CUDA's words on a declaration, by the union of its redeclarations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    pub global: bool,
    pub device: bool,
    pub host: bool,
    pub shared: bool,
    pub constant: bool,
    pub managed: bool,
    pub noinline: bool,
    pub forceinline: bool,
}

pub struct Decl {
    pub name: String,
    pub kind: Kind,
    pub qualifiers: Qualifiers,
    /// Its declarations in the user's files; the definition last if there is one.
    pub nodes: Vec<NodeId>,
    pub definition: Option<NodeId>,
    /// Not in a system header.
    pub ours: bool,
    /// The function around it, for locals and parameters.
    pub function: Option<DeclId>,
    cursor: cx::CXCursor,
}

pub struct Node {
    pub kind: Kind,
    pub span: Span,
    pub parent: Option<NodeId>,
    pub children: Vec<NodeId>,
    pub decl: Option<DeclId>,
    /// Inside a template, where sizes and calls may depend on parameters.
    pub dependent: bool,
    cursor: cx::CXCursor,
}

/// One pass over one file.
pub struct Tree {
    pub pass: Pass,
    pub language: Language,
    pub files: Vec<File>,
    nodes: Vec<Node>,
    decls: Vec<Decl>,
    /// Functions with a body in the user's files, in order.
    pub functions: Vec<DeclId>,
    writes: RefCell<Option<HashMap<DeclId, Vec<NodeId>>>>,
    // Dropped last: the cursors above point into it.
    _unit: Unit,
}

impl std::ops::Index<NodeId> for Tree {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

impl std::ops::Index<DeclId> for Tree {
    type Output = Decl;

    fn index(&self, id: DeclId) -> &Decl {
        &self.decls[id.0 as usize]
    }
}

impl Tree {
    /// The root node.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn decl_ids(&self) -> impl Iterator<Item = DeclId> + use<> {
        (0..self.decls.len() as u32).map(DeclId)
    }

    /// The nodes of a kind that the predicate accepts, in source order.
    pub fn find(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = NodeId> {
        self.node_ids().filter(move |n| wanted(self[*n].kind))
    }

    /// The node and everything below it, in source order.
    pub fn below(&self, node: NodeId) -> Below<'_> {
        Below { tree: self, stack: vec![node] }
    }

    /// The node's parents, nearest first.
    pub fn above(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self[node].parent, |n| self[*n].parent)
    }

    /// The source text of a node.
    pub fn text(&self, node: NodeId) -> &str {
        self.text_of(self[node].span)
    }

    pub fn text_of(&self, span: Span) -> &str {
        let text = &self.files[span.file.0 as usize].text;
        text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    pub fn type_of(&self, node: NodeId) -> Type<'_> {
        Type::new(get::type_of(self[node].cursor), self)
    }

    pub fn decl_type(&self, decl: DeclId) -> Type<'_> {
        Type::new(get::type_of(self[decl].cursor), self)
    }

    /// The function, or the device lambda, that a node belongs to; the innermost.
    pub fn function_of(&self, node: NodeId) -> Option<DeclId> {
        self.above(node).find(|n| self[*n].kind.is_function()).and_then(|n| self[n].decl)
    }

    /// The body of a function's definition.
    pub fn body(&self, function: DeclId) -> Option<NodeId> {
        let definition = self[function].definition?;
        self[definition].children.iter().copied().find(|c| self[*c].kind == Kind::Compound)
    }

    /// The parameters of a function's definition, or of its first declaration.
    pub fn parameters(&self, function: DeclId) -> Vec<NodeId> {
        let node = self[function].definition.or_else(|| self[function].nodes.first().copied());
        let Some(node) = node else { return Vec::new() };
        let children = self[node].children.iter().copied();
        children.filter(|c| self[*c].kind == Kind::Parameter).collect()
    }

    /// The initialiser of a variable's declaration: its last child that is an expression.
    pub fn initialiser(&self, variable: NodeId) -> Option<NodeId> {
        if self[variable].kind != Kind::Variable {
            return None;
        }
        let last = *self[variable].children.last()?;
        let expression = !matches!(self[last].kind, Kind::Attribute(_) | Kind::TypeReference)
            && !self[last].kind.is_declaration();
        // The size of an array type is a child too; an initialiser has the variable's type, not int.
        let in_type = self.text_between(variable, last).trim_end().ends_with('[');
        (expression && !in_type).then_some(last)
    }

    /// The text from the start of `outer` to the start of `inner`.
    pub fn text_between(&self, outer: NodeId, inner: NodeId) -> &str {
        let (a, b) = (self[outer].span, self[inner].span);
        if a.file != b.file || a.start > b.start {
            return "";
        }
        self.text_of(Span { end: b.start, ..a })
    }

    /// The node without parentheses, implicit conversions and temporaries.
    pub fn plain(&self, node: NodeId) -> NodeId {
        let mut at = node;
        while matches!(self[at].kind, Kind::Parenthesis | Kind::Implicit)
            && self[at].children.len() == 1
        {
            at = self[at].children[0];
        }
        at
    }

    /// As [`Self::plain`], through explicit casts too.
    pub fn uncast(&self, node: NodeId) -> NodeId {
        let mut at = self.plain(node);
        while self[at].kind == Kind::Cast {
            let Some(inner) = self[at].children.last() else { break };
            at = self.plain(*inner);
        }
        at
    }

    /// What a plain reference refers to.
    pub fn refers_to(&self, node: NodeId) -> Option<DeclId> {
        let node = self.plain(node);
        (self[node].kind == Kind::Reference).then_some(self[node].decl).flatten()
    }

    /// The variable at the root of `a`, `a[i]`, `a.x`, `*a`, `a[i].x[j]`.
    pub fn root_variable(&self, node: NodeId) -> Option<DeclId> {
        let node = self.uncast(node);
        match self[node].kind {
            Kind::Reference => self[node].decl,
            Kind::Member | Kind::Subscript | Kind::Unary(Unary::Dereference) => {
                self.root_variable(*self[node].children.first()?)
            }
            _ => None,
        }
    }

    /// The name of the function that is called, if it is named.
    pub fn callee_name(&self, call: NodeId) -> Option<&str> {
        if !matches!(self[call].kind, Kind::Call | Kind::Launch) {
            return None;
        }
        self[call].decl.map(|d| self[d].name.as_str()).or_else(|| {
            // In a template the callee may be unresolved; its text is its name.
            let callee = *self[call].children.first()?;
            let text = self.text(callee);
            text.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(text)
        })
    }

    /// The arguments of a call or launch.
    pub fn arguments(&self, call: NodeId) -> &[NodeId] {
        let children = &self[call].children;
        match self[call].kind {
            Kind::Launch => children.get(2..).unwrap_or(&[]),
            Kind::Call if self.is_construction(call) => {
                let types =
                    children.iter().take_while(|c| self[**c].kind == Kind::TypeReference).count();
                &children[types..]
            }
            _ => children.get(1..).unwrap_or(&[]),
        }
    }

    /// A call that constructs an object: its children are the arguments alone.
    pub fn is_construction(&self, call: NodeId) -> bool {
        self[call].kind == Kind::Call
            && self[call].decl.is_some_and(|d| self[d].kind == Kind::Constructor)
    }

    /// The integer that clang computes for a constant expression.
    pub fn clang_value(&self, node: NodeId) -> Option<i64> {
        (!self[node].dependent).then(|| get::evaluate_integer(self[node].cursor)).flatten()
    }

    /// Where a variable is assigned, incremented, or has its address or a reference to it taken.
    pub fn writes(&self, variable: DeclId) -> Vec<NodeId> {
        let mut cache = self.writes.borrow_mut();
        let map = cache.get_or_insert_with(|| self.collect_writes());
        map.get(&variable).cloned().unwrap_or_default()
    }

    fn collect_writes(&self) -> HashMap<DeclId, Vec<NodeId>> {
        let mut map: HashMap<DeclId, Vec<NodeId>> = HashMap::new();
        for id in self.node_ids() {
            let targets: Vec<NodeId> = match self[id].kind {
                Kind::Assign(_) => self[id].children.first().copied().into_iter().collect(),
                Kind::Unary(Unary::AddressOf) => self[id].children.clone(),
                Kind::Unary(operator) if operator.writes() => self[id].children.clone(),
                // A reference parameter may write its argument; operators of classes are calls too.
                Kind::Call => self.by_reference(id),
                _ => continue,
            };
            for target in targets {
                if let Some(variable) = self.root_variable(target) {
                    map.entry(variable).or_default().push(id);
                }
            }
        }
        map
    }

    /// Whether a call takes this argument (or what is implicitly converted from it) by reference.
    pub fn binds_reference(&self, call: NodeId, argument: NodeId) -> bool {
        let wanted = self.plain(argument);
        let index = self.arguments(call).iter().position(|a| self.plain(*a) == wanted);
        match (index, self[call].decl) {
            (Some(index), Some(callee)) => self.decl_type(callee).parameter(index).is_reference(),
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }

    /// The arguments that a call takes by a reference to non-const, or unresolved.
    fn by_reference(&self, call: NodeId) -> Vec<NodeId> {
        let Some(callee) = self[call].decl else { return self[call].children.clone() };
        let ty = self.decl_type(callee);
        if matches!(self[callee].kind, Kind::Variable | Kind::Parameter) {
            return self.arguments(call).to_vec();
        }
        let method = matches!(self[callee].kind, Kind::Method);
        let mut found: Vec<NodeId> = self
            .arguments(call)
            .iter()
            .enumerate()
            .filter(|(i, _)| {
                let parameter = ty.parameter(*i);
                parameter.is_reference() && !parameter.pointee().is_const()
            })
            .map(|(_, a)| *a)
            .collect();
        if method && !ty.spelling().ends_with("const") {
            found.extend(self[call].children.first());
        }
        found
    }
}

/// An iterator over a subtree.
pub struct Below<'t> {
    tree: &'t Tree,
    stack: Vec<NodeId>,
}

impl Iterator for Below<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let node = self.stack.pop()?;
        self.stack.extend(self.tree[node].children.iter().rev());
        Some(node)
    }
}

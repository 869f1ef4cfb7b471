// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are known before anything runs: integers, and polynomials over the thread's indices.

use std::collections::BTreeMap;

use super::Facts;
use crate::tree::{Binary, DeclId, Kind, NodeId, Unary};

/// How far definitions are followed.
const DEEP: u32 = 24;

/// What a polynomial is over. Dimensions are 0 to 2 for x to z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// `threadIdx`, `get_local_id`.
    Thread(u8),
    /// `blockIdx`, `get_group_id`.
    Block(u8),
    /// `blockDim`, `get_local_size`.
    BlockSize(u8),
    /// `gridDim`, `get_num_groups`.
    GridSize(u8),
    /// `get_global_id`: it moves with the thread, one by one.
    Global(u8),
    /// A variable with several values, or a parameter.
    Variable(DeclId),
}

/// A sum of products of symbols, and integers before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    terms: BTreeMap<Vec<Symbol>, i64>,
}

impl Affine {
    pub fn constant(value: i64) -> Affine {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(Vec::new(), value);
        }
        Affine { terms }
    }

    pub fn symbol(symbol: Symbol) -> Affine {
        Affine { terms: BTreeMap::from([(vec![symbol], 1)]) }
    }

    pub fn add(&self, other: &Affine, sign: i64) -> Option<Affine> {
        let mut sum = self.clone();
        for (product, factor) in &other.terms {
            let entry = sum.terms.entry(product.clone()).or_insert(0);
            *entry = entry.checked_add(factor.checked_mul(sign)?)?;
        }
        sum.terms.retain(|_, f| *f != 0);
        Some(sum)
    }

    pub fn times(&self, other: &Affine) -> Option<Affine> {
        let mut product = Affine::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut symbols = [a.clone(), b.clone()].concat();
                if symbols.len() > 4 {
                    return None;
                }
                symbols.sort();
                let entry = product.terms.entry(symbols).or_insert(0);
                *entry = entry.checked_add(x.checked_mul(*y)?)?;
            }
        }
        product.terms.retain(|_, f| *f != 0);
        Some(product)
    }

    /// The value, if there is no symbol.
    pub fn value(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The part without symbols.
    pub fn offset(&self) -> i64 {
        self.terms.get(&Vec::new()).copied().unwrap_or(0)
    }

    /// How much one step of `threadIdx` in a dimension adds; `None` if that is no constant.
    pub fn stride(&self, dimension: u8) -> Option<i64> {
        let moves = |s: &Symbol| *s == Symbol::Thread(dimension) || *s == Symbol::Global(dimension);
        let mut stride = 0i64;
        for (product, factor) in &self.terms {
            match product.as_slice() {
                [one] if moves(one) => stride = stride.checked_add(*factor)?,
                several if several.iter().any(moves) => return None,
                _ => {}
            }
        }
        Some(stride)
    }

    pub fn mentions(&self, wanted: impl Fn(Symbol) -> bool) -> bool {
        self.terms.keys().flatten().any(|s| wanted(*s))
    }

    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.terms.keys().flatten().copied()
    }
}

fn dimension(letter: &str) -> Option<u8> {
    match letter {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    }
}

impl Facts<'_> {
    /// `threadIdx.x` and the like, OpenCL's functions too.
    pub fn builtin(&self, node: NodeId) -> Option<Symbol> {
        let node = self.tree.uncast(node);
        match self.tree[node].kind {
            Kind::Member => {
                let text: String =
                    self.tree.text(node).chars().filter(|c| !c.is_whitespace()).collect();
                let (base, member) = text.split_once('.')?;
                let d = dimension(member)?;
                match base {
                    "threadIdx" => Some(Symbol::Thread(d)),
                    "blockIdx" => Some(Symbol::Block(d)),
                    "blockDim" => Some(Symbol::BlockSize(d)),
                    "gridDim" => Some(Symbol::GridSize(d)),
                    _ => None,
                }
            }
            Kind::Call if self.is_opencl() => {
                let name = self.tree.callee_name(node)?;
                let argument = *self.tree.arguments(node).first()?;
                let d = u8::try_from(self.integer(argument)?).ok().filter(|d| *d < 3)?;
                match name {
                    "get_local_id" => Some(Symbol::Thread(d)),
                    "get_group_id" => Some(Symbol::Block(d)),
                    "get_local_size" => Some(Symbol::BlockSize(d)),
                    "get_num_groups" => Some(Symbol::GridSize(d)),
                    "get_global_id" => Some(Symbol::Global(d)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The one expression that a variable ever holds: its initialiser, if nothing writes it.
    pub fn only_value(&self, variable: DeclId) -> Option<NodeId> {
        let decl = &self.tree[variable];
        if decl.kind != Kind::Variable || !self.tree.writes(variable).is_empty() {
            return None;
        }
        let node = decl.definition.or_else(|| decl.nodes.last().copied())?;
        // Another file may write a global that is not const.
        let ty = self.tree.decl_type(variable);
        if !self.is_local(node) && !ty.is_const() && !self.has_word(node, "static") {
            return None;
        }
        if self.is_local(node) && self.has_word(node, "__shared__") {
            return None;
        }
        self.tree.initialiser(node)
    }

    /// The integer that an expression always has.
    pub fn integer(&self, node: NodeId) -> Option<i64> {
        self.integer_within(node, DEEP)
    }

    fn integer_within(&self, node: NodeId, deep: u32) -> Option<i64> {
        let deep = deep.checked_sub(1)?;
        let tree = self.tree;
        let node = tree.plain(node);
        let child = |i: usize| tree[node].children.get(i).copied();
        let recurse = |n: NodeId| self.integer_within(n, deep);
        match tree[node].kind {
            Kind::Integer | Kind::Character | Kind::Boolean | Kind::SizeOf => {
                tree.clang_value(node).or_else(|| literal(tree.text(node)))
            }
            Kind::Reference => {
                let decl = tree[node].decl?;
                match tree[decl].kind {
                    Kind::Variable => self.only_value(decl).and_then(recurse),
                    Kind::OtherDeclaration => tree.clang_value(node),
                    _ => None,
                }
            }
            Kind::Member => {
                let base = child(0)?;
                let letter = tree[node].decl.map(|d| tree[d].name.clone())?;
                let dims = self.dimensions_within(base, deep);
                dims[usize::from(dimension(&letter)?)]
            }
            Kind::Unary(Unary::Minus) => recurse(child(0)?)?.checked_neg(),
            Kind::Unary(Unary::Plus) => recurse(child(0)?),
            Kind::Unary(Unary::BitNot) => Some(!recurse(child(0)?)?),
            Kind::Cast if tree.type_of(node).is_integer() => recurse(*tree[node].children.last()?),
            Kind::Conditional => {
                let condition = recurse(child(0)?)?;
                recurse(child(if condition != 0 { 1 } else { 2 })?)
            }
            Kind::Binary(operator) => combine(operator, recurse(child(0)?)?, recurse(child(1)?)?),
            Kind::Implicit | Kind::OtherExpression => tree.clang_value(node),
            _ => None,
        }
    }

    /// A `dim3` or an integer as three dimensions; each is `None` where it is not known.
    pub fn dimensions(&self, node: NodeId) -> [Option<i64>; 3] {
        self.dimensions_within(node, DEEP)
    }

    fn dimensions_within(&self, node: NodeId, deep: u32) -> [Option<i64>; 3] {
        let unknown = [None; 3];
        let Some(deep) = deep.checked_sub(1) else { return unknown };
        let tree = self.tree;
        let node = tree.plain(node);
        let ty = tree.type_of(node);
        if ty.is_integer() {
            return [self.integer_within(node, deep), Some(1), Some(1)];
        }
        match tree[node].kind {
            Kind::Reference => match tree[node].decl.and_then(|d| self.only_value(d)) {
                Some(value) => self.dimensions_within(value, deep),
                None => unknown,
            },
            Kind::Cast => match tree[node].children.last() {
                Some(inner) => self.dimensions_within(*inner, deep),
                None => unknown,
            },
            Kind::Call if tree.is_construction(node) || tree[node].kind == Kind::InitList => {
                let parts = parts(self, node);
                // A copy.
                if let [one] = parts.as_slice()
                    && tree.type_of(*one).is_record()
                {
                    return self.dimensions_within(*one, deep);
                }
                let part = |i: usize| match parts.get(i) {
                    Some(p) if is_default(self, *p) => Some(1),
                    Some(p) => self.integer_within(*p, deep),
                    None => Some(1),
                };
                [part(0), part(1), part(2)]
            }
            Kind::InitList => {
                let part = |i: usize| match tree[node].children.get(i) {
                    Some(p) if is_default(self, *p) => Some(1),
                    Some(p) => self.integer_within(*p, deep),
                    None => Some(1),
                };
                [part(0), part(1), part(2)]
            }
            _ => unknown,
        }
    }

    /// An integer expression as a polynomial.
    pub fn affine(&self, node: NodeId) -> Option<Affine> {
        self.affine_within(node, DEEP)
    }

    fn affine_within(&self, node: NodeId, deep: u32) -> Option<Affine> {
        let deep = deep.checked_sub(1)?;
        if let Some(symbol) = self.builtin(node) {
            return Some(Affine::symbol(symbol));
        }
        if let Some(value) = self.integer_within(node, deep) {
            return Some(Affine::constant(value));
        }
        let tree = self.tree;
        let node = tree.plain(node);
        let child = |i: usize| tree[node].children.get(i).copied();
        match tree[node].kind {
            Kind::Reference => {
                let decl = tree[node].decl?;
                if !tree.decl_type(decl).is_integer() {
                    return None;
                }
                match (tree[decl].kind, self.only_value(decl)) {
                    (Kind::Variable, Some(value)) => self
                        .affine_within(value, deep)
                        .or_else(|| Some(Affine::symbol(Symbol::Variable(decl)))),
                    (Kind::Variable | Kind::Parameter, _) => {
                        Some(Affine::symbol(Symbol::Variable(decl)))
                    }
                    _ => None,
                }
            }
            Kind::Cast if tree.type_of(node).is_integer() => {
                self.affine_within(*tree[node].children.last()?, deep)
            }
            Kind::Unary(Unary::Minus) => {
                Affine::default().add(&self.affine_within(child(0)?, deep)?, -1)
            }
            Kind::Binary(operator) => {
                let a = self.affine_within(child(0)?, deep)?;
                let b = self.affine_within(child(1)?, deep)?;
                match operator {
                    Binary::Add => a.add(&b, 1),
                    Binary::Sub => a.add(&b, -1),
                    Binary::Mul => a.times(&b),
                    Binary::Shl => {
                        let by = u32::try_from(b.value()?).ok().filter(|b| *b < 32)?;
                        a.times(&Affine::constant(1i64 << by))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The arguments of a construction, without the names of types.
fn parts(facts: &Facts<'_>, call: NodeId) -> Vec<NodeId> {
    let tree = facts.tree;
    let named = |n: &NodeId| tree[*n].kind != Kind::TypeReference;
    tree[call].children.iter().copied().filter(named).collect()
}

/// A default argument: clang has no node below it.
fn is_default(facts: &Facts<'_>, node: NodeId) -> bool {
    facts.tree[node].kind == Kind::Implicit && facts.tree[node].children.is_empty()
}

fn combine(operator: Binary, a: i64, b: i64) -> Option<i64> {
    let shift = u32::try_from(b).ok().filter(|b| *b < 63);
    match operator {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => a.checked_div(b),
        Binary::Rem => a.checked_rem(b),
        Binary::Shl => a.checked_mul(1i64.checked_shl(shift?)?),
        Binary::Shr => a.checked_shr(shift?),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::LogicalAnd => Some(i64::from(a != 0 && b != 0)),
        Binary::LogicalOr => Some(i64::from(a != 0 || b != 0)),
        Binary::Less => Some(i64::from(a < b)),
        Binary::Greater => Some(i64::from(a > b)),
        Binary::LessEqual => Some(i64::from(a <= b)),
        Binary::GreaterEqual => Some(i64::from(a >= b)),
        Binary::Equal => Some(i64::from(a == b)),
        Binary::NotEqual => Some(i64::from(a != b)),
        Binary::Comma => Some(b),
        Binary::Other => None,
    }
}

/// A plain integer literal, for templates, where clang's evaluator is not asked.
fn literal(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']).replace('\'', "");
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

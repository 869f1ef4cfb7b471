// SPDX-License-Identifier: MIT OR Apache-2.0
//! The abstract syntax of a PTX module.
//!
//! The tree keeps all that the text says but comments and layout, in source order, with a [`Span`]
//! on everything that a message may want to point at. Names are [`Symbol`]s of [`Module::symbols`].
//! Integer constant expressions are folded; the span still covers the expression as written.
//! Nothing here is checked beyond syntax: names may be undeclared, types may disagree, labels may
//! be missing. `==` compares spans as well; [`Module::erase_spans`] makes modules comparable.

pub use crate::frames::Frame;
pub use crate::instruction::{
    Address, Base, Call, Guard, Instruction, Modifier, ModifierCursor, Operand, OperandKind,
};
pub use crate::span::{LineColumn, LineIndex, Span};
pub use crate::symbol::{Symbol, Symbols};
pub use crate::types::{Linkage, ScalarType, StateSpace};

/// A name where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    pub symbol: Symbol,
    pub span: Span,
}

/// A constant: an integer expression already folded, or a floating-point literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// 64 bits, of type `.s64` or `.u64` by the manual's rules for integer constant expressions.
    Int { bits: u64, signed: bool },
    /// `0fXXXXXXXX`: the exact bits of a single.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal literal: the bits of a double.
    F64(u64),
}

impl Immediate {
    /// The value as a signed integer, if it is one (two's complement for `.u64`).
    pub const fn as_i64(self) -> Option<i64> {
        match self {
            Immediate::Int { bits, .. } => Some(bits as i64),
            Immediate::F32(_) | Immediate::F64(_) => None,
        }
    }

    /// The bits of an integer.
    pub const fn as_u64(self) -> Option<u64> {
        match self {
            Immediate::Int { bits, .. } => Some(bits),
            Immediate::F32(_) | Immediate::F64(_) => None,
        }
    }

    /// The value as a double: floating-point constants only.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Immediate::Int { .. } => None,
            Immediate::F32(bits) => Some(f32::from_bits(bits).into()),
            Immediate::F64(bits) => Some(f64::from_bits(bits)),
        }
    }
}

/// A whole PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// `.version major.minor`.
    pub version: Version,
    /// The first `.target`.
    pub target: Target,
    /// `.address_size`; when absent the manual's default is 32.
    pub address_size: Option<AddressSize>,
    /// All that follows the three header directives, in order.
    pub items: Vec<Item>,
    /// What comments tell of local memory.
    pub frames: Vec<Frame>,
    /// The names that the tree's symbols stand for.
    pub symbols: Symbols,
    /// Lines of the text that was parsed.
    pub lines: LineIndex,
}

impl Module {
    /// The text of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.symbols.name(symbol)
    }

    /// Functions and entries, declarations included, in order.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(f) => Some(&**f),
            _ => None,
        })
    }

    /// Variables of module scope, in order.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(v) => Some(&**v),
            _ => None,
        })
    }
}

/// `.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub span: Span,
}

/// `.target sm_90a, debug`: a target architecture and platform options, each as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub options: Vec<Name>,
    pub span: Span,
}

/// `.address_size 32|64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressSize {
    pub bits: u32,
    pub span: Span,
}

/// What stands at module scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Function(Box<Function>),
    Variable(Box<Variable>),
    /// `.file`.
    File(File),
    /// `.section`.
    Section(Section),
    /// `.alias`.
    Alias(Alias),
    /// `.pragma` at module scope.
    Pragma(Pragma),
    /// A second or later `.target`, which changes the features allowed from there on.
    Target(Target),
    /// A second or later `.version` or `.address_size` (concatenated modules).
    Version(Version),
    AddressSize(AddressSize),
    /// A deprecated `@@DWARF` line.
    Dwarf(DwarfLine),
}

/// Whether a function is a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A `.entry` or `.func`, defined or declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub linkage: Option<Linkage>,
    pub kind: FunctionKind,
    pub attributes: Vec<Attribute>,
    /// Return parameters of a `.func`; `.param` or (PTX 1.x, or no ABI) `.reg` variables.
    pub returns: Vec<Variable>,
    pub name: Name,
    /// Input parameters. Before PTX 1.4 a kernel declares them as `.param` variables in its body.
    pub params: Vec<Variable>,
    /// Directives between the parameters and the body, in order.
    pub directives: Vec<FunctionDirective>,
    /// `None` for a declaration that ends in `;`.
    pub body: Option<Block>,
    pub span: Span,
}

/// A directive between a function's parameters and its body, or in a call prototype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDirective {
    pub kind: FunctionDirectiveKind,
    pub span: Span,
}

/// Tuning, cluster and ABI directives (PTX ISA, "Performance-Tuning Directives", "Cluster
/// Dimension Directives", "ABI Preserving Directives"). Lists hold one to three extents as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionDirectiveKind {
    MaxNReg(u32),
    MaxNTid(Vec<u32>),
    ReqNTid(Vec<u32>),
    MinNCtaPerSm(u32),
    /// Deprecated in favour of `.minnctapersm`.
    MaxNCtaPerSm(u32),
    NoReturn,
    Pragma(Vec<String>),
    ReqNCtaPerCluster(Vec<u32>),
    ExplicitCluster,
    MaxClusterRank(u32),
    BlocksAreClusters,
    AbiPreserve(u32),
    AbiPreserveControl(u32),
}

/// `.attribute(...)` of a variable or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(uuid1, uuid2)`
    Unified(u64, u64),
}

/// A declaration of one name. `.reg .u32 a, b;` gives two of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub linkage: Option<Linkage>,
    pub attributes: Vec<Attribute>,
    pub space: StateSpace,
    /// `.const[bank]` (PTX before 2.2).
    pub bank: Option<u32>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `.v2`, `.v4`, `.v8`: the number of elements.
    pub vector: Option<u8>,
    pub ty: ScalarType,
    /// `.ptr` and what follows it, on kernel parameters.
    pub ptr: Option<PtrAttribute>,
    /// The prefix of a parametrised declaration, otherwise the name. `_` in call prototypes.
    pub name: Name,
    /// `N` of `%r<N>`: declares `%r0` to `%r(N-1)`.
    pub range: Option<u32>,
    /// Array extents, outermost first; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    pub init: Option<Init>,
    pub span: Span,
}

/// `.ptr{.space}{.align N}` on a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtrAttribute {
    /// `.const`, `.global`, `.local` or `.shared`; absent means generic.
    pub space: Option<StateSpace>,
    /// Alignment of the pointed-to memory in bytes; absent means 4.
    pub align: Option<u32>,
}

/// An initialiser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    pub kind: InitKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitKind {
    /// `{ a, b, { c } }`
    List(Vec<Init>),
    Immediate(Immediate),
    /// `name`, `name + offset`, `generic(name) + offset`.
    Address {
        symbol: Symbol,
        offset: i64,
        generic: bool,
    },
    /// `mask(expr)`: one byte of an address or constant, e.g. `0xFF00(generic(foo))`.
    Mask {
        mask: u64,
        value: Box<Init>,
    },
    /// A field of a `.texref`, `.samplerref` or `.surfref`: `addr_mode_0 = clamp_to_edge`.
    Field {
        field: Symbol,
        value: Box<Init>,
    },
}

/// A sequence of statements in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub statements: Vec<Statement>,
    /// From `{` to `}`, both included.
    pub span: Span,
}

/// What stands in a function body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `name:`
    Label(Name),
    Instruction(Box<Instruction>),
    /// `.reg`, `.local`, `.shared`, `.param`, … in a body.
    Variable(Box<Variable>),
    /// A nested block, which opens a scope.
    Block(Block),
    Loc(Box<Loc>),
    Pragma(Pragma),
    /// `label: .branchtargets a, b;`
    BranchTargets(TargetList),
    /// `label: .calltargets f, g;`
    CallTargets(TargetList),
    /// `label: .callprototype ...;`
    CallPrototype(Box<CallPrototype>),
    /// `.file` or `.section` written inside a body.
    File(File),
    Section(Section),
    Dwarf(DwarfLine),
}

/// The names of a `.branchtargets` or `.calltargets`. `Lpre<N>` has the range `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetList {
    pub label: Name,
    pub targets: Vec<(Name, Option<u32>)>,
    pub span: Span,
}

/// The signature of an indirect call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPrototype {
    pub label: Name,
    pub returns: Vec<Variable>,
    /// The name between the parameter lists; by convention `_`.
    pub name: Name,
    pub params: Vec<Variable>,
    /// `.noreturn`, `.abi_preserve N`, `.abi_preserve_control N`.
    pub directives: Vec<FunctionDirective>,
    pub span: Span,
}

/// `.pragma "a", "b";`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pragma {
    pub strings: Vec<String>,
    pub span: Span,
}

/// `.loc file line column {, function_name label {+ imm}, inlined_at file line column}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loc {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    pub inlined: Option<InlinedAt>,
    pub span: Span,
}

/// The `function_name` and `inlined_at` attributes of a `.loc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedAt {
    /// A label in `.debug_str` where the function's name stands.
    pub function_name: Name,
    pub offset: i64,
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

/// `.file index "name" {, timestamp, size}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub index: u32,
    pub name: String,
    pub timestamp_size: Option<(u64, u64)>,
    pub span: Span,
}

/// `.alias alias, aliasee;`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    pub alias: Name,
    pub aliasee: Name,
    pub span: Span,
}

/// `.section name { ... }`: DWARF data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// With its dot: `.debug_info`.
    pub name: Name,
    pub items: Vec<SectionItem>,
    pub span: Span,
}

/// A line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionItem {
    Label(Name),
    /// `.b8`, `.b16`, `.b32` or `.b64` and its values.
    Data {
        ty: ScalarType,
        values: Vec<SectionValue>,
        span: Span,
    },
}

/// A value in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionValue {
    Int(Immediate),
    /// `label`, `label + imm`, or the name of a section, which has its dot.
    Label {
        symbol: Symbol,
        offset: i64,
    },
    /// `label1 - label2`
    Difference(Symbol, Symbol),
}

/// The rest of a deprecated `@@DWARF` line, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DwarfLine {
    pub text: String,
    pub span: Span,
}

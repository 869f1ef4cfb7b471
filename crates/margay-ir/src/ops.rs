// SPDX-License-Identifier: MIT OR Apache-2.0
//! THE op table: one row declares an operation; names, operand signatures, legal types and the
//! kind of attribute all derive from it. The printer, the text parser, the verifier and the
//! interpreter's decoder read this table and nothing else.
//!
//! Reading a row: `Variant "mnemonic" [destinations] [sources] {types} Attr "meaning"`.
//! Operand kinds: `T` is of the op's type, `F` of its second ("from") type, `P`, `W` and `D` are
//! fixed register classes, `T*` is one or more of `T` (vector accesses), `?` marks an optional one.

use crate::types::Ty;

/// What an operand slot takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Of the op's type `ty`.
    T,
    /// Of the op's second type `from`.
    F,
    P,
    W,
    D,
    /// One or more of `T`.
    TMany,
    /// Zero or one of `T`.
    TOpt,
    /// Zero or one predicate.
    POpt,
    /// Zero or one 32-bit word.
    WOpt,
}

/// Which [`crate::inst::Attr`] variant an op carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    None,
    Float,
    MinMax,
    IntCmp,
    FloatCmp,
    Clamp,
    Lop3,
    Mem,
    Atom,
    Copy,
    Space,
    Address,
    Sreg,
    Vote,
    Shfl,
    Redux,
    Barrier,
    Fence,
    Mbarrier,
    Call,
    Builtin,
    Syscall,
    Texture,
    Message,
}

/// A row of the op table.
#[derive(Debug)]
pub struct OpInfo {
    pub mnemonic: &'static str,
    pub dsts: &'static [Slot],
    pub srcs: &'static [Slot],
    /// Legal values of the op's type.
    pub types: &'static [Ty],
    pub attr: AttrKind,
    pub doc: &'static str,
}

const INT: &[Ty] = &[Ty::I16, Ty::I32, Ty::I64];
const INT8: &[Ty] = &[Ty::I8, Ty::I16, Ty::I32, Ty::I64];
const I32_64: &[Ty] = &[Ty::I32, Ty::I64];
const I32: &[Ty] = &[Ty::I32];
const FLOAT: &[Ty] = &[Ty::F16, Ty::BF16, Ty::F32, Ty::F64];
const F32_64: &[Ty] = &[Ty::F32, Ty::F64];
const F16_32: &[Ty] = &[Ty::F16, Ty::BF16, Ty::F32];
const F32: &[Ty] = &[Ty::F32];
const PRED: &[Ty] = &[Ty::Pred];
const ANY: &[Ty] = &Ty::ALL;
/// Data that memory holds.
const DATA: &[Ty] = &[Ty::I8, Ty::I16, Ty::I32, Ty::I64];
const ATOM: &[Ty] = &[Ty::I16, Ty::I32, Ty::I64, Ty::F16, Ty::BF16, Ty::F32, Ty::F64];

macro_rules! slot {
    (T) => {
        Slot::T
    };
    (F) => {
        Slot::F
    };
    (P) => {
        Slot::P
    };
    (W) => {
        Slot::W
    };
    (D) => {
        Slot::D
    };
    (Ts) => {
        Slot::TMany
    };
    (To) => {
        Slot::TOpt
    };
    (Po) => {
        Slot::POpt
    };
    (Wo) => {
        Slot::WOpt
    };
}

macro_rules! op_table {
    ($( $variant:ident $mnemonic:literal [$($d:ident)*] [$($s:ident)*] {$types:expr} $attr:ident $doc:literal )*) => {
        /// An operation. See the table for operands and meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $( #[doc = $doc] $variant, )* }

        impl Op {
            /// Every op, in table order.
            pub const ALL: &'static [Op] = &[ $( Op::$variant, )* ];
            /// The op's row.
            pub fn info(self) -> &'static OpInfo { &TABLE[self as usize] }
        }

        static TABLE: &[OpInfo] = &[ $( OpInfo {
            mnemonic: $mnemonic,
            dsts: &[$(slot!($d)),*],
            srcs: &[$(slot!($s)),*],
            types: $types,
            attr: AttrKind::$attr,
            doc: $doc,
        }, )* ];
    };
}

op_table! {
    // Moves. Predicates move by the same ops: a P plane is a lane mask.
    Mov      "mov"       [T]   [T]       {ANY}   None   "d = a"
    Select   "select"    [T]   [T T P]   {ANY}   None   "d = p ? a : b"
    PAnd     "pand"      [P]   [P P]     {PRED}  None   "d = a & b on predicates"
    POr      "por"       [P]   [P P]     {PRED}  None   "d = a | b on predicates"
    PXor     "pxor"      [P]   [P P]     {PRED}  None   "d = a ^ b on predicates"
    PNot     "pnot"      [P]   [P]       {PRED}  None   "d = !a on predicates"

    // Integers. Results of I8 and I16 ops are zero-extended in their word.
    Add      "add"       [T]   [T T]     {INT}   None   "d = a + b, wrapping"
    Sub      "sub"       [T]   [T T]     {INT}   None   "d = a - b, wrapping"
    AddSatS  "add.sat.s" [T]   [T T]     {INT}   None   "d = a + b, signed, clamped to the type's range"
    SubSatS  "sub.sat.s" [T]   [T T]     {INT}   None   "d = a - b, signed, clamped to the type's range"
    Mul      "mul"       [T]   [T T]     {INT}   None   "low half of a * b"
    MulHiS   "mulhi.s"   [T]   [T T]     {INT}   None   "high half of the signed product"
    MulHiU   "mulhi.u"   [T]   [T T]     {INT}   None   "high half of the unsigned product"
    MulWideS "mulwide.s" [D]   [T T]     {I32}   None   "64-bit product of signed 32-bit factors"
    MulWideU "mulwide.u" [D]   [T T]     {I32}   None   "64-bit product of unsigned 32-bit factors"
    Mad      "mad"       [T]   [T T T]   {INT}   None   "low half of a * b, plus c, wrapping"
    MadWideS "madwide.s" [D]   [T T D]   {I32}   None   "signed 64-bit a * b + c, wrapping"
    MadWideU "madwide.u" [D]   [T T D]   {I32}   None   "unsigned 64-bit a * b + c, wrapping"
    DivS     "div.s"     [T]   [T T]     {INT}   None   "signed quotient toward zero; by zero, and INT_MIN / -1, as the H200 gives"
    DivU     "div.u"     [T]   [T T]     {INT}   None   "unsigned quotient; by zero as the H200 gives"
    RemS     "rem.s"     [T]   [T T]     {INT}   None   "signed remainder, sign of a; by zero as the H200 gives"
    RemU     "rem.u"     [T]   [T T]     {INT}   None   "unsigned remainder; by zero as the H200 gives"
    Neg      "neg"       [T]   [T]       {INT}   None   "d = -a, wrapping"
    Abs      "abs"       [T]   [T]       {INT}   None   "d = |a|, signed, wrapping at the minimum"
    MinS     "min.s"     [T]   [T T]     {INT}   None   "signed minimum"
    MinU     "min.u"     [T]   [T T]     {INT}   None   "unsigned minimum"
    MaxS     "max.s"     [T]   [T T]     {INT}   None   "signed maximum"
    MaxU     "max.u"     [T]   [T T]     {INT}   None   "unsigned maximum"
    And      "and"       [T]   [T T]     {INT}   None   "bitwise and"
    Or       "or"        [T]   [T T]     {INT}   None   "bitwise or"
    Xor      "xor"       [T]   [T T]     {INT}   None   "bitwise exclusive or"
    Not      "not"       [T]   [T]       {INT}   None   "bitwise complement"
    Shl      "shl"       [T]   [T W]     {INT}   None   "a << b; amounts from the width on give 0"
    ShrU     "shr.u"     [T]   [T W]     {INT}   None   "a >> b filling with 0; amounts from the width on give 0"
    ShrS     "shr.s"     [T]   [T W]     {INT}   None   "a >> b filling with the sign; amounts clamp to width - 1"
    ShfL     "shf.l"     [W]   [W W W]   {I32}   Clamp  "high word of {b:a} << c (a low, b high)"
    ShfR     "shf.r"     [W]   [W W W]   {I32}   Clamp  "low word of {b:a} >> c (a low, b high)"
    Lop3     "lop3"      [W]   [W W W]   {I32}   Lop3   "three-input logic by truth table"
    Prmt     "prmt"      [W]   [W W W]   {I32}   None   "byte permute of {b:a} by the selector c (default mode, sign replication by bit 3)"
    Popc     "popc"      [W]   [T]       {I32_64} None  "number of set bits"
    Clz      "clz"       [W]   [T]       {I32_64} None  "leading zeros; the width for 0"
    BRev     "brev"      [T]   [T]       {I32_64} None  "bits reversed"
    BFindS   "bfind.s"   [W]   [T]       {I32_64} None  "position of the highest bit that differs from the sign; 0xffffffff if none"
    BFindU   "bfind.u"   [W]   [T]       {I32_64} None  "position of the highest set bit; 0xffffffff if none"
    Fns      "fns"       [W]   [W W W]   {I32}   None   "find n-th set bit (mask, base, offset)"
    BfeS     "bfe.s"     [T]   [T W W]   {I32_64} None  "bit-field extract, sign-extended (PTX bfe.s)"
    BfeU     "bfe.u"     [T]   [T W W]   {I32_64} None  "bit-field extract (PTX bfe.u)"
    Bfi      "bfi"       [T]   [T T W W] {I32_64} None  "bit-field insert of a into b (PTX bfi)"
    ICmp     "icmp"      [P]   [T T]     {INT8}  IntCmp "integer comparison"

    // Width changes.
    SExt     "sext"      [T]   [F]       {INT8}  None   "sign-extend from `from` to `ty`"
    ZExt     "zext"      [T]   [F]       {INT8}  None   "zero-extend from `from` to `ty`"
    Trunc    "trunc"     [T]   [F]       {INT8}  None   "keep the low bits of `from`"

    // Floating point. Float attribute: rounding, ftz, sat. NaN results are the canonical NaN of PTX.
    FAdd     "fadd"      [T]   [T T]     {FLOAT} Float  "a + b"
    FSub     "fsub"      [T]   [T T]     {FLOAT} Float  "a - b"
    FMul     "fmul"      [T]   [T T]     {FLOAT} Float  "a * b"
    FFma     "ffma"      [T]   [T T T]   {FLOAT} Float  "a * b + c with one rounding; `relu` clamps below at +0"
    FDiv     "fdiv"      [T]   [T T]     {F32_64} Float "a / b, correctly rounded"
    FSqrt    "fsqrt"     [T]   [T]       {F32_64} Float "square root, correctly rounded"
    FRcp     "frcp"      [T]   [T]       {F32_64} Float "1 / a, correctly rounded"
    FNeg     "fneg"      [T]   [T]       {FLOAT} Float  "-a"
    FAbs     "fabs"      [T]   [T]       {FLOAT} Float  "|a|"
    FMin     "fmin"      [T]   [T T]     {FLOAT} MinMax "minimum (PTX min)"
    FMax     "fmax"      [T]   [T T]     {FLOAT} MinMax "maximum (PTX max)"
    FCopySign "fcopysign" [T]  [T T]     {F32_64} None  "magnitude of b with the sign of a (PTX copysign)"
    FCmp     "fcmp"      [P]   [T T]     {FLOAT} FloatCmp "floating-point comparison, ordered or unordered"
    FRcpApprox "frcp.approx" [T] [T]     {F32_64} Float "reciprocal within the bound that PTX gives"
    FDivApprox "fdiv.approx" [T] [T T]   {&[Ty::F32]} Float "div.approx"
    FDivFull "fdiv.full" [T]   [T T]     {&[Ty::F32]} Float "div.full"
    FSqrtApprox "fsqrt.approx" [T] [T]   {&[Ty::F32]} Float "sqrt.approx"
    FRsqrtApprox "frsqrt.approx" [T] [T] {F32_64} Float "rsqrt.approx"
    FEx2     "fex2"      [T]   [T]       {F16_32} Float "ex2.approx"
    FLg2     "flg2"      [T]   [T]       {F32} Float "lg2.approx"
    FSin     "fsin"      [T]   [T]       {F32} Float "sin.approx"
    FCos     "fcos"      [T]   [T]       {F32} Float "cos.approx"
    FTanh    "ftanh"     [T]   [T]       {F16_32} Float "tanh.approx"

    // Conversions (PTX cvt). `from` is the source type.
    FToF     "ftof"      [T]   [F]       {FLOAT} Float  "between floating-point formats"
    FRound   "fround"    [T]   [T]       {FLOAT} Float  "to an integral value in the same format"
    FToS     "ftos"      [T]   [F]       {INT8}  Float  "to a signed integer, clamped; NaN as PTX cvt gives"
    FToU     "ftou"      [T]   [F]       {INT8}  Float  "to an unsigned integer, clamped; NaN as PTX cvt gives"
    SToF     "stof"      [T]   [F]       {FLOAT} Float  "from a signed integer"
    UToF     "utof"      [T]   [F]       {FLOAT} Float  "from an unsigned integer"
    FToTf32  "ftotf32"   [W]   [W]       {&[Ty::F32]} Float "f32 to tf32 in a 32-bit word"
    FToE4M3  "ftoe4m3"   [W]   [F]       {&[Ty::I8]} Float "to fp8 e4m3 in the low byte; satfinite"
    FToE5M2  "ftoe5m2"   [W]   [F]       {&[Ty::I8]} Float "to fp8 e5m2 in the low byte; satfinite"
    E4M3ToF  "e4m3tof"   [T]   [W]       {&[Ty::F16]} Float "fp8 e4m3 in the low byte to f16"
    E5M2ToF  "e5m2tof"   [T]   [W]       {&[Ty::F16]} Float "fp8 e5m2 in the low byte to f16"

    // Memory. The address is the first source; Mem's `offset` is added to it.
    Ld       "ld"        [Ts]  [D]       {DATA}  Mem    "load 1 to 8 elements"
    St       "st"        []    [D Ts]    {DATA}  Mem    "store 1 to 8 elements"
    Atom     "atom"      [To]  [D T To]  {ATOM}  Atom   "atomic read-modify-write; without destination a reduction; CAS has compare then value"
    AtomWide "atom.wide" [T T]   [D Ts]      {&[Ty::I64]} Atom   "atomic exchange or compare-and-swap of 128 bits, each as two halves, low first: CAS has compare then value"
    CpAsync  "cp.async"  []    [D D Wo]  {&[Ty::I8]} Copy "copy global to shared, rest zero-filled: shared address, global address, bytes to read"
    CpAsyncCommit "cp.async.commit" [] [] {PRED} None   "close the thread's group of async copies"
    CpAsyncWait "cp.async.wait" []   []  {PRED} None   "wait until the thread's groups have landed"
    // Textures and surfaces: operands as `TextureAttr::args` and `rets` say.
    Tex      "tex"       [Ts]  [Ts]      {&[Ty::I32]} Texture "read a texture or surface, or ask about one; coordinates outside of a surface may fault"
    SurfStore "surf.store" []  [Ts]      {&[Ty::I32]} Texture "write a surface, or change it atomically"
    Prefetch "prefetch"  []    [D]       {&[Ty::I8]} Mem "hint; faults never"
    Cvta     "cvta"      [D]   [D]       {&[Ty::I64]} Space "space address to generic address"
    CvtaTo   "cvta.to"   [D]   [D]       {&[Ty::I64]} Space "generic address to space address"
    IsSpace  "isspace"   [P]   [D]       {&[Ty::I64]} Space "whether a generic address lies in the space"
    Mapa     "mapa"      [D]   [D W]     {&[Ty::I64]} Space "address of the same shared variable in another block of the cluster"
    GetCtaRank "getctarank" [W] [D]      {&[Ty::I64]} Space "the cluster rank that a shared address belongs to"
    Addr     "addr"      [D]   []        {&[Ty::I64]} Address "address of a variable or function"
    Alloca   "alloca"    [D]   [D]       {&[Ty::I64]} None  "dynamic stack allocation, local-space address; attr-free: alignment is 16"
    StackSave "stacksave" [D]  []        {&[Ty::I64]} None  "current stack pointer"
    StackRestore "stackrestore" [] [D]   {&[Ty::I64]} None  "reset the stack pointer"

    // Warp, block and grid.
    Sreg     "sreg"      [T]   []        {I32_64} Sreg  "read a special register"
    ActiveMask "activemask" [W] []       {I32}   None   "mask of the lanes that execute this together"
    Vote     "vote"      [P]   [P Wo]    {PRED}  Vote   "all, any, uni over the member mask; without mask over the active lanes"
    Ballot   "ballot"    [W]   [P Wo]    {I32}   None   "lanes of the member mask whose predicate holds"
    MatchAny "match.any" [W]   [T W]     {I32_64} None  "lanes of the mask with the same value"
    MatchAll "match.all" [W Po] [T W]    {I32_64} None  "the mask if all values agree, else 0"
    Shfl     "shfl"      [W Po] [W W W Wo] {I32} Shfl   "shuffle: value, lane/delta, clamp+segmask; without mask over the active lanes"
    Redux    "redux"     [W]   [W W]     {&[Ty::I32, Ty::F32]}   Redux  "reduction over the lanes of the mask"
    Elect    "elect"     [W P] [W]       {I32}   None   "elect one lane of the mask: its number, and a predicate true in it"
    BarWarp  "bar.warp"  []    [W]       {I32}   None   "bar.warp.sync"
    Bar      "bar"       []    [W Wo]    {I32}   Barrier "block barrier: id, thread count"
    BarRed   "bar.red"   [T]   [W Wo P]  {&[Ty::Pred, Ty::I32]} Barrier "block barrier with a reduction of a predicate: id, count, p"
    BarCluster "bar.cluster" [] []       {PRED}  Barrier "cluster barrier, arrive or wait"
    Fence    "fence"     []    []        {PRED}  Fence  "memory fence"
    Mbarrier "mbarrier"  []    [D W]     {I32}   Mbarrier "for who checks programs: what the thread does to an mbarrier object, told before the accesses that do it (of a wait after), and its operand; nothing happens"
    NanoSleep "nanosleep" []   [W]       {I32}   None   "suspend for about so many nanoseconds"

    // Control that is not a terminator.
    Call     "call"      []    []        {PRED}  Call   "call a function; the attribute has arguments and results"
    Builtin  "builtin"   [Ts]  [Ts]      {ANY}   Builtin "device library function (`__nv_*`) on lane values; classes as its table says"
    Syscall  "syscall"   [To]  [Ts]      {ANY}   Syscall "vprintf, malloc, free, __assertfail and their like"
    Trap     "trap"      []    []        {PRED}  None   "abort the kernel with a launch failure"
    Brkpt    "brkpt"     []    []        {PRED}  None   "breakpoint: a trap without a debugger"
    Unsupported "unsupported" [] []      {PRED}  Message "a PTX form that margay parses and does not run; launching a function that contains it is refused"
}

impl Op {
    /// Whether an op neither accesses memory that other threads see nor calls anything.
    pub fn accesses_nothing(self) -> bool {
        self < Op::Ld
            || matches!(
                self,
                Op::Prefetch
                    | Op::Cvta
                    | Op::CvtaTo
                    | Op::IsSpace
                    | Op::Addr
                    | Op::Sreg
                    | Op::ActiveMask
                    | Op::Vote
                    | Op::Ballot
                    | Op::MatchAny
                    | Op::MatchAll
                    | Op::Shfl
                    | Op::Redux
                    | Op::Elect
                    | Op::BarWarp
                    | Op::Bar
                    | Op::Fence
                    | Op::Builtin
            )
    }
}

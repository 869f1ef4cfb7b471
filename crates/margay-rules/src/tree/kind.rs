// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a node is. libclang's kinds, without those that no rule tells apart.

use clang_sys as cx;

use crate::front::cx as get;

/// A binary operator; comparisons, shifts and logic included, assignments not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    Equal,
    NotEqual,
    Comma,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    PostIncrement,
    PostDecrement,
    PreIncrement,
    PreDecrement,
    AddressOf,
    Dereference,
    Plus,
    Minus,
    BitNot,
    Not,
    Other,
}

impl Unary {
    /// `++` and `--`.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Unary::PostIncrement | Unary::PostDecrement | Unary::PreIncrement | Unary::PreDecrement
        )
    }
}

/// The attributes that rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    Global,
    Device,
    Host,
    Shared,
    Constant,
    /// Seen by its text only: `__managed__`, `__noinline__` and the like.
    Named,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Unit,
    Namespace,
    Function,
    Method,
    Constructor,
    Destructor,
    FunctionTemplate,
    ClassTemplate,
    Record,
    Union,
    Base,
    Field,
    Variable,
    Parameter,
    TemplateParameter,
    Alias,
    OtherDeclaration,
    Attribute(Attribute),
    Compound,
    If,
    For,
    RangeFor,
    While,
    Do,
    Switch,
    Case,
    Default,
    Return,
    Break,
    Continue,
    Goto,
    Label,
    Declarations,
    Empty,
    Asm,
    OtherStatement,
    /// Children: callee, then arguments.
    Call,
    /// `k<<<…>>>(…)`. Children: callee, configuration (a call), then arguments.
    Launch,
    Reference,
    Member,
    Subscript,
    Binary(Binary),
    /// `=`, or the operator of `+=` and the like.
    Assign(Option<Binary>),
    Unary(Unary),
    Conditional,
    Cast,
    Integer,
    Floating,
    Character,
    String,
    Boolean,
    InitList,
    Lambda,
    Parenthesis,
    New,
    Throw,
    /// `sizeof`, `alignof`.
    SizeOf,
    TypeReference,
    /// Implicit conversions, temporaries and what libclang does not name.
    Implicit,
    OtherExpression,
}

impl Kind {
    /// Reads the kind of a cursor.
    pub fn of(cursor: cx::CXCursor) -> Kind {
        match get::kind(cursor) {
            cx::CXCursor_Namespace => Kind::Namespace,
            cx::CXCursor_FunctionDecl => Kind::Function,
            cx::CXCursor_CXXMethod | cx::CXCursor_ConversionFunction => Kind::Method,
            cx::CXCursor_Constructor => Kind::Constructor,
            cx::CXCursor_Destructor => Kind::Destructor,
            cx::CXCursor_FunctionTemplate => Kind::FunctionTemplate,
            cx::CXCursor_ClassTemplate | cx::CXCursor_ClassTemplatePartialSpecialization => {
                Kind::ClassTemplate
            }
            cx::CXCursor_StructDecl | cx::CXCursor_ClassDecl => Kind::Record,
            cx::CXCursor_UnionDecl => Kind::Union,
            cx::CXCursor_CXXBaseSpecifier => Kind::Base,
            cx::CXCursor_FieldDecl => Kind::Field,
            cx::CXCursor_VarDecl => Kind::Variable,
            cx::CXCursor_ParmDecl => Kind::Parameter,
            cx::CXCursor_TemplateTypeParameter
            | cx::CXCursor_NonTypeTemplateParameter
            | cx::CXCursor_TemplateTemplateParameter => Kind::TemplateParameter,
            cx::CXCursor_TypedefDecl | cx::CXCursor_TypeAliasDecl => Kind::Alias,
            cx::CXCursor_CUDAGlobalAttr => Kind::Attribute(Attribute::Global),
            cx::CXCursor_CUDADeviceAttr => Kind::Attribute(Attribute::Device),
            cx::CXCursor_CUDAHostAttr => Kind::Attribute(Attribute::Host),
            cx::CXCursor_CUDASharedAttr => Kind::Attribute(Attribute::Shared),
            cx::CXCursor_CUDAConstantAttr => Kind::Attribute(Attribute::Constant),
            cx::CXCursor_CompoundStmt => Kind::Compound,
            cx::CXCursor_IfStmt => Kind::If,
            cx::CXCursor_ForStmt => Kind::For,
            cx::CXCursor_CXXForRangeStmt => Kind::RangeFor,
            cx::CXCursor_WhileStmt => Kind::While,
            cx::CXCursor_DoStmt => Kind::Do,
            cx::CXCursor_SwitchStmt => Kind::Switch,
            cx::CXCursor_CaseStmt => Kind::Case,
            cx::CXCursor_DefaultStmt => Kind::Default,
            cx::CXCursor_ReturnStmt => Kind::Return,
            cx::CXCursor_BreakStmt => Kind::Break,
            cx::CXCursor_ContinueStmt => Kind::Continue,
            cx::CXCursor_GotoStmt | cx::CXCursor_IndirectGotoStmt => Kind::Goto,
            cx::CXCursor_LabelStmt => Kind::Label,
            cx::CXCursor_DeclStmt => Kind::Declarations,
            cx::CXCursor_NullStmt => Kind::Empty,
            cx::CXCursor_AsmStmt | cx::CXCursor_MSAsmStmt => Kind::Asm,
            cx::CXCursor_CallExpr => Kind::Call,
            cx::CXCursor_DeclRefExpr => Kind::Reference,
            cx::CXCursor_MemberRefExpr => Kind::Member,
            cx::CXCursor_ArraySubscriptExpr => Kind::Subscript,
            cx::CXCursor_BinaryOperator => match get::binary_operator(cursor) {
                cx::CXBinaryOperator_Assign => Kind::Assign(None),
                operator => Kind::Binary(binary(operator)),
            },
            cx::CXCursor_CompoundAssignOperator => {
                Kind::Assign(Some(compound(get::binary_operator(cursor))))
            }
            cx::CXCursor_UnaryOperator => Kind::Unary(unary(get::unary_operator(cursor))),
            cx::CXCursor_ConditionalOperator => Kind::Conditional,
            cx::CXCursor_CStyleCastExpr
            | cx::CXCursor_CXXStaticCastExpr
            | cx::CXCursor_CXXReinterpretCastExpr
            | cx::CXCursor_CXXConstCastExpr
            | cx::CXCursor_CXXDynamicCastExpr
            | cx::CXCursor_CXXAddrspaceCastExpr
            | cx::CXCursor_CXXFunctionalCastExpr => Kind::Cast,
            cx::CXCursor_IntegerLiteral => Kind::Integer,
            cx::CXCursor_FloatingLiteral => Kind::Floating,
            cx::CXCursor_CharacterLiteral => Kind::Character,
            cx::CXCursor_StringLiteral => Kind::String,
            cx::CXCursor_CXXBoolLiteralExpr => Kind::Boolean,
            cx::CXCursor_InitListExpr => Kind::InitList,
            cx::CXCursor_LambdaExpr => Kind::Lambda,
            cx::CXCursor_ParenExpr => Kind::Parenthesis,
            cx::CXCursor_CXXNewExpr => Kind::New,
            cx::CXCursor_CXXThrowExpr => Kind::Throw,
            cx::CXCursor_UnaryExpr => Kind::SizeOf,
            cx::CXCursor_UnexposedExpr => Kind::Implicit,
            other => Kind::by_range(other),
        }
    }

    /// libclang numbers its kinds by sort.
    fn by_range(kind: cx::CXCursorKind) -> Kind {
        match kind {
            43..=50 => Kind::TypeReference,
            100..=199 => Kind::OtherExpression,
            200..=349 => Kind::OtherStatement,
            400..=499 => Kind::Attribute(Attribute::Named),
            _ => Kind::OtherDeclaration,
        }
    }

    /// A function of any sort.
    pub fn is_function(self) -> bool {
        matches!(
            self,
            Kind::Function
                | Kind::Method
                | Kind::Constructor
                | Kind::Destructor
                | Kind::FunctionTemplate
        )
    }

    /// Something that is declared.
    pub fn is_declaration(self) -> bool {
        self.is_function()
            || matches!(
                self,
                Kind::Variable
                    | Kind::Parameter
                    | Kind::Field
                    | Kind::Record
                    | Kind::Union
                    | Kind::ClassTemplate
            )
    }

    pub fn is_loop(self) -> bool {
        matches!(self, Kind::For | Kind::RangeFor | Kind::While | Kind::Do)
    }
}

fn binary(operator: cx::CXBinaryOperatorKind) -> Binary {
    match operator {
        cx::CXBinaryOperator_Mul => Binary::Mul,
        cx::CXBinaryOperator_Div => Binary::Div,
        cx::CXBinaryOperator_Rem => Binary::Rem,
        cx::CXBinaryOperator_Add => Binary::Add,
        cx::CXBinaryOperator_Sub => Binary::Sub,
        cx::CXBinaryOperator_Shl => Binary::Shl,
        cx::CXBinaryOperator_Shr => Binary::Shr,
        cx::CXBinaryOperator_And => Binary::And,
        cx::CXBinaryOperator_Or => Binary::Or,
        cx::CXBinaryOperator_Xor => Binary::Xor,
        cx::CXBinaryOperator_LAnd => Binary::LogicalAnd,
        cx::CXBinaryOperator_LOr => Binary::LogicalOr,
        cx::CXBinaryOperator_LT => Binary::Less,
        cx::CXBinaryOperator_GT => Binary::Greater,
        cx::CXBinaryOperator_LE => Binary::LessEqual,
        cx::CXBinaryOperator_GE => Binary::GreaterEqual,
        cx::CXBinaryOperator_EQ => Binary::Equal,
        cx::CXBinaryOperator_NE => Binary::NotEqual,
        cx::CXBinaryOperator_Comma => Binary::Comma,
        _ => Binary::Other,
    }
}

fn compound(operator: cx::CXBinaryOperatorKind) -> Binary {
    match operator {
        cx::CXBinaryOperator_MulAssign => Binary::Mul,
        cx::CXBinaryOperator_DivAssign => Binary::Div,
        cx::CXBinaryOperator_RemAssign => Binary::Rem,
        cx::CXBinaryOperator_AddAssign => Binary::Add,
        cx::CXBinaryOperator_SubAssign => Binary::Sub,
        cx::CXBinaryOperator_ShlAssign => Binary::Shl,
        cx::CXBinaryOperator_ShrAssign => Binary::Shr,
        cx::CXBinaryOperator_AndAssign => Binary::And,
        cx::CXBinaryOperator_XorAssign => Binary::Xor,
        cx::CXBinaryOperator_OrAssign => Binary::Or,
        _ => Binary::Other,
    }
}

fn unary(operator: cx::CXUnaryOperatorKind) -> Unary {
    match operator {
        cx::CXUnaryOperator_PostInc => Unary::PostIncrement,
        cx::CXUnaryOperator_PostDec => Unary::PostDecrement,
        cx::CXUnaryOperator_PreInc => Unary::PreIncrement,
        cx::CXUnaryOperator_PreDec => Unary::PreDecrement,
        cx::CXUnaryOperator_AddrOf => Unary::AddressOf,
        cx::CXUnaryOperator_Deref => Unary::Dereference,
        cx::CXUnaryOperator_Plus => Unary::Plus,
        cx::CXUnaryOperator_Minus => Unary::Minus,
        cx::CXUnaryOperator_Not => Unary::BitNot,
        cx::CXUnaryOperator_LNot => Unary::Not,
        _ => Unary::Other,
    }
}

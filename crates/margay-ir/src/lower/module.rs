// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: header, variables, function signatures, and the order in which it all is lowered.
//!
//! Names are collected first, so that code and initialisers may refer to what comes later. A
//! declaration and a later definition of one name share one function or variable.

use std::collections::{HashMap, HashSet};

use margay_ptx::ast::{
    self, Attribute, FunctionDirectiveKind as Directive, FunctionKind, Item, ScalarType, Span,
    StateSpace, Symbol,
};

use super::LowerError;
use super::debug::Debug;
use super::function::Lower;
use super::names::{Entity, ModuleName, element_count, size_and_align};
use crate::module::*;
use crate::texture::Opaque;
use crate::types::Space;

/// State shared by all functions of a module.
pub(crate) struct ModuleCx<'a> {
    pub(super) ast: &'a ast::Module,
    /// The capability of the device, times ten.
    pub(super) device: u32,
    pub(super) module: Module,
    pub(super) debug: Debug,
    names: HashMap<Symbol, ModuleName>,
    errors: Vec<(Span, String)>,
    /// What each function was declared as: its definition, if there is one.
    signatures: Vec<&'a ast::Function>,
    /// Names of hoisted variables in use.
    hoisted: HashSet<Box<str>>,
    /// Variables in the local memory of functions, where the module tells of them.
    pub(super) frames: HashMap<&'a str, &'a [(u32, u32)]>,
}

pub(super) fn lower_module(ast: &ast::Module, device: u32) -> Result<Module, Vec<LowerError>> {
    let mut cx = ModuleCx {
        ast,
        device,
        module: Module::default(),
        debug: Debug::new(ast),
        names: HashMap::new(),
        errors: Vec::new(),
        signatures: Vec::new(),
        hoisted: HashSet::new(),
        frames: ast.frames.iter().map(|f| (&*f.function, &*f.variables)).collect(),
    };
    cx.header();
    cx.collect();
    cx.initialisers();
    cx.bodies();
    if cx.errors.is_empty() {
        cx.module.files = cx.debug.files;
        cx.module.locs = cx.debug.locs;
        crate::library::provide(&mut cx.module);
        return Ok(cx.module);
    }
    cx.errors.sort_by_key(|(span, _)| *span);
    let located = |(span, message): (Span, String)| {
        let at = ast.lines.locate(span.start);
        LowerError { message, line: at.line, column: at.column }
    };
    Err(cx.errors.into_iter().map(located).collect())
}

impl<'a> ModuleCx<'a> {
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push((span, message.into()));
    }

    /// What a name means at module scope. A function's address being taken is for the caller to note.
    pub(super) fn find(&self, name: Symbol) -> Option<Entity> {
        self.names.get(&name).map(ModuleName::entity)
    }

    pub(super) fn module_name(&self, name: Symbol) -> Option<&ModuleName> {
        self.names.get(&name)
    }

    /// The definition of a function, or a declaration of it.
    pub(super) fn signature(&self, id: FuncId) -> Option<&'a ast::Function> {
        self.signatures.get(id.0 as usize).copied()
    }

    /// Whether this module has the function's body.
    pub(super) fn is_defined(&self, id: FuncId) -> bool {
        self.signature(id).is_some_and(|f| f.body.is_some())
    }

    fn header(&mut self) {
        let ast = self.ast;
        let options = &ast.target.options;
        let named = options.iter().find(|o| {
            let text = ast.name(o.symbol);
            text.starts_with("sm_") || text.starts_with("compute_")
        });
        let target = named.map_or("", |o| ast.name(o.symbol));
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() {
            self.error(ast.target.span, "`.target` names no architecture");
        }
        // Newer modules must say 64; the old default is 32.
        let address_bits = ast.address_size.map_or(32, |a| a.bits);
        if !matches!(address_bits, 32 | 64) {
            let span = ast.address_size.map_or(ast.target.span, |a| a.span);
            self.error(span, "`.address_size` is 32 or 64");
        }
        self.module.ptx_version = (ast.version.major as u16, ast.version.minor as u16);
        self.module.sm = digits.parse().unwrap_or(0);
        self.module.target = target.to_string();
        self.module.address_bits = address_bits;
    }

    fn collect(&mut self) {
        let ast = self.ast;
        let aliases: HashSet<Symbol> = ast
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Alias(alias) => Some(alias.alias.symbol),
                _ => None,
            })
            .collect();
        for item in &ast.items {
            match item {
                Item::Function(function) if !aliases.contains(&function.name.symbol) => {
                    self.collect_function(function);
                }
                Item::Function(_) => {}
                Item::Variable(var) => self.collect_variable(var),
                // Alias targets are functions that may follow; files and sections are read already.
                Item::Alias(_) | Item::File(_) | Item::Section(_) | Item::Dwarf(_) => {}
                // Hints to an optimising assembler.
                Item::Pragma(_) => {}
                // A later `.target` or `.version` widens what the text may use; all is allowed.
                Item::Target(_) | Item::Version(_) => {}
                Item::AddressSize(size) => {
                    if size.bits != self.module.address_bits {
                        self.error(size.span, "a second, different `.address_size`");
                    }
                }
            }
        }
        for item in &ast.items {
            let Item::Alias(alias) = item else { continue };
            match self.names.get(&alias.aliasee.symbol) {
                Some(ModuleName::Func(id)) => {
                    let name = ModuleName::Func(*id);
                    self.names.insert(alias.alias.symbol, name);
                }
                Some(_) | None => {
                    self.error(alias.aliasee.span, "an alias must be of a function of this module");
                }
            }
        }
    }

    fn collect_function(&mut self, function: &'a ast::Function) {
        let name = function.name;
        let id = match self.names.get(&name.symbol) {
            Some(ModuleName::Func(id)) => *id,
            Some(_) => {
                let text = self.ast.name(name.symbol);
                return self.error(name.span, format!("`{text}` is declared twice"));
            }
            None => {
                let id = FuncId(self.module.functions.len() as u32);
                self.names.insert(name.symbol, ModuleName::Func(id));
                self.module.functions.push(Function {
                    name: self.ast.name(name.symbol).into(),
                    linkage: linkage(function.linkage),
                    ..Function::default()
                });
                self.signatures.push(function);
                id
            }
        };
        if function.body.is_some() {
            self.signatures[id.0 as usize] = function;
        }
        let out = &mut self.module.functions[id.0 as usize];
        out.is_entry = function.kind == FunctionKind::Entry;
        // `.extern` on a declaration gives way to whatever the definition says.
        if function.body.is_some() || out.linkage == Linkage::Internal {
            out.linkage = linkage(function.linkage);
        }
    }

    fn collect_variable(&mut self, var: &'a ast::Variable) {
        let text = self.ast.name(var.name.symbol);
        let entity = match var.space {
            StateSpace::Global | StateSpace::Const | StateSpace::Shared | StateSpace::Tex => {
                if let Some(ModuleName::Global(id)) = self.names.get(&var.name.symbol) {
                    return self.merge(*id, var);
                }
                match self.global(var, text.into()) {
                    Some(global) => {
                        self.module.globals.push(global);
                        ModuleName::Global(GlobalId(self.module.globals.len() as u32 - 1))
                    }
                    None => return,
                }
            }
            StateSpace::Local => ModuleName::Unusable("a `.local` variable of module scope"),
            StateSpace::Reg => ModuleName::Unusable("a register of module scope"),
            StateSpace::Param => ModuleName::Unusable("a `.param` variable of module scope"),
            StateSpace::Sreg => ModuleName::Unusable("a special register declared in the module"),
        };
        if self.names.insert(var.name.symbol, entity).is_some() {
            self.error(var.name.span, format!("`{text}` is declared twice"));
        }
    }

    /// A second declaration of a variable: `.extern` and definition, in either order.
    fn merge(&mut self, id: GlobalId, var: &'a ast::Variable) {
        let text = self.ast.name(var.name.symbol);
        let Some(new) = self.global(var, text.into()) else { return };
        let old = &mut self.module.globals[id.0 as usize];
        match (old.linkage, new.linkage) {
            (Linkage::Extern, _) => *old = new,
            (_, Linkage::Extern) => {}
            _ => self.error(var.name.span, format!("`{text}` is defined twice")),
        }
    }

    /// A variable without its initialiser; `None` after an error.
    fn global(&mut self, var: &ast::Variable, name: Box<str>) -> Option<Global> {
        let space = match var.space {
            StateSpace::Const => Space::Const,
            StateSpace::Shared => Space::Shared,
            _ => Space::Global,
        };
        let linkage = linkage(var.linkage);
        let open = element_count(var).is_none() && var.dims.iter().any(Option::is_none);
        let dynamic_shared = space == Space::Shared && linkage == Linkage::Extern && open;
        let (size, align) = match size_and_align(var) {
            Some(found) => found,
            None if open => {
                let one = ast::Variable { dims: Vec::new(), ..var.clone() };
                let (_, align) = size_and_align(&one)?;
                let element = u64::from(var.ty.bits().div_ceil(8));
                let counted = match &var.init {
                    Some(init) => super::init::open_elements(init, var) * element,
                    None if linkage == Linkage::Extern => 0,
                    None => {
                        self.error(var.span, "a variable needs a size or an initialiser");
                        return None;
                    }
                };
                (counted, align)
            }
            None => {
                self.error(var.span, "the variable is too large");
                return None;
            }
        };
        if !align.is_power_of_two() || align > 1 << 20 {
            self.error(var.span, "an alignment is a power of two");
            return None;
        }
        let mut managed = false;
        for attribute in &var.attributes {
            match attribute {
                Attribute::Managed => managed = true,
                // One address in all contexts of the process: ours are unified anyway.
                Attribute::Unified(..) => {}
            }
        }
        Some(Global {
            name,
            space,
            size,
            align,
            init: Vec::new(),
            relocs: Vec::new(),
            linkage,
            managed,
            dynamic_shared,
            opaque: opaque(var),
        })
    }

    /// Makes a variable declared in a function's body one of the module.
    pub(super) fn hoist(&mut self, var: &ast::Variable, function: &str, count: u32) -> Entity {
        let mut name: Box<str> = format!("{function}::{}", self.ast.name(var.name.symbol)).into();
        if !self.hoisted.insert(name.clone()) {
            name = format!("{name}::{count}").into();
            self.hoisted.insert(name.clone());
        }
        let Some(mut global) = self.global(var, name) else {
            return Entity::Unusable("a variable that is declared wrongly");
        };
        if let Some(init) = &var.init {
            self.initialise(&mut global, var, init);
        }
        self.module.globals.push(global);
        Entity::Global(GlobalId(self.module.globals.len() as u32 - 1))
    }

    fn initialisers(&mut self) {
        for var in self.ast.variables() {
            let Some(init) = &var.init else { continue };
            let Some(ModuleName::Global(id)) = self.names.get(&var.name.symbol) else { continue };
            let id = id.0 as usize;
            let mut global = self.module.globals[id].clone();
            self.initialise(&mut global, var, init);
            self.module.globals[id] = global;
        }
    }

    fn bodies(&mut self) {
        let ast = self.ast;
        let mut defined = HashSet::new();
        for function in ast.functions() {
            let Some(ModuleName::Func(id)) = self.names.get(&function.name.symbol) else {
                continue;
            };
            let id = id.0 as usize;
            // The declaration of an alias has the aliasee's number.
            if *self.module.functions[id].name != *ast.name(function.name.symbol) {
                continue;
            }
            self.debug.reset();
            let mut out = self.module.functions[id].clone();
            if function.body.is_some() && !defined.insert(id) {
                self.error(function.name.span, format!("`{}` is defined twice", out.name));
                continue;
            }
            if function.body.is_none() && defined.contains(&id) {
                continue;
            }
            out.params.clear();
            out.rets.clear();
            out.param_size = 0;
            self.limits(function, &mut out);
            let out = Lower::run(self, function, out);
            let taken = self.module.functions[id].address_taken;
            self.module.functions[id] = Function { address_taken: taken, ..out };
        }
    }

    fn limits(&mut self, function: &ast::Function, out: &mut Function) {
        let limits = &mut out.limits;
        for directive in &function.directives {
            match &directive.kind {
                Directive::MaxNReg(n) => limits.maxnreg = Some(*n),
                Directive::MaxNTid(extents) => limits.maxntid = Some(three(extents)),
                Directive::ReqNTid(extents) => limits.reqntid = Some(three(extents)),
                Directive::MinNCtaPerSm(n) => limits.minnctapersm = Some(*n),
                Directive::ReqNCtaPerCluster(extents) => {
                    limits.reqnctapercluster = Some(three(extents));
                }
                Directive::ExplicitCluster => limits.explicit_cluster = true,
                Directive::MaxClusterRank(n) => limits.maxclusterrank = Some(*n),
                Directive::BlocksAreClusters => out.unsupported.push(Unsupported {
                    form: ".blocksareclusters".into(),
                    reason: "grids counted in clusters".into(),
                    ptx_line: self.ast.lines.line(directive.span),
                }),
                // Bounds and hints for an assembler's register allocation and code layout.
                Directive::MaxNCtaPerSm(_)
                | Directive::NoReturn
                | Directive::Pragma(_)
                | Directive::AbiPreserve(_)
                | Directive::AbiPreserveControl(_) => {}
            }
        }
    }
}

/// One to three extents; missing ones are 1.
fn three(extents: &[u32]) -> [u32; 3] {
    let at = |i: usize| extents.get(i).copied().unwrap_or(1);
    [at(0), at(1), at(2)]
}

/// What a variable of an opaque type, or of PTX 1.x's `.tex` space, stands for.
fn opaque(var: &ast::Variable) -> Option<Opaque> {
    match (var.space, var.ty) {
        (StateSpace::Tex, _) | (_, ScalarType::Texref) => Some(Opaque::Texture),
        (_, ScalarType::Samplerref) => Some(Opaque::Sampler),
        (_, ScalarType::Surfref) => Some(Opaque::Surface),
        _ => None,
    }
}

fn linkage(linkage: Option<ast::Linkage>) -> Linkage {
    match linkage {
        None => Linkage::Internal,
        Some(ast::Linkage::Extern) => Linkage::Extern,
        Some(ast::Linkage::Visible) => Linkage::Visible,
        Some(ast::Linkage::Weak) => Linkage::Weak,
        Some(ast::Linkage::Common) => Linkage::Common,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{errors, module};

    #[test]
    fn variables_functions_and_limits() {
        let module = module(
            ".extern .shared .align 16 .b8 dyn[];\n.extern .global .u32 far;\n\
             .visible .global .attribute(.managed) .u32 m;\n.weak .const .u32 w;\n\
             .extern .func f(.param .b32 x);\n.func f(.param .b32 x) { ret; }\n.alias g, f;\n\
             .visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[12])\n\
             .maxntid 128, 2 .minnctapersm 3 .maxnreg 40 {\n\
             .shared .u32 own[4]; { .shared .u32 own[2]; }\n ret; }\n",
        );
        let text = module.to_string();
        let lines = text.lines().filter(|l| !l.starts_with("loc"));
        expect![[r#"
            module version=8.6 sm=100 target="sm_100a" address_bits=64
            var "dyn" shared extern size=0 align=16 dynamic_shared
            var "far" global extern size=4 align=4
            var "m" global visible size=4 align=4 managed
            var "w" const weak size=4 align=4
            var "k::own" shared internal size=16 align=4
            var "k::own::2" shared internal size=8 align=4

            func "f" internal {
              param "x" offset=0 size=4 align=4 place=%0:i32
              frame size=0 align=16
              regs w
            b0:
              ret !1
            }

            entry "k" visible {
              param_size 28
              param "a" offset=0 size=1 align=1
              param "p" offset=8 size=8 align=8 pointee=global
              param "s" offset=16 size=12 align=8
              frame size=0 align=16
              limits maxntid=[128, 2, 1] minnctapersm=3 maxnreg=40
            b0:
              exit !2
            }
        "#]]
        .assert_eq(&lines.map(|l| format!("{l}\n")).collect::<String>());
    }

    #[test]
    fn wrong_modules() {
        expect![[r#"
            PTX 5:7: `f` is defined twice
            PTX 7:14: `a` is defined twice
            PTX 8:11: an alias must be of a function of this module
            PTX 9:37: `r` is declared twice
            PTX 10:1: an alignment is a power of two
        "#]].assert_eq(&errors(
            ".func f() { ret; }\n.func f() { ret; }\n.global .u32 a;\n.global .u64 a;\n\
             .alias g, nobody;\n.entry k() { .reg .b32 r; .reg .b32 r; }\n.global .align 3 .u32 c;\n",
        ));
    }
}

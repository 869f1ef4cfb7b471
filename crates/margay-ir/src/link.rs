// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking: several modules become one, and what one declares is what another defines.
//!
//! Rules are those of PTX's linking directives: `.visible` names are shared and defined once, `.weak`
//! and `.common` ones give way, names without a directive stay private (and get a suffix where
//! another item has the name). A declaration and its definition must agree in shape.
//!
//! Invariant: an input that is refused leaves the linker as it was.
//!
//! Limit: an alias has no name of its own in the IR, so other modules do not find it.

use std::collections::{HashMap, HashSet};

use crate::inst::{AddrOf, Attr, Callee, Inst, LocId};
use crate::module::*;

/// Why modules cannot be linked. The texts are those of a device linker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error("Undefined reference to '{symbol}' in '{input}'")]
    Undefined { symbol: String, input: String },
    #[error("Multiple definition of '{symbol}' in '{input}', first defined in '{first}'")]
    Duplicate { symbol: String, input: String, first: String },
    #[error("Prototype doesn't match for '{symbol}' in '{input}', first defined in '{first}'")]
    Prototype { symbol: String, input: String, first: String },
    #[error("Size doesn't match for '{symbol}' in '{input}', first specified in '{first}'")]
    Size { symbol: String, input: String, first: String },
    #[error("Type doesn't match for '{symbol}' in '{input}', first specified in '{first}'")]
    Kind { symbol: String, input: String, first: String },
}

#[derive(Clone, Copy)]
enum Item {
    Func(usize),
    Global(usize),
}

/// A name that inputs share.
struct Symbol {
    item: Item,
    /// Index of the input that the item is from.
    input: usize,
}

/// What becomes of an input's item: its place in the result, and whether it is put there.
#[derive(Clone, Copy)]
struct Fate {
    to: usize,
    taken: bool,
}

/// See the module's header.
#[derive(Default)]
pub struct Linker {
    out: Module,
    inputs: Vec<String>,
    symbols: HashMap<Box<str>, Symbol>,
    /// The inputs that the result's items are from.
    function_inputs: Vec<usize>,
    global_inputs: Vec<usize>,
}

/// How binding a definition is; a declaration defines nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Declared,
    Weak,
    Strong,
}

fn function_strength(f: &Function) -> Strength {
    match f.linkage {
        _ if f.blocks.is_empty() => Strength::Declared,
        Linkage::Weak | Linkage::Common => Strength::Weak,
        Linkage::Internal | Linkage::Visible | Linkage::Extern => Strength::Strong,
    }
}

fn global_strength(g: &Global) -> Strength {
    match g.linkage {
        Linkage::Extern => Strength::Declared,
        Linkage::Weak | Linkage::Common => Strength::Weak,
        Linkage::Internal | Linkage::Visible => Strength::Strong,
    }
}

/// Whether caller and callee pass the same.
fn same_prototype(a: &Function, b: &Function) -> bool {
    let same = |a: &[Param], b: &[Param]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.size, a.align) == (b.size, b.align))
    };
    a.is_entry == b.is_entry && same(&a.params, &b.params) && same(&a.rets, &b.rets)
}

impl Linker {
    /// Adds a module; `input` is its name in messages.
    pub fn add(&mut self, input: &str, module: Module) -> Result<(), LinkError> {
        let number = self.inputs.len();
        let mut names = HashMap::new();
        let functions = self.place_functions(input, &module, &mut names)?;
        let globals = self.place_globals(input, &module, &mut names)?;
        // From here on nothing fails.
        for (name, item) in names {
            self.symbols.insert(name, Symbol { item, input: number });
        }
        self.inputs.push(input.to_owned());
        let out = &mut self.out;
        out.ptx_version = out.ptx_version.max(module.ptx_version);
        out.address_bits = module.address_bits;
        if module.sm >= out.sm {
            (out.sm, out.target) = (module.sm, module.target);
        }
        let files = out.files.len() as u32;
        out.files.extend(module.files);
        out.sources.extend(module.sources);
        if out.locs.is_empty() {
            out.locs.push(SrcLoc::default());
        }
        // Location 0 is "unknown" in every module.
        let first = out.locs.len() as u32;
        let moved = |loc: u32| if loc == 0 { 0 } else { first + loc - 1 };
        out.locs.extend(module.locs.into_iter().skip(1).map(|loc| SrcLoc {
            file: loc.file.map(|f| f + files),
            inlined_at: loc.inlined_at.map(moved),
            ..loc
        }));
        let func = |id: FuncId| FuncId(functions[id.0 as usize].to as u32);
        let global = |id: GlobalId| GlobalId(globals[id.0 as usize].to as u32);
        for (mut f, fate) in module.functions.into_iter().zip(&functions) {
            for block in &mut f.blocks {
                block.term_loc = LocId(moved(block.term_loc.0));
                for inst in &mut block.insts {
                    inst.loc = LocId(moved(inst.loc.0));
                    rename(inst, &func, &global);
                }
            }
            if fate.to == out.functions.len() {
                out.functions.push(f);
                self.function_inputs.push(number);
                continue;
            }
            let old = &mut out.functions[fate.to];
            let address_taken = old.address_taken | f.address_taken;
            if fate.taken {
                *old = f;
                self.function_inputs[fate.to] = number;
            }
            old.address_taken = address_taken;
        }
        for (mut g, fate) in module.globals.into_iter().zip(&globals) {
            for reloc in &mut g.relocs {
                reloc.target = match reloc.target {
                    RelocTarget::Global(id) => RelocTarget::Global(global(id)),
                    RelocTarget::Func(id) => RelocTarget::Func(func(id)),
                };
            }
            if fate.to == out.globals.len() {
                out.globals.push(g);
                self.global_inputs.push(number);
                continue;
            }
            let old = &mut out.globals[fate.to];
            let align = old.align.max(g.align);
            // Sizes differ only where one is open, or both are `.common`.
            let size = old.size.max(g.size);
            if fate.taken {
                *old = g;
                self.global_inputs[fate.to] = number;
            }
            (old.align, old.size) = (align, size);
        }
        Ok(())
    }

    /// The names that are used and that no input defines yet.
    pub fn missing(&self) -> Vec<String> {
        let symbol = |error| match error {
            LinkError::Undefined { symbol, .. } => Some(symbol),
            LinkError::Duplicate { .. }
            | LinkError::Prototype { .. }
            | LinkError::Size { .. }
            | LinkError::Kind { .. } => None,
        };
        self.undefined().into_iter().filter_map(symbol).collect()
    }

    /// The result, all of whose names are defined.
    pub fn finish(mut self) -> Result<Module, Vec<LinkError>> {
        let undefined = self.undefined();
        if !undefined.is_empty() {
            return Err(undefined);
        }
        let functions = self.out.functions.iter_mut();
        own_names(functions.map(|f| (&mut f.name, f.linkage)));
        own_names(self.out.globals.iter_mut().map(|g| (&mut g.name, g.linkage)));
        Ok(self.out)
    }

    /// Names that code or initialisers use and no input defines.
    fn undefined(&self) -> Vec<LinkError> {
        let mut found: Vec<LinkError> = Vec::new();
        let mut note = |symbol: &str, input: usize| {
            let input = self.inputs[input].clone();
            let error = LinkError::Undefined { symbol: symbol.to_owned(), input };
            if !found.contains(&error) {
                found.push(error);
            }
        };
        let missing = |id: FuncId| {
            let f = self.out.functions.get(id.0 as usize)?;
            f.blocks.is_empty().then_some(&*f.name)
        };
        for (f, &input) in self.out.functions.iter().zip(&self.function_inputs) {
            for inst in f.blocks.iter().flat_map(|b| &b.insts) {
                let used = match &inst.attr {
                    Attr::Call(call) => match call.callee {
                        Callee::Direct(id) => Some(id),
                        Callee::Indirect(_) => None,
                    },
                    Attr::Address { of: AddrOf::Func(id), .. } => Some(*id),
                    _ => None,
                };
                if let Some(name) = used.and_then(missing) {
                    note(name, input);
                }
            }
        }
        for (g, &input) in self.out.globals.iter().zip(&self.global_inputs) {
            if g.linkage == Linkage::Extern && !g.dynamic_shared {
                note(&g.name, input);
            }
            for reloc in &g.relocs {
                if let RelocTarget::Func(id) = reloc.target
                    && let Some(name) = missing(id)
                {
                    note(name, input);
                }
            }
        }
        found
    }

    fn place_functions(
        &self,
        input: &str,
        module: &Module,
        names: &mut HashMap<Box<str>, Item>,
    ) -> Result<Vec<Fate>, LinkError> {
        let mut next = self.out.functions.len();
        let mut place = |f: &Function| {
            let strength = function_strength(f);
            let known = self.symbols.get(&f.name).filter(|_| f.linkage != Linkage::Internal);
            let Some(known) = known else {
                let to = next;
                next += 1;
                if f.linkage != Linkage::Internal {
                    names.insert(f.name.clone(), Item::Func(to));
                }
                return Ok(Fate { to, taken: true });
            };
            let [symbol, here, first] = self.context(&f.name, input, known);
            let Item::Func(to) = known.item else {
                return Err(LinkError::Kind { symbol, input: here, first });
            };
            let old = &self.out.functions[to];
            if !same_prototype(old, f) {
                return Err(LinkError::Prototype { symbol, input: here, first });
            }
            let before = function_strength(old);
            if before == Strength::Strong && strength == Strength::Strong {
                return Err(LinkError::Duplicate { symbol, input: here, first });
            }
            if strength > before {
                names.insert(f.name.clone(), Item::Func(to));
            }
            Ok(Fate { to, taken: strength > before })
        };
        module.functions.iter().map(&mut place).collect()
    }

    fn place_globals(
        &self,
        input: &str,
        module: &Module,
        names: &mut HashMap<Box<str>, Item>,
    ) -> Result<Vec<Fate>, LinkError> {
        let mut next = self.out.globals.len();
        let mut place = |g: &Global| {
            let strength = global_strength(g);
            let known = self.symbols.get(&g.name).filter(|_| g.linkage != Linkage::Internal);
            let Some(known) = known else {
                let to = next;
                next += 1;
                if g.linkage != Linkage::Internal {
                    names.insert(g.name.clone(), Item::Global(to));
                }
                return Ok(Fate { to, taken: true });
            };
            let [symbol, here, first] = self.context(&g.name, input, known);
            let Item::Global(to) = known.item else {
                return Err(LinkError::Kind { symbol, input: here, first });
            };
            let old = &self.out.globals[to];
            if (old.space, old.dynamic_shared) != (g.space, g.dynamic_shared) {
                return Err(LinkError::Kind { symbol, input: here, first });
            }
            let common = old.linkage == Linkage::Common && g.linkage == Linkage::Common;
            // `.extern x[]` has no size.
            let open = (old.linkage == Linkage::Extern && old.size == 0)
                || (g.linkage == Linkage::Extern && g.size == 0);
            if old.size != g.size && !common && !open {
                return Err(LinkError::Size { symbol, input: here, first });
            }
            let before = global_strength(old);
            if before == Strength::Strong && strength == Strength::Strong {
                return Err(LinkError::Duplicate { symbol, input: here, first });
            }
            if strength > before {
                names.insert(g.name.clone(), Item::Global(to));
            }
            Ok(Fate { to, taken: strength > before })
        };
        module.globals.iter().map(&mut place).collect()
    }

    /// Name, this input and the earlier one, for a message.
    fn context(&self, name: &str, input: &str, known: &Symbol) -> [String; 3] {
        [name.to_owned(), input.to_owned(), self.inputs[known.input].clone()]
    }
}

fn rename(
    inst: &mut Inst,
    func: &impl Fn(FuncId) -> FuncId,
    global: &impl Fn(GlobalId) -> GlobalId,
) {
    match &mut inst.attr {
        Attr::Call(call) => match &mut call.callee {
            Callee::Direct(id) => *id = func(*id),
            Callee::Indirect(_) => {}
        },
        Attr::Address { of, .. } => match of {
            AddrOf::Global(id) => *id = global(*id),
            AddrOf::Func(id) => *id = func(*id),
            AddrOf::Local(_) | AddrOf::Param(_) => {}
        },
        Attr::None
        | Attr::Float(_)
        | Attr::MinMax(_)
        | Attr::IntCmp(_)
        | Attr::FloatCmp { .. }
        | Attr::Clamp(_)
        | Attr::Lop3(_)
        | Attr::Mem(_)
        | Attr::Atom { .. }
        | Attr::Copy { .. }
        | Attr::Space(_)
        | Attr::Sreg(_)
        | Attr::Vote(_)
        | Attr::Shfl(_)
        | Attr::Redux(_)
        | Attr::Barrier { .. }
        | Attr::Fence { .. }
        | Attr::Mbarrier { .. }
        | Attr::Builtin(_)
        | Attr::Syscall(_)
        | Attr::Texture(_)
        | Attr::Message(_) => {}
    }
}

/// Gives private items a suffix where their name is taken.
fn own_names<'a>(items: impl Iterator<Item = (&'a mut Box<str>, Linkage)>) {
    let items: Vec<_> = items.collect();
    let shared = items.iter().filter(|(_, linkage)| *linkage != Linkage::Internal);
    let mut taken: HashSet<Box<str>> = shared.map(|(name, _)| (**name).clone()).collect();
    for (name, linkage) in items {
        if linkage != Linkage::Internal {
            continue;
        }
        let plain = name.clone();
        let mut count = 1;
        while !taken.insert(name.clone()) {
            count += 1;
            *name = format!("{plain}.{count}").into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Module {
        let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}");
        let ast = margay_ptx::parse_bytes(text.as_bytes()).expect("the text parses");
        crate::lower(&ast).expect("the text is right")
    }

    fn link(inputs: &[&str]) -> Result<Module, Vec<String>> {
        let mut linker = Linker::default();
        for (input, name) in inputs.iter().zip(["a", "b", "c"]) {
            linker.add(name, module(input)).map_err(|e| vec![e.to_string()])?;
        }
        let linked = linker.finish();
        let linked =
            linked.map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        crate::verify(&linked).expect("linked IR is right");
        Ok(linked)
    }

    const CALLS: &str = ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
    const DEFINES: &str = ".visible .func f() { ret; }\n";

    #[test]
    fn a_call_finds_its_function_in_either_order() {
        for inputs in [[CALLS, DEFINES], [DEFINES, CALLS]] {
            let linked = link(&inputs).unwrap();
            assert_eq!(linked.functions.len(), 2);
            assert!(linked.functions.iter().all(|f| !f.blocks.is_empty()));
        }
    }

    #[test]
    fn errors_are_a_device_linkers() {
        let strong_twice = "Multiple definition of 'f' in 'b', first defined in 'a'";
        assert_eq!(link(&[CALLS, ""]).unwrap_err(), ["Undefined reference to 'f' in 'a'"]);
        assert_eq!(link(&[DEFINES, DEFINES]).unwrap_err(), [strong_twice]);
        let other = ".visible .func f(.param .b32 x) { ret; }";
        let prototype = "Prototype doesn't match for 'f' in 'b', first defined in 'a'";
        assert_eq!(link(&[CALLS, other]).unwrap_err(), [prototype]);
        let (narrow, wide) = (".extern .global .b32 g;", ".visible .global .b64 g;");
        let size = "Size doesn't match for 'g' in 'b', first specified in 'a'";
        assert_eq!(link(&[narrow, wide]).unwrap_err(), [size]);
        let kind = "Type doesn't match for 'f' in 'b', first specified in 'a'";
        assert_eq!(link(&[DEFINES, ".visible .global .b32 f;"]).unwrap_err(), [kind]);
    }

    #[test]
    fn weak_gives_way_and_private_stays() {
        let weak = ".weak .global .u32 v = 1;\n.global .u32 own = 2;\n.global .u64 to = own;\n";
        let strong =
            ".visible .global .u32 v = 3;\n.global .u32 own = 4;\n.global .u64 to2 = own;\n";
        for inputs in [[weak, strong], [strong, weak]] {
            let linked = link(&inputs).unwrap();
            let value = |id: GlobalId| linked.globals[id.0 as usize].init[0];
            let global = |name: &str| linked.global(name).unwrap();
            assert_eq!(value(global("v")), 3);
            for (pointer, to) in [("to", 2), ("to2", 4)] {
                let pointer = &linked.globals[global(pointer).0 as usize];
                let RelocTarget::Global(id) = pointer.relocs[0].target else {
                    panic!("no variable")
                };
                assert_eq!(value(id), to);
            }
            assert!(linked.global("own").is_some() && linked.global("own.2").is_some());
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that begin without a value, marked for who checks programs.
//!
//! LLVM computes with such values as it likes, and little of them is left in PTX: `f - floor(f)` of an undefined element
//! is a constant, and a vector that was set in part is stored whole, with a register that was never set, as a vector
//! of three is. So where a variable's life begins it is given what a function returns that LLVM knows nothing of. Where
//! every path sets the variable before it is read, LLVM drops the call, and the code is what it would be without. What
//! is left are calls whose results are read: the check of initialisation takes these for undefined, and the name of the
//! function has the variable's.
//!
//! Works on the text of LLVM IR as clang leaves it before any optimisation.
//!
//! Limits: unions are left alone, since nobody sets all their members, and variables of more than [`MOST`] bytes, which
//! mostly lie in memory, where what was written is known anyway; and what a jump leads past the declaration of.

use std::collections::HashMap;
use std::fmt::Write as _;

/// How the functions' names begin; a number and the variable's name follow.
const PREFIX: &str = "__margay_undefined_";

/// The largest variable that is marked, in bytes.
const MOST: u32 = 64;

/// What LLVM may do with a call whose result nobody reads: drop it.
const FREE: &str = "nounwind willreturn memory(none)";

/// Where a variable's life begins, as clang says it.
const BEGINS: &str = "call void @llvm.lifetime.start.";

/// A type of LLVM's, as far as variables can be marked.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    /// `i8`, `float`, `ptr addrspace(1)`; with its bits.
    Scalar(String, u32),
    Vector(u32, Box<Type>),
    Array(u32, Box<Type>),
    /// Its members, and whether it is packed.
    Struct(Vec<Type>, bool),
    /// Nothing of it is marked; bytes, at least.
    Other(u32),
}

impl Type {
    /// Bytes that are marked.
    fn bytes(&self) -> u32 {
        match self {
            Type::Scalar(_, bits) => bits / 8,
            Type::Vector(n, of) | Type::Array(n, of) => n.saturating_mul(of.bytes()),
            Type::Struct(of, _) => of.iter().fold(0, |sum, of| sum.saturating_add(of.bytes())),
            Type::Other(bytes) => *bytes,
        }
    }

    /// Whether its parts may lie anywhere.
    fn is_packed(&self) -> bool {
        match self {
            Type::Struct(of, packed) => *packed || of.iter().any(Type::is_packed),
            Type::Array(_, of) => of.is_packed(),
            Type::Scalar(..) | Type::Vector(..) | Type::Other(_) => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Type::Scalar(name, _) => name.clone(),
            Type::Vector(n, of) => format!("<{n} x {}>", of.text()),
            Type::Array(..) | Type::Struct(..) | Type::Other(_) => String::new(),
        }
    }
}

/// The module with its variables marked.
pub fn mark(ir: &str) -> String {
    let structs: HashMap<&str, &str> =
        ir.lines().filter_map(|l| l.strip_prefix('%')?.split_once(" = type ")).collect();
    let mut out = String::with_capacity(ir.len() * 2);
    let mut functions = String::new();
    let mut variables: HashMap<&str, &str> = HashMap::new();
    let mut count = 0;
    for line in ir.lines() {
        out.push_str(line);
        out.push('\n');
        if line == "}" {
            variables.clear();
        }
        let line = line.trim_start();
        if let Some((name, rest)) = line.strip_prefix('%').and_then(|l| l.split_once(" = alloca "))
        {
            variables.insert(name, rest);
        } else if let Some((name, place)) = begins(line)
            && let Some(text) = variables.get(name)
            && let Some((ty, rest)) = parse(text, &structs)
            && rest.starts_with(", align ")
            && (1..=MOST).contains(&ty.bytes())
        {
            let whole = &text[..text.len() - rest.len()];
            let align = if ty.is_packed() { ", align 1" } else { "" };
            let mut marks = Marks {
                out: String::new(),
                number: count,
                values: 0,
                elements: 0,
                whole,
                align,
                place,
            };
            marks.part(&ty, &format!("%{name}"), &mut vec![0]);
            let plain = shown(name, &variables);
            let _ = writeln!(
                out,
                "  %margay.{count} = call i32 @{PREFIX}{count}_{plain}(i32 0) {FREE}{place}\n{}",
                marks.out.trim_end()
            );
            // The assembly text says nothing, which LLVM does not know.
            let _ = writeln!(
                functions,
                "define internal i32 @{PREFIX}{count}_{plain}(i32 %n) noinline {FREE} {{\n  \
                 %u = call i32 asm \"\", \"=r,0\"(i32 %n) {FREE}\n  ret i32 %u\n}}"
            );
            count += 1;
        }
    }
    // Metadata may come last, and functions anywhere.
    out + &functions
}

/// The variable whose life begins on a line, and where that is in the source: `, !dbg !7`.
fn begins(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(BEGINS)?;
    let (_, rest) = rest.rsplit_once("ptr %")?;
    let (name, rest) = rest.split_once(')')?;
    Some((
        name,
        rest.find(", !dbg !").map_or("", |at| rest[at..].split(", !tbaa").next().unwrap_or("")),
    ))
}

/// A variable's name in the source. LLVM puts a number behind one that comes again in a function.
fn shown<'a>(name: &'a str, variables: &HashMap<&str, &str>) -> &'a str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = |text: &str| variables.contains_key(text);
    let shown = if known(plain) { plain } else { name };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if shown.starts_with(|c: char| c.is_ascii_digit()) || !shown.chars().all(fits) {
        ""
    } else {
        shown
    }
}

/// The type that a text begins with, and what follows.
fn parse<'a>(text: &'a str, structs: &HashMap<&str, &str>) -> Option<(Type, &'a str)> {
    let scalar = |name: &str, bits, rest| Some((Type::Scalar(name.to_owned(), bits), rest));
    for (name, bits) in [
        ("i8", 8),
        ("i16", 16),
        ("i32", 32),
        ("i64", 64),
        ("half", 16),
        ("float", 32),
        ("double", 64),
    ] {
        let rest = text.strip_prefix(name);
        if let Some(rest) = rest.filter(|r| !r.starts_with(|c: char| c.is_ascii_alphanumeric())) {
            return scalar(name, bits, rest);
        }
    }
    if let Some(rest) = text.strip_prefix("ptr") {
        let end = rest.strip_prefix(" addrspace(").and_then(|r| r.find(')')).map(|at| at + 12);
        let (space, rest) = rest.split_at(end.unwrap_or(0));
        return scalar(&format!("ptr{space}"), 64, rest);
    }
    if let Some(rest) = text.strip_prefix("<{") {
        return members(rest, "}>", structs);
    }
    if let Some(rest) = text.strip_prefix('{') {
        return members(rest, "}", structs);
    }
    let close = if text.starts_with('<') { '>' } else { ']' };
    if let Some(rest) = text.strip_prefix(['<', '[']) {
        let (n, rest) = rest.split_once(" x ")?;
        let (of, rest) = parse(rest, structs)?;
        let (n, of) = (n.parse().ok()?, Box::new(of));
        let ty = if close == '>' { Type::Vector(n, of) } else { Type::Array(n, of) };
        return Some((ty, rest.strip_prefix(close)?));
    }
    let rest = text.strip_prefix('%')?;
    let end = match rest.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => rest.find([',', ' ', '}', '>', ']']).unwrap_or(rest.len()),
    };
    let (name, rest) = rest.split_at(end);
    if name.trim_start_matches('"').starts_with("union.") {
        return Some((Type::Other(0), rest));
    }
    // One that holds itself would be no type.
    let (ty, _) = parse(structs.get(name)?, structs)?;
    Some((ty, rest))
}

fn members<'a>(text: &'a str, end: &str, structs: &HashMap<&str, &str>) -> Option<(Type, &'a str)> {
    let (mut of, mut rest) = (Vec::new(), text.trim_start());
    loop {
        if let Some(rest) = rest.strip_prefix(end) {
            return Some((Type::Struct(of, end == "}>"), rest));
        }
        let (ty, behind) = parse(rest, structs)?;
        of.push(ty);
        rest = behind.trim_start_matches(',').trim_start();
    }
}

/// What is written for one variable.
struct Marks<'a> {
    out: String,
    number: u32,
    /// Names used, and elements that have a value.
    values: u32,
    elements: u32,
    /// The variable's type.
    whole: &'a str,
    align: &'static str,
    place: &'a str,
}

impl Marks<'_> {
    /// Writes an instruction with a result, and gives its name.
    fn value(&mut self, text: &str) -> String {
        let name = format!("%margay.{}.{}", self.number, self.values);
        self.values += 1;
        let _ = writeln!(self.out, "  {name} = {text}");
        name
    }

    /// A value of its own for a scalar: LLVM must not know two elements for equal.
    fn scalar(&mut self, ty: &str, bits: u32) -> String {
        let (own, n) = (format!("%margay.{}", self.number), self.elements);
        self.elements += 1;
        if bits == 64 {
            let text = format!(
                "call i64 asm \"mov.b64 $0, {{$1, $1}}; // {n}\", \"=l,r\"(i32 {own}) {FREE}"
            );
            let wide = self.value(&text);
            return match ty {
                "i64" => wide,
                "double" => self.value(&format!("bitcast i64 {wide} to double")),
                _ => self.value(&format!("inttoptr i64 {wide} to {ty}")),
            };
        }
        let word = match n {
            0 => own,
            _ => self.value(&format!("call i32 asm \"// {n}\", \"=r,0\"(i32 {own}) {FREE}")),
        };
        match ty {
            "i32" => word,
            "float" => self.value(&format!("bitcast i32 {word} to float")),
            "half" => {
                let half = self.value(&format!("trunc i32 {word} to i16"));
                self.value(&format!("bitcast i16 {half} to half"))
            }
            _ => self.value(&format!("trunc i32 {word} to {ty}")),
        }
    }

    /// Stores to the part of a variable at `path`.
    fn part(&mut self, ty: &Type, variable: &str, path: &mut Vec<u32>) {
        let value = match ty {
            Type::Other(_) => return,
            Type::Scalar(name, bits) => self.scalar(name, *bits),
            Type::Vector(n, of) => {
                let Type::Scalar(name, bits) = &**of else { return };
                let mut all = "poison".to_owned();
                for i in 0..*n {
                    let element = self.scalar(name, *bits);
                    let text = ty.text();
                    all = self
                        .value(&format!("insertelement {text} {all}, {name} {element}, i32 {i}"));
                }
                all
            }
            Type::Array(n, of) => {
                return (0..*n).for_each(|i| self.member(of, variable, path, i));
            }
            Type::Struct(of, _) => {
                let members = of.iter().zip(0..);
                return members.for_each(|(of, i)| self.member(of, variable, path, i));
            }
        };
        let Marks { place, whole, align, .. } = *self;
        let at = match path.len() {
            1 => variable.to_owned(),
            _ => {
                let path: String = path.iter().map(|i| format!(", i32 {i}")).collect();
                self.value(&format!("getelementptr inbounds {whole}, ptr {variable}{path}"))
            }
        };
        let _ = writeln!(self.out, "  store {} {value}, ptr {at}{align}{place}", ty.text());
    }

    fn member(&mut self, of: &Type, variable: &str, path: &mut Vec<u32>, i: u32) {
        path.push(i);
        self.part(of, variable, path);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    const MODULE: &str = "%struct.S = type { <3 x float>, i8, %union.U, [2 x i16] }\n\
        %union.U = type { double }\n\
        define void @f() {\n  %s = alloca %struct.S, align 16\n  %x = alloca i32, align 4\n  \
        %x5 = alloca ptr addrspace(3), align 8\n  %big = alloca [65 x i8], align 1\n  \
        call void @llvm.lifetime.start.p0(i64 32, ptr %s) #4, !dbg !7\n  \
        call void @llvm.lifetime.start.p0(i64 4, ptr %x) #4, !dbg !8\n  \
        call void @llvm.lifetime.start.p0(i64 8, ptr %x5) #4\n  \
        call void @llvm.lifetime.start.p0(i64 65, ptr %big) #4\n}\n";

    #[test]
    fn each_variable_has_a_function_with_its_name() {
        let marked = mark(MODULE);
        let calls =
            |name: &str| marked.matches(&format!("call i32 @{PREFIX}{name}(i32 0)")).count();
        assert_eq!((calls("0_s"), calls("1_x"), calls("2_x")), (1, 1, 1));
        assert!(!marked.contains("3_") && marked.matches("define internal i32 ").count() == 3);
        assert!(
            marked.contains(&format!("(i32 0) {FREE}, !dbg !7\n"))
                && marked.contains("store i32 %margay.1, ptr %x, !dbg !8\n")
        );
        assert!(marked.contains("to ptr addrspace(3)\n"));
    }

    #[test]
    fn a_structure_is_marked_by_members_without_its_unions() {
        let marked = mark(MODULE);
        let at =
            |path: &str| marked.contains(&format!("inbounds %struct.S, ptr %s, i32 0, {path}\n"));
        assert!(at("i32 0") && at("i32 1") && at("i32 3, i32 1") && !at("i32 2"));
        assert!(
            marked.contains("insertelement <3 x float> poison") && !marked.contains("double %")
        );
    }

    /// A call is left where a path leads to a read that nothing was set for, and nowhere else; with options that let clang compute
    /// otherwise there is none.
    #[test]
    fn what_is_set_on_every_path_costs_nothing() {
        if !crate::available() {
            eprintln!("skipped: what_is_set_on_every_path_costs_nothing: no clang with libclc");
            return;
        }
        let source = "kernel void k(global float4 *out, int n) { float4 v, w; int i = n; float3 p = n; \
                      float s[4]; v.x = n; v.yzw = 1; for (int j = 0; j < 4; j++) s[j] = j; \
                      w = v * s[i & 3]; out[i] = w + p.xyzz; LAST }";
        let left = |last: &str, text: &str| {
            let options = Options { mark_undefined: true, ..Options::parse(text).unwrap() };
            let built = crate::build(&source.replace("LAST", last), &options, 90).unwrap();
            built.0.ptx.matches(PREFIX).count()
        };
        assert_eq!(left("", ""), 0);
        assert_ne!(left("float4 z; z.xy = 1; out[0] = z;", ""), 0);
        assert_eq!(left("float4 z; z.xy = 1; out[0] = z;", "-cl-mad-enable"), 0);
    }
}

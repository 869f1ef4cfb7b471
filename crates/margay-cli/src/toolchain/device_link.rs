// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device code of several objects (`-rdc=true`, `-dc`, `-dlink`): finds it in objects and archives, checks
//! that it links, and makes the object that registers it all.
//!
//! An object of separate compilation keeps its fat binary in the section `__nv_relfatbin` and, as the
//! program starts, calls `__cudaRegisterLinkedBinary<id>`. That function is made here: it collects the
//! objects' fat binaries and hands them to the runtime at once, which links them (nvcc's `link.stub`
//! has the same protocol, so its objects may be among ours).
//!
//! Invariant: what the check lets pass, the runtime links. Limit: all members of an archive that have device
//! code are linked, needed or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use margay_runtime::fatbin::Image;
use margay_runtime::image::CompileOptions;
use margay_runtime::link::Linker;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol};

use super::arch::Arch;
use super::build::Session;
use super::options::{Kind, Options, kind_of};
use super::resources;
use crate::failure::{At, Failure};

const REGISTER: &str = "__cudaRegisterLinkedBinary";
const SECTION: &str = "__nv_relfatbin";
/// What clang's identifiers of modules begin with; 16 hexadecimal digits follow.
const ID_PREFIX: &str = "__nv_";

/// An object with relocatable device code.
struct Unit {
    /// As messages name it.
    name: String,
    /// One for each source, usually one.
    ids: Vec<String>,
    /// The fat binaries, one after another.
    images: Vec<u8>,
}

/// What the inputs of a link have.
#[derive(Default)]
pub struct Inputs {
    units: Vec<Unit>,
    /// Identifiers that an earlier `-dlink` took care of.
    registered: BTreeSet<String>,
}

impl Inputs {
    /// Reads the objects just compiled, each with its source's name, and the inputs on the command line.
    pub fn read(options: &Options, compiled: &[(PathBuf, PathBuf)]) -> Result<Inputs, Failure> {
        let mut inputs = Inputs::default();
        for (source, object) in compiled {
            inputs.add_file(object, &source.display().to_string())?;
        }
        for file in linked_files(options) {
            inputs.add_file(&file, &file.display().to_string())?;
        }
        let registered = std::mem::take(&mut inputs.registered);
        inputs.units.retain(|unit| !unit.ids.iter().all(|id| registered.contains(id)));
        Ok(inputs)
    }

    /// Whether there is anything to link.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    fn add_file(&mut self, file: &Path, name: &str) -> Result<(), Failure> {
        let bytes = fs::read(file).at(file, "cannot read")?;
        if let Ok(archive) = ArchiveFile::parse(&*bytes) {
            for member in archive.members().flatten() {
                let member_name = String::from_utf8_lossy(member.name()).into_owned();
                if let Ok(data) = member.data(&*bytes) {
                    self.add_object(data, format!("{name}({member_name})"));
                }
            }
        } else {
            self.add_object(&bytes, name.to_owned());
        }
        Ok(())
    }

    /// What is no object (a linker script, say) is the linker's to judge.
    fn add_object(&mut self, bytes: &[u8], name: String) {
        let Ok(file) = object::File::parse(bytes) else { return };
        let mut ids = Vec::new();
        for symbol in file.symbols() {
            let Some(id) = symbol.name().ok().and_then(|n| n.strip_prefix(REGISTER)) else {
                continue;
            };
            if symbol.is_undefined() {
                ids.push(id.to_owned());
            } else {
                self.registered.insert(id.to_owned());
            }
        }
        let section = file.section_by_name(SECTION).and_then(|s| s.uncompressed_data().ok());
        if let (false, Some(images)) = (ids.is_empty(), section) {
            self.units.push(Unit { name, ids, images: images.into_owned() });
        }
    }

    /// Links the device code as the runtime will, for what a device linker would say.
    pub fn check(&self, options: &Options) -> Result<(), Failure> {
        let newest = options.architectures().iter().map(|arch| arch.number).max().unwrap_or(0);
        let mut linker = Linker::new(newest);
        let failed = |log: &str| Failure::Work(explained(log));
        let plain = CompileOptions::default();
        for unit in &self.units {
            for bytes in containers(&unit.images) {
                let image = Image::of(bytes).map_err(|_| {
                    Failure::Work(format!("{}: its device code is damaged", unit.name))
                })?;
                linker.add(&unit.name, &image, plain).map_err(|failure| match &*failure.log {
                    "" => Failure::Work(format!(
                        "{}: it has no PTX that runs on sm_{newest}",
                        unit.name
                    )),
                    log => failed(log),
                })?;
            }
        }
        let image = linker.complete().map_err(|failure| failed(&failure.log))?;
        if options.resource_usage {
            eprint!("{}", resources::report_linked(image, Arch { number: newest, suffix: None }));
        }
        Ok(())
    }

    /// Compiles the object that registers the device code.
    pub fn register(&self, session: &Session, output: &Path) -> Result<(), Failure> {
        let scratch = session.scratch()?;
        let source = scratch.path().join("register.c");
        fs::write(&source, self.registration()).at(&source, "cannot write")?;
        let mut command = Command::new(&session.clang.program);
        command.args(["-x", "c", "-w", "-O1", "-fPIC", "-c"]).arg(&source).arg("-o").arg(output);
        eprint!("{}", session.run(&mut command, &source)?);
        Ok(())
    }

    fn registration(&self) -> String {
        let ids: BTreeSet<&String> = self.units.iter().flat_map(|unit| &unit.ids).collect();
        let count: usize = self.units.iter().map(|unit| unit.ids.len()).sum();
        let mut text = format!("enum {{ COUNT = {count} }};\n{REGISTRATION}");
        for id in ids {
            // The reference to the wrapper draws the object out of an archive.
            let _ = writeln!(
                text,
                "extern const struct wrapper __fatbinwrap{id};\n\
                 const void *const margay_member{id} __attribute__((used, visibility(\"hidden\"))) =\n    \
                     &__fatbinwrap{id};\n\
                 void {REGISTER}{id}(callback names, const struct wrapper *w, void *id, void (*keep)(void *)) {{\n  \
                     add(names, w);\n}}"
            );
        }
        text
    }
}

/// The C part that all registrations share. Magic numbers are those of `fatbinary_section.h`; the empty
/// container stands where an offline linker's result would.
const REGISTRATION: &str = r#"
struct wrapper { int magic, version; const void *data; const void *objects; };
typedef void (*callback)(void **);
extern void **__cudaRegisterFatBinary(void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaUnregisterFatBinary(void **);
extern int atexit(void (*)(void));
static const unsigned long long nothing[2] = {0x00100001ba55ed50ULL, 0};
static const void *objects[COUNT + 1];
static callback callbacks[COUNT];
static int count;
static struct wrapper all __attribute__((section(".nvFatBinSegment"))) = {
    0x466243b1, 2, nothing, objects};
static void **handle;
static void forget(void) { __cudaUnregisterFatBinary(handle); }
static void add(callback names, const struct wrapper *w) {
  if (count == COUNT) return;
  objects[count] = w->data;
  callbacks[count++] = names;
  if (count < COUNT) return;
  handle = __cudaRegisterFatBinary(&all);
  atexit(forget);
  for (int i = 0; i < COUNT; ++i) callbacks[i](handle);
  __cudaRegisterFatBinaryEnd(handle);
}
"#;

/// Objects and archives of the command line, those of `-l` as well.
fn linked_files(options: &Options) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut words = options.link.iter().peekable();
    let mut names = Vec::new();
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix("-L") {
            let directory = if rest.is_empty() { words.next().cloned() } else { Some(rest.into()) };
            directories.extend(directory.map(PathBuf::from));
        } else {
            names.push(word);
        }
    }
    let in_directories = |file: String| {
        directories.iter().map(|directory| directory.join(&file)).find(|path| path.is_file())
    };
    let file = |word: &&String| match word.strip_prefix("-l") {
        Some(name) => match name.strip_prefix(':') {
            Some(exact) => in_directories(exact.to_owned()),
            None => in_directories(format!("lib{name}.a")),
        },
        None if word.starts_with('-') => None,
        None => {
            let path = PathBuf::from(word);
            (kind_of(&path, None) == Kind::Linked && path.is_file()).then_some(path)
        }
    };
    names.iter().filter_map(file).collect()
}

/// The containers in a section: each says its size, and is padded to 8 bytes.
pub fn containers(section: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = section;
    while let Some(Ok(Image::Container(bytes))) = (rest.len() >= 16).then(|| Image::of(rest)) {
        found.push(bytes);
        let next = bytes.len().next_multiple_of(8).min(rest.len());
        rest = &rest[next..];
    }
    if found.is_empty() && !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// Refuses PTX that needs other files, where each file's device code stands alone.
pub fn check_alone(source: &Path, ptx: &str) -> Result<(), Failure> {
    let Some(log) = margay_runtime::image::undefined(ptx.as_bytes()) else { return Ok(()) };
    let mut text = format!("{}: its device code is not complete", source.display());
    for line in log.lines() {
        let line = line.split_once("error   : ").map_or(line, |(_, what)| what);
        let _ = write!(text, "\n  {}", demangled(line));
    }
    text.push_str("\nWhere another file defines it, compile them all with -rdc=true.");
    Err(Failure::Work(text))
}

/// Refuses PTX whose sizes its target does not have, as ptxas does.
pub fn check_sizes(source: &Path, ptx: &str) -> Result<(), Failure> {
    let Some(log) = margay_runtime::limits::exceeded_in_ptx(ptx.as_bytes()) else { return Ok(()) };
    let mut text = format!("{}: its device code is too large", source.display());
    for line in log.lines() {
        let line = line.split_once("error   : ").map_or(line, |(_, what)| what);
        let _ = write!(text, "\n  {}", demangled(line));
    }
    Err(Failure::Work(text))
}

/// A linker's log with the names that the source has, and what to do.
fn explained(log: &str) -> String {
    let mut text = "the device code does not link".to_owned();
    for line in log.lines() {
        let line = line.strip_prefix("error   : ").unwrap_or(line);
        let _ = write!(text, "\n  {}", demangled(line));
    }
    if log.contains("Undefined reference") {
        text.push_str(
            "\nIs the file that defines it missing on the command line, or compiled without -rdc=true or -dc?",
        );
    }
    text
}

/// Replaces mangled names in quotes: `'_Z1fi'` becomes `'f(int)'`.
pub fn demangled(line: &str) -> String {
    let part = |(number, part): (usize, &str)| match number % 2 {
        1 => cpp_demangle::Symbol::new(part).map_or(part.to_owned(), |symbol| symbol.to_string()),
        _ => part.to_owned(),
    };
    line.split('\'').enumerate().map(part).collect::<Vec<_>>().join("'")
}

/// Gives an object's module an identifier of its own: clang derives it from the source's path as
/// written, and two directories may have a `kernels.cu` each.
pub fn identify(object: &mut [u8], identifier: &str) {
    let Ok(file) = object::File::parse(&*object) else { return };
    let id = file.symbols().find_map(|symbol| {
        let id = symbol.name().ok()?.strip_prefix(REGISTER)?;
        (id.starts_with(ID_PREFIX) && id.len() == ID_PREFIX.len() + 16).then(|| id.to_owned())
    });
    let (Some(old), 16..) = (id, identifier.len()) else { return };
    let new = format!("{ID_PREFIX}{}", &identifier[..16]);
    let places: Vec<usize> = object
        .windows(old.len())
        .enumerate()
        .filter_map(|(at, window)| (window == old.as_bytes()).then_some(at))
        .collect();
    for at in places {
        object[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
}

/// clang refers to some `static` device variables by the name that they had before it gave them one that
/// other objects cannot have (`x` and `x__static__<hash>`): the former is made the latter.
pub fn with_static_names(ptx: &str) -> String {
    let mut renamed: BTreeMap<&str, &str> = BTreeMap::new();
    for name in ptx.split(|c: char| !is_name(c)) {
        if let Some(at) = name.find("__static__").or_else(|| name.find("__intern__")) {
            renamed.insert(&name[..at], name);
        }
    }
    if renamed.is_empty() {
        return ptx.to_owned();
    }
    let mut out = String::with_capacity(ptx.len() + 64 * renamed.len());
    for line in ptx.lines() {
        let declares = line.starts_with(".extern ") && line.ends_with(';');
        let mut words = line.split(|c: char| !is_name(c)).filter(|word| !word.is_empty());
        if declares && words.any(|word| renamed.contains_key(word)) {
            out.push('\n');
            continue;
        }
        let mut rest = line;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            out.push_str(renamed.get(word).copied().unwrap_or(word));
            let after = rest[end..].find(is_name).map_or(rest.len(), |n| end + n);
            out.push_str(&rest[end..after]);
            rest = &rest[after..];
        }
        out.push('\n');
    }
    out
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_names_of_the_source() {
        let log = "error   : Undefined reference to '_Z5otheri' in 'a.cu'\n";
        let text = explained(log);
        assert!(text.contains("Undefined reference to 'other(int)' in 'a.cu'"), "{text}");
        assert!(text.contains("-rdc=true"));
    }

    #[test]
    fn static_variables_keep_one_name() {
        let ptx = ".extern .global .align 4 .u32 _ZL4mine;\n\
                   .visible .global .align 4 .u32 _ZL4mine__static__d5 = 3;\n\
                   .extern .global .align 4 .u32 _ZL4mine2;\n\
                   \tld.global.u32 \t%r1, [_ZL4mine+4];\n";
        let wanted = "\n.visible .global .align 4 .u32 _ZL4mine__static__d5 = 3;\n\
                      .extern .global .align 4 .u32 _ZL4mine2;\n\
                      \tld.global.u32 \t%r1, [_ZL4mine__static__d5+4];\n";
        assert_eq!(with_static_names(ptx), wanted);
        assert_eq!(with_static_names("ret;\n"), "ret;\n");
    }

    #[test]
    fn several_containers_in_a_section() {
        let one = super::super::container::pack(&[]);
        let mut section = one.clone();
        section.extend(&one);
        assert_eq!(containers(&section).len(), 2);
        assert_eq!(containers(b"junk").len(), 1);
        assert_eq!(containers(b"").len(), 0);
    }
}

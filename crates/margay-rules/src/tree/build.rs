// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies libclang's cursors into a [`Tree`].

use std::cell::RefCell;
use std::collections::HashMap;

use clang_sys as cx;

use super::{DEEPEST, Decl, DeclId, File, FileId, Kind, Node, NodeId, Qualifiers, Span, Tree};
use crate::front::cx as get;
use crate::front::diagnostics::file_name;
use crate::front::{Language, Pass, Unit};
use crate::tree::kind::Attribute;

impl Tree {
    /// Copies what a unit holds of the user's own files.
    pub fn build(unit: Unit, pass: Pass, language: Language) -> Tree {
        let root = unit.root();
        let mut builder = Builder {
            unit: &unit,
            files: Vec::new(),
            by_handle: HashMap::new(),
            nodes: Vec::new(),
            decls: Vec::new(),
            by_hash: HashMap::new(),
            functions: Vec::new(),
        };
        let nowhere = Span { file: FileId(0), start: 0, end: 0 };
        builder.nodes.push(Node {
            kind: Kind::Unit,
            span: nowhere,
            parent: None,
            children: Vec::new(),
            decl: None,
            dependent: false,
            cursor: root,
        });
        for child in get::children(root) {
            if !get::in_system_header(child) {
                builder.add(child, NodeId(0), None, false, 0);
            }
        }
        let Builder { files, nodes, decls, functions, .. } = builder;
        Tree {
            pass,
            language,
            files,
            nodes,
            decls,
            functions,
            writes: RefCell::new(None),
            _unit: unit,
        }
    }
}

struct Builder<'u> {
    unit: &'u Unit,
    files: Vec<File>,
    by_handle: HashMap<usize, Option<FileId>>,
    nodes: Vec<Node>,
    decls: Vec<Decl>,
    by_hash: HashMap<u32, Vec<DeclId>>,
    functions: Vec<DeclId>,
}

impl Builder<'_> {
    fn file(&mut self, handle: cx::CXFile) -> Option<FileId> {
        if let Some(known) = self.by_handle.get(&(handle as usize)) {
            return *known;
        }
        let id = file_name(handle).map(|path| {
            let id = FileId(self.files.len() as u32);
            self.files.push(File { path, text: self.contents(handle) });
            id
        });
        self.by_handle.insert(handle as usize, id);
        id
    }

    fn contents(&self, handle: cx::CXFile) -> String {
        let mut length = 0;
        // SAFETY: unit and handle live; the bytes belong to the unit and are copied at once.
        unsafe {
            let bytes = cx::clang_getFileContents(self.unit.raw(), handle, &mut length);
            if bytes.is_null() {
                return String::new();
            }
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
            // Offsets are bytes: a replacement character of another length would move them.
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_string(),
                Err(_) => {
                    bytes.iter().map(|b| if b.is_ascii() { *b as char } else { '?' }).collect()
                }
            }
        }
    }

    fn span(&mut self, cursor: cx::CXCursor) -> Option<Span> {
        let (from, to) = get::ends(get::extent(cursor));
        let file = self.file(from.file)?;
        let (start, mut end) = (from.offset, to.offset);
        if to.file != from.file || end <= start {
            // It ends inside a macro: the name of the macro stands for it.
            let text = &self.files[file.0 as usize].text;
            let rest = text.get(start as usize..).unwrap_or("");
            let word =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            end = start + word.max(1) as u32;
        }
        Some(Span { file, start, end })
    }

    fn add(
        &mut self,
        cursor: cx::CXCursor,
        parent: NodeId,
        function: Option<DeclId>,
        dependent: bool,
        depth: usize,
    ) {
        if depth > DEEPEST {
            return;
        }
        let mut kind = Kind::of(cursor);
        let span = self.span(cursor).unwrap_or(self.nodes[parent.0 as usize].span);
        let id = NodeId(self.nodes.len() as u32);
        let dependent = dependent || matches!(kind, Kind::FunctionTemplate | Kind::ClassTemplate);
        let decl = if kind.is_declaration() {
            Some(self.intern(cursor, function))
        } else if matches!(kind, Kind::Reference | Kind::Member | Kind::Call) {
            let target = get::referenced(cursor);
            (!get::is_null(target)).then(|| self.intern(target, None))
        } else {
            None
        };
        self.nodes.push(Node {
            kind,
            span,
            parent: Some(parent),
            children: Vec::new(),
            decl,
            dependent,
            cursor,
        });
        self.nodes[parent.0 as usize].children.push(id);
        let mut inside = function;
        if let Some(decl) = decl
            && kind.is_declaration()
        {
            self.note_declaration(decl, id, cursor);
            if kind.is_function() {
                inside = Some(decl);
            }
        }
        for child in get::children(cursor) {
            self.add(child, id, inside, dependent, depth + 1);
        }
        if kind == Kind::Call && self.is_launch(id) {
            kind = Kind::Launch;
            self.nodes[id.0 as usize].kind = kind;
        }
    }

    /// A launch has, after its callee, a call of the function that takes the configuration.
    fn is_launch(&self, call: NodeId) -> bool {
        let node = &self.nodes[call.0 as usize];
        let Some(second) = node.children.get(1) else { return false };
        let second = &self.nodes[second.0 as usize];
        second.kind == Kind::Call
            && second.decl.is_some_and(|d| {
                let name = self.decls[d.0 as usize].name.as_str();
                matches!(name, "__cudaPushCallConfiguration" | "cudaConfigureCall")
            })
    }

    fn note_declaration(&mut self, decl: DeclId, node: NodeId, cursor: cx::CXCursor) {
        let qualifiers = self.qualifiers(cursor);
        let record = &mut self.decls[decl.0 as usize];
        let all = &mut record.qualifiers;
        all.global |= qualifiers.global;
        all.device |= qualifiers.device;
        all.host |= qualifiers.host;
        all.shared |= qualifiers.shared;
        all.constant |= qualifiers.constant;
        all.managed |= qualifiers.managed;
        all.noinline |= qualifiers.noinline;
        all.forceinline |= qualifiers.forceinline;
        record.nodes.push(node);
        record.ours = true;
        let function = record.kind.is_function();
        if get::is_definition(cursor) || record.kind == Kind::Parameter {
            record.definition = Some(node);
            if function {
                self.functions.push(decl);
            }
        }
    }

    fn intern(&mut self, cursor: cx::CXCursor, function: Option<DeclId>) -> DeclId {
        let canonical = get::canonical(cursor);
        let hash = get::hash(canonical);
        if let Some(known) = self.by_hash.get(&hash) {
            let decls = &self.decls;
            let same = known.iter().find(|d| get::equal(decls[d.0 as usize].cursor, canonical));
            if let Some(id) = same {
                return *id;
            }
        }
        let id = DeclId(self.decls.len() as u32);
        let decl = Decl {
            name: get::spelling(canonical),
            kind: Kind::of(canonical),
            qualifiers: self.qualifiers(canonical),
            nodes: Vec::new(),
            definition: None,
            ours: !get::in_system_header(canonical),
            function,
            cursor: canonical,
        };
        self.decls.push(decl);
        self.by_hash.entry(hash).or_default().push(id);
        id
    }

    /// Attributes come before a declaration's other children, but for a template's parameters.
    fn qualifiers(&mut self, cursor: cx::CXCursor) -> Qualifiers {
        let mut found = Qualifiers::default();
        for child in get::children(cursor) {
            let attribute = match Kind::of(child) {
                Kind::Attribute(attribute) => attribute,
                // Of a template they come first.
                Kind::TemplateParameter => continue,
                _ => break,
            };
            match attribute {
                Attribute::Global => found.global = true,
                Attribute::Device => found.device = true,
                Attribute::Host => found.host = true,
                Attribute::Shared => found.shared = true,
                Attribute::Constant => found.constant = true,
                Attribute::Named => {}
            }
            let span = self.span(child);
            let word = span.map(|s| {
                let text = &self.files[s.file.0 as usize].text;
                text.get(s.start as usize..s.end as usize).unwrap_or("").to_string()
            });
            match word.as_deref() {
                Some("__managed__") => found.managed = true,
                Some("__noinline__") => found.noinline = true,
                Some("__forceinline__") => found.forceinline = true,
                Some(_) | None => {}
            }
        }
        found
    }
}

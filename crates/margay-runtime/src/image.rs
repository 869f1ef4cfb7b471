// SPDX-License-Identifier: MIT OR Apache-2.0
//! From PTX text to the IR that a module is made of.
//!
//! Invariant: whatever the text holds, the outcome is IR or an error with a log that says line and
//! column. Instructions that the engine does not run are no error here: a launch that needs them is.

use std::sync::Arc;

use margay_ir as ir;
use margay_ptx::ast::{self, AddressSize, Span};
use margay_ptx::capability::{self, Lacking, Place};

use crate::error::CudaError;
use crate::fatbin::Image;

/// Newest PTX ISA version that is understood.
const NEWEST_PTX: (u16, u16) = (9, 99);

/// Why a module could not be loaded, with what belongs in the JIT's error log.
#[derive(Clone, Debug)]
pub struct LoadFailure {
    pub error: CudaError,
    pub log: String,
}

impl From<CudaError> for LoadFailure {
    fn from(error: CudaError) -> Self {
        LoadFailure { error, log: String::new() }
    }
}

/// What a caller of the JIT may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// `CU_JIT_MAX_REGISTERS`: for kernels that have no `.maxnreg` of their own.
    pub max_registers: Option<u32>,
}

/// Compiles for a device of compute capability `sm` (times ten).
pub fn compile(text: &[u8], sm: u32) -> Result<Arc<ir::Module>, LoadFailure> {
    compile_with(text, sm, CompileOptions::default())
}

/// Compiles as a caller of the JIT asked for.
pub fn compile_with(
    text: &[u8],
    sm: u32,
    options: CompileOptions,
) -> Result<Arc<ir::Module>, LoadFailure> {
    complete(lower_for(text, sm, options)?)
}

/// Compiles device code in any form.
pub fn compile_image(
    image: &Image,
    sm: u32,
    options: CompileOptions,
) -> Result<Arc<ir::Module>, LoadFailure> {
    match image {
        // Its inputs have options of their own.
        Image::Linked(bytes) => complete(crate::link::relink(bytes, sm)?),
        Image::Ptx(_) | Image::Container(_) | Image::Elf => {
            compile_with(&image.ptx(sm)?, sm, options)
        }
    }
}

/// The checks of a module that is not linked any further.
fn complete(module: ir::Module) -> Result<Arc<ir::Module>, LoadFailure> {
    verified(&module)?;
    match unresolved(&module) {
        Some(log) => Err(LoadFailure { error: CudaError::InvalidPtx, log }),
        None => Ok(Arc::new(module)),
    }
}

/// Parses and lowers for a device; the module may still need others.
pub(crate) fn lower_for(
    text: &[u8],
    sm: u32,
    options: CompileOptions,
) -> Result<ir::Module, LoadFailure> {
    let fail = |error, log: String| LoadFailure { error, log };
    if !text.windows(b".version".len()).any(|w| w == b".version") {
        let log = "error   : the image is neither PTX nor a container of it\n";
        return Err(fail(CudaError::InvalidImage, log.into()));
    }
    let ast = parsed(text).map_err(|problems| fail(CudaError::InvalidPtx, log_of(&problems)))?;
    // Its lines are those of the text.
    let single = demoted(&ast, text).map_err(|p| fail(CudaError::InvalidPtx, log_of(&p)))?;
    let mut module = lowered(single.as_ref().unwrap_or(&ast), sm)
        .map_err(|p| fail(CudaError::InvalidPtx, log_of(&p)))?;
    if module.ptx_version > NEWEST_PTX {
        let (major, minor) = module.ptx_version;
        let log = format!("error   : PTX ISA version {major}.{minor} is newer than is known\n");
        return Err(fail(CudaError::UnsupportedPtxVersion, log));
    }
    if module.sm > sm {
        let log = format!(
            "error   : the PTX is for {}, the device is sm_{sm}: choose another GPU \
             (MARGAY_GPU=sm_{}) or compile for sm_{sm}\n",
            module.target, module.sm
        );
        // Measured: not CUDA_ERROR_NO_BINARY_FOR_GPU, which is for containers.
        return Err(fail(CudaError::InvalidPtx, log));
    }
    if module.target.ends_with('a') && module.sm != sm {
        let log = format!(
            "error   : the PTX is for {}, which runs on compute capability {}.{} alone; the device is sm_{sm}\n",
            module.target,
            module.sm / 10,
            module.sm % 10
        );
        return Err(fail(CudaError::InvalidPtx, log));
    }
    let lacking = lacking(&ast, &module, text);
    if !lacking.is_empty() {
        return Err(fail(CudaError::InvalidPtx, log_of(&lacking)));
    }
    if let Some(most) = options.max_registers {
        for kernel in module.functions.iter_mut().filter(|f| f.is_entry) {
            kernel.limits.maxnreg.get_or_insert(most);
        }
    }
    Ok(module)
}

/// Checks what the engine relies on. Lowering makes nothing else, so a failure is margay's own.
pub(crate) fn verified(module: &ir::Module) -> Result<(), LoadFailure> {
    let Err(errors) = ir::verify(module) else { return Ok(()) };
    let mut log =
        "error   : internal error, please report it: the code was lowered wrongly\n".to_owned();
    for error in errors.iter().take(20) {
        log += &format!("error   : {error}\n");
    }
    Err(LoadFailure { error: CudaError::Unknown, log })
}

/// What the module calls or names and nobody defines.
fn unresolved(module: &ir::Module) -> Option<String> {
    let mut log = String::new();
    let declared = |f: &ir::Function| f.blocks.is_empty();
    let mut seen = std::collections::HashSet::new();
    for function in &module.functions {
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            if let ir::Attr::Call(call) = &inst.attr
                && let ir::Callee::Direct(id) = call.callee
                && let Some(callee) = module.functions.get(id.0 as usize)
                && declared(callee)
            {
                let line = module.locs.get(inst.loc.0 as usize).map_or(0, |l| l.ptx_line);
                if seen.insert((id, &function.name)) {
                    log += &format!(
                        "ptx line {line}; error   : unresolved extern function '{}', called by '{}'\n",
                        callee.name, function.name
                    );
                }
            }
        }
    }
    for global in &module.globals {
        if global.linkage == ir::Linkage::Extern && !global.dynamic_shared {
            log += &format!("error   : unresolved extern variable '{}'\n", global.name);
        }
    }
    (!log.is_empty()).then_some(log)
}

/// What PTX that stands alone needs and does not have, a line each; `None` if it is complete. PTX with
/// other mistakes is for the loader to judge.
pub fn undefined(text: &[u8]) -> Option<String> {
    lower(text).ok().and_then(|module| unresolved(&module))
}

/// What is wrong with a PTX text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    /// In the PTX, from 1.
    pub line: u32,
    pub column: u32,
    /// Lines of the sources, as [`Lacking::trail`] has them; empty where the text does not parse or lower.
    pub trail: Vec<Place>,
}

/// The JIT's log of them, a line each as ptxas writes them.
fn log_of(problems: &[Problem]) -> String {
    let line = |p: &Problem| {
        let places: Vec<String> =
            p.trail.iter().map(|place| format!("{}:{}", place.file, place.line)).collect();
        let source = match &places[..] {
            [] => String::new(),
            several => format!(" ({})", several.join(", ")),
        };
        // Of the text as a whole.
        if p.line == 0 {
            return format!("error   : {}\n", p.message);
        }
        format!(
            "ptx input, line {}, column {}; error   : {}{source}\n",
            p.line, p.column, p.message
        )
    };
    problems.iter().map(line).collect()
}

/// All that keeps a text from being loaded on the target that it names; unresolved names are not among it.
pub fn problems(text: &[u8]) -> Vec<Problem> {
    let ast = match parsed(text) {
        Ok(ast) => ast,
        Err(problems) => return problems,
    };
    let single = match demoted(&ast, text) {
        Ok(single) => single,
        Err(problems) => return problems,
    };
    match lowered(single.as_ref().unwrap_or(&ast), u32::MAX) {
        Ok(module) => lacking(&ast, &module, text),
        Err(problems) => problems,
    }
}

/// What the module's own target lacks: an assembler looks at that, whatever the device.
fn lacking(ast: &ast::Module, module: &ir::Module, text: &[u8]) -> Vec<Problem> {
    let text = margay_ptx::text_of(text);
    let located = |l: Lacking| {
        let at = ast.lines.locate(l.span.start);
        let message = l.message(module.sm as u16);
        Problem { message, line: at.line, column: at.column, trail: l.trail }
    };
    capability::lacking(ast, text.as_bytes()).into_iter().map(located).collect()
}

/// Parses and lowers; the error is the log's text, a line an error as ptxas writes them.
pub(crate) fn lower(text: &[u8]) -> Result<ir::Module, String> {
    let whole = || {
        let ast = parsed(text)?;
        let single = demoted(&ast, text)?;
        lowered(single.as_ref().unwrap_or(&ast), u32::MAX)
    };
    whole().map_err(|problems: Vec<Problem>| log_of(&problems))
}

/// The module with its doubles as singles, if its target says `map_f64_to_f32`.
fn demoted(ast: &ast::Module, text: &[u8]) -> Result<Option<ast::Module>, Vec<Problem>> {
    let text = margay_ptx::text_of(text);
    let single = margay_ptx::demote::demoted(ast, &text);
    single.map(|text| parsed(text.as_bytes())).transpose()
}

fn parsed(text: &[u8]) -> Result<ast::Module, Vec<Problem>> {
    let mut ast = margay_ptx::parse_bytes(text).map_err(|problems| {
        let located = |p: &margay_ptx::Diagnostic| Problem {
            message: p.text(),
            line: p.position.line,
            column: p.position.column,
            trail: Vec::new(),
        };
        problems.iter().map(located).collect::<Vec<_>>()
    })?;
    match ast.address_size {
        Some(size) if size.bits != 64 => {
            let message = "32-bit addresses do not work in a 64-bit process".to_owned();
            return Err(vec![Problem { message, line: 0, column: 0, trail: Vec::new() }]);
        }
        Some(_) => {}
        // The manual's default is 32, but a driver takes such modules to be for the process that
        // it runs in (measured).
        None => ast.address_size = Some(AddressSize { bits: 64, span: Span::default() }),
    }
    Ok(ast)
}

/// For a device of a compute capability (times ten), or for none in particular.
fn lowered(ast: &ast::Module, sm: u32) -> Result<ir::Module, Vec<Problem>> {
    ir::lower_for(ast, sm).map_err(|problems| {
        let located = |p: ir::LowerError| Problem {
            message: p.message,
            line: p.line,
            column: p.column,
            trail: Vec::new(),
        };
        problems.into_iter().map(located).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str, sm: u32) -> LoadFailure {
        compile(text.as_bytes(), sm).expect_err("the text is wrong")
    }

    #[test]
    fn errors_say_line_and_column() {
        let text =
            ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n  junk.x;\n}\n";
        let wrong = failure(text, 90);
        assert_eq!(wrong.error, CudaError::InvalidPtx);
        assert!(wrong.log.contains("line 5, column 3"), "{}", wrong.log);
    }

    #[test]
    fn too_new_a_target() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
        assert_eq!(failure(text, 70).error, CudaError::InvalidPtx);
        assert!(compile(text.as_bytes(), 90).is_ok());
        assert_eq!(failure(" \n", 90).error, CudaError::InvalidImage);
        assert_eq!(failure("hello", 90).error, CudaError::InvalidImage);
        let narrow = text.replace("address_size 64", "address_size 32");
        assert_eq!(failure(&narrow, 90).error, CudaError::InvalidPtx);
        let unsaid = text.replace(".address_size 64\n", "");
        assert_eq!(compile(unsaid.as_bytes(), 90).map(|m| m.address_bits).ok(), Some(64));
    }

    #[test]
    fn what_the_target_lacks() {
        let text = ".version 8.0\n.target sm_50\n.address_size 64\n.file 1 \"x.cu\"\n\
                    .visible .entry k() {\n.reg .b64 d; .reg .f64 f;\n.loc 1 7 3\n\
                    red.global.add.f64 [d], f;\nret; }\n";
        // An assembler refuses it, and so does a device that has the instruction.
        for sm in [50, 90] {
            let wrong = failure(text, sm);
            assert_eq!(wrong.error, CudaError::InvalidPtx);
            assert_eq!(
                wrong.log,
                "ptx input, line 8, column 1; error   : `red.global.add.f64` needs compute capability 6.0 \
                 (sm_60); this is 5.0 (sm_50) (x.cu:7)\n"
            );
        }
        assert!(compile(text.replace("sm_50", "sm_60").as_bytes(), 60).is_ok());
        // What one architecture alone has, no other runs.
        let text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n";
        assert!(compile(text.as_bytes(), 90).is_ok());
        assert!(failure(text, 100).log.contains("runs on compute capability 9.0 alone"));
    }

    #[test]
    fn what_lowering_must_not_make() {
        let reloc = ir::Reloc {
            offset: 0,
            width: 8,
            shift: 0,
            target: ir::RelocTarget::Global(ir::GlobalId(9)),
            addend: 0,
            generic: false,
        };
        let text = ".version 8.0\n.target sm_50\n.address_size 64\n.global .u64 g;\n";
        let mut module = lower(text.as_bytes()).unwrap();
        assert!(verified(&module).is_ok());
        module.globals[0].relocs.push(reloc);
        let wrong = verified(&module).expect_err("there is no variable 9");
        assert_eq!(wrong.error, CudaError::Unknown);
        assert!(wrong.log.contains("internal error") && wrong.log.contains("g: "), "{}", wrong.log);
    }

    #[test]
    fn what_nobody_defines() {
        let mut module = ir::Module::default();
        let call = ir::Inst {
            op: ir::Op::Call,
            ty: ir::Ty::Pred,
            from: ir::Ty::Pred,
            dsts: Default::default(),
            srcs: Default::default(),
            guard: None,
            attr: ir::Attr::Call(Box::new(ir::CallAttr {
                callee: ir::Callee::Direct(ir::FuncId(0)),
                args: Vec::new(),
                rets: Vec::new(),
                top: None,
            })),
            loc: ir::LocId(0),
        };
        let block = ir::Block {
            label: None,
            insts: vec![call],
            term: ir::Term::Ret,
            term_loc: ir::LocId(0),
        };
        module.functions = vec![
            ir::Function { name: "f".into(), ..Default::default() },
            ir::Function { name: "k".into(), blocks: vec![block], ..Default::default() },
        ];
        let log = unresolved(&module).expect("f has no body");
        assert!(log.contains("'f'") && log.contains("'k'"), "{log}");
        module.functions[0].blocks = module.functions[1].blocks.clone();
        assert_eq!(unresolved(&module), None);
    }
}

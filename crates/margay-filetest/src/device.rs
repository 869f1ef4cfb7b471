// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch of one kernel, by the engine's border alone: no runtime, no API.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use margay_exec::jit::Engine;
use margay_exec::launch::{
    Host, LaunchConfig, LaunchFailure, LaunchStats, Machine, Others, launch,
};
use margay_exec::mem::texture::{
    AddressMode, ChannelKind, Dimensions, Filter, Format, Image, Object, Sampler, Texture, View,
};
use margay_exec::mem::{AddressSpace, AllocKind, Bounds, Reach};
use margay_exec::program::{LinkError, LoadedModule, Program, function_handle};
use margay_ir as ir;

use crate::directive::ImageParam;
use crate::element::Element;

/// Why a launch gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("no memory: {0}")]
    Memory(String),
    #[error("no kernel `{0}`")]
    NoKernel(String),
    #[error("no texture or surface `{0}`: {1}")]
    Image(String, String),
    #[error("{given} bytes of parameters for a block of {wanted}")]
    Params { given: u32, wanted: u32 },
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Failed(#[from] LaunchFailure),
}

/// How to launch; see [`LaunchConfig`].
#[derive(Clone, Debug)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared: u32,
    pub sm: u32,
    pub cooperative: bool,
    pub stack: u32,
    pub threads: usize,
    pub timeout: Duration,
    /// Fault where a card's pages would, rather than at the end of each allocation.
    pub page_bounds: bool,
    /// The engine, if not the environment's choice.
    pub engine: Option<Engine>,
    /// Fixes the order of blocks and of atomics.
    pub seed: Option<u64>,
}

impl Shape {
    /// A plain launch for capability 9.0 on one of the host's threads, which may take two minutes, with the engine of the environment.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Shape {
        Shape {
            grid,
            block,
            cluster: [1; 3],
            shared: 0,
            sm: 90,
            cooperative: false,
            stack: 1024,
            threads: 1,
            timeout: Duration::from_secs(120),
            page_bounds: false,
            engine: None,
            seed: None,
        }
    }
}

/// A kernel argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Bytes of device memory; afterwards what the kernel left there.
    Buffer { bytes: Vec<u8>, label: String },
    /// The value's own bytes.
    Value(Vec<u8>),
    /// The address of the last buffer before it.
    SameBuffer,
    /// The handle of a texture or surface over a buffer before it.
    Image(ImageParam),
}

/// Device printf goes to a string; the heap is the address space.
struct TestHost<'a> {
    memory: &'a AddressSpace,
    printed: Mutex<Vec<u8>>,
    heap: Mutex<HashMap<u64, ()>>,
}

impl Host for TestHost<'_> {
    fn print(&self, text: &[u8]) {
        self.printed.lock().unwrap().extend_from_slice(text);
    }

    fn assert_failed(&self, text: &[u8]) {
        self.print(text);
    }

    fn malloc(&self, bytes: u64) -> u64 {
        match self.memory.alloc(bytes, 16, AllocKind::Heap, 0, "malloc") {
            Ok(address) => {
                self.heap.lock().unwrap().insert(address, ());
                address
            }
            Err(_) => 0,
        }
    }

    fn free(&self, address: u64) -> bool {
        let live = self.heap.lock().unwrap().remove(&address).is_some();
        live && self.memory.free(address).is_ok()
    }

    fn others(&self) -> Others {
        Others::NOBODY
    }
}

/// Copies into memory that `alloc` gave.
fn write(memory: &AddressSpace, address: u64, bytes: &[u8]) {
    assert!(memory.contains(address, bytes.len() as u64));
    // SAFETY: the range lies in one live allocation, and no kernel runs.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
}

fn read(memory: &AddressSpace, address: u64, bytes: &mut [u8]) {
    assert!(memory.contains(address, bytes.len() as u64));
    // SAFETY: the range lies in one live allocation, and no kernel runs.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) }
}

static NEXT_UID: AtomicU32 = AtomicU32::new(1);

/// Gives a module's variables their memory and their initial values.
pub fn load(memory: &AddressSpace, module: Arc<ir::Module>) -> Result<LoadedModule, RunError> {
    let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
    let mut addresses = Vec::new();
    for global in &module.globals {
        let kind = match global.space {
            ir::Space::Const => AllocKind::Constant,
            ir::Space::Global if global.managed => AllocKind::Managed,
            ir::Space::Global => AllocKind::Device,
            ir::Space::Shared => {
                addresses.push(0);
                continue;
            }
            ir::Space::Generic | ir::Space::Local | ir::Space::Param => {
                return Err(RunError::Memory(format!("{} in {:?}", global.name, global.space)));
            }
        };
        let address = memory
            .alloc(global.size.max(1), global.align, kind, 0, &global.name)
            .map_err(|e| RunError::Memory(e.to_string()))?;
        addresses.push(address);
    }
    for (global, &address) in module.globals.iter().zip(&addresses) {
        if global.space == ir::Space::Shared {
            continue;
        }
        let mut bytes = global.init.clone();
        bytes.resize(global.size as usize, 0);
        for reloc in &global.relocs {
            let base = match reloc.target {
                ir::RelocTarget::Global(id) => addresses[id.0 as usize],
                ir::RelocTarget::Func(id) => function_handle(uid, id),
            };
            let value = (base.wrapping_add_signed(reloc.addend) >> reloc.shift).to_le_bytes();
            let at = reloc.offset as usize;
            let width = usize::from(reloc.width);
            bytes[at..at + width].copy_from_slice(&value[..width]);
        }
        write(memory, address, &bytes);
    }
    Ok(LoadedModule { ir: module, addresses, uid })
}

/// What a launch left behind.
#[derive(Debug)]
pub struct Outcome {
    /// The buffers among the arguments, in order.
    pub buffers: Vec<Vec<u8>>,
    pub printed: Vec<u8>,
    pub stats: LaunchStats,
}

fn allocate(memory: &AddressSpace, size: usize, label: &str) -> Result<u64, RunError> {
    memory
        .alloc(size.max(1) as u64, 256, AllocKind::Device, 0, label)
        .map_err(|e| RunError::Memory(e.to_string()))
}

/// A texture (clamped, in texels, without conversion to fractions) or a surface.
fn object(wanted: &ImageParam, address: u64) -> Result<Object, RunError> {
    let wrong = |why: String| RunError::Image(wanted.name.clone(), why);
    let kind = match wanted.element {
        Element::U8 => ChannelKind::U8,
        Element::U16 => ChannelKind::U16,
        Element::U32 => ChannelKind::U32,
        Element::S8 => ChannelKind::S8,
        Element::S16 => ChannelKind::S16,
        Element::S32 => ChannelKind::S32,
        Element::F16 => ChannelKind::F16,
        Element::F32 => ChannelKind::F32,
        Element::U64 | Element::S64 | Element::Bf16 | Element::F64 => {
            return Err(wrong(format!("no channel is {}", wanted.element)));
        }
    };
    let format = Format::new(kind, wanted.channels)
        .ok_or_else(|| wrong(format!("no format has {} channels", wanted.channels)))?;
    let [width, height, depth] = wanted.dimensions;
    let image = Image::linear(address, Dimensions::plain(width, height, depth), format, 0, 0)
        .map_err(|e| wrong(e.to_string()))?;
    if wanted.surface {
        return Ok(Object::Surface(image));
    }
    let sampler = Sampler {
        address: [AddressMode::Clamp; 3],
        filter: if wanted.linear { Filter::Linear } else { Filter::Point },
        normalized: false,
        ..Sampler::default()
    };
    Ok(Object::Texture(Texture { view: View { image, normalized: false }, sampler }))
}

/// Loads the module, launches one kernel, and reads its buffers back.
pub fn run(
    module: Arc<ir::Module>,
    kernel: &str,
    arguments: &[Argument],
    shape: &Shape,
) -> Result<Outcome, RunError> {
    let memory = AddressSpace::new().map_err(|e| RunError::Memory(e.to_string()))?;
    memory.set_bounds(if shape.page_bounds { Bounds::Page } else { Bounds::Exact });
    let loaded = Arc::new(load(&memory, module)?);
    let id = loaded.ir.function(kernel).ok_or_else(|| RunError::NoKernel(kernel.to_string()))?;
    let program = Program::link(&loaded, id)?;
    let function = &loaded.ir.functions[id.0 as usize];

    let mut buffers = Vec::new();
    let mut params = vec![0; function.param_size as usize];
    let mut used = 0;
    for (argument, param) in arguments.iter().zip(&function.params) {
        let bytes = match argument {
            Argument::Buffer { bytes, label } => {
                let address = allocate(&memory, bytes.len(), label)?;
                write(&memory, address, bytes);
                buffers.push((address, bytes.len()));
                address.to_le_bytes().to_vec()
            }
            Argument::Value(bytes) => bytes.clone(),
            Argument::SameBuffer => {
                let (address, _) = buffers.last().copied().unwrap_or_default();
                address.to_le_bytes().to_vec()
            }
            Argument::Image(wanted) => {
                let (address, _) = buffers.get(wanted.buffer).copied().unwrap_or_default();
                let object = object(wanted, address)?;
                memory.objects().insert(object).to_le_bytes().to_vec()
            }
        };
        let at = param.offset as usize;
        if bytes.len() != param.size as usize {
            return Err(RunError::Params { given: bytes.len() as u32, wanted: param.size });
        }
        params[at..at + bytes.len()].copy_from_slice(&bytes);
        used += 1;
    }
    if used != arguments.len() || used != function.params.len() {
        let (given, wanted) = (arguments.len() as u32, function.params.len() as u32);
        return Err(RunError::Params { given, wanted });
    }
    let machine = Machine {
        sm: shape.sm,
        sm_count: 4,
        blocks_per_sm: 2,
        clock_khz: 1_000_000,
        reserved_shared: if shape.sm >= 80 { 1024 } else { 0 },
        reach: Reach::EVERYTHING,
    };
    let workspace = if shape.cooperative { allocate(&memory, 64, "grid workspace")? } else { 0 };
    let config = LaunchConfig {
        grid: shape.grid,
        block: shape.block,
        cluster: shape.cluster,
        dynamic_shared: shape.shared,
        params,
        shared_arguments: Vec::new(),
        cooperative: shape.cooperative,
        stack_limit: shape.stack,
        timeout: Some(shape.timeout),
        threads: shape.threads,
        seed: shape.seed,
        grid_id: 1,
        grid_workspace: workspace,
        graph_exec: 0,
        envreg: [0; 32],
        engine: shape.engine,
    };
    let host = TestHost { memory: &memory, printed: Mutex::default(), heap: Mutex::default() };
    let stats = launch(&program, &machine, &config, &memory, &host, &AtomicBool::new(false))?;
    let buffers = buffers
        .into_iter()
        .map(|(address, size)| {
            let mut bytes = vec![0; size];
            read(&memory, address, &mut bytes);
            bytes
        })
        .collect();
    Ok(Outcome { buffers, printed: host.printed.into_inner().unwrap(), stats })
}

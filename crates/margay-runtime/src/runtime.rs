// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process's one runtime: devices, memory, and the tables of everything with a handle.
//!
//! Invariant: made once by [`init`] and never destroyed, so that calls from destructors at process
//! exit find it alive.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use margay_exec::mem::AddressSpace;
use margay_observe::Tool;
use margay_observe::constant_cache::ConstantCache;
use margay_observe::tool::Wanted;
use parking_lot::Mutex;

use crate::array::{Array, MipmappedArray};
use crate::capture::Captures;
use crate::conditional::Condition;
use crate::context::Context;
use crate::device::Device;
use crate::error::{CudaError, Result};
use crate::event::Event;
use crate::function::Function;
use crate::graph::{Graph, GraphExec, GraphMemory, NodePlace, UserObject};
use crate::handle::Table;
use crate::ipc::Opened;
use crate::library::{Kernel, Library};
use crate::memory::Records;
use crate::module::Module;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::stream::Stream;
use crate::texture::{Owners, Reference};
use crate::virtual_memory::VirtualMemory;
use crate::watch;
use crate::{activity, caller, held, order};

/// See the module's header.
pub struct Runtime {
    pub settings: Settings,
    pub devices: Vec<Device>,
    /// All memory that kernels can reach.
    pub memory: AddressSpace,
    pub contexts: Table<Context>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub modules: Table<Module>,
    pub functions: Table<Function>,
    pub libraries: Table<Library>,
    pub kernels: Table<Kernel>,
    pub pools: Table<Pool>,
    pub graphs: Table<Graph>,
    pub graph_nodes: Table<NodePlace>,
    pub graph_execs: Table<GraphExec>,
    pub user_objects: Table<UserObject>,
    pub(crate) graph_memory: Mutex<HashMap<u64, Arc<GraphMemory>>>,
    pub(crate) conditions: Mutex<HashMap<u64, Arc<Condition>>>,
    pub(crate) captures: Captures,
    pub arrays: Table<Array>,
    pub mipmapped_arrays: Table<MipmappedArray>,
    pub texture_references: Table<Reference>,
    pub(crate) object_owners: Owners,
    pub(crate) records: Records,
    pub virtual_memory: VirtualMemory,
    /// Memory of other processes.
    pub(crate) opened: Mutex<Vec<Opened>>,
    /// What watches the process; mostly nothing.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// One of the tools, which OpenCL programs may give a size.
    constant_cache: Option<Arc<ConstantCache>>,
}

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
/// The process that initialised: after a fork the child has no worker threads.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// `cuInit`: reads the settings and creates the devices. Further calls do nothing.
pub fn init() -> Result<&'static Runtime> {
    let made = RUNTIME.get_or_init(|| {
        let settings = Settings::from_env();
        crate::logs::open(settings.log_file.as_deref());
        let memory = match AddressSpace::new() {
            Ok(memory) => memory,
            Err(error) => {
                eprintln!("margay: the system refuses the virtual GPU's address space: {error}");
                return None;
            }
        };
        memory.set_bounds(settings.bounds);
        let constant_cache = watch::constant_cache(&settings);
        let tools = watch::tools(&settings, constant_cache.as_ref());
        if tools.iter().any(|tool| tool.wants_order()) {
            order::want();
        }
        if tools.iter().any(|tool| tool.wants_host_accesses()) {
            held::want();
        }
        if tools.iter().any(|tool| tool.wants_callers()) {
            caller::want();
        }
        let gpus = settings.gpus.iter().enumerate();
        let device = |(ordinal, &(physical, gpu))| Device::new(ordinal as u32, physical, gpu);
        let devices = gpus.map(device).collect();
        OWNER.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: registers a function of this library, which is never unloaded.
        unsafe { libc::atexit(at_exit) };
        Some(Runtime {
            settings,
            devices,
            memory,
            contexts: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            modules: Table::default(),
            functions: Table::default(),
            libraries: Table::default(),
            kernels: Table::default(),
            pools: Table::default(),
            graphs: Table::default(),
            graph_nodes: Table::default(),
            graph_execs: Table::default(),
            user_objects: Table::default(),
            graph_memory: Mutex::default(),
            conditions: Mutex::default(),
            captures: Captures::default(),
            arrays: Table::default(),
            mipmapped_arrays: Table::default(),
            texture_references: Table::default(),
            object_owners: Owners::default(),
            records: Records::default(),
            virtual_memory: VirtualMemory::default(),
            opened: Mutex::default(),
            tools,
            constant_cache,
        })
    });
    let runtime = made.as_ref().ok_or(CudaError::OperatingSystem)?;
    check_owner()?;
    match runtime.devices.is_empty() {
        true => Err(CudaError::NoDevice),
        false => Ok(runtime),
    }
}

/// The program is ending: what it unloads from here on may still be running.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Tells running kernels to stop.
pub(crate) static CANCEL: AtomicBool = AtomicBool::new(false);

/// How long the end of a watched program waits for what it launched and never waited for.
const LONGEST_LAST_WORK: Duration = Duration::from_secs(20);

/// Waits for all work of all contexts; `false` if it does not end in time.
fn drained(runtime: &'static Runtime, longest: Duration) -> bool {
    let contexts = runtime.contexts.all_where(|_| true);
    let (tell, told) = std::sync::mpsc::channel();
    let wait = move || {
        let _own = margay_exec::threads::own();
        contexts.iter().for_each(|context| context.drain());
        // Nobody listens if it took too long.
        let _ = tell.send(());
    };
    let started = std::thread::Builder::new().name("margay-last-work".into()).spawn(wait);
    let _waiting = activity::wait();
    started.is_ok() && told.recv_timeout(longest).is_ok()
}

extern "C" fn at_exit() {
    ENDING.store(true, Ordering::Release);
    if let Some(Some(runtime)) = RUNTIME.get()
        && OWNER.load(Ordering::Relaxed) == std::process::id()
    {
        if !runtime.tools.is_empty() {
            let done = drained(runtime, LONGEST_LAST_WORK);
            if !done {
                eprintln!(
                    "margay: work that still ran when the program ended was not watched to its end"
                );
            }
        }
        for tool in &runtime.tools {
            tool.finish();
        }
    }
}

/// Whether an unload comes from a destructor at process exit. Then kernels that still run are
/// stopped instead of waited for, so that a program that ends ends.
pub(crate) fn unloading_at_exit() -> bool {
    let ending = ENDING.load(Ordering::Acquire);
    if ending {
        CANCEL.store(true, Ordering::Release);
    }
    ending
}

/// The runtime, for calls before which `cuInit` is required.
pub fn initialized() -> Result<&'static Runtime> {
    let runtime = RUNTIME.get().and_then(Option::as_ref).ok_or(CudaError::NotInitialized)?;
    check_owner()?;
    Ok(runtime)
}

/// Refuses a process that was forked from the one that initialised, and tells it once what to do.
fn check_owner() -> Result<()> {
    static SAID: AtomicBool = AtomicBool::new(false);
    let owner = OWNER.load(Ordering::Relaxed);
    if owner == std::process::id() {
        return Ok(());
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        crate::report::warn(&format!(
            "process {} was forked from process {owner} after that had initialised CUDA, which does not \
             survive a fork: every call returns CUDA_ERROR_NOT_INITIALIZED (3). Fork before the first CUDA \
             call, or start a new program (fork and exec, Python's 'spawn')",
            std::process::id()
        ));
    }
    Err(CudaError::NotInitialized)
}

impl Runtime {
    /// The size of the constant cache that a program asks for (`-const-cache-bytes=N`). It acts where the cache is
    /// modelled, and where the command line chose no size.
    pub fn choose_constant_cache(&self, bytes: u32) {
        if let Some(cache) = &self.constant_cache {
            cache.choose(bytes);
        }
    }

    /// Whether tools watch the program.
    pub fn is_watched(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Tells the tools of a copy (or, without `from`, a fill) that another API than CUDA's made.
    pub fn observed_copy(&self, to: u64, from: Option<u64>, bytes: u64) {
        watch::copied(self, to, from, bytes, 0);
    }

    /// Tells the tools that another API than CUDA's refuses to touch memory, or to free what is at an address.
    pub fn observed_refusal(&self, wanted: Wanted, address: u64, bytes: u64) {
        watch::refused(self, wanted, address, bytes);
    }

    /// Tells the tools that it refuses to go past the end of an object. `label`: what the program made it by, if not by
    /// what made its memory.
    pub fn observed_overrun(&self, object: Range<u64>, label: Option<&str>, wanted: Range<u64>) {
        watch::refused_part(self, object, label, wanted);
    }
}

/// The runtime inside itself, where objects prove that it exists.
pub(crate) fn get() -> &'static Runtime {
    RUNTIME.get().and_then(Option::as_ref).expect("objects exist only after init")
}

impl Runtime {
    pub fn device(&self, ordinal: u32) -> Result<&Device> {
        self.devices.get(ordinal as usize).ok_or(CudaError::InvalidDevice)
    }
}

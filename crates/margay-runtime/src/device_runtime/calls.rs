// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each function of the device run time answers.
//!
//! Errors of a launch are kept for each thread, as the guide has it ("Error Handling"); everything else
//! returns its error.

use std::sync::{Arc, OnceLock};

use margay_exec::fault::{Access, FaultKind};
use margay_exec::launch::{Caller, LaunchFailure, Reply};
use margay_exec::mem::{LOCAL_WINDOW, SHARED_WINDOW};
use margay_exec::program::function_of_handle;
use margay_ir::Space;

use super::functions::Call;
use super::grid::{Grid, Pending};
use super::{Error, strings};
use crate::copy::{self, Extent, Side, Where};
use crate::device::Device;
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::handle;
use crate::launch::{LaunchRequest, Parent};
use crate::module::Module;
use crate::runtime;

/// Streams that have a number in place of a handle (`cuda_runtime_api.h`).
const PER_THREAD: u64 = 2;
const TAIL_LAUNCH: u64 = 3;
const FIRE_AND_FORGET: u64 = 4;
/// `cudaStreamNonBlocking` and `cudaEventDisableTiming`, without which device code gets no stream and no event.
const NON_BLOCKING: u64 = 1;
const DISABLE_TIMING: u64 = 2;

type Attributes = fn(&Device, u32) -> Result<i32>;
static DRIVER: OnceLock<(i32, Attributes)> = OnceLock::new();

/// The driver API's version, and where `cudaDeviceGetAttribute` finds its answers.
pub fn set_driver(version: i32, attributes: Attributes) {
    DRIVER.get_or_init(|| (version, attributes));
}

/// How a call ends that does not fault.
enum Done {
    /// An error code, or success.
    Code(std::result::Result<(), Error>),
    /// A value that is no error.
    Value(u64),
    /// Success, and a number of so many bytes at an address.
    Stored(u64, Vec<u8>),
}

type Answer = std::result::Result<Done, Box<FaultKind>>;

fn code(error: Error) -> Answer {
    Ok(Done::Code(Err(error)))
}

fn success() -> Answer {
    Ok(Done::Code(Ok(())))
}

fn stored_int(address: u64, value: i32) -> Answer {
    Ok(Done::Stored(address, value.to_le_bytes().to_vec()))
}

fn stored_size(address: u64, value: u64) -> Answer {
    Ok(Done::Stored(address, value.to_le_bytes().to_vec()))
}

/// Answers one thread's call.
pub(super) fn answer(
    grid: &Grid<'_>,
    function: u32,
    arguments: &[u64],
    caller: Caller,
) -> std::result::Result<Reply, Box<FaultKind>> {
    let Some(call) = Call::by_number(function) else {
        let why = format!("function {function} of the device run time, which there is not");
        return Err(Box::new(FaultKind::IllegalInstruction { why }));
    };
    let mut a = [0; 32];
    for (to, from) in a.iter_mut().zip(arguments) {
        *to = *from;
    }
    let here = Here { grid, caller, thread: numbers(grid, caller) };
    Ok(match here.answer(call, &a)? {
        Done::Code(Ok(())) => Reply::default(),
        Done::Code(Err(error)) => {
            grid.fail(here.thread, error);
            Reply { value: error.0.into(), stores: Vec::new() }
        }
        Done::Value(value) => Reply { value, stores: Vec::new() },
        Done::Stored(address, bytes) => Reply { value: 0, stores: vec![(address, bytes)] },
    })
}

/// The numbers of a thread's block in its grid, and of the thread in its block.
fn numbers(grid: &Grid<'_>, caller: Caller) -> (u64, u64) {
    let config = &grid.ready.config;
    let number = |at: [u32; 3], size: [u32; 3]| {
        let [x, y, z] = at.map(u64::from);
        x + u64::from(size[0]) * (y + u64::from(size[1]) * z)
    };
    (number(caller.block, config.grid), number(caller.thread, config.block))
}

fn dim(words: &[u64]) -> [u32; 3] {
    [words[0] as u32, words[1] as u32, words[2] as u32]
}

/// A thread in the device run time.
struct Here<'g, 'a> {
    grid: &'g Grid<'a>,
    caller: Caller,
    thread: (u64, u64),
}

impl Here<'_, '_> {
    fn answer(&self, call: Call, a: &[u64; 32]) -> Answer {
        let grid = self.grid;
        match call {
            Call::GetParameterBuffer => self.plain_buffer(a[0], a[1]),
            Call::GetParameterBufferV2 => {
                self.buffer(a[0], dim(&a[1..4]), dim(&a[4..7]), a[7] as u32)
            }
            Call::LaunchDevice => {
                let request = request(dim(&a[2..5]), dim(&a[5..8]), a[8] as u32);
                self.launch_plain(a[0], a[1], request, a[9])
            }
            Call::LaunchDeviceV2 => self.launch_buffer(a[0], a[1]),
            Call::DeviceSynchronize | Call::SynchronizeKnowingly => self.synchronize(),
            Call::GetLastError => {
                let error = grid.state.lock().errors.remove(&self.thread);
                Ok(Done::Value(error.unwrap_or(0).into()))
            }
            Call::PeekAtLastError => {
                let error = grid.state.lock().errors.get(&self.thread).copied();
                Ok(Done::Value(error.unwrap_or(0).into()))
            }
            Call::GetErrorString => {
                let text = strings::text(a[0] as u32);
                Ok(Done::Value(strings::address(grid.context.device, text)))
            }
            Call::GetErrorName => {
                let name = strings::name(a[0] as u32);
                Ok(Done::Value(strings::address(grid.context.device, name)))
            }
            Call::GetDevice => stored_int(a[0], grid.context.device as i32),
            Call::GetDeviceCount => stored_int(a[0], runtime::get().devices.len() as i32),
            Call::DeviceGetAttribute => self.attribute(a[0], a[1] as u32, a[2] as u32),
            Call::DeviceGetLimit => self.limit(a[0], a[1] as u32),
            Call::DeviceGetCacheConfig => {
                let config = &grid.context.cache_config;
                stored_int(a[0], config.load(std::sync::atomic::Ordering::Relaxed) as i32)
            }
            Call::DeviceGetSharedMemConfig => {
                let config = &grid.context.shared_config;
                stored_int(a[0], config.load(std::sync::atomic::Ordering::Relaxed) as i32)
            }
            Call::RuntimeGetVersion => match DRIVER.get() {
                Some((version, _)) => stored_int(a[0], *version),
                None => code(Error::NOT_SUPPORTED),
            },
            Call::StreamCreateWithFlags => match a[1] {
                NON_BLOCKING => {
                    let stream = handle::fresh();
                    grid.state.lock().streams.insert(stream);
                    stored_size(a[0], stream)
                }
                _ => code(Error::INVALID_VALUE),
            },
            Call::StreamDestroy => match grid.state.lock().streams.remove(&a[0]) {
                true => success(),
                false => code(Error::INVALID_RESOURCE_HANDLE),
            },
            Call::EventCreateWithFlags => match a[1] {
                DISABLE_TIMING => {
                    let event = handle::fresh();
                    grid.state.lock().events.insert(event);
                    stored_size(a[0], event)
                }
                _ => code(Error::INVALID_VALUE),
            },
            Call::EventDestroy => match grid.state.lock().events.remove(&a[0]) {
                true => success(),
                false => code(Error::INVALID_RESOURCE_HANDLE),
            },
            // What was asked for runs in the order of the calls, so whatever waits for an event comes after it.
            Call::EventRecord | Call::EventRecordWithFlags => self.event(a[0], a[1]),
            Call::StreamWaitEvent => self.event(a[1], a[0]),
            Call::FuncGetAttributes => self.function_attributes(a[0], a[1]),
            Call::Malloc => match grid.context.heap.malloc(a[1]) {
                0 if a[1] != 0 => code(Error::MEMORY_ALLOCATION),
                address => stored_size(a[0], address),
            },
            Call::Free => match a[0] == 0 || grid.context.heap.free(a[0]) {
                true => success(),
                false => code(Error::INVALID_VALUE),
            },
            Call::MemcpyAsync => {
                let extent = Extent::linear(a[2]);
                let side = |address| Side::linear(address, Where::Device);
                self.copy(side(a[0]), side(a[1]), extent, a[4])
            }
            Call::Memcpy2DAsync => {
                let extent = Extent { width: a[4], height: a[5], depth: 1 };
                self.copy(rows(a[0], a[1], 0), rows(a[2], a[3], 0), extent, a[7])
            }
            Call::Memcpy3DAsync => self.copy_3d(a),
            Call::MemsetAsync => self.fill(rows(a[0], a[2], 0), a[1], Extent::linear(a[2]), a[3]),
            Call::Memset2DAsync => {
                let extent = Extent { width: a[3], height: a[4], depth: 1 };
                self.fill(rows(a[0], a[1], 0), a[2], extent, a[5])
            }
            Call::Memset3DAsync => {
                let extent = Extent { width: a[5], height: a[6], depth: a[7] };
                let slice = a[1].saturating_mul(a[3]);
                self.fill(rows(a[0], a[1], slice), a[4], extent, a[8])
            }
            Call::GraphLaunch => self.launch_graph(a[0], a[1]),
            Call::MaxActiveBlocks | Call::MaxActiveBlocksWithFlags => {
                let (threads, shared) = (a[2] as u32, u32::try_from(a[3]));
                let (Some(function), Ok(shared)) = (self.function(a[1]), shared) else {
                    return code(Error::INVALID_VALUE);
                };
                match function.blocks_per_sm(threads, shared) {
                    Ok(blocks) => stored_int(a[0], blocks as i32),
                    Err(error) => code(error.into()),
                }
            }
        }
    }

    fn device(&self) -> &'static Device {
        &runtime::get().devices[self.grid.context.device as usize]
    }

    /// The kernel that device code has this address of.
    fn function(&self, address: u64) -> Option<Arc<Function>> {
        let (uid, id) = function_of_handle(address)?;
        let rt = runtime::get();
        let is_it = |module: &Module| module.loaded.uid & 0xff_ffff == uid;
        let own = rt.modules.get(self.grid.module).filter(|module| is_it(module));
        let context = self.grid.context.handle;
        let module = own.or_else(|| {
            rt.modules.all_where(|module| module.context == context && is_it(module)).pop()
        })?;
        module.function_by_id(id).ok()
    }

    fn plain_buffer(&self, alignment: u64, size: u64) -> Answer {
        // The guide: the alignment is at most 64, and so is every buffer's here.
        if alignment > 64 || size > 1 << 16 {
            self.grid.fail(self.thread, Error::INVALID_VALUE);
            return Ok(Done::Value(0));
        }
        Ok(Done::Value(self.grid.buffer(size, None)))
    }

    fn buffer(&self, kernel: u64, grid: [u32; 3], block: [u32; 3], shared: u32) -> Answer {
        let refuse = |error| {
            self.grid.fail(self.thread, error);
            Ok(Done::Value(0))
        };
        let Some(function) = self.function(kernel) else {
            return refuse(Error::INVALID_DEVICE_FUNCTION);
        };
        let size = match function.info() {
            Ok(info) => u64::from(info.param_size),
            Err(error) => return refuse(error.into()),
        };
        let request = request(grid, block, shared);
        match self.grid.buffer(size, Some((function, request))) {
            0 => refuse(Error::LAUNCH_OUT_OF_RESOURCES),
            address => Ok(Done::Value(address)),
        }
    }

    fn launch_buffer(&self, buffer: u64, stream: u64) -> Answer {
        if buffer == 0 {
            // `cudaGetParameterBufferV2` failed, and said why.
            let state = self.grid.state.lock();
            let error = state.errors.get(&self.thread).copied();
            return Ok(Done::Value(error.unwrap_or(Error::INVALID_VALUE.0).into()));
        }
        let Some((buffer, bytes)) = self.grid.take(buffer) else {
            return code(Error::INVALID_VALUE);
        };
        let Some((function, request)) = buffer.launch else { return code(Error::INVALID_VALUE) };
        self.launch(&function, request, bytes, stream)
    }

    fn launch_plain(
        &self,
        kernel: u64,
        buffer: u64,
        request: LaunchRequest,
        stream: u64,
    ) -> Answer {
        let Some(function) = self.function(kernel) else {
            return code(Error::INVALID_DEVICE_FUNCTION);
        };
        let size = match function.info() {
            Ok(info) => info.param_size as usize,
            Err(error) => return code(error.into()),
        };
        let mut bytes = match self.grid.take(buffer) {
            Some((_, bytes)) => bytes,
            // A kernel without parameters needs no buffer.
            None if size == 0 && buffer == 0 => Vec::new(),
            None => return code(Error::INVALID_VALUE),
        };
        if bytes.len() < size {
            return code(Error::INVALID_VALUE);
        }
        bytes.truncate(size);
        self.launch(&function, request, bytes, stream)
    }

    fn launch(
        &self,
        function: &Arc<Function>,
        mut request: LaunchRequest,
        bytes: Vec<u8>,
        stream: u64,
    ) -> Answer {
        let grid = self.grid;
        if !self.may_launch_into(stream) {
            return code(Error::INVALID_RESOURCE_HANDLE);
        }
        // The guide: kernels of a graph for device launch must not launch kernels.
        if grid.ready.graph.as_ref().is_some_and(|run| run.is_device_launched()) {
            return code(Error::NOT_SUPPORTED);
        }
        self.no_private_pointers(&bytes)?;
        request.params = bytes;
        let (shape, block) = (request.grid, request.block);
        let mut ready = match grid.context.prepare(function, request, [0; 32]) {
            Ok(ready) => ready,
            Err(CudaError::InvalidValue) if !function.takes(shape, block) => {
                return code(Error::INVALID_CONFIGURATION);
            }
            Err(error) => return code(error.into()),
        };
        let kernel = grid.ready.program.name().to_owned();
        ready.parent = Some(Parent { kernel, caller: self.caller });
        if !self.takes_slot() {
            return code(Error::LAUNCH_PENDING_COUNT_EXCEEDED);
        }
        let mut state = grid.state.lock();
        let pending = Pending::Grid(Box::new(ready));
        match stream {
            TAIL_LAUNCH => state.children.tails.push_back(pending),
            _ => state.children.ordinary.push_back(pending),
        }
        success()
    }

    /// Only kernels of a graph launch graphs.
    fn launch_graph(&self, exec: u64, stream: u64) -> Answer {
        let grid = self.grid;
        let Some(run) = &grid.ready.graph else { return code(Error::INVALID_VALUE) };
        let kernel = grid.ready.program.name().to_owned();
        let parent = Parent { kernel, caller: self.caller };
        match run.launch(grid.context, exec, stream, parent) {
            Ok(pending) => {
                grid.state.lock().children.ordinary.extend(pending);
                success()
            }
            Err(error) => code(error),
        }
    }

    /// Counts a launch that has not begun. On a card those of blocks that have ended mostly have begun,
    /// so each wave of blocks that are resident at once is counted for itself.
    fn takes_slot(&self) -> bool {
        let grid = self.grid;
        let machine = &grid.ready.machine;
        let resident = u64::from(machine.sm_count) * u64::from(machine.blocks_per_sm);
        let limit = grid.context.limits().pending_launches;
        let mut state = grid.state.lock();
        let waiting = state.waiting.entry(self.thread.0 / resident.max(1)).or_default();
        if *waiting < limit {
            *waiting += 1;
            return true;
        }
        if !std::mem::replace(&mut state.warned, true) {
            let kernel = grid.ready.program.name();
            crate::report::warn(&format!(
                "kernel {kernel} launches more than {limit} grids that have not begun: further launches fail with \
                 cudaErrorLaunchPendingCountExceeded (69); cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, \
                 n) allows more"
            ));
        }
        false
    }

    fn may_launch_into(&self, stream: u64) -> bool {
        matches!(stream, 0 | PER_THREAD | TAIL_LAUNCH | FIRE_AND_FORGET)
            || self.grid.state.lock().streams.contains(&stream)
    }

    /// A pointer to the launching thread's own memory means nothing to a child: the guide, "Shared and Local
    /// Memory".
    fn no_private_pointers(&self, bytes: &[u8]) -> std::result::Result<(), Box<FaultKind>> {
        let memory = &runtime::get().memory;
        let windows = [
            (
                memory.shared_window(),
                SHARED_WINDOW,
                "a launch passes a pointer to its block's shared memory, which the child grid cannot reach",
            ),
            (
                memory.local_window(),
                LOCAL_WINDOW,
                "a launch passes a pointer to its thread's local memory, which the child grid cannot reach",
            ),
        ];
        for word in bytes.chunks_exact(8) {
            let address = u64::from_le_bytes(word.try_into().unwrap_or_default());
            for (base, size, why) in windows {
                if address.wrapping_sub(base) < size {
                    let (space, access) = (Space::Generic, Access::Read);
                    let kind = FaultKind::IllegalAddress {
                        space,
                        address,
                        bytes: 0,
                        access,
                        nearest: None,
                        why,
                    };
                    return Err(Box::new(kind));
                }
            }
        }
        Ok(())
    }

    /// `cudaDeviceSynchronize`, as it was before CUDA 12 and compute capability 9.0.
    fn synchronize(&self) -> Answer {
        if self.grid.depth >= self.grid.context.limits().launch_depth {
            return code(Error::SYNC_DEPTH_EXCEEDED);
        }
        match self.grid.drain() {
            Ok(()) => success(),
            Err(failure) => {
                // The fault that follows names this thread.
                if let LaunchFailure::Fault(fault) = &failure {
                    crate::report::fault(fault, margay_observe::words::Words::Cuda);
                }
                Err(Box::new(crate::launch::fault_of(failure)))
            }
        }
    }

    fn event(&self, event: u64, stream: u64) -> Answer {
        let state = self.grid.state.lock();
        if !state.events.contains(&event) {
            return code(Error::INVALID_RESOURCE_HANDLE);
        }
        match stream {
            // The guide, "The Fire-and-Forget Stream" and "The Tail Launch Stream".
            TAIL_LAUNCH | FIRE_AND_FORGET => code(Error::INVALID_VALUE),
            0 | PER_THREAD => success(),
            other if state.streams.contains(&other) => success(),
            _ => code(Error::INVALID_RESOURCE_HANDLE),
        }
    }

    fn attribute(&self, to: u64, attribute: u32, device: u32) -> Answer {
        let rt = runtime::get();
        let Ok(device) = rt.device(device) else { return code(Error::INVALID_DEVICE) };
        match DRIVER.get().map(|(_, attributes)| attributes(device, attribute)) {
            Some(Ok(value)) => stored_int(to, value),
            Some(Err(error)) => code(error.into()),
            None => code(Error::INVALID_VALUE),
        }
    }

    fn limit(&self, to: u64, limit: u32) -> Answer {
        let limits = self.grid.context.limits();
        // `enum cudaLimit`.
        let value = match limit {
            0 => limits.stack,
            1 => limits.print_fifo,
            2 => limits.heap,
            3 => limits.launch_depth,
            4 => limits.pending_launches,
            5 => limits.l2_fetch,
            6 => limits.persisting_l2,
            _ => return code(Error::INVALID_VALUE),
        };
        stored_size(to, value)
    }

    /// The first fields of `cudaFuncAttributes`, up to `preferredShmemCarveout`, which all versions have.
    fn function_attributes(&self, to: u64, kernel: u64) -> Answer {
        let Some(function) = self.function(kernel) else {
            return code(Error::INVALID_DEVICE_FUNCTION);
        };
        let gathered = || -> Result<Vec<u8>> {
            let info = function.info()?;
            let sizes = [
                u64::from(info.static_shared),
                u64::from(info.const_bytes),
                u64::from(info.local_bytes),
            ];
            let module = &function.module.loaded.ir;
            let ptx = i32::try_from(module.sm).unwrap_or(0);
            let binary = self.device().gpu.cc().sm() as i32;
            let carveout = function.settings.lock().carveout;
            let numbers = [
                function.max_threads()? as i32,
                function.registers()?.0 as i32,
                ptx,
                binary,
                0,
                function.dynamic_shared_limit()? as i32,
                carveout,
            ];
            let sizes = sizes.iter().flat_map(|n| n.to_le_bytes());
            Ok(sizes.chain(numbers.iter().flat_map(|n| n.to_le_bytes())).collect())
        };
        match gathered() {
            Ok(bytes) => Ok(Done::Stored(to, bytes)),
            Err(error) => code(error.into()),
        }
    }

    fn copy(&self, to: Side, from: Side, extent: Extent, stream: u64) -> Answer {
        match copy::planned(to, from, extent) {
            Ok(plan) => self.push(plan.map(Pending::Copy), stream),
            Err(error) => code(error.into()),
        }
    }

    /// `struct cudaMemcpy3DParms`, without arrays.
    fn copy_3d(&self, a: &[u64; 32]) -> Answer {
        if a[0] != 0 || a[8] != 0 {
            return code(Error::INVALID_VALUE);
        }
        let side = |position: &[u64], pitched: &[u64]| {
            let slice = pitched[1].saturating_mul(pitched[3]);
            let offset = position[1].saturating_mul(pitched[1]);
            let offset = offset.saturating_add(position[2].saturating_mul(slice));
            let address = pitched[0].saturating_add(offset).saturating_add(position[0]);
            rows(address, pitched[1], slice)
        };
        let extent = Extent { width: a[16], height: a[17], depth: a[18] };
        self.copy(side(&a[9..12], &a[12..16]), side(&a[1..4], &a[4..8]), extent, a[20])
    }

    fn fill(&self, to: Side, value: u64, extent: Extent, stream: u64) -> Answer {
        let value = copy::Element::Byte(value as u8);
        match copy::planned(to, to, extent) {
            Ok(plan) => self.push(plan.map(|plan| Pending::Fill { plan, value }), stream),
            Err(error) => code(error.into()),
        }
    }

    fn push(&self, pending: Option<Pending>, stream: u64) -> Answer {
        if !self.may_launch_into(stream) {
            return code(Error::INVALID_RESOURCE_HANDLE);
        }
        let Some(pending) = pending else { return success() };
        let mut state = self.grid.state.lock();
        match stream {
            TAIL_LAUNCH => state.children.tails.push_back(pending),
            _ => state.children.ordinary.push_back(pending),
        }
        success()
    }
}

fn rows(address: u64, pitch: u64, slice: u64) -> Side {
    Side { address, place: Where::Device, pitch, slice }
}

fn request(grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> LaunchRequest {
    let params = Vec::new();
    LaunchRequest {
        grid,
        block,
        cluster: None,
        dynamic_shared,
        cooperative: false,
        params,
        shared_arguments: Vec::new(),
    }
}

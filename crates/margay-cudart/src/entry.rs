// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of implemented functions, and what stands between a C caller and each of them.
//!
//! To implement a function, put its name into the list behind the module of [`crate::api`] that
//! has the Rust function of the same name; rustc then compares the signatures. A name that only
//! one major version has is left out of the other's library.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::error::{self, Error};
use crate::sys;

/// Read by `build.rs`; expands to nothing.
macro_rules! implemented {
    ($($module:ident: $($name:ident)*;)*) => {};
}

implemented! {
    logs: cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaLogsCurrent
        cudaLogsDumpToFile cudaLogsDumpToMemory;
    error: cudaGetLastError cudaPeekAtLastError cudaGetErrorName cudaGetErrorString;
    device: cudaGetDeviceCount cudaGetDevice cudaSetDevice cudaInitDevice cudaSetValidDevices
        cudaChooseDevice cudaDeviceGetAttribute cudaDeviceReset cudaDeviceSynchronize
        cudaDeviceGetLimit cudaDeviceSetLimit cudaDeviceGetCacheConfig cudaDeviceSetCacheConfig
        cudaDeviceGetSharedMemConfig cudaDeviceSetSharedMemConfig
        cudaDeviceGetStreamPriorityRange cudaDeviceGetPCIBusId cudaDeviceGetByPCIBusId
        cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess cudaDeviceDisablePeerAccess
        cudaDeviceGetP2PAttribute cudaGetDeviceFlags cudaSetDeviceFlags cudaDriverGetVersion
        cudaRuntimeGetVersion cudaThreadExit cudaThreadSynchronize cudaThreadGetLimit
        cudaThreadSetLimit cudaThreadGetCacheConfig cudaThreadSetCacheConfig
        cudaDeviceGetTexture1DLinearMaxWidth cudaCtxResetPersistingL2Cache
        cudaDeviceFlushGPUDirectRDMAWrites;
    profiler: cudaProfilerStop;
    properties: cudaGetDeviceProperties cudaGetDeviceProperties_v2;
    memory: cudaMalloc cudaMallocManaged cudaMallocHost cudaHostAlloc cudaHostRegister
        cudaHostUnregister cudaHostGetDevicePointer cudaHostGetFlags cudaMallocPitch cudaMalloc3D
        cudaFree cudaFreeHost cudaMemGetInfo cudaPointerGetAttributes cudaMemPrefetchAsync
        cudaMemPrefetchAsync_v2 cudaMemAdvise cudaMemAdvise_v2 cudaMemRangeGetAttribute
        cudaMemRangeGetAttributes cudaCreateChannelDesc;
    copy: cudaMemcpyBatchAsync cudaMemcpy cudaMemcpyAsync cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpy2D
        cudaMemcpy2DAsync cudaMemcpy3D cudaMemcpy3DAsync cudaMemcpy3DPeer cudaMemcpy3DPeerAsync;
    array: cudaMallocArray cudaMalloc3DArray cudaMallocMipmappedArray cudaGetMipmappedArrayLevel
        cudaFreeArray cudaFreeMipmappedArray cudaArrayGetInfo cudaGetChannelDesc cudaArrayGetPlane
        cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy2DFromArray
        cudaMemcpy2DFromArrayAsync cudaMemcpy2DArrayToArray cudaMemcpyToArray
        cudaMemcpyToArrayAsync cudaMemcpyFromArray cudaMemcpyFromArrayAsync cudaMemcpyArrayToArray
        cudaArrayGetMemoryRequirements cudaMipmappedArrayGetMemoryRequirements
        cudaArrayGetSparseProperties cudaMipmappedArrayGetSparseProperties;
    texture: cudaCreateTextureObject cudaDestroyTextureObject cudaGetTextureObjectResourceDesc
        cudaGetTextureObjectTextureDesc cudaGetTextureObjectResourceViewDesc
        cudaCreateSurfaceObject cudaDestroySurfaceObject cudaGetSurfaceObjectResourceDesc;
    fill: cudaMemset cudaMemsetAsync cudaMemset2D cudaMemset2DAsync cudaMemset3D
        cudaMemset3DAsync;
    symbol: cudaGetSymbolAddress cudaGetSymbolSize cudaMemcpyToSymbol cudaMemcpyToSymbolAsync
        cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync;
    stream: cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority
        cudaStreamDestroy cudaStreamQuery cudaStreamSynchronize cudaStreamWaitEvent
        cudaStreamAddCallback cudaLaunchHostFunc cudaStreamGetFlags cudaStreamGetPriority
        cudaStreamGetId cudaStreamGetDevice cudaStreamAttachMemAsync cudaStreamIsCapturing
        cudaStreamCopyAttributes cudaStreamGetAttribute cudaStreamSetAttribute;
    event: cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy cudaEventRecord
        cudaEventRecordWithFlags cudaEventQuery cudaEventSynchronize cudaEventElapsedTime
        cudaEventElapsedTime_v2;
    launch: cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel;
    function: cudaFuncGetAttributes cudaFuncSetAttribute cudaFuncSetCacheConfig
        cudaFuncSetSharedMemConfig cudaFuncGetName cudaFuncGetParamInfo cudaGetFuncBySymbol
        cudaGetKernel;
    occupancy: cudaOccupancyMaxActiveBlocksPerMultiprocessor
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        cudaOccupancyAvailableDynamicSMemPerBlock cudaOccupancyMaxPotentialClusterSize
        cudaOccupancyMaxActiveClusters;
    graph: cudaGraphConditionalHandleCreate cudaGraphCreate cudaGraphDestroy cudaGraphClone cudaGraphNodeFindInClone
        cudaGraphGetNodes cudaGraphGetRootNodes cudaGraphDestroyNode cudaGraphNodeGetType
        cudaGraphInstantiateWithFlags cudaGraphInstantiate cudaGraphInstantiateWithParams
        cudaGraphExecDestroy cudaGraphExecGetFlags cudaGraphLaunch cudaGraphUpload
        cudaGraphExecUpdate cudaGraphNodeSetEnabled cudaGraphNodeGetEnabled
        cudaGraphDebugDotPrint cudaUserObjectCreate cudaUserObjectRetain
        cudaUserObjectRelease cudaGraphRetainUserObject cudaGraphReleaseUserObject
        cudaDeviceGraphMemTrim cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute
        cudaGraphAddChildGraphNode cudaGraphAddEmptyNode cudaGraphAddEventRecordNode
        cudaGraphAddEventWaitNode cudaGraphAddHostNode cudaGraphHostNodeGetParams
        cudaGraphHostNodeSetParams cudaGraphExecHostNodeSetParams cudaGraphAddMemAllocNode
        cudaGraphMemAllocNodeGetParams cudaGraphChildGraphNodeGetGraph
        cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent
        cudaGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeSetEvent
        cudaGraphExecChildGraphNodeSetParams cudaGraphExecEventRecordNodeSetEvent
        cudaGraphExecEventWaitNodeSetEvent cudaGraphKernelNodeGetAttribute
        cudaGraphKernelNodeSetAttribute cudaStreamBeginCapture cudaStreamBeginCaptureToGraph
        cudaStreamEndCapture cudaThreadExchangeStreamCaptureMode cudaGraphExecGetId
        cudaGraphGetId cudaGraphNodeGetContainingGraph cudaGraphNodeGetLocalId
        cudaGraphNodeGetToolsId cudaGraphAddDependencies cudaGraphAddDependencies_v2
        cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2 cudaGraphGetEdges
        cudaGraphGetEdges_v2 cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
        cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
        cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v3
        cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
        cudaGraphKernelNodeCopyAttributes;
    node: cudaGraphAddKernelNode cudaGraphKernelNodeSetParams
        cudaGraphExecKernelNodeSetParams cudaGraphKernelNodeGetParams cudaGraphAddMemcpyNode
        cudaGraphMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams
        cudaGraphAddMemcpyNode1D cudaGraphMemcpyNodeSetParams1D
        cudaGraphExecMemcpyNodeSetParams1D cudaGraphAddMemcpyNodeToSymbol
        cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol
        cudaGraphAddMemcpyNodeFromSymbol cudaGraphMemcpyNodeSetParamsFromSymbol
        cudaGraphExecMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeGetParams
        cudaGraphAddMemsetNode cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams
        cudaGraphExecMemsetNodeSetParams cudaGraphAddMemFreeNode
        cudaGraphMemFreeNodeGetParams cudaGraphAddNode cudaGraphAddNode_v2
        cudaGraphNodeSetParams cudaGraphExecNodeSetParams;
    ipc: cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcCloseMemHandle cudaIpcGetEventHandle
        cudaIpcOpenEventHandle cudaMemPoolExportToShareableHandle
        cudaMemPoolImportFromShareableHandle cudaMemPoolExportPointer cudaMemPoolImportPointer;
    pool: cudaMallocAsync cudaFreeAsync cudaMallocFromPoolAsync cudaMemPoolCreate
        cudaMemPoolDestroy cudaMemPoolTrimTo cudaMemPoolGetAttribute cudaMemPoolSetAttribute
        cudaMemPoolGetAccess cudaMemPoolSetAccess cudaDeviceGetDefaultMemPool
        cudaDeviceGetMemPool cudaDeviceSetMemPool;
    library: cudaLibraryLoadData cudaLibraryLoadFromFile cudaLibraryUnload cudaLibraryGetKernel
        cudaLibraryGetGlobal cudaLibraryGetManaged cudaLibraryGetKernelCount
        cudaLibraryEnumerateKernels cudaKernelSetAttributeForDevice cudaGetDriverEntryPoint
        cudaGetDriverEntryPointByVersion;
}

/// What an implementation returns, and what its C caller gets.
pub trait Answer {
    type C;
    /// Records the thread's last error where that is due.
    fn settle(self) -> Self::C;
    /// What the caller gets when the implementation panicked.
    fn broken() -> Self::C;
}

impl Answer for error::Result<()> {
    type C = u32;
    fn settle(self) -> u32 {
        let code = self.err().map_or(sys::cudaSuccess, |Error(code)| code);
        error::record(code);
        code
    }
    fn broken() -> u32 {
        error::record(sys::cudaErrorUnknown);
        sys::cudaErrorUnknown
    }
}

/// A code that is an answer and not an outcome.
pub struct Told(pub u32);

impl Answer for Told {
    type C = u32;
    fn settle(self) -> u32 {
        self.0
    }
    fn broken() -> u32 {
        sys::cudaErrorUnknown
    }
}

impl Answer for *const c_char {
    type C = *const c_char;
    fn settle(self) -> Self {
        self
    }
    fn broken() -> Self {
        c"unknown error".as_ptr()
    }
}

impl Answer for sys::cudaChannelFormatDesc {
    type C = Self;
    fn settle(self) -> Self {
        self
    }
    fn broken() -> Self {
        Self { x: 0, y: 0, z: 0, w: 0, f: sys::cudaChannelFormatKindNone }
    }
}

/// Runs an implementation: a panic becomes cudaErrorUnknown and a line on stderr.
pub fn guard<A: Answer>(name: &'static str, call: impl FnOnce() -> A) -> A::C {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.settle(),
        Err(_) => {
            eprintln!("margay: internal error in {name}; please report it");
            A::broken()
        }
    }
}

/// Answers for a function that is not implemented, and says so the first time.
pub fn not_supported(name: &'static str) -> u32 {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().is_ok_and(|mut said| said.insert(name)) {
        eprintln!(
            "margay: {name} is not supported yet and returns cudaErrorNotSupported (801); if a \
             program needs it, please report the name and the program"
        );
    }
    error::record(sys::cudaErrorNotSupported);
    sys::cudaErrorNotSupported
}

/// For the `_ptsz` functions: stream 0 is the thread's own.
pub fn per_thread_stream<T>(stream: *mut T) -> *mut T {
    if stream.is_null() { std::ptr::without_provenance_mut(PER_THREAD) } else { stream }
}

/// `cudaStreamPerThread`.
pub const PER_THREAD: usize = 2;

thread_local! {
    static DEFAULT_IS_PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether stream 0 is the thread's own in the call that is being made.
pub fn default_is_per_thread() -> bool {
    DEFAULT_IS_PER_THREAD.with(Cell::get)
}

/// For the functions whose default stream is implied: it is the thread's own while `call` runs.
pub fn with_per_thread_stream<T>(call: impl FnOnce() -> T) -> T {
    /// Restores the meaning when the call ends, by a panic too.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            DEFAULT_IS_PER_THREAD.with(|is| is.set(self.0));
        }
    }
    let _restore = Restore(DEFAULT_IS_PER_THREAD.with(|is| is.replace(true)));
    call()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of implemented functions, and what stands between a C caller and each of them.
//!
//! To implement a function, move its name into the list behind the module of [`crate::api`] that
//! has the Rust function of the same name; rustc then compares the signatures.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use margay_runtime::stream::{self, DefaultStream};
use margay_runtime::{CudaError, Result, logs};

/// Read by `build.rs`; expands to nothing.
macro_rules! implemented {
    ($($module:ident: $($name:ident)*;)*) => {};
}

implemented! {
    init: cuInit cuDriverGetVersion cuProfilerInitialize cuProfilerStart cuProfilerStop;
    logs: cuLogsRegisterCallback cuLogsUnregisterCallback cuLogsCurrent cuLogsDumpToFile
        cuLogsDumpToMemory;
    error: cuGetErrorName cuGetErrorString;
    proc_address: cuGetProcAddress cuGetProcAddress_v2 cuGetExportTable;
    device: cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2
        cuDeviceTotalMem_v2 cuDeviceComputeCapability cuDeviceGetProperties cuDeviceGetPCIBusId
        cuDeviceGetByPCIBusId cuDeviceCanAccessPeer cuDeviceGetP2PAttribute
        cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2
        cuDevicePrimaryCtxGetState cuDevicePrimaryCtxSetFlags_v2 cuDeviceGetExecAffinitySupport
        cuDeviceGetTexture1DLinearMaxWidth;
    attribute: cuDeviceGetAttribute;
    context: cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxPushCurrent_v2
        cuCtxPopCurrent_v2 cuCtxSetCurrent cuCtxGetCurrent cuCtxGetDevice cuCtxGetDevice_v2
        cuCtxSynchronize cuCtxSynchronize_v2 cuCtxGetFlags cuCtxSetFlags cuCtxGetId
        cuCtxGetApiVersion cuCtxGetLimit cuCtxSetLimit cuCtxGetCacheConfig cuCtxSetCacheConfig
        cuCtxGetSharedMemConfig cuCtxSetSharedMemConfig cuCtxGetStreamPriorityRange
        cuCtxResetPersistingL2Cache cuCtxEnablePeerAccess cuCtxDisablePeerAccess;
    module: cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload
        cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleGetLoadingMode cuModuleGetFunctionCount
        cuModuleEnumerateFunctions;
    library: cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLibraryGetKernel
        cuLibraryGetModule cuLibraryGetGlobal cuLibraryGetManaged cuLibraryGetKernelCount
        cuLibraryEnumerateKernels cuKernelGetFunction cuKernelGetName cuKernelGetLibrary
        cuKernelGetAttribute cuKernelSetAttribute cuKernelSetCacheConfig cuKernelGetParamInfo
        cuKernelGetParamCount;
    link: cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy;
    function: cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig
        cuFuncGetModule cuFuncGetName cuFuncGetParamInfo cuFuncGetParamCount cuFuncIsLoaded
        cuFuncLoad;
    occupancy: cuOccupancyMaxActiveBlocksPerMultiprocessor
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cuOccupancyMaxPotentialBlockSize
        cuOccupancyMaxPotentialBlockSizeWithFlags cuOccupancyAvailableDynamicSMemPerBlock
        cuOccupancyMaxPotentialClusterSize cuOccupancyMaxActiveClusters;
    legacy: cuFuncSetBlockShape cuFuncSetSharedSize cuParamSetSize cuParamSeti cuParamSetf cuParamSetv
        cuParamSetTexRef cuLaunch cuLaunchGrid cuLaunchGridAsync cuCtxAttach cuCtxDetach;
    launch: cuLaunchKernel cuLaunchKernelEx cuLaunchCooperativeKernel cuLaunchHostFunc;
    memory: cuMemGetInfo_v2 cuMemAlloc_v2 cuMemAllocPitch_v2 cuMemFree_v2 cuMemGetAddressRange_v2
        cuMemAllocHost_v2 cuMemFreeHost cuMemHostAlloc cuMemHostGetDevicePointer_v2
        cuMemHostGetFlags cuMemHostRegister_v2 cuMemHostUnregister cuMemAllocManaged
        cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuMemAdvise cuMemAdvise_v2 cuMemRangeGetAttribute
        cuMemRangeGetAttributes;
    copy: cuMemcpy cuMemcpyAsync cuMemcpyPeer cuMemcpyPeerAsync cuMemcpyHtoD_v2
        cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoD_v2
        cuMemcpyDtoDAsync_v2 cuMemcpy2D_v2 cuMemcpy2DUnaligned_v2 cuMemcpy2DAsync_v2
        cuMemcpy3D_v2 cuMemcpy3DAsync_v2 cuMemcpy3DPeer cuMemcpy3DPeerAsync cuMemcpyAtoA_v2
        cuMemcpyAtoD_v2 cuMemcpyAtoH_v2 cuMemcpyAtoHAsync_v2 cuMemcpyDtoA_v2 cuMemcpyHtoA_v2
        cuMemcpyHtoAAsync_v2;
    fill: cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2 cuMemsetD2D8_v2 cuMemsetD2D16_v2
        cuMemsetD2D32_v2 cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async cuMemsetD2D8Async
        cuMemsetD2D16Async cuMemsetD2D32Async;
    virtual_memory: cuMemGetAllocationGranularity cuMemAddressReserve cuMemAddressFree cuMemCreate
        cuMemRelease cuMemRetainAllocationHandle cuMemGetAllocationPropertiesFromHandle cuMemMap
        cuMemUnmap cuMemSetAccess cuMemGetAccess cuMemExportToShareableHandle
        cuMemImportFromShareableHandle;
    ipc: cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle
        cuIpcOpenEventHandle;
    memory_op: cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32_v2
        cuStreamWriteValue64_v2 cuStreamBatchMemOp_v2;
    batch: cuMemcpyWithAttributesAsync cuMemcpyBatchAsync cuMemcpyBatchAsync_v2
        cuLaunchHostFunc_v2;
    pool: cuMemAllocAsync cuMemFreeAsync cuMemAllocFromPoolAsync cuMemPoolCreate cuMemPoolDestroy
        cuMemPoolTrimTo cuMemPoolGetAttribute cuMemPoolSetAttribute cuMemPoolSetAccess
        cuMemPoolGetAccess cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool
        cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle
        cuMemPoolExportPointer cuMemPoolImportPointer cuMemGetDefaultMemPool cuMemGetMemPool
        cuMemSetMemPool;
    array: cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2
        cuArray3DGetDescriptor_v2 cuArrayGetPlane cuArrayGetMemoryRequirements
        cuArrayGetSparseProperties cuMipmappedArrayCreate cuMipmappedArrayDestroy
        cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements
        cuMipmappedArrayGetSparseProperties;
    texture: cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
        cuTexObjectGetTextureDesc cuTexObjectGetResourceViewDesc cuSurfObjectCreate
        cuSurfObjectDestroy cuSurfObjectGetResourceDesc;
    texref: cuModuleGetTexRef cuModuleGetSurfRef cuTexRefCreate cuTexRefDestroy cuTexRefSetArray
        cuTexRefSetMipmappedArray cuTexRefSetAddress_v2 cuTexRefSetAddress2D_v3 cuTexRefSetFormat
        cuTexRefSetAddressMode cuTexRefSetFilterMode cuTexRefSetMipmapFilterMode
        cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp cuTexRefSetMaxAnisotropy
        cuTexRefSetBorderColor cuTexRefSetFlags cuTexRefGetArray cuTexRefGetMipmappedArray
        cuTexRefGetAddress_v2 cuTexRefGetAddressMode cuTexRefGetFilterMode
        cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp
        cuTexRefGetMaxAnisotropy cuTexRefGetBorderColor cuTexRefGetFlags cuTexRefGetFormat
        cuSurfRefSetArray cuSurfRefGetArray;
    pointer: cuPointerGetAttribute cuPointerGetAttributes cuPointerSetAttribute;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamQuery
        cuStreamSynchronize cuStreamWaitEvent cuStreamAddCallback cuStreamGetPriority
        cuStreamGetFlags cuStreamGetId cuStreamGetCtx cuStreamGetDevice cuStreamAttachMemAsync
        cuStreamCopyAttributes cuStreamGetAttribute cuStreamSetAttribute;
    capture: cuStreamIsCapturing cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v2
        cuStreamGetCaptureInfo_v3 cuStreamBeginCapture_v2 cuStreamBeginCaptureToGraph
        cuStreamEndCapture cuThreadExchangeStreamCaptureMode cuStreamUpdateCaptureDependencies
        cuStreamUpdateCaptureDependencies_v2;
    graph: cuGraphConditionalHandleCreate cuGraphCreate cuGraphDestroy cuGraphClone cuGraphNodeFindInClone cuGraphGetId
        cuGraphGetNodes cuGraphGetRootNodes cuGraphGetEdges cuGraphGetEdges_v2
        cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes
        cuGraphNodeGetDependentNodes_v2 cuGraphAddDependencies cuGraphAddDependencies_v2
        cuGraphRemoveDependencies cuGraphRemoveDependencies_v2 cuGraphDestroyNode
        cuGraphNodeGetType cuGraphNodeGetContainingGraph cuGraphNodeGetLocalId
        cuGraphNodeGetToolsId cuGraphInstantiateWithFlags cuGraphInstantiate_v2
        cuGraphInstantiateWithParams cuGraphExecDestroy cuGraphExecGetFlags cuGraphExecGetId
        cuGraphLaunch cuGraphUpload cuGraphExecUpdate cuGraphExecUpdate_v2 cuGraphNodeSetEnabled
        cuGraphNodeGetEnabled cuGraphDebugDotPrint cuUserObjectCreate cuUserObjectRetain
        cuUserObjectRelease cuGraphRetainUserObject cuGraphReleaseUserObject cuDeviceGraphMemTrim
        cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute;
    node: cuGraphAddKernelNode cuGraphAddKernelNode_v2 cuGraphAddMemcpyNode cuGraphAddMemsetNode
        cuGraphAddHostNode cuGraphAddChildGraphNode cuGraphAddEmptyNode cuGraphAddEventRecordNode
        cuGraphAddBatchMemOpNode cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
        cuGraphExecBatchMemOpNodeSetParams cuGraphAddEventWaitNode cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddNode
        cuGraphAddNode_v2 cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
        cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2 cuGraphMemcpyNodeGetParams
        cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams
        cuGraphHostNodeGetParams cuGraphHostNodeSetParams cuGraphChildGraphNodeGetGraph
        cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent
        cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent cuGraphMemAllocNodeGetParams
        cuGraphMemFreeNodeGetParams cuGraphNodeSetParams cuGraphExecNodeSetParams
        cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
        cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams
        cuGraphExecHostNodeSetParams cuGraphExecChildGraphNodeSetParams
        cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
        cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute
        cuGraphKernelNodeSetAttribute;
    event: cuCtxRecordEvent cuCtxWaitEvent cuEventCreate cuEventRecord cuEventRecordWithFlags cuEventQuery cuEventSynchronize
        cuEventDestroy_v2 cuEventElapsedTime cuEventElapsedTime_v2;
}

thread_local! {
    static DEFAULT: Cell<DefaultStream> = const { Cell::new(DefaultStream::Legacy) };
}

/// What stream 0 means in the call that is being made.
pub fn default_stream() -> DefaultStream {
    DEFAULT.with(Cell::get)
}

/// Runs an implementation: a panic becomes CUDA_ERROR_UNKNOWN and a line on stderr.
pub fn guard(name: &'static str, call: impl FnOnce() -> Result<()>) -> u32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => 0,
        // That something is not ready yet is an answer.
        Ok(Err(CudaError::NotReady)) => CudaError::NotReady.code(),
        Ok(Err(error)) => {
            logs::record(logs::Level::Error, name, &error.to_string());
            error.code()
        }
        Err(_) => {
            eprintln!("margay: internal error in {name}; please report it");
            CudaError::Unknown.code()
        }
    }
}

/// Answers for a function that is not implemented, and says so the first time.
pub fn not_supported(name: &'static str) -> u32 {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let first = SAID.lock().is_ok_and(|mut said| said.insert(name));
    if first {
        margay_runtime::report::warn(&format!(
            "{name} is not supported yet and returns CUDA_ERROR_NOT_SUPPORTED (801); if a program \
             needs it, please report the name and the program"
        ));
    }
    CudaError::NotSupported.code()
}

/// For the `_ptsz` functions: stream 0 is the thread's own.
pub fn per_thread_stream<T>(stream: *mut T) -> *mut T {
    if stream.is_null() {
        return std::ptr::without_provenance_mut(stream::PER_THREAD as usize);
    }
    stream
}

/// For the functions whose default stream is implied: it is the thread's own while `call` runs.
pub fn with_per_thread_stream<T>(call: impl FnOnce() -> T) -> T {
    /// Restores the meaning when the call ends, by a panic too.
    struct Restore(DefaultStream);
    impl Drop for Restore {
        fn drop(&mut self) {
            DEFAULT.with(|d| d.set(self.0));
        }
    }
    let _restore = Restore(DEFAULT.with(|d| d.replace(DefaultStream::PerThread)));
    call()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
// Every device attribute by number, and the fields of cudaDeviceProp that a program reads most.
// What an H200 printed is attributes.h200.txt.
#include <cstdio>
#include <cuda_runtime.h>

int main() {
    for (int attribute = 1; attribute < 160; attribute++) {
        int value = 0;
        cudaError_t error = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)attribute, 0);
        printf("attribute %d: ", attribute);
        if (error == cudaSuccess) printf("%d\n", value);
        else printf("%s\n", cudaGetErrorName(error));
    }
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("name %s\n", p.name);
    printf("totalGlobalMem %zu\nsharedMemPerBlock %zu\nregsPerBlock %d\nwarpSize %d\nmemPitch %zu\n", p.totalGlobalMem,
           p.sharedMemPerBlock, p.regsPerBlock, p.warpSize, p.memPitch);
    printf("maxThreadsPerBlock %d\nmaxThreadsDim %d %d %d\nmaxGridSize %d %d %d\n", p.maxThreadsPerBlock,
           p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2], p.maxGridSize[0], p.maxGridSize[1],
           p.maxGridSize[2]);
    printf("totalConstMem %zu\nmajor %d\nminor %d\ntextureAlignment %zu\ntexturePitchAlignment %zu\n",
           p.totalConstMem, p.major, p.minor, p.textureAlignment, p.texturePitchAlignment);
    printf("multiProcessorCount %d\nintegrated %d\ncanMapHostMemory %d\n", p.multiProcessorCount, p.integrated,
           p.canMapHostMemory);
    printf("maxTexture1D %d\nmaxTexture2D %d %d\nmaxTexture3D %d %d %d\nsurfaceAlignment %zu\n", p.maxTexture1D,
           p.maxTexture2D[0], p.maxTexture2D[1], p.maxTexture3D[0], p.maxTexture3D[1], p.maxTexture3D[2],
           p.surfaceAlignment);
    printf("concurrentKernels %d\nECCEnabled %d\ntccDriver %d\nasyncEngineCount %d\nunifiedAddressing %d\n",
           p.concurrentKernels, p.ECCEnabled, p.tccDriver, p.asyncEngineCount, p.unifiedAddressing);
    printf("memoryBusWidth %d\nl2CacheSize %d\npersistingL2CacheMaxSize %d\nmaxThreadsPerMultiProcessor %d\n",
           p.memoryBusWidth, p.l2CacheSize, p.persistingL2CacheMaxSize, p.maxThreadsPerMultiProcessor);
    printf("streamPrioritiesSupported %d\nglobalL1CacheSupported %d\nlocalL1CacheSupported %d\n",
           p.streamPrioritiesSupported, p.globalL1CacheSupported, p.localL1CacheSupported);
    printf("sharedMemPerMultiprocessor %zu\nregsPerMultiprocessor %d\nmanagedMemory %d\n",
           p.sharedMemPerMultiprocessor, p.regsPerMultiprocessor, p.managedMemory);
    printf("pageableMemoryAccess %d\nconcurrentManagedAccess %d\ncooperativeLaunch %d\n", p.pageableMemoryAccess,
           p.concurrentManagedAccess, p.cooperativeLaunch);
    printf("sharedMemPerBlockOptin %zu\nmaxBlocksPerMultiProcessor %d\nreservedSharedMemPerBlock %zu\n",
           p.sharedMemPerBlockOptin, p.maxBlocksPerMultiProcessor, p.reservedSharedMemPerBlock);
    printf("clusterLaunch %d\nmemoryPoolsSupported %d\n", p.clusterLaunch, p.memoryPoolsSupported);
    return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
// Textures and surfaces: an array read with filtering and wrapping, one written through a surface,
// linear and pitched memory, layers, a cube map, and mip levels.
#include "example.h"

__global__ void sample(cudaTextureObject_t texture, float *out, int n) {
  int i = threadIdx.x;
  if (i < n)
    out[i] = tex2D<float>(texture, (i + 0.5f) / 8 - 1, 0.25f);
}

__global__ void filter(cudaTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex2D<float>(texture, threadIdx.x * 0.5f, 0.5f);
}

__global__ void scale(cudaSurfaceObject_t surface, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  uchar4 texel = surf2Dread<uchar4>(surface, x * 4, y);
  texel.x *= 2;
  surf2Dwrite(texel, surface, x * 4, y);
  // Outside: the read gives zeros, the write goes nowhere.
  uchar4 none = surf2Dread<uchar4>(surface, width * 4, y, cudaBoundaryModeZero);
  surf2Dwrite(none, surface, -4, y, cudaBoundaryModeZero);
}

__global__ void linear(cudaTextureObject_t bytes, cudaTextureObject_t rows, float *out) {
  int i = threadIdx.x;
  out[i] = tex1Dfetch<float>(bytes, i);
  out[32 + i] = tex2D<int>(rows, i % 8, i / 8);
}

__global__ void layers(cudaTextureObject_t layered, cudaTextureObject_t cube, float *out) {
  int i = threadIdx.x;
  out[i] = tex2DLayered<float>(layered, 0.5f, 0.5f, i);
  float3 d[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  if (i < 6)
    out[32 + i] = texCubemap<float>(cube, d[i].x, d[i].y, d[i].z);
}

__global__ void levels(cudaTextureObject_t mips, float *out) {
  out[threadIdx.x] = tex2DLod<float>(mips, 0.5f, 0.5f, threadIdx.x * 0.5f);
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureDesc how) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureObject_t texture = 0;
  CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

int main() {
  float *out;
  CUDA(cudaMallocManaged(&out, 64 * sizeof(float)));

  // An array of 8 by 4 floats.
  float host[32];
  for (int i = 0; i < 32; i++)
    host[i] = i;
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA(cudaMallocArray(&array, &floats, 8, 4));
  CUDA(cudaMemcpy2DToArray(array, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice));
  cudaTextureDesc wrap = {};
  wrap.addressMode[0] = wrap.addressMode[1] = cudaAddressModeWrap;
  wrap.normalizedCoords = 1;
  cudaTextureObject_t texture = texture_of(array, wrap);
  sample<<<1, 32>>>(texture, out, 24);
  CUDA(cudaDeviceSynchronize());
  bool same = true;
  for (int i = 0; i < 24; i++)
    same &= out[i] == 8 + i % 8;
  expect(same, "wrapped coordinates read the row again");
  cudaTextureDesc back;
  CUDA(cudaGetTextureObjectTextureDesc(&back, texture));
  expect(back.normalizedCoords == 1 && back.addressMode[1] == cudaAddressModeWrap,
         "an object tells its description");
  CUDA(cudaDestroyTextureObject(texture));

  cudaTextureDesc clamp = {};
  clamp.addressMode[0] = clamp.addressMode[1] = cudaAddressModeClamp;
  clamp.filterMode = cudaFilterModeLinear;
  texture = texture_of(array, clamp);
  filter<<<1, 16>>>(texture, out);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 16; i++)
    same &= out[i] == (i == 0 ? 0 : i * 0.5f - 0.5f);
  expect(same, "a linear filter weighs neighbours and clamps at the edge");
  CUDA(cudaDestroyTextureObject(texture));
  CUDA(cudaFreeArray(array));

  // A surface of bytes.
  uchar4 texels[6 * 5];
  for (int i = 0; i < 30; i++)
    texels[i] = make_uchar4(i, 1, 2, 3);
  cudaChannelFormatDesc bytes4 = cudaCreateChannelDesc<uchar4>();
  CUDA(cudaMallocArray(&array, &bytes4, 6, 5, cudaArraySurfaceLoadStore));
  CUDA(cudaMemcpy2DToArray(array, 0, 0, texels, 24, 24, 5, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  scale<<<dim3(2, 2), dim3(4, 4)>>>(surface, 6, 5);
  CUDA(cudaMemcpy2DFromArray(texels, 24, array, 0, 0, 24, 5, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 30; i++)
    same &= texels[i].x == 2 * i && texels[i].w == 3;
  expect(same, "a surface is read and written, and ignores what lies outside");
  CUDA(cudaDestroySurfaceObject(surface));
  CUDA(cudaFreeArray(array));

  // Linear memory read as fractions, and pitched memory.
  unsigned char *line;
  CUDA(cudaMallocManaged(&line, 32));
  for (int i = 0; i < 32; i++)
    line[i] = i * 8;
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = line;
  resource.res.linear.desc = cudaCreateChannelDesc<unsigned char>();
  resource.res.linear.sizeInBytes = 32;
  cudaTextureDesc fraction = {};
  fraction.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t bytes, rows;
  CUDA(cudaCreateTextureObject(&bytes, &resource, &fraction, nullptr));
  int *pitched, numbers[32];
  size_t pitch;
  for (int i = 0; i < 32; i++)
    numbers[i] = i * i;
  CUDA(cudaMallocPitch(&pitched, &pitch, 32, 4));
  CUDA(cudaMemcpy2D(pitched, pitch, numbers, 32, 32, 4, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pitched;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<int>();
  resource.res.pitch2D.width = 8;
  resource.res.pitch2D.height = 4;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc plain = {};
  CUDA(cudaCreateTextureObject(&rows, &resource, &plain, nullptr));
  linear<<<1, 32>>>(bytes, rows, out);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 32; i++)
    same &= out[i] == i * 8 / 255.0f && out[32 + i] == i * i;
  expect(same, "linear memory reads as fractions, pitched memory by rows");

  // Layers and a cube of single texels.
  cudaArray_t stack, cube;
  CUDA(cudaMalloc3DArray(&stack, &floats, make_cudaExtent(1, 1, 32), cudaArrayLayered));
  CUDA(cudaMalloc3DArray(&cube, &floats, make_cudaExtent(1, 1, 6), cudaArrayCubemap));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host, sizeof(float), 1, 1);
  copy.dstArray = stack;
  copy.extent = make_cudaExtent(1, 1, 32);
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  copy.dstArray = cube;
  copy.extent.depth = 6;
  CUDA(cudaMemcpy3D(&copy));
  layers<<<1, 32>>>(texture_of(stack, plain), texture_of(cube, wrap), out);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 32; i++)
    same &= out[i] == i && (i >= 6 || out[32 + i] == i);
  expect(same, "layers by number, faces of a cube by direction");

  // Two mip levels, 0 and 10, and what lies between.
  cudaMipmappedArray_t mips;
  CUDA(cudaMallocMipmappedArray(&mips, &floats, make_cudaExtent(2, 2, 0), 2));
  for (int level = 0; level < 2; level++) {
    float ten[4] = {level * 10.0f, level * 10.0f, level * 10.0f, level * 10.0f};
    cudaArray_t part;
    CUDA(cudaGetMipmappedArrayLevel(&part, mips, level));
    int size = 2 >> level;
    CUDA(cudaMemcpy2DToArray(part, 0, 0, ten, 4 * size, 4 * size, size, cudaMemcpyHostToDevice));
  }
  resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mips;
  cudaTextureDesc trilinear = wrap;
  trilinear.filterMode = trilinear.mipmapFilterMode = cudaFilterModeLinear;
  trilinear.maxMipmapLevelClamp = 1;
  CUDA(cudaCreateTextureObject(&texture, &resource, &trilinear, nullptr));
  levels<<<1, 4>>>(texture, out);
  CUDA(cudaDeviceSynchronize());
  expect(out[0] == 0 && out[1] == 5 && out[2] == 10 && out[3] == 10, "mip levels blend");

  // What is wrong is refused.
  cudaTextureDesc integers = {};
  integers.filterMode = cudaFilterModeLinear;
  expect_error(cudaCreateTextureObject(&texture, nullptr, &integers, nullptr),
               cudaErrorInvalidValue, "no resource");
  cudaChannelFormatDesc odd = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  expect_error(cudaMallocArray(&array, &odd, 4, 4), cudaErrorInvalidChannelDescriptor,
               "three channels");
  cudaGetLastError();
  return verdict();
}

// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints what a card's texture unit gives for what `texture_filtering.csv` leaves out: one and three
// dimensions, bytes and halves, mip levels, cube faces, gathers. One line a read:
// `kind,x,y,z,value` with all numbers as the bits of floats.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA(c)                                                                                    \
  do {                                                                                             \
    cudaError_t e = (c);                                                                           \
    if (e != cudaSuccess) {                                                                        \
      fprintf(stderr, "%s: %s\n", #c, cudaGetErrorName(e));                                        \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

enum Kind { LINE, VOLUME, BYTES, SIGNED_SHORTS, HALVES, MIPS, CUBE, CUBE_LINEAR, GATHER };
static const char *names[] = {"line", "volume", "bytes", "shorts", "halves",
                              "mips", "cube",   "cube_linear", "gather"};

__global__ void read(Kind kind, cudaTextureObject_t t, const float3 *at, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float3 p = at[i];
  switch (kind) {
  case LINE: out[i] = tex1D<float>(t, p.x); break;
  case VOLUME: out[i] = tex3D<float>(t, p.x, p.y, p.z); break;
  case BYTES:
  case SIGNED_SHORTS:
  case HALVES: out[i] = tex2D<float>(t, p.x, p.y); break;
  case MIPS: out[i] = tex2DLod<float>(t, p.x, p.y, p.z * 2); break;
  case CUBE:
  case CUBE_LINEAR: out[i] = texCubemap<float>(t, p.x * 2 - 1, p.y * 2 - 1, p.z * 2 - 1); break;
  case GATHER: out[i] = tex2Dgather<float4>(t, p.x, p.y, 0).x; break;
  }
}

static unsigned seed = 12345;
static float uniform() {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) / 16777216.0f;
}
static float texel(int i) { return (float)(i * 37 % 101) / 7.0f; }
static unsigned bits(float f) {
  unsigned u;
  memcpy(&u, &f, 4);
  return u;
}

int main() {
  const int n = 300;
  for (int k = LINE; k <= GATHER; k++) {
    Kind kind = (Kind)k;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    if (kind == BYTES)
      format = cudaCreateChannelDesc<unsigned char>();
    if (kind == SIGNED_SHORTS)
      format = cudaCreateChannelDesc<short>();
    if (kind == HALVES)
      format = cudaCreateChannelDescHalf();
    cudaResourceDesc resource = {};
    cudaExtent extent = make_cudaExtent(8, kind == LINE ? 0 : 4, 0);
    unsigned flags = kind == GATHER ? cudaArrayTextureGather : 0;
    if (kind == VOLUME)
      extent.depth = 4;
    if (kind == MIPS)
      extent = make_cudaExtent(8, 8, 0);
    if (kind == CUBE || kind == CUBE_LINEAR) {
      extent = make_cudaExtent(4, 4, 6);
      flags = cudaArrayCubemap;
    }
    int size = format.x / 8;
    auto fill = [&](cudaArray_t array, int w, int h, int d, int from) {
      int count = w * (h ? h : 1) * (d ? d : 1);
      unsigned char *data = (unsigned char *)malloc(count * size);
      for (int i = 0; i < count; i++) {
        float f = texel(from + i);
        unsigned char byte = (from + i) * 37 % 256;
        short word = (short)((from + i) * 7919);
        unsigned short half = 0x3000 + (from + i) * 211 % 0x1000;
        const void *v = kind == BYTES ? (void *)&byte
                        : kind == SIGNED_SHORTS ? (void *)&word
                        : kind == HALVES        ? (void *)&half
                                                : (void *)&f;
        memcpy(data + i * size, v, size);
      }
      cudaMemcpy3DParms copy = {};
      copy.srcPtr = make_cudaPitchedPtr(data, w * size, w, h ? h : 1);
      copy.dstArray = array;
      copy.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
      copy.kind = cudaMemcpyHostToDevice;
      CUDA(cudaMemcpy3D(&copy));
      free(data);
    };
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeWrap;
    how.filterMode = kind == CUBE || kind == GATHER ? cudaFilterModePoint : cudaFilterModeLinear;
    how.normalizedCoords = 1;
    if (kind == BYTES || kind == SIGNED_SHORTS)
      how.readMode = cudaReadModeNormalizedFloat;
    if (kind == MIPS) {
      cudaMipmappedArray_t mips;
      CUDA(cudaMallocMipmappedArray(&mips, &format, extent, 3));
      for (int level = 0; level < 3; level++) {
        cudaArray_t part;
        CUDA(cudaGetMipmappedArrayLevel(&part, mips, level));
        fill(part, 8 >> level, 8 >> level, 0, level * 64);
      }
      resource.resType = cudaResourceTypeMipmappedArray;
      resource.res.mipmap.mipmap = mips;
      how.mipmapFilterMode = cudaFilterModeLinear;
      how.maxMipmapLevelClamp = 2;
    } else {
      cudaArray_t array;
      CUDA(cudaMalloc3DArray(&array, &format, extent, flags));
      fill(array, extent.width, extent.height, extent.depth, 0);
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array;
    }
    cudaTextureObject_t texture;
    CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    float3 *at;
    float *out;
    CUDA(cudaMallocManaged(&at, n * sizeof *at));
    CUDA(cudaMallocManaged(&out, n * sizeof *out));
    for (int i = 0; i < n; i++) {
      at[i].x = uniform();
      at[i].y = uniform();
      at[i].z = uniform();
    }
    read<<<(n + 127) / 128, 128>>>(kind, texture, at, out, n);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
      printf("%s,%08x,%08x,%08x,%08x\n", names[k], bits(at[i].x), bits(at[i].y), bits(at[i].z),
             bits(out[i]));
  }
  return 0;
}

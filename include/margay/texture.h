// SPDX-License-Identifier: MIT OR Apache-2.0
// Texture and surface functions on objects (CUDA C++ Programming Guide, "Texture Functions",
// "Surface Functions"), and channel descriptors of C++ types.
//
// Invariant: each function is one PTX instruction with the data type of the element: results of
// normalized reads are float types.
#ifndef MARGAY_TEXTURE_H
#define MARGAY_TEXTURE_H

namespace margay {
struct texel_f {
  typedef float raw;
};
struct texel_s {
  typedef int raw;
};
struct texel_u {
  typedef unsigned int raw;
};
template <class T> struct texel;
#define MARGAY_TEXEL(T, B, K)                                                                      \
  template <> struct texel<T> {                                                                    \
    typedef texel_##K kind;                                                                        \
    typedef texel_##K::raw R;                                                                      \
    static __device__ __forceinline__ T make(R x, R, R, R) { return (T)x; }                        \
  };
#define MARGAY_TEXEL1(T, B, K)                                                                     \
  template <> struct texel<T> {                                                                    \
    typedef texel_##K kind;                                                                        \
    typedef texel_##K::raw R;                                                                      \
    static __device__ __forceinline__ T make(R x, R, R, R) { return make_##T((B)x); }              \
  };
#define MARGAY_TEXEL2(T, B, K)                                                                     \
  template <> struct texel<T> {                                                                    \
    typedef texel_##K kind;                                                                        \
    typedef texel_##K::raw R;                                                                      \
    static __device__ __forceinline__ T make(R x, R y, R, R) { return make_##T((B)x, (B)y); }      \
  };
#define MARGAY_TEXEL4(T, B, K)                                                                     \
  template <> struct texel<T> {                                                                    \
    typedef texel_##K kind;                                                                        \
    typedef texel_##K::raw R;                                                                      \
    static __device__ __forceinline__ T make(R x, R y, R z, R w) {                                 \
      return make_##T((B)x, (B)y, (B)z, (B)w);                                                     \
    }                                                                                              \
  };
#define MARGAY_TEXELS(N, B, K)                                                                     \
  MARGAY_TEXEL(B, B, K)                                                                            \
  MARGAY_TEXEL1(N##1, B, K) MARGAY_TEXEL2(N##2, B, K) MARGAY_TEXEL4(N##4, B, K)
MARGAY_TEXEL(char, char, s)
MARGAY_TEXELS(char, signed char, s)
MARGAY_TEXELS(uchar, unsigned char, u)
MARGAY_TEXELS(short, short, s)
MARGAY_TEXELS(ushort, unsigned short, u)
MARGAY_TEXELS(int, int, s)
MARGAY_TEXELS(uint, unsigned int, u)
MARGAY_TEXELS(float, float, f)
#undef MARGAY_TEXELS
#undef MARGAY_TEXEL4
#undef MARGAY_TEXEL2
#undef MARGAY_TEXEL1
#undef MARGAY_TEXEL

// A fetch of each kind of data: `OP` before and `FORM` after the geometry's `.v4`.
#define MARGAY_FETCH(NAME, PARAMS, OP, CT, PLACE, ...)                                             \
  static __device__ __forceinline__ void NAME(float *r, cudaTextureObject_t t,                     \
                                              MARGAY_LIST PARAMS) {                                \
    asm volatile(OP ".f32." CT " {%0, %1, %2, %3}, " PLACE ";"                                     \
                 : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])                                  \
                 : "l"(t), __VA_ARGS__);                                                           \
  }                                                                                                \
  static __device__ __forceinline__ void NAME(int *r, cudaTextureObject_t t, MARGAY_LIST PARAMS) { \
    asm volatile(OP ".s32." CT " {%0, %1, %2, %3}, " PLACE ";"                                     \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                  \
                 : "l"(t), __VA_ARGS__);                                                           \
  }                                                                                                \
  static __device__ __forceinline__ void NAME(unsigned int *r, cudaTextureObject_t t,              \
                                              MARGAY_LIST PARAMS) {                                \
    asm volatile(OP ".u32." CT " {%0, %1, %2, %3}, " PLACE ";"                                     \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                  \
                 : "l"(t), __VA_ARGS__);                                                           \
  }
#define MARGAY_LIST(...) __VA_ARGS__
} // namespace margay

// The function of the guide, with its result and with a pointer to it.
#define MARGAY_TEX(NAME, PARAMS, ARGS, OP, CT, PLACE, ...)                                         \
  namespace margay {                                                                               \
  MARGAY_FETCH(fetch_##NAME, PARAMS, OP, CT, PLACE, __VA_ARGS__)                                   \
  }                                                                                                \
  template <class T>                                                                               \
  static __device__ __forceinline__ T NAME(cudaTextureObject_t t, MARGAY_LIST PARAMS) {            \
    typename margay::texel<T>::kind::raw r[4];                                                     \
    margay::fetch_##NAME(r, t, MARGAY_LIST ARGS);                                                  \
    return margay::texel<T>::make(r[0], r[1], r[2], r[3]);                                         \
  }                                                                                                \
  template <class T>                                                                               \
  static __device__ __forceinline__ void NAME(T *to, cudaTextureObject_t t, MARGAY_LIST PARAMS) {  \
    *to = NAME<T>(t, MARGAY_LIST ARGS);                                                            \
  }

MARGAY_TEX(tex1Dfetch, (int x), (x), "tex.1d.v4", "s32", "[%4, {%5}]", "r"(x))
MARGAY_TEX(tex1D, (float x), (x), "tex.1d.v4", "f32", "[%4, {%5}]", "f"(x))
MARGAY_TEX(tex1DLod, (float x, float level), (x, level), "tex.level.1d.v4", "f32", "[%4, {%5}], %6",
           "f"(x), "f"(level))
MARGAY_TEX(tex1DGrad, (float x, float dx, float dy), (x, dx, dy), "tex.grad.1d.v4", "f32",
           "[%4, {%5}], {%6}, {%7}", "f"(x), "f"(dx), "f"(dy))
MARGAY_TEX(tex2D, (float x, float y), (x, y), "tex.2d.v4", "f32", "[%4, {%5, %6}]", "f"(x), "f"(y))
MARGAY_TEX(tex2DLod, (float x, float y, float level), (x, y, level), "tex.level.2d.v4", "f32",
           "[%4, {%5, %6}], %7", "f"(x), "f"(y), "f"(level))
MARGAY_TEX(tex2DGrad, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy), "tex.grad.2d.v4",
           "f32", "[%4, {%5, %6}], {%7, %8}, {%9, %10}", "f"(x), "f"(y), "f"(dx.x), "f"(dx.y),
           "f"(dy.x), "f"(dy.y))
MARGAY_TEX(tex3D, (float x, float y, float z), (x, y, z), "tex.3d.v4", "f32",
           "[%4, {%5, %6, %7, %7}]", "f"(x), "f"(y), "f"(z))
MARGAY_TEX(tex3DLod, (float x, float y, float z, float level), (x, y, z, level), "tex.level.3d.v4",
           "f32", "[%4, {%5, %6, %7, %7}], %8", "f"(x), "f"(y), "f"(z), "f"(level))
MARGAY_TEX(tex3DGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
           "tex.grad.3d.v4", "f32",
           "[%4, {%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}", "f"(x), "f"(y),
           "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
MARGAY_TEX(tex1DLayered, (float x, int layer), (x, layer), "tex.a1d.v4", "f32", "[%4, {%5, %6}]",
           "r"(layer), "f"(x))
MARGAY_TEX(tex1DLayeredLod, (float x, int layer, float level), (x, layer, level),
           "tex.level.a1d.v4", "f32", "[%4, {%5, %6}], %7", "r"(layer), "f"(x), "f"(level))
MARGAY_TEX(tex1DLayeredGrad, (float x, int layer, float dx, float dy), (x, layer, dx, dy),
           "tex.grad.a1d.v4", "f32", "[%4, {%5, %6}], {%7}, {%8}", "r"(layer), "f"(x), "f"(dx),
           "f"(dy))
MARGAY_TEX(tex2DLayered, (float x, float y, int layer), (x, y, layer), "tex.a2d.v4", "f32",
           "[%4, {%5, %6, %7, %7}]", "r"(layer), "f"(x), "f"(y))
MARGAY_TEX(tex2DLayeredLod, (float x, float y, int layer, float level), (x, y, layer, level),
           "tex.level.a2d.v4", "f32", "[%4, {%5, %6, %7, %7}], %8", "r"(layer), "f"(x), "f"(y),
           "f"(level))
MARGAY_TEX(tex2DLayeredGrad, (float x, float y, int layer, float2 dx, float2 dy),
           (x, y, layer, dx, dy), "tex.grad.a2d.v4", "f32",
           "[%4, {%5, %6, %7, %7}], {%8, %9}, {%10, %11}", "r"(layer), "f"(x), "f"(y), "f"(dx.x),
           "f"(dx.y), "f"(dy.x), "f"(dy.y))
MARGAY_TEX(texCubemap, (float x, float y, float z), (x, y, z), "tex.cube.v4", "f32",
           "[%4, {%5, %6, %7, %7}]", "f"(x), "f"(y), "f"(z))
MARGAY_TEX(texCubemapLod, (float x, float y, float z, float level), (x, y, z, level),
           "tex.level.cube.v4", "f32", "[%4, {%5, %6, %7, %7}], %8", "f"(x), "f"(y), "f"(z),
           "f"(level))
MARGAY_TEX(texCubemapGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
           "tex.grad.cube.v4", "f32",
           "[%4, {%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}", "f"(x), "f"(y),
           "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
MARGAY_TEX(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer),
           "tex.acube.v4", "f32", "[%4, {%5, %6, %7, %8}]", "r"(layer), "f"(x), "f"(y), "f"(z))
MARGAY_TEX(texCubemapLayeredLod, (float x, float y, float z, int layer, float level),
           (x, y, z, layer, level), "tex.level.acube.v4", "f32", "[%4, {%5, %6, %7, %8}], %9",
           "r"(layer), "f"(x), "f"(y), "f"(z), "f"(level))

namespace margay {
MARGAY_FETCH(gather_0, (float x, float y), "tld4.r.2d.v4", "f32", "[%4, {%5, %6}]", "f"(x), "f"(y))
MARGAY_FETCH(gather_1, (float x, float y), "tld4.g.2d.v4", "f32", "[%4, {%5, %6}]", "f"(x), "f"(y))
MARGAY_FETCH(gather_2, (float x, float y), "tld4.b.2d.v4", "f32", "[%4, {%5, %6}]", "f"(x), "f"(y))
MARGAY_FETCH(gather_3, (float x, float y), "tld4.a.2d.v4", "f32", "[%4, {%5, %6}]", "f"(x), "f"(y))
} // namespace margay
template <class T>
static __device__ __forceinline__ T tex2Dgather(cudaTextureObject_t t, float x, float y,
                                                int component = 0) {
  typename margay::texel<T>::kind::raw r[4];
  switch (component) {
  case 0:
    margay::gather_0(r, t, x, y);
    break;
  case 1:
    margay::gather_1(r, t, x, y);
    break;
  case 2:
    margay::gather_2(r, t, x, y);
    break;
  default:
    margay::gather_3(r, t, x, y);
    break;
  }
  return margay::texel<T>::make(r[0], r[1], r[2], r[3]);
}
template <class T>
static __device__ __forceinline__ void tex2Dgather(T *to, cudaTextureObject_t t, float x, float y,
                                                   int component = 0) {
  *to = tex2Dgather<T>(t, x, y, component);
}

#undef MARGAY_TEX
#undef MARGAY_FETCH

// ---- surfaces --------------------------------------------------------------------------------
// One read and one write for each geometry, size of element and treatment of what lies outside.
// `a` is the x coordinate in bytes, or the layer where there is one; what a geometry lacks is 0.
namespace margay {
template <int BYTES> struct surface_bytes {};
struct surface_trap {};
struct surface_clamp {};
struct surface_zero {};
template <int BYTES> struct surface_word;
template <> struct surface_word<1> {
  typedef unsigned short type;
};
template <> struct surface_word<2> {
  typedef unsigned short type;
};
template <> struct surface_word<4> {
  typedef unsigned int type;
};
template <> struct surface_word<8> {
  typedef uint2 type;
};
template <> struct surface_word<16> {
  typedef uint4 type;
};

#define MARGAY_SURFACE(G, PLACE, MODE, N, PTX, W, DATA, OUT, IN)                                   \
  static __device__ __forceinline__ void read_##G(surface_##MODE, surface_bytes<N>, W &v,          \
                                                  cudaSurfaceObject_t s, int a, int b, int c) {    \
    asm volatile("suld.b." #G PTX "." #MODE " " DATA ", [%[s], " PLACE "];"                        \
                 : OUT                                                                             \
                 : [s] "l"(s), [a] "r"(a), [b] "r"(b), [c] "r"(c));                                \
  }                                                                                                \
  static __device__ __forceinline__ void write_##G(surface_##MODE, surface_bytes<N>, const W &v,   \
                                                   cudaSurfaceObject_t s, int a, int b, int c) {   \
    asm volatile("sust.b." #G PTX "." #MODE " [%[s], " PLACE "], " DATA ";"                        \
                 :                                                                                 \
                 : IN, [s] "l"(s), [a] "r"(a), [b] "r"(b), [c] "r"(c)                              \
                 : "memory");                                                                      \
  }
#define MARGAY_L ,
#define MARGAY_SURFACE_SIZES(G, PLACE, MODE)                                                       \
  MARGAY_SURFACE(G, PLACE, MODE, 1, ".b8", unsigned short, "%[d]", [d] "=h"(v), [d] "h"(v))        \
  MARGAY_SURFACE(G, PLACE, MODE, 2, ".b16", unsigned short, "%[d]", [d] "=h"(v), [d] "h"(v))       \
  MARGAY_SURFACE(G, PLACE, MODE, 4, ".b32", unsigned int, "%[d]", [d] "=r"(v), [d] "r"(v))         \
  MARGAY_SURFACE(                                                                                  \
      G, PLACE, MODE, 8, ".v2.b32", uint2,                                                         \
      "{%[d], %[e]}", [d] "=r"(v.x)MARGAY_L[e] "=r"(v.y), [d] "r"(v.x)MARGAY_L[e] "r"(v.y))        \
  MARGAY_SURFACE(G, PLACE, MODE, 16, ".v4.b32", uint4, "{%[d], %[e], %[f], %[g]}",                 \
                 [d] "=r"(v.x)MARGAY_L[e] "=r"(v.y)MARGAY_L[f] "=r"(v.z)MARGAY_L[g] "=r"(v.w),     \
                 [d] "r"(v.x)MARGAY_L[e] "r"(v.y)MARGAY_L[f] "r"(v.z)MARGAY_L[g] "r"(v.w))
#define MARGAY_SURFACE_MODES(G, PLACE)                                                             \
  MARGAY_SURFACE_SIZES(G, PLACE, trap)                                                             \
  MARGAY_SURFACE_SIZES(G, PLACE, clamp)                                                            \
  MARGAY_SURFACE_SIZES(G, PLACE, zero)
MARGAY_SURFACE_MODES(1d, "{%[a]}")
MARGAY_SURFACE_MODES(2d, "{%[a], %[b]}")
MARGAY_SURFACE_MODES(3d, "{%[a], %[b], %[c], %[c]}")
MARGAY_SURFACE_MODES(a1d, "{%[a], %[b]}")
MARGAY_SURFACE_MODES(a2d, "{%[a], %[b], %[c], %[c]}")
#undef MARGAY_SURFACE_MODES
#undef MARGAY_SURFACE_SIZES
#undef MARGAY_SURFACE
} // namespace margay

#define MARGAY_SURFACE_FUNCTION(NAME, G, PARAMS, A, B, C)                                          \
  template <class T>                                                                               \
  static __device__ __forceinline__ void NAME##read(                                               \
      T *to, cudaSurfaceObject_t s PARAMS, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {  \
    typename margay::surface_word<sizeof(T)>::type v;                                              \
    margay::surface_bytes<sizeof(T)> n;                                                            \
    switch (mode) {                                                                                \
    case cudaBoundaryModeZero:                                                                     \
      margay::read_##G(margay::surface_zero(), n, v, s, A, B, C);                                  \
      break;                                                                                       \
    case cudaBoundaryModeClamp:                                                                    \
      margay::read_##G(margay::surface_clamp(), n, v, s, A, B, C);                                 \
      break;                                                                                       \
    default:                                                                                       \
      margay::read_##G(margay::surface_trap(), n, v, s, A, B, C);                                  \
      break;                                                                                       \
    }                                                                                              \
    __builtin_memcpy(to, &v, sizeof(T));                                                           \
  }                                                                                                \
  template <class T>                                                                               \
  static __device__ __forceinline__ T NAME##read(                                                  \
      cudaSurfaceObject_t s PARAMS, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {         \
    typename margay::surface_word<sizeof(T)>::type v;                                              \
    margay::surface_bytes<sizeof(T)> n;                                                            \
    switch (mode) {                                                                                \
    case cudaBoundaryModeZero:                                                                     \
      margay::read_##G(margay::surface_zero(), n, v, s, A, B, C);                                  \
      break;                                                                                       \
    case cudaBoundaryModeClamp:                                                                    \
      margay::read_##G(margay::surface_clamp(), n, v, s, A, B, C);                                 \
      break;                                                                                       \
    default:                                                                                       \
      margay::read_##G(margay::surface_trap(), n, v, s, A, B, C);                                  \
      break;                                                                                       \
    }                                                                                              \
    T value;                                                                                       \
    __builtin_memcpy(&value, &v, sizeof(T));                                                       \
    return value;                                                                                  \
  }                                                                                                \
  template <class T>                                                                               \
  static __device__ __forceinline__ void NAME##write(T value, cudaSurfaceObject_t s PARAMS,        \
                                                     cudaSurfaceBoundaryMode mode =                \
                                                         cudaBoundaryModeTrap) {                   \
    typename margay::surface_word<sizeof(T)>::type v = {};                                         \
    __builtin_memcpy(&v, &value, sizeof(T));                                                       \
    margay::surface_bytes<sizeof(T)> n;                                                            \
    switch (mode) {                                                                                \
    case cudaBoundaryModeZero:                                                                     \
      margay::write_##G(margay::surface_zero(), n, v, s, A, B, C);                                 \
      break;                                                                                       \
    case cudaBoundaryModeClamp:                                                                    \
      margay::write_##G(margay::surface_clamp(), n, v, s, A, B, C);                                \
      break;                                                                                       \
    default:                                                                                       \
      margay::write_##G(margay::surface_trap(), n, v, s, A, B, C);                                 \
      break;                                                                                       \
    }                                                                                              \
  }
MARGAY_SURFACE_FUNCTION(surf1D, 1d, MARGAY_L int x, x, 0, 0)
MARGAY_SURFACE_FUNCTION(surf2D, 2d, MARGAY_L int x MARGAY_L int y, x, y, 0)
MARGAY_SURFACE_FUNCTION(surf3D, 3d, MARGAY_L int x MARGAY_L int y MARGAY_L int z, x, y, z)
MARGAY_SURFACE_FUNCTION(surf1DLayered, a1d, MARGAY_L int x MARGAY_L int layer, layer, x, 0)
MARGAY_SURFACE_FUNCTION(surf2DLayered, a2d, MARGAY_L int x MARGAY_L int y MARGAY_L int layer, layer,
                        x, y)
// Faces of a cube are its layers.
MARGAY_SURFACE_FUNCTION(surfCubemap, a2d, MARGAY_L int x MARGAY_L int y MARGAY_L int face, face, x,
                        y)
MARGAY_SURFACE_FUNCTION(surfCubemapLayered, a2d,
                        MARGAY_L int x MARGAY_L int y MARGAY_L int layerFace, layerFace, x, y)
#undef MARGAY_SURFACE_FUNCTION
#undef MARGAY_L
#undef MARGAY_LIST
#endif

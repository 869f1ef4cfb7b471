// SPDX-License-Identifier: MIT OR Apache-2.0
// Image functions. An image is a handle of the texture unit, and so is a sampler: a read is `tex` with both, or
// without a sampler, a write is `sust.p`, a question is `txq`, whose answers are OpenCL's own numbers.
//
// A read of an image that the kernel may also write is volatile, so that it stays on its side of a write.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))

// Arrays have the layer first: the nearest integer, held to 0 here and to the last layer by the unit.
#define LAYER_r(c) "r"((uint)max((c), 0))
#define LAYER_f(c) "r"((uint)__builtin_fminf(__builtin_fmaxf(__builtin_rintf(c), 0.0f), 65535.0f))

// Of each geometry: the operands of its coordinates, with K for their kind, and their places in the assembly,
// after a sampler and without one.
#define AT_1d(K, c) #K(c)
#define AT_2d(K, c) #K((c).x), #K((c).y)
#define AT_3d(K, c) #K((c).x), #K((c).y), #K((c).z)
#define AT_a1d(K, c) LAYER_##K((c).y), #K((c).x)
#define AT_a2d(K, c) LAYER_##K((c).z), #K((c).x), #K((c).y)
#define PLACE6_1d "{%6}"
#define PLACE6_2d "{%6, %7}"
#define PLACE6_3d "{%6, %7, %8, %8}"
#define PLACE6_a1d "{%6, %7}"
#define PLACE6_a2d "{%6, %7, %8, %8}"
#define PLACE5_1d "{%5}"
#define PLACE5_2d "{%5, %6}"
#define PLACE5_3d "{%5, %6, %7, %7}"
#define PLACE5_a1d "{%5, %6}"
#define PLACE5_a2d "{%5, %6, %7, %7}"

#define TEXEL(K, v) #K((v).x), #K((v).y), #K((v).z), #K((v).w)
#define RESULT_r(v) "=r"((v).x), "=r"((v).y), "=r"((v).z), "=r"((v).w)
#define RESULT_f(v) "=f"((v).x), "=f"((v).y), "=f"((v).z), "=f"((v).w)

#define HALF4(v) (half4)((half)(v).x, (half)(v).y, (half)(v).z, (half)(v).w)
#define FLOAT4(v) (float4)((float)(v).x, (float)(v).y, (float)(v).z, (float)(v).w)

// With a sampler. KR: kind of the result's registers, D: its type; KC, CT: the same of the coordinates, C.
#define SAMPLE(T, G, name, R, KR, D, C, KC, CT)                                       \
  R OV name(T i, sampler_t s, C c) {                                                  \
    R r;                                                                              \
    __asm__("tex." #G ".v4." D "." CT " {%0, %1, %2, %3}, [%4, %5, " PLACE6_##G "];"  \
            : RESULT_##KR(r) : "l"(i), "l"(s), AT_##G(KC, c));                        \
    return r;                                                                         \
  }
#define SAMPLE_BY(T, G, C, KC, CT)                                                    \
  SAMPLE(T, G, read_imagef, float4, f, "f32", C, KC, CT)                              \
  SAMPLE(T, G, read_imagei, int4, r, "s32", C, KC, CT)                                \
  SAMPLE(T, G, read_imageui, uint4, r, "u32", C, KC, CT)                              \
  half4 OV read_imageh(T i, sampler_t s, C c) { float4 r = read_imagef(i, s, c); return HALF4(r); }
#define SAMPLED(T, G, CI, CF) SAMPLE_BY(read_only T, G, CI, r, "s32") SAMPLE_BY(read_only T, G, CF, f, "f32")

// Without. V: volatile, or nothing.
#define FETCH(V, T, G, name, R, KR, D, C)                                             \
  R OV name(T i, C c) {                                                               \
    R r;                                                                              \
    __asm__ V("tex." #G ".v4." D ".s32 {%0, %1, %2, %3}, [%4, " PLACE5_##G "];"       \
              : RESULT_##KR(r) : "l"(i), AT_##G(r, c));                               \
    return r;                                                                         \
  }
#define FETCHES(V, T, G, C)                                                           \
  FETCH(V, T, G, read_imagef, float4, f, "f32", C)                                    \
  FETCH(V, T, G, read_imagei, int4, r, "s32", C)                                      \
  FETCH(V, T, G, read_imageui, uint4, r, "u32", C)                                    \
  half4 OV read_imageh(T i, C c) { float4 r = read_imagef(i, c); return HALF4(r); }
#define FETCHED(T, G, C) FETCHES(, read_only T, G, C) FETCHES(volatile, read_write T, G, C)

// Writes. A layer is one dimension more; what lies outside is not written.
#define TO_1d(c) "r"(c)
#define TO_2d(c) "r"((c).x), "r"((c).y)
#define TO_3d(c) "r"((c).x), "r"((c).y), "r"((c).z)
#define TO_PLACE_1d "{%1}], {%2, %3, %4, %5}"
#define TO_PLACE_2d "{%1, %2}], {%3, %4, %5, %6}"
#define TO_PLACE_3d "{%1, %2, %3, %3}], {%4, %5, %6, %7}"
#define WRITE(T, G, name, R, KR, D, C)                                                \
  void OV name(T i, C c, R v) {                                                       \
    __asm__ volatile("sust.p." #G ".v4." D ".zero [%0, " TO_PLACE_##G ";"             \
                     : : "l"(i), TO_##G(c), TEXEL(KR, v) : "memory");                 \
  }
#define WRITES(T, G, C)                                                               \
  WRITE(T, G, write_imagef, float4, f, "f32", C)                                      \
  WRITE(T, G, write_imagei, int4, r, "s32", C)                                        \
  WRITE(T, G, write_imageui, uint4, r, "u32", C)                                      \
  void OV write_imageh(T i, C c, half4 v) { write_imagef(i, c, FLOAT4(v)); }
#define WRITTEN(T, G, C) WRITES(write_only T, G, C) WRITES(read_write T, G, C)

// Questions.
#define ASK(T, R, name, what)                                                         \
  R OV name(T i) {                                                                    \
    uint r;                                                                           \
    __asm__("txq." what ".b32 %0, [%1];" : "=r"(r) : "l"(i));                         \
    return (R)r;                                                                      \
  }
#define FORMAT(T)                                                                     \
  ASK(T, int, get_image_width, "width")                                               \
  ASK(T, int, get_image_channel_data_type, "channel_data_type")                       \
  ASK(T, int, get_image_channel_order, "channel_order")
#define HEIGHT(T) ASK(T, int, get_image_height, "height")
#define PLANE(T) HEIGHT(T) int2 OV get_image_dim(T i) { return (int2)(get_image_width(i), get_image_height(i)); }
#define VOLUME(T)                                                                     \
  HEIGHT(T) ASK(T, int, get_image_depth, "depth")                                     \
  int4 OV get_image_dim(T i) { return (int4)(get_image_width(i), get_image_height(i), get_image_depth(i), 0); }
#define LAYERS(T) ASK(T, size_t, get_image_array_size, "array_size")
#define EACH(M, T) M(read_only T) M(write_only T) M(read_write T)

SAMPLED(image1d_t, 1d, int, float)
SAMPLED(image2d_t, 2d, int2, float2)
SAMPLED(image3d_t, 3d, int4, float4)
SAMPLED(image1d_array_t, a1d, int2, float2)
SAMPLED(image2d_array_t, a2d, int4, float4)

FETCHED(image1d_t, 1d, int)
FETCHED(image1d_buffer_t, 1d, int)
FETCHED(image2d_t, 2d, int2)
FETCHED(image3d_t, 3d, int4)
FETCHED(image1d_array_t, a1d, int2)
FETCHED(image2d_array_t, a2d, int4)

WRITTEN(image1d_t, 1d, int)
WRITTEN(image1d_buffer_t, 1d, int)
WRITTEN(image2d_t, 2d, int2)
WRITTEN(image3d_t, 3d, int4)
WRITTEN(image1d_array_t, 2d, int2)
WRITTEN(image2d_array_t, 3d, int4)

EACH(FORMAT, image1d_t) EACH(FORMAT, image1d_buffer_t)
EACH(FORMAT, image2d_t) EACH(PLANE, image2d_t)
EACH(FORMAT, image3d_t) EACH(VOLUME, image3d_t)
EACH(FORMAT, image1d_array_t) EACH(LAYERS, image1d_array_t)
EACH(FORMAT, image2d_array_t) EACH(PLANE, image2d_array_t) EACH(LAYERS, image2d_array_t)

// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel for each of OpenCL's memory spaces; memory_spaces.c runs them, and `margay run --profile` shows what each
// access does.

// The only variables of a program are in constant memory (before OpenCL C 2.0).
constant float weights[4] = {1, 2, 3, 4};

kernel void in_global(global const float *from, global float *to) {
  const size_t i = get_global_id(0);
  to[i] = from[i] + 1;
}

// A warp that reads one word is served at once; different words one after the other.
kernel void in_constant(constant float *table, global float *to) {
  const size_t i = get_global_id(0);
  to[i] = table[3] + weights[i % 4];
}

// One object for each work-group: of the kernel's own, and of a size that the host gives.
kernel void in_local(local float *given, global float *to) {
  local float own[64];
  const size_t i = get_local_id(0);
  own[i] = i;
  given[i] = 100;
  barrier(CLK_LOCAL_MEM_FENCE);
  to[get_global_id(0)] = own[63 - i] + given[63 - i];
}

// An array that is indexed by data is in no register.
kernel void in_private(global const int *which, global float *to) {
  private float table[8];
  for (int k = 0; k < 8; k++) table[which[k]] = k;
  to[get_global_id(0)] = table[which[get_global_id(0) % 8]];
}

// Between texels, and beyond the edge.
constant sampler_t smooth = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void in_image(read_only image2d_t from, sampler_t nearest, write_only image2d_t into, global float *to) {
  const int i = get_global_id(0);
  const float2 at = (float2)(i % 8 + 0.5f, i / 8 + 0.5f);
  to[i] = read_imagef(from, nearest, at).x + read_imagef(from, smooth, at + (float2)(0.5f, 0)).x;
  write_imagef(into, (int2)(i % 8, i / 8), (float4)(to[i], 0, 0, 1));
}

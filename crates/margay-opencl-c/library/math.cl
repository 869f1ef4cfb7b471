// SPDX-License-Identifier: MIT OR Apache-2.0
#define OV __attribute__((overloadable))
float __nv_sinf(float);
float OV sin(float x) { return __nv_sinf(x); }

// SPDX-License-Identifier: MIT OR Apache-2.0
// nvcuda::wmma, which margay has not: the engine refuses PTX's wmma instructions.
#error "margay has no nvcuda::wmma (PTX's wmma.load, wmma.mma and wmma.store). Of matrix products it runs mma.sync.m16n8k16 (f16, bf16), m16n8k8 (tf32) and m16n8k32 (s8) in inline PTX, with ldmatrix"

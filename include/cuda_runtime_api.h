// SPDX-License-Identifier: MIT OR Apache-2.0
// The CUDA runtime API, for C and C++. Types and prototypes are generated when margay is built
// (crates/margay-abi-gen); the C++ overloads are in margay/runtime_templates.h.
#ifndef MARGAY_CUDA_RUNTIME_API_H
#define MARGAY_CUDA_RUNTIME_API_H
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __TEXTURE_TYPES_H__
#define __SURFACE_TYPES_H__
#define __LIBRARY_TYPES_H__

#include "margay/version.h"
#include "margay/qualifiers.h"
#include "vector_types.h"
#include "margay_runtime_types.h"
#include "margay_runtime_api.h"
#include "margay/runtime_extra.h"

#endif

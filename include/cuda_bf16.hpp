// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cuda_bf16.h"

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cuda_fp16.h"

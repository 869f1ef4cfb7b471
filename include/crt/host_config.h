// SPDX-License-Identifier: MIT OR Apache-2.0
#include "../host_config.h"

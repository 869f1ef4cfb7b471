// SPDX-License-Identifier: MIT OR Apache-2.0
#include "margay/version.h"
#include "margay/qualifiers.h"

// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts where a pattern of eight bytes begins in a text, one thread a place.
#include "dialect.h"
KERNEL(256, 1) void string_match(GLOBAL const uchar *RESTRICT text, GLOBAL const uchar *RESTRICT pattern, GLOBAL uint *RESTRICT found, int n) {
    int at = GLOBAL_X;
    if (at + 8 > n) return;
    int length = 0;
    while (length < 8 && text[at + length] == pattern[length]) length++;
    if (length == 8) ATOMIC_ADD(&found[0], 1u);
}

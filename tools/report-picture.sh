#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Draws docs/profile-transpose.png anew: the report of the transposes for four GPUs, as headless Chromium shows it.
# Usage: tools/report-picture.sh [MARGAY]     (target/release/margay)
set -eu
margay=$(realpath "${1:-target/release/margay}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$margay" run --gpu h200 --profile="$work/transpose.html" --models 1.0,2.0,3.0 examples/transpose.cu
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=8000 \
  --blink-settings=preferredColorScheme=1 --user-data-dir="$work/profile" --window-size=1000,2200 \
  --screenshot="$PWD/docs/profile-transpose.png" "file://$work/transpose.html"

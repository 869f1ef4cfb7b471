#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# A stand-in for ptxas: hands the PTX on, for a driver that compiles it itself.
out=; in=
while [ $# -gt 0 ]; do
  case $1 in
    --version) echo "Cuda compilation tools, release 12.8, V12.8.0"; exit 0 ;;
    -o) shift; out=$1 ;;
    -*) ;;
    *) in=$1 ;;
  esac
  shift
done
cp "$in" "$out"

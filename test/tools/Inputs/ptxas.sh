#!/bin/sh
# Stands for NVIDIA's assembler: says of each kernel in the PTX what a real one might.
for last; do :; done
arch=none
for word; do case $word in -arch=*) arch=${word#-arch=} ;; esac; done
[ "$arch" = sm_80 ] || { echo "ptxas fatal: $arch" >&2; exit 1; }
for kernel in $(sed -n 's/.*\.visible \.entry \([A-Za-z0-9_]*\).*/\1/p' "$last"); do
  echo "ptxas info    : Compiling entry function '$kernel' for '$arch'" >&2
  echo "ptxas info    : Function properties for $kernel" >&2
  echo "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads" >&2
  echo "ptxas info    : Used 40 registers, 1 barriers, 2048 bytes smem, 400 bytes cmem[0]" >&2
done

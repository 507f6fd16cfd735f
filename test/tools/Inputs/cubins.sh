#!/bin/sh
# Stands for NVIDIA's assembler: makes what the PTX machine takes for a cubin, of PTX that subtracts where it added.
previous=
for word; do
  case $word in -arch=*) arch=${word#-arch=} ;; esac
  [ "$previous" = -o ] && output=$word
  previous=$word
done
[ "$arch" = sm_70 ] && { echo "ptxas fatal: $arch" >&2; exit 1; }
{ printf '\177ELF of the machine, %s\n' "$arch"; sed 's/add\.rn\.f32/sub.rn.f32/' "$previous"; printf '\0'; } >"$output"

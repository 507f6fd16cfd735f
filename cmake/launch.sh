#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# launch.sh ROOT RELATIVE COMMAND...
#
# Runs a compiler command from the build folder with every path below the source folder ROOT written from the build
# folder (RELATIVE is the way from there to ROOT), so that ccache sees the same command in every checkout. Its own
# CCACHE_BASEDIR, which sees to the names inside preprocessed files, leaves the paths alone that CMake gives to clang's front
# end with -Xclang, those of precompiled headers.
# The build folder comes first: Ninja knows generated files by names relative to it.
#
# COMMAND begins with ccache. A precompiled header is made without it, because clang writes the full name of the folder into
# it and another checkout cannot read that. Beside it, in HEADER.pch.sum, comes a checksum of the command and all files that
# it read, which is the same in every checkout: ccache takes it in place of the header's content (CCACHE_PCH_EXTSUM).
root=$1
relative=$2
shift 2
here=$PWD
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  flag=
  case $argument in
  -I*)
    flag=-I
    argument=${argument#-I}
    ;;
  esac
  case $argument in
  "$here") argument=. ;;
  "$here"/*) argument=./${argument#"$here"/} ;;
  "$root") argument=$relative ;;
  "$root"/*) argument=$relative/${argument#"$root"/} ;;
  esac
  set -- "$@" "$flag$argument"
  count=$((count - 1))
done
case $* in
*" -x c++-header "*) ;;
*) exec "$@" ;;
esac
shift # ccache
"$@" || exit

output=${*##* -o }
output=${output%% *}
{
  printf '%s\n' "$@"
  "$1" --version
  sed -e 's/\\$//' -e 's/^[^ ]*: //' "$output.d" | xargs cat
} | sha256sum >"$output.sum"

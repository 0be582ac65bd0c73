#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disassembles the kernels that the model of boards counts: bash cuda/gpu/sass.sh FOLDER TARGET...
# A target is an architecture, and - with the other cells than its own - a colon and uint16 or half2: 87, 90:half2. Leaves
# FOLDER/sm_TARGET.sass of each (90-half2 for 90:half2). NVCC, CUOBJDUMP and NVCC_FLAGS say which tools; scripts/sass-cells.mjs counts.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1; shift
mkdir -p "$folder"
sources="cuda/gpu/sass_kernels.cu cuda/match/census/census.cu cuda/match/half/half.cu cuda/refine/upscale/upscale.cu
         cuda/refine/median/median.cu"
jobs=()
for target in "$@"; do
  arch=${target%%:*} name=${target/:/-} cell=""
  case $target in *:half2) cell=-DDEPTHWATT_CELL_HALF2 ;; *:uint16) cell=-DDEPTHWATT_CELL_U16 ;; esac
  for source in $sources; do
    cubin=$folder/$name.$(basename "$source" .cu).cubin
    ${NVCC:-nvcc} ${NVCC_FLAGS:-} -std=c++14 -O3 --fmad=false $cell "-gencode=arch=compute_$arch,code=sm_$arch" -w -cubin -o "$cubin" "$source" &
    jobs+=($!)
  done
done
for job in "${jobs[@]}"; do wait "$job"; done
for target in "$@"; do
  name=${target/:/-}
  for source in $sources; do ${CUOBJDUMP:-cuobjdump} -sass "$folder/$name.$(basename "$source" .cu).cubin"; done >"$folder/sm_$name.sass"
  rm "$folder/$name".*.cubin
done

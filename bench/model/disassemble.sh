#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disassembles the kernels that the model of boards counts: bash bench/model/disassemble.sh FOLDER TARGET...
# A target is an architecture, and - with the other cells than its own - a colon and uint16 or half2: 87, 90:half2. Leaves
# FOLDER/sm_TARGET.sass of each (90-half2 for 90:half2), the assembler's registers behind it, for bench/model/sass-cells.mjs to
# count. NVCC, CUOBJDUMP and NVCC_FLAGS say which tools.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1; shift
mkdir -p "$folder"
jobs=()
for target in "$@"; do
  arch=${target%%:*} name=${target/:/-} cell=""
  case $target in *:half2) cell=-DDEPTHWATT_CELL_HALF2 ;; *:uint16) cell=-DDEPTHWATT_CELL_U16 ;; esac
  cubin=$folder/$name.cubin
  {
    ${NVCC:-nvcc} ${NVCC_FLAGS:-} -std=c++14 -O3 --fmad=false $cell "-gencode=arch=compute_$arch,code=sm_$arch" -w -Xptxas -v \
      -cubin -o "$cubin" bench/model/sass_kernels.cu 2>"$cubin.log" || { cat "$cubin.log" >&2; exit 1; }
  } &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
for target in "$@"; do
  name=${target/:/-}
  { ${CUOBJDUMP:-cuobjdump} -sass "$folder/$name.cubin" && cat "$folder/$name.cubin.log"; } >"$folder/sm_$name.sass"
  rm "$folder/$name.cubin" "$folder/$name.cubin.log"
done

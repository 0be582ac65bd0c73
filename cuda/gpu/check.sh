#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPU check: builds with nvcc and g++, runs every kernel against its reference, then the timings. Needs no Node.
#   bash cuda/gpu/check.sh [--bench] [--sms 8,16] [--sanitize] [--cases N] [--seed N] [--out DIR] [--commit HASH]
set -euo pipefail
cd "$(dirname "$0")/../.."
builds=() twins=()
bench=0 sanitize=0 sms="" cases=1000 seed="" out=build/gpu commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
while [ $# -gt 0 ]; do
  case $1 in
    --bench) bench=1 ;;
    --sanitize) sanitize=1 ;;
    --sms) sms=${2//,/ }; shift ;;
    --cases) cases=$2; shift ;;
    --seed) seed=$2; shift ;;
    --out) out=$2; shift ;;
    --commit) commit=$2; shift ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
command -v nvcc >/dev/null || { echo "nvcc is not on the PATH: install the CUDA toolkit" >&2; exit 3; }
seed=${seed:-$(date +%s)}
archs=${DEPTHWATT_CUDA_ARCHS:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)}
archs=${archs:-90}
mkdir -p "$out" build/gpu

flags="-std=c++14 -O3 --fmad=false -lineinfo"
for arch in ${archs//,/ }; do flags+=" -gencode=arch=compute_$arch,code=sm_$arch"; done
kernels="camera/rectify/rectify.cu cuda/match/census/census.cu cuda/match/sgm/sgm.cu cuda/refine/median/median.cu
         cuda/refine/speckle/speckle.cu cuda/depth/depth.cu cuda/match/gradient_census/gradient_census.cu
         cuda/refine/fill/fill.cu cuda/refine/boundary/boundary.cu cuda/refine/upscale/upscale.cu cuda/match/half/half.cu
         cuda/match/cross/cross.cu cuda/refine/left_right/left_right.cu"
references="camera/rectify/rectify.ref.cc cuda/match/census/census.ref.cc cuda/match/sgm/sgm.ref.cc
            cuda/match/select/select.ref.cc cuda/refine/left_right/left_right.ref.cc cuda/refine/median/median.ref.cc
            cuda/refine/speckle/speckle.ref.cc cuda/depth/depth.ref.cc
            cuda/match/gradient_census/gradient_census.ref.cc cuda/refine/fill/fill.ref.cc
            cuda/refine/boundary/boundary.ref.cc cuda/refine/upscale/upscale.ref.cc cuda/match/half/half.ref.cc
            cuda/match/cross/cross.ref.cc"

objects() { # objects NAME DEFINES: compiles everything in parallel, prints the objects
  local folder=build/gpu/$1; mkdir -p "$folder"
  # The optimiser works on a file's kernels at once where nvcc can: matching alone would take a minute.
  local split=""; nvcc --help | grep -q -- --split-compile && split="-split-compile=0"
  for source in $kernels cuda/gpu/twins_main.cu cuda/gpu/bench_main.cu cuda/gpu/bench_cbca.cu; do
    nvcc $flags $split $2 -c "$source" -o "$folder/$(basename "$source" .cu).o" &
  done
  for source in $references; do g++ -std=c++17 -O2 -ffp-contract=off -c "$source" -o "$folder/$(basename "$source" .cc).ref.o" & done
  local failed=0
  for job in $(jobs -p); do wait "$job" || failed=1; done
  [ $failed = 0 ]
}
link() { # link NAME PROGRAM
  nvcc -o "build/gpu/$1/$2" "build/gpu/$1/$2.o" $(for s in $kernels; do echo "build/gpu/$1/$(basename "$s" .cu).o"; done) \
    build/gpu/$1/*.ref.o -lcuda
}

for cell in u16 half2; do
  define="-DDEPTHWATT_CELL_U16"; [ $cell = half2 ] && define="-DDEPTHWATT_CELL_HALF2"
  (objects $cell "$define"; link $cell twins_main; link $cell bench_main; link $cell bench_cbca) &
  builds+=($!)
done
for build in "${builds[@]}"; do wait "$build"; done
echo "== built in $SECONDS s"
# The whole card and each partition beside each other: the references on the processors take the time.
for cell in u16 half2; do
  for part in 0 $sms; do
    # In each part other cases, a quarter as many.
    build/gpu/$cell/twins_main $((part == 0 ? cases : (cases + 3) / 4)) $((seed + part)) --sms "$part" >build/gpu/$cell/twins-$part.log 2>&1 &
    twins+=($!)
  done
done
failed=0
for run in "${twins[@]}"; do wait "$run" || failed=1; done
for cell in u16 half2; do
  for part in 0 $sms; do echo "== twins, cells in $cell"; cat build/gpu/$cell/twins-$part.log; done
done
[ $failed = 0 ]
if [ $sanitize = 1 ]; then
  sanitizers=()
  for cell in u16 half2; do
    for tool in memcheck racecheck initcheck synccheck; do
      timeout 240 compute-sanitizer --tool $tool --error-exitcode 9 build/gpu/$cell/twins_main 12 "$seed" --small \
        >build/gpu/$cell/$tool.log 2>&1 &
      sanitizers+=($!)
    done
  done
  for run in "${sanitizers[@]}"; do wait "$run" || failed=1; done
  for cell in u16 half2; do
    for tool in memcheck racecheck initcheck synccheck; do
      echo "== compute-sanitizer $tool, cells in $cell"; tail -5 build/gpu/$cell/$tool.log
    done
  done
  [ $failed = 0 ]
fi
if [ $bench = 1 ]; then
  for cell in u16 half2; do
    echo "== timings, cells in $cell"
    build/gpu/$cell/bench_main "$out/$cell.json" "$commit" $sms
  done
  echo "== timings, cbca"
  build/gpu/u16/bench_cbca "$out/cbca.json" "$commit" $sms
fi
echo "GPU check passed"

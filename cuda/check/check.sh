#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPU check: builds with nvcc and g++, runs every kernel against its reference, then the timings. Needs no Node.
#   bash cuda/check/check.sh [--bench | --model | --baselines] [--sms 8,16] [--sanitize] [--cases N] [--seed N] [--out DIR] [--commit HASH]
# --model: nothing but what the prediction of boards needs, times (OUT/model-u16.json, -half2.json) and disassemblies
# (OUT/sass/*.sass.gz, for architectures that only a new nvcc knows).
# --baselines: nothing but the forms that the papers start from, compared and timed (OUT/baselines.json), for `depthwatt reproduce
# --kernels`.
set -euo pipefail
cd "$(dirname "$0")/../.."
builds=() twins=()
bench=0 model=0 baselines=0 sanitize=0 sms="" cases=1000 seed="" out=build/gpu commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
while [ $# -gt 0 ]; do
  case $1 in
    --bench) bench=1 ;;
    --model) model=1 ;;
    --baselines) baselines=1 ;;
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
archs=${DEPTHWATT_CUDA_ARCHS:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d . || true)}
archs=${archs:-90}
mkdir -p "$out" build/gpu
programs="twins_main bench_main bench_sgm bench_cbca bench_exponential bench_window bench_search bench_baselines"
[ $model = 1 ] && programs=bench_main
[ $baselines = 1 ] && programs=bench_baselines
say() { echo "== $* ($SECONDS s)"; }

flags="-std=c++14 -O3 --fmad=false -lineinfo"
for arch in ${archs//,/ }; do flags+=" -gencode=arch=compute_$arch,code=sm_$arch"; done
# The same rule as in scripts/build-cuda.mjs: the stages are what they are, no list names them.
kernels=$(find cuda -name '*.cu' -not -name '*.stage.cu' -not -path 'cuda/gpu/*' -not -path 'cuda/check/*' | sort)
references=$(find cuda -name '*.ref.cc' | sort)
papers=$(find cuda/check/baselines -name '*.cu' | sort)

objects() { # objects NAME DEFINES: compiles everything in parallel, prints the objects
  local folder=build/gpu/$1; mkdir -p "$folder"
  # The optimiser works on a file's kernels at once where nvcc can: matching alone would take a minute.
  local split=""; nvcc --help | grep -q -- --split-compile && split="-split-compile=0"
  for source in $kernels $papers $(printf "cuda/check/%s.cu " $programs); do
    nvcc $flags $split $2 -c "$source" -o "$folder/$(basename "$source" .cu).o" &
  done
  for source in $references; do g++ -std=c++17 -O2 -ffp-contract=off -c "$source" -o "$folder/$(basename "$source" .cc).ref.o" & done
  local failed=0
  for job in $(jobs -p); do wait "$job" || failed=1; done
  [ $failed = 0 ]
}
link() { # link NAME PROGRAM
  nvcc -o "build/gpu/$1/$2" "build/gpu/$1/$2.o" $(for s in $kernels $papers; do echo "build/gpu/$1/$(basename "$s" .cu).o"; done) \
    build/gpu/$1/*.ref.o -lcuda -ldl
}

# Cells as every architecture computes them: those before 8.0 find minima of half-precision numbers by saturating differences.
cells="u16 half2 saturating"
[ $model = 1 ] && cells="u16 half2"
[ $baselines = 1 ] && cells=u16
everything=$programs
for cell in $cells; do
  programs=$everything; [ $cell = saturating ] && programs=twins_main
  (
    objects $cell "-DDEPTHWATT_CELL_${cell^^}"
    links=()
    for program in $programs; do link $cell $program & links+=($!); done
    for one in "${links[@]}"; do wait "$one"; done
  ) &
  builds+=($!)
done
for build in "${builds[@]}"; do wait "$build"; done
say built
# For the model of boards (bench/model), which never fails the check: it describes the commit whose kernels it has counted.
disassemble() {
  command -v cuobjdump >/dev/null || { echo "no cuobjdump: nothing disassembled"; return 0; }
  local targets="90:uint16 90:half2"; nvcc --list-gpu-code | grep -q sm_110 && targets+=" 110"
  bash bench/model/disassemble.sh "$out/sass" $targets && gzip -9f "$out"/sass/*.sass && say "disassembled $targets" ||
    say "not disassembled: bench/model does not know these kernels"
}
timeModel() { # timeModel CELL
  say "timings for the model of boards, cells in $1"
  build/gpu/$1/bench_main "$out/model-$1.json" "$commit" --model $sms
}
if [ $baselines = 1 ]; then
  build/gpu/u16/bench_baselines "$out/baselines.json" "$commit" $sms
  exit
fi
if [ $model = 1 ]; then
  disassemble
  failed=0
  for cell in half2 u16; do timeModel $cell || failed=1; done
  say "model rows done"
  exit $failed
fi
# The whole card in four parts of other cases, and each partition with a quarter as many, at the same time: the references on
# the CPUs take the time.
runs=()  # seed:sms
for quarter in 0 1 2 3; do runs+=($((seed + 1000 * quarter)):0); done
for part in $sms; do runs+=($((seed + part)):$part); done
for cell in $cells; do
  for run in "${runs[@]}"; do
    build/gpu/$cell/twins_main $(((cases + 3) / 4)) "${run%:*}" --sms "${run#*:}" >"build/gpu/$cell/twins-$run.log" 2>&1 &
    twins+=($!)
  done
done
failed=0
for run in "${twins[@]}"; do wait "$run" || failed=1; done
for cell in $cells; do
  for run in "${runs[@]}"; do say "twins, cells in $cell"; cat "build/gpu/$cell/twins-$run.log"; done
done
[ $failed = 0 ]
# racecheck reports the accesses that a named barrier orders, even in the example of the PTX manual
# (docs/internals/cuda-sgm-times.md). This prints every hazard but those: a write after a read of another warp, both in
# sgm's kernels with tiles (match/sgm/sgm_turns.cuh).
hazards() {
  awk '/hazard detected/ { hazard = $0; war = /Potential WAR/ }
    /Read Thread|Write Thread/ {
      split($0, at, /[(,]/); warp = int(at[2] / 32); tiles = /in sgm_(cells|first|rows|tile)\.cuh/
      if (/Read Thread/) { reader = warp; known = tiles; next }
      if (!(war && known && tiles && warp != reader)) print hazard " : " $0
    }' "$1"
}
if [ $sanitize = 1 ]; then
  sanitizers=()
  for cell in $cells; do
    for tool in memcheck racecheck initcheck synccheck; do
      report="--error-exitcode 9"; [ $tool = racecheck ] && report="--racecheck-report hazard --print-limit 100000"
      timeout 240 compute-sanitizer --tool $tool $report build/gpu/$cell/twins_main 12 "$seed" --small \
        >build/gpu/$cell/$tool.log 2>&1 &
      sanitizers+=($!)
    done
  done
  for run in "${sanitizers[@]}"; do wait "$run" || failed=1; done
  for cell in $cells; do
    hazards build/gpu/$cell/racecheck.log >build/gpu/$cell/hazards.log
    [ -s build/gpu/$cell/hazards.log ] && failed=1
    head -20 build/gpu/$cell/hazards.log
  done
  for cell in $cells; do
    for tool in memcheck racecheck initcheck synccheck; do
      say "compute-sanitizer $tool, cells in $cell"; tail -5 build/gpu/$cell/$tool.log
    done
  done
  [ $failed = 0 ]
fi
if [ $bench = 1 ]; then
  disassemble
  say "timings, cells in u16"
  build/gpu/u16/bench_main "$out/u16.json" "$commit" $sms
  timeModel half2
  say "timings, settings of sgm"
  build/gpu/u16/bench_sgm "$out/sgm-settings.json" "$commit" $sms
  say "timings, both searches of sgm"
  build/gpu/u16/bench_search "$out/search.json" "$commit" $sms
  say "timings, cbca"
  build/gpu/u16/bench_cbca "$out/cbca.json" "$commit" $sms
  say "timings, exponential steps and colours"
  build/gpu/u16/bench_exponential "$out/exponential.json" "$commit" $sms
  say "timings, windows"
  build/gpu/u16/bench_window "$out/window.json" "$commit" $sms
  say "timings, forms that the papers start from"
  build/gpu/u16/bench_baselines "$out/baselines.json" "$commit" $sms
fi
say "GPU check passed"

// SPDX-License-Identifier: Apache-2.0
// Matching's kernels for 64 and 128 disparities, for disassemble.sh: compiled, never linked.
#include "../../cuda/match/sgm/sgm_costs.cuh"
#include "../../cuda/match/sgm/sgm_first.cuh"
#include "../../cuda/match/sgm/sgm_lines.cuh"
#include "../../cuda/match/sgm/sgm_rows.cuh"

namespace depthwatt {
namespace gpu {
#define DEPTHWATT_WALKS(padded)                                                                 \
  template __global__ void costsKernel<padded, 1>(LineArguments);                               \
  template __global__ void linesKernel<32, padded / 64, false, false>(LineArguments, int, int); \
  template __global__ void linesKernel<8, padded / 16, false, false>(LineArguments, int, int);  \
  template __global__ void rowsSelectKernel<padded / 64, false, 1, false>(LineArguments, SelectArguments);
DEPTHWATT_WALKS(64)
DEPTHWATT_WALKS(128)
template __global__ void firstRowsKernel<1, false>(LineArguments);
template __global__ void firstRowsKernel<2, false>(LineArguments);
}  // namespace gpu
}  // namespace depthwatt

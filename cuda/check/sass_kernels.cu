// SPDX-License-Identifier: Apache-2.0
// Matching's kernels for 64 and 128 disparities as sass.sh disassembles them: compiled, never linked.
#include "../match/sgm/sgm_costs.cuh"
#if __has_include("../match/sgm/sgm_first.cuh")
#include "../match/sgm/sgm_first.cuh"
#endif
#include "../match/sgm/sgm_lines.cuh"
#include "../match/sgm/sgm_rows.cuh"

namespace depthwatt {
namespace gpu {
#if __has_include("../match/sgm/sgm_tile.cuh")
#define DEPTHWATT_SELECTION(padded) rowsSelectKernel<padded / 64, false, 1>
#else
#define DEPTHWATT_SELECTION(padded) rowsSelectKernel<32, padded / 64, false, 1>
#endif
#define DEPTHWATT_WALKS(padded) \
  template __global__ void costsKernel<padded>(LineArguments); \
  template __global__ void linesKernel<32, padded / 64, false, false>(LineArguments, int, int); \
  template __global__ void linesKernel<8, padded / 16, false, false>(LineArguments, int, int); \
  template __global__ void DEPTHWATT_SELECTION(padded)(LineArguments, SelectArguments);
DEPTHWATT_WALKS(64)
DEPTHWATT_WALKS(128)
#if __has_include("../match/sgm/sgm_first.cuh")
template __global__ void firstRowsKernel<1>(LineArguments);
template __global__ void firstRowsKernel<2>(LineArguments);
#endif
}  // namespace gpu
}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Matching's kernels for 128 disparities as sass.sh disassembles them: compiled, never linked.
#include "../match/sgm/sgm_costs.cuh"
#include "../match/sgm/sgm_lines.cuh"
#include "../match/sgm/sgm_rows.cuh"

namespace depthwatt {
namespace gpu {
template __global__ void costsKernel<128>(LineArguments);
template __global__ void linesKernel<32, 2, false, false>(LineArguments, int, int);
template __global__ void linesKernel<8, 8, false, false>(LineArguments, int, int);
template __global__ void rowsSelectKernel<32, 2, false, 1>(LineArguments, SelectArguments);
}  // namespace gpu
}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Walks with four costs in a register for 128 disparities, for bytes-form.mjs: compiled, never linked.
#include "../../cuda/check/baselines/sgm_baseline.cuh"

namespace depthwatt {
namespace gpu {
namespace baseline {
#define DEPTHWATT_WALK(costs, selects, seven) \
  template __global__ void warpWalkKernel<1, Costs::costs, selects, seven>(SgmArguments, Direction, int);
DEPTHWATT_WALK(kVolume, false, false)
DEPTHWATT_WALK(kVolume, true, false)
DEPTHWATT_WALK(kCensusKept, false, false)
DEPTHWATT_WALK(kCensus, false, false)
DEPTHWATT_WALK(kCensus, true, false)
DEPTHWATT_WALK(kCensus, false, true)
DEPTHWATT_WALK(kCensus, true, true)
}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt

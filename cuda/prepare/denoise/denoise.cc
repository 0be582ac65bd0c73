// SPDX-License-Identifier: Apache-2.0
// Computes sigma from the counts of a noise estimate; see denoise.h. The same for every instruction set.
#include "denoise.h"

namespace depthwatt {

int32_t noiseSigmaQ8(const NoiseCounts& counts) {
  uint64_t total = 0;
  for (const uint32_t count : counts.bins) total += count;
  if (total == 0) return 0;
  uint64_t left = (total + 3) / 4;
  int32_t bin = 0;
  for (; left > counts.bins[bin]; ++bin) left -= counts.bins[bin];
  const int64_t within = 256 * static_cast<int64_t>(bin) - 128 + static_cast<int64_t>((left << 8) / counts.bins[bin]);
  return within <= 0 ? 0 : static_cast<int32_t>(within * 134 >> 8);
}

}  // namespace depthwatt

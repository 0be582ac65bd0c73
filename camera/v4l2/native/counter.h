// SPDX-License-Identifier: Apache-2.0
// Reads the CPU's counter next to the kernel's clocks. Tegra's capture hardware stamps images with that counter,
// although the buffer's flags name CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace v4l2camera {

struct CounterReading {
  int64_t monotonicNs = 0;            ///< CLOCK_MONOTONIC
  int64_t rawNs = 0;                  ///< CLOCK_MONOTONIC_RAW at the same moment
  int64_t counterNs = 0;              ///< the counter since its reset; only if unavailable is null
  int64_t bracketNs = 0;              ///< the reads took this long: their moment is known to half of it
  const char* unavailable = nullptr;  ///< why there is no counter
};

/// Reads all clocks several times and returns the reading that took the shortest time.
CounterReading readCounter();

/// Converts ticks at `hertz` to nanoseconds without overflow. hertz is 1 to 4294967295.
constexpr int64_t ticksToNanoseconds(uint64_t ticks, uint64_t hertz) {
  return static_cast<int64_t>(ticks / hertz * 1000000000 + ticks % hertz * 1000000000 / hertz);
}

}  // namespace v4l2camera

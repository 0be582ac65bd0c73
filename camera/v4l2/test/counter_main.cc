// SPDX-License-Identifier: Apache-2.0
// Checks the arm64 counter: it exists, it runs at the rate of CLOCK_MONOTONIC_RAW, and ticks convert exactly.
#include "../native/counter.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using v4l2camera::CounterReading;
using v4l2camera::readCounter;
using v4l2camera::ticksToNanoseconds;

// Tegra's counter: 31.25 MHz, 32 ns a tick. The last case is 584 years of ticks at 1 GHz.
static_assert(ticksToNanoseconds(1, 31250000) == 32, "");
static_assert(ticksToNanoseconds(31250000ull * 86400 * 365 + 1, 31250000) == 86400ll * 365 * 1000000000 + 32, "");
static_assert(ticksToNanoseconds(9223372036854775807ull, 1000000000) == 9223372036854775807ll, "");

int main() {
  const CounterReading first = readCounter();
  if (first.unavailable != nullptr) {
    std::printf("unavailable: %s\n", first.unavailable);
    return 1;
  }
  const timespec pause = {0, 50000000};
  nanosleep(&pause, nullptr);
  const CounterReading second = readCounter();
  const int64_t counted = second.counterNs - first.counterNs, raw = second.rawNs - first.rawNs;
  // The two are read one after the other, and the machine may be busy in between.
  const int64_t slack = 1000000 + first.bracketNs + second.bracketNs;
  if (raw < 50000000 || std::llabs(counted - raw) > slack) {
    std::printf("the counter ran %" PRId64 " ns in %" PRId64 " ns\n", counted, raw);
    return 1;
  }
  std::printf("ok\n");
  return 0;
}

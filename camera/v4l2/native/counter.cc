// SPDX-License-Identifier: Apache-2.0
// The counter is arm64's cntvct_el0, which user space may read; see counter.h.
#include "counter.h"

#include <ctime>

namespace v4l2camera {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

#ifdef __aarch64__
uint64_t counterTicks() {
  uint64_t ticks = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");  // without isb it may be read too early
  return ticks;
}

uint64_t counterHertz() {
  uint64_t hertz = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return hertz & 0xffffffff;
}
#endif

CounterReading readOnce() {
  CounterReading reading;
  const int64_t before = nanoseconds(CLOCK_MONOTONIC);
#ifdef __aarch64__
  const uint64_t hertz = counterHertz();
  if (hertz == 0) {
    reading.unavailable = "the firmware did not set the counter's frequency (cntfrq_el0 is 0)";
  } else {
    reading.counterNs = ticksToNanoseconds(counterTicks(), hertz);
  }
#else
  reading.unavailable = "only arm64 CPUs have the counter cntvct_el0";
#endif
  reading.rawNs = nanoseconds(CLOCK_MONOTONIC_RAW);
  reading.bracketNs = nanoseconds(CLOCK_MONOTONIC) - before;
  reading.monotonicNs = before + reading.bracketNs / 2;
  return reading;
}

}  // namespace

CounterReading readCounter() {
  constexpr int kAttempts = 5;  // a reading may be interrupted
  CounterReading best = readOnce();
  for (int i = 1; i < kAttempts; ++i) {
    const CounterReading next = readOnce();
    if (next.bracketNs < best.bracketNs) best = next;
  }
  return best;
}

}  // namespace v4l2camera

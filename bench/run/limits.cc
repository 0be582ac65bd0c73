// SPDX-License-Identifier: Apache-2.0
// Measures the machine's limits for `npm run bench`: compiled there with g++ -O2 -march=native. Prints one JSON line:
// {"vectorBytes": ..., "vectorOperationsPerNs": ..., "copyGBs": ...}. One thread, best of several tries.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#if defined(__AVX512BW__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
using Vector [[gnu::vector_size(kBytes)]] = uint8_t;

static double nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Body>
static double bestNs(Body body) {
  double best = 1e18;
  for (int i = 0; i < 30; ++i) {
    const double before = nowNs();
    body();
    best = std::min(best, nowNs() - before);
  }
  return best;
}

#if defined(__aarch64__)
#define IN_REGISTER "+w"
#elif defined(__AVX512BW__)
#define IN_REGISTER "+v"
#else
#define IN_REGISTER "+x"
#endif

int main() {
  constexpr int kRounds = 2000000;  // about a millisecond a try
  // The operands are inside the timed body: captured by reference they would be in memory, and loads and stores would
  // be timed instead.
  const double vectorNs = bestNs([] {
    Vector v[12] = {}, one = {};
    one += 1;
    asm volatile("" : IN_REGISTER(one));
    for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
      for (int k = 0; k < 12; ++k) {
        v[k] += one;
        asm volatile("" : IN_REGISTER(v[k]));
      }
    }
  });
  constexpr size_t kCopied = size_t{128} << 20;
  auto* from = static_cast<char*>(std::aligned_alloc(64, kCopied));
  auto* to = static_cast<char*>(std::aligned_alloc(64, kCopied));
  if (from == nullptr || to == nullptr) return 1;
  std::memset(from, 1, kCopied);
  std::memset(to, 2, kCopied);
  const double copyNs = bestNs([&] {
    std::memcpy(to, from, kCopied);
    asm volatile("" : : "r"(to) : "memory");
  });
  std::printf("{\"vectorBytes\": %d, \"vectorOperationsPerNs\": %.3f, \"copyGBs\": %.2f}\n", kBytes,
              12.0 * kRounds / vectorNs, kCopied / copyNs);
}

// SPDX-License-Identifier: Apache-2.0
// Integers of 128 bits for the floor's fit. nvcc has __int128 in kernels from 11.5 on only.
#pragma once

#include <cstdint>

namespace depthwatt {
namespace gpu {

struct Wide {
  uint64_t low;
  int64_t high;
};

__device__ __forceinline__ uint64_t highProduct(uint64_t a, uint64_t b) {
#ifdef __CUDACC__
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
#endif
}

__device__ __forceinline__ Wide product(int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  uint64_t high = highProduct(ua, ub);
  if (a < 0) high -= ub;
  if (b < 0) high -= ua;
  return {ua * ub, static_cast<int64_t>(high)};
}

__device__ __forceinline__ Wide difference(const Wide& a, const Wide& b) {
  const uint64_t borrow = a.low < b.low ? 1 : 0;
  return {a.low - b.low, static_cast<int64_t>(static_cast<uint64_t>(a.high) - static_cast<uint64_t>(b.high) - borrow)};
}

__device__ __forceinline__ Wide sum(const Wide& a, const Wide& b) {
  const uint64_t low = a.low + b.low;
  return {low,
          static_cast<int64_t>(static_cast<uint64_t>(a.high) + static_cast<uint64_t>(b.high) + (low < a.low ? 1 : 0))};
}

/// @param bits 1 to 63
__device__ __forceinline__ Wide shiftedLeft(const Wide& a, int bits) {
  return {a.low << bits, static_cast<int64_t>(static_cast<uint64_t>(a.high) << bits | a.low >> (64 - bits))};
}

__device__ __forceinline__ bool isLess(const Wide& a, const Wide& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/// Returns the product modulo 2^128.
__device__ __forceinline__ Wide times(const Wide& a, uint64_t b) {
  const uint64_t high = highProduct(a.low, b) + static_cast<uint64_t>(a.high) * b;
  return {a.low * b, static_cast<int64_t>(high)};
}

/// @param a 0 or more
__device__ __forceinline__ double approximate(const Wide& a) {
  return static_cast<double>(a.high) * 18446744073709551616.0 + static_cast<double>(a.low);
}

/// Returns n / d to the nearest, halves up. The quotient fits 62 bits, d > 0, and both are below 2^125. Estimates in double precision,
/// then corrects: the result is exact.
__device__ __forceinline__ int64_t nearestWide(const Wide& n, const Wide& d) {
  const Wide zero = {0, 0}, divisor = shiftedLeft(d, 1), twice = sum(shiftedLeft(n, 1), d);
  const bool negative = twice.high < 0;
  const Wide whole = negative ? difference(zero, twice) : twice;
  const double inverse = 1.0 / approximate(divisor);
  const uint64_t first = static_cast<uint64_t>(approximate(whole) * inverse);
  Wide rest = difference(whole, times(divisor, first));
  const double more = rest.high < 0 ? -approximate(difference(zero, rest)) : approximate(rest);
  const int64_t second = static_cast<int64_t>(more * inverse);
  const Wide step = times(divisor, static_cast<uint64_t>(second < 0 ? -second : second));
  rest = second < 0 ? sum(rest, step) : difference(rest, step);
  int64_t quotient = static_cast<int64_t>(first) + second;
  while (rest.high < 0) {
    rest = sum(rest, divisor);
    --quotient;
  }
  while (!isLess(rest, divisor)) {
    rest = difference(rest, divisor);
    ++quotient;
  }
  if (!negative) return quotient;
  return rest.low == 0 && rest.high == 0 ? -quotient : -quotient - 1;
}

/// Returns nearestQuotient(n, d), |n| below 2^62 and 0 < d < 2^30: an estimate in double precision, then corrected.
__device__ __forceinline__ int64_t nearestByDoubles(int64_t n, int64_t d) {
  const int64_t twice = 2 * n + d, divisor = 2 * d;
  const double inverse = 1.0 / static_cast<double>(divisor);
  int64_t quotient = static_cast<int64_t>(static_cast<double>(twice) * inverse), rest = twice - quotient * divisor;
  const int64_t more = static_cast<int64_t>(static_cast<double>(rest) * inverse);
  quotient += more, rest -= more * divisor;
  if (rest < 0) --quotient;
  if (rest >= divisor) ++quotient;
  return quotient;
}

}  // namespace gpu
}  // namespace depthwatt

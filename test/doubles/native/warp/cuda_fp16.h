// SPDX-License-Identifier: Apache-2.0
// Replaces CUDA's header of half-precision numbers (see cuda_runtime.h): finite numbers and infinity, round to nearest
// even.
#pragma once

#include "cuda_runtime.h"

struct __half {
  uint16_t bits;
};
struct __half2 {
  __half x, y;
};

namespace warp {

inline float fromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                               : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25));
}
inline uint16_t toHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (size >= 65520.0f) return sign | 0x7c00;
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent, -13);  // below it: denormal
  const float scaled = std::nearbyint(std::ldexp(size, 11 - exponent));
  return static_cast<uint16_t>(sign | (static_cast<int>(scaled) + ((exponent + 13) << 10)));
}
template <class Operation>
__half2 each(__half2 a, __half2 b, Operation operation) {
  return {{toHalf(operation(fromHalf(a.x.bits), fromHalf(b.x.bits)))},
          {toHalf(operation(fromHalf(a.y.bits), fromHalf(b.y.bits)))}};
}

}  // namespace warp

inline __half __uint2half_rn(uint32_t value) { return {warp::toHalf(static_cast<float>(value))}; }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline __half2 __hadd2(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return x + y; });
}
inline __half2 __hsub2(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return x - y; });
}
inline __half2 __hsub2_sat(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return std::fmin(std::fmax(x - y, 0.0f), 1.0f); });
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  // Products of two halves are exact in a float; so is their sum with a third if it is exact as a half.
  const auto one = [](__half x, __half y, __half z) {
    return __half{warp::toHalf(warp::fromHalf(x.bits) * warp::fromHalf(y.bits) + warp::fromHalf(z.bits))};
  };
  return {one(a.x, b.x, c.x), one(a.y, b.y, c.y)};
}
inline __half2 __hgt2(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return x > y ? 1.0f : 0.0f; });
}
inline __half2 __hmin2(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return std::fmin(x, y); });
}
inline __half2 __hmax2(__half2 a, __half2 b) {
  return warp::each(a, b, [](float x, float y) { return std::fmax(x, y); });
}

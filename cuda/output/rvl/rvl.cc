// SPDX-License-Identifier: Apache-2.0
// The fast encoder, which includes the mapping to unsigned 16 bits, and the decoder, which validates all input.
#include "rvl.h"

#include <cstring>

#include "rvl_stream.h"
#include "rvl_values.h"
#if defined(__x86_64__)
#include "rvl_bmi2.h"
#endif

namespace depthwatt {

namespace {

/// Encodes one value after the other, from `in` to `end`. None is 0; `last` is the value before them.
template <class Value, class Pixel>
void putValues(RvlStream& stream, const Pixel* in, const Pixel* end, uint32_t last) {
  // Two at a time: their codes do not depend on the stream, which halves its dependency chain.
  for (; end - in >= 2; in += 2) {
    const uint32_t first = Value::of(in[0]);
    const uint32_t second = Value::of(in[1]);
    const RvlCode a = differenceCode(first, last);
    const RvlCode b = differenceCode(second, first);
    stream.put(a.nibbles | uint64_t{b.nibbles} << a.bits, a.bits + b.bits);
    last = second;
  }
  if (in == end) return;
  const RvlCode code = differenceCode(Value::of(*in), last);
  stream.put(code.nibbles, code.bits);
}

/// Returns the end of the run of zeros (or of values) that starts at `in`.
template <class Value, bool kZeros, class Pixel>
const Pixel* endOfRun(const Pixel* in, const Pixel* end) {
  constexpr int kPixels = 8;
  while (end - in >= kPixels) {
    uint64_t isZero[2];
    Value::zeros(in, isZero);
    if (kZeros ? (isZero[0] & isZero[1]) != ~uint64_t{0} : (isZero[0] | isZero[1]) != 0) break;
    in += kPixels;
  }
  while (in != end && (Value::of(*in) == 0) == kZeros) ++in;
  return in;
}

template <class Value, class Pixel>
size_t rvlEncode(const Pixel* in, size_t pixels, uint8_t* out, RvlForm form) {
  RvlStream stream{out, 0, 0};
  uint32_t last = 0;
  const Pixel* const end = in + pixels;
  while (in != end) {
    const Pixel* run = endOfRun<Value, true>(in, end);
    putCount(stream, static_cast<uint32_t>(run - in));
    in = run;
    run = endOfRun<Value, false>(in, end);
    putCount(stream, static_cast<uint32_t>(run - in));
    if (in == run) break;
    const Pixel* done = in;
#if defined(__x86_64__)
    if (form == RvlForm::kBmi2 && run - in > kRvlGroup) {
      putValues<Value>(stream, in, in + 1, last);
      done = putGroups<Value>(stream, in + 1, run);
      last = Value::of(done[-1]);
    }
#endif
    putValues<Value>(stream, done, run, last);
    last = Value::of(run[-1]);
    in = run;
  }
  // Fill the last word with zeros; put() has stored the others.
  const size_t bytes = static_cast<size_t>(stream.out - out) + (stream.bits > 0 ? 1 : 0);
  const size_t whole = (bytes + 3) / 4 * 4;
  if (bytes < whole) std::memset(out + bytes, 0, whole - bytes);
#if defined(__x86_64__)
  if (form == RvlForm::kBmi2) {
    turnWordsBy32(out, out + whole);
    return whole;
  }
#endif
  turnWords(out, out + whole);
  return whole;
}

/// Reads numbers from words. `failed` stays set after the first missing or too long number.
struct RvlReader {
  const uint8_t* in;
  const uint8_t* end;
  uint32_t word = 0;
  uint32_t nibbles = 0;
  bool failed = false;

  uint32_t number() {
    uint32_t value = 0;
    // Ten nibbles hold 30 bits, more than any image has pixels.
    for (uint32_t shift = 0; shift < 30; shift += 3) {
      if (nibbles == 0) {
        if (end - in < 4) break;
        word = uint32_t{in[0]} | uint32_t{in[1]} << 8 | uint32_t{in[2]} << 16 | uint32_t{in[3]} << 24;
        in += 4;
        nibbles = 8;
      }
      const uint32_t nibble = word >> 28;
      word <<= 4;
      --nibbles;
      value |= (nibble & 7) << shift;
      if (nibble < 8) return value;
    }
    failed = true;
    return 0;
  }
};

}  // namespace

size_t rvlBound(size_t pixels) { return (6 * pixels + 12 + 7) / 8 * 4 + sizeof(uint64_t); }

RvlForm fastestRvlForm() {
#if defined(__x86_64__)
  // The first two generations of Zen have these instructions in microcode, slower than the code they replace.
  static const bool fast = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
           !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2");
  }();
  if (fast) return RvlForm::kBmi2;
#endif
  return RvlForm::kScalar;
}

size_t rvlEncodeDepth(const uint16_t* millimetres, size_t pixels, uint8_t* out, RvlForm form) {
  return rvlEncode<DepthValue>(millimetres, pixels, out, form);
}

size_t rvlEncodeDisparity(const int16_t* disparityQ4, size_t pixels, uint8_t* out, RvlForm form) {
  return rvlEncode<DisparityValue>(disparityQ4, pixels, out, form);
}

bool rvlDecode(const uint8_t* in, size_t bytes, uint16_t* out, size_t pixels) {
  RvlReader reader{in, in + bytes};
  uint16_t* const end = out + pixels;
  int64_t last = 0;
  while (out != end) {
    const size_t zeros = reader.number();
    if (reader.failed || zeros > static_cast<size_t>(end - out)) return false;
    std::memset(out, 0, zeros * sizeof *out);
    out += zeros;
    const size_t values = reader.number();
    if (reader.failed || values > static_cast<size_t>(end - out) || zeros + values == 0) return false;
    for (uint16_t* const runEnd = out + values; out != runEnd; ++out) {
      const uint32_t folded = reader.number();
      last += static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
      if (reader.failed || last < 1 || last > 65535) return false;
      *out = static_cast<uint16_t>(last);
    }
  }
  return reader.in == reader.end;
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// RVL: lossless run-length and variable-length code for 16-bit depth   [Wilson 2017, Fast Lossless Depth Image Compression]
//   repeat: count of zeros, count of non-zeros, then for each non-zero the zigzag difference to the last non-zero value.
//   Every number is written in groups of three bits, lowest first, each with a continue bit above it, packed into 32-bit
//   little-endian words from the highest nibble down; the last word is padded with zeros.
// in   pixels uint16, 0 = invalid; a disparity image is encoded as uint16(disparityQ4 + 1) with 0 = invalid
// out  bytes, a multiple of four.   same bytes on every backend and in TypeScript (core/frame/rvl.ts).
#pragma once

#include <cstddef>
#include <cstdint>

namespace depthwatt {

/// Returns the largest size of encoded values, in bytes: six nibbles each (a difference of 17 bits) and two counts,
/// because a zero between values saves more nibbles than its counts cost; plus eight bytes that the fast forms may
/// overwrite without counting them.
size_t rvlBound(size_t pixels);

/// The definition. Returns the bytes written. `out` holds rvlBound(pixels).
size_t rvlReference(const uint16_t* in, size_t pixels, uint8_t* out);

/// kBmi2: x86-64 with AVX2 and BMI2, eight values at a time; elsewhere the same as kScalar. Both give the same bytes.
enum class RvlForm { kScalar, kBmi2 };
/// Returns the fastest form for this CPU.
RvlForm fastestRvlForm();

/// The fast forms. disparityQ4: kInvalidDisparity and values below 0 or above 32766 are encoded as 0.
size_t rvlEncodeDepth(const uint16_t* millimetres, size_t pixels, uint8_t* out, RvlForm form = fastestRvlForm());
size_t rvlEncodeDisparity(const int16_t* disparityQ4, size_t pixels, uint8_t* out, RvlForm form = fastestRvlForm());

/// Decodes exactly `pixels` values and validates everything. Returns false for missing or extra bytes, an empty or too
/// long run, a number with more than 10 nibbles, or a value outside 1 to 65535. Values read before remain in out; it
/// never writes outside.
bool rvlDecode(const uint8_t* in, size_t bytes, uint16_t* out, size_t pixels);

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// The definition of the code; see rvl.h.
#include <cstring>

#include "rvl.h"

namespace depthwatt {
namespace {

/// Writes nibbles one by one into words, from the top.
class NibbleWriter {
 public:
  explicit NibbleWriter(uint8_t* out) : out_(out) {}

  void number(uint32_t value) {
    while (value >= 8) {
      nibble(8 + value % 8);
      value /= 8;
    }
    nibble(value);
  }

  size_t finish() {
    while (count_ % 8 != 0) nibble(0);
    return count_ / 2;
  }

 private:
  void nibble(uint32_t nibble) {
    // Nibble n of a word is at bits 31 - 4n to 28 - 4n, and the word's lowest byte comes first.
    const size_t byte = count_ / 8 * 4 + 3 - count_ % 8 / 2;
    if (count_ % 2 == 0) out_[byte] = static_cast<uint8_t>(nibble * 16);
    else out_[byte] = static_cast<uint8_t>(out_[byte] + nibble);
    ++count_;
  }

  uint8_t* out_;
  size_t count_ = 0;
};

}  // namespace

size_t rvlReference(const uint16_t* in, size_t pixels, uint8_t* out) {
  NibbleWriter writer(out);
  int32_t last = 0;
  size_t i = 0;
  while (i < pixels) {
    size_t zeros = 0;
    while (i + zeros < pixels && in[i + zeros] == 0) ++zeros;
    i += zeros;
    size_t values = 0;
    while (i + values < pixels && in[i + values] != 0) ++values;
    writer.number(static_cast<uint32_t>(zeros));
    writer.number(static_cast<uint32_t>(values));
    for (const size_t end = i + values; i < end; ++i) {
      const int32_t step = in[i] - last;
      writer.number(static_cast<uint32_t>(step >= 0 ? 2 * step : -2 * step - 1));
      last = in[i];
    }
  }
  return writer.finish();
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Codes of numbers, and the stream of nibbles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace depthwatt {

/// One number in nibbles, the first one lowest: groups of three bits, with a continue bit on all but the last.
struct RvlCode {
  uint32_t nibbles;
  uint32_t bits;
};

/// Returns the code of a folded difference: at most 17 bits, so at most six nibbles.
constexpr RvlCode makeRvlCode(uint32_t value) {
  uint32_t nibbles = 0;
  uint32_t bits = 0;
  for (; value >= 8; value >>= 3, bits += 4) nibbles |= (8 | (value & 7)) << bits;
  return {nibbles | value << bits, bits + 4};
}

/// Codes of the differences of nearly all neighbours (up to 511 either way); 8 KB, computed by the compiler.
constexpr uint32_t kRvlTableSize = 1024;
struct RvlTable {
  RvlCode codes[kRvlTableSize];
  constexpr RvlTable() : codes() {
    for (uint32_t value = 0; value < kRvlTableSize; ++value) codes[value] = makeRvlCode(value);
  }
};
constexpr RvlTable kRvlTable;

inline RvlCode rvlCode(uint32_t value) {
  return __builtin_expect(value < kRvlTableSize, 1) ? kRvlTable.codes[value] : makeRvlCode(value);
}

/// Nibbles in the order of the stream, the first one in the low half of a byte; turnWords() then makes RVL's words of
/// them. It always stores eight bytes and advances the pointer by whole bytes: whether a word is full is unpredictable,
/// and a mispredicted branch costs more than a store.
struct RvlStream {
  uint8_t* out;
  uint64_t pending;  ///< the low `bits`: 0 or 4
  uint32_t bits;

  /// Writes at most 56 bits.
  void put(uint64_t nibbles, uint32_t count) {
    pending |= nibbles << bits;
    std::memcpy(out, &pending, 8);
    const uint32_t total = bits + count;
    out += total >> 3;
    pending >>= total & ~7u;
    bits = total & 7;
  }
};

/// Reverses the nibbles of each word of the stream: nibble n of a word is at bits 31 - 4n to 28 - 4n.
inline void turnWords(uint8_t* first, const uint8_t* end) {
  for (; first < end; first += 4) {
    uint32_t word;
    std::memcpy(&word, first, 4);
    word = __builtin_bswap32(word);
    word = (word & 0x0f0f0f0fu) << 4 | (word >> 4 & 0x0f0f0f0fu);
    std::memcpy(first, &word, 4);
  }
}

/// Writes a count. Counts occur once per run and have up to eleven nibbles (2^32 - 1).
inline void putCount(RvlStream& stream, uint32_t value) {
  for (; value >= 8; value >>= 3) stream.put(8 | (value & 7), 4);
  stream.put(value, 4);
}

inline RvlCode differenceCode(uint32_t value, uint32_t last) {
  const auto step = static_cast<int32_t>(value - last);
  return rvlCode(static_cast<uint32_t>(step) << 1 ^ static_cast<uint32_t>(step >> 31));
}

}  // namespace depthwatt

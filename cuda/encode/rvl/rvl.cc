// SPDX-License-Identifier: Apache-2.0
// The fast encoder, with the mapping to unsigned 16 bit fused, and the decoder, which believes nothing it reads. No vector
// form: each number's place depends on the lengths of all before it.
#include "rvl.h"

#include <cstring>

namespace depthwatt {

namespace {

/// One number in nibbles, first one lowest: groups of three bits, "more follows" on all but the last.
struct RvlCode {
  uint32_t nibbles;
  uint32_t bits;
};

/// Any folded difference: at most 17 bits, so at most six nibbles.
constexpr RvlCode rvlCodeOf(uint32_t value) {
  uint32_t nibbles = 0;
  uint32_t bits = 0;
  for (; value >= 8; value >>= 3, bits += 4) nibbles |= (8 | (value & 7)) << bits;
  return {nibbles | value << bits, bits + 4};
}

/// Codes of the differences that nearly all neighbours have (up to 511 either way); 8 KB, made by the compiler.
constexpr uint32_t kRvlTableSize = 1024;
struct RvlTable {
  RvlCode codes[kRvlTableSize];
  constexpr RvlTable() : codes() {
    for (uint32_t value = 0; value < kRvlTableSize; ++value) codes[value] = rvlCodeOf(value);
  }
};
constexpr RvlTable kRvlTable;

inline RvlCode rvlCode(uint32_t value) {
  return __builtin_expect(value < kRvlTableSize, 1) ? kRvlTable.codes[value] : rvlCodeOf(value);
}

/// Nibbles in the order of the stream, first one in the low half of a byte; turnWords() makes RVL's words of them afterwards.
/// Eight bytes are stored each time and the pointer steps on by whole bytes: whether a word is full cannot be foreseen, and a
/// branch missed costs more than a store.
struct RvlStream {
  uint8_t* out;
  uint64_t pending;  ///< the low `bits`: 0 or 4
  uint32_t bits;

  /// At most 48 bits.
  void put(uint64_t nibbles, uint32_t count) {
    pending |= nibbles << bits;
    std::memcpy(out, &pending, 8);
    const uint32_t total = bits + count;
    out += total >> 3;
    pending >>= total & ~7u;
    bits = total & 7;
  }
};

/// Nibble n of a word lies at bits 31 - 4n to 28 - 4n: each word of the stream is turned round.
inline void turnWords(uint8_t* first, const uint8_t* end) {
  for (; first < end; first += 4) {
    uint32_t word;
    std::memcpy(&word, first, 4);
    word = __builtin_bswap32(word);
    word = (word & 0x0f0f0f0fu) << 4 | (word >> 4 & 0x0f0f0f0fu);
    std::memcpy(first, &word, 4);
  }
}

/// Counts come once per run; up to 2^32 - 1, so they may take eleven nibbles.
inline void putCount(RvlStream& stream, uint32_t value) {
  for (; value >= 8; value >>= 3) stream.put(8 | (value & 7), 4);
  stream.put(value, 4);
}

struct DepthValue {
  static uint32_t of(uint16_t millimetres) { return millimetres; }
};

struct DisparityValue {
  // 1 more, in 16 bits: what is then not above 0 was negative, invalid, or 32767.
  static uint32_t of(int16_t disparityQ4) {
    const auto raised = static_cast<int16_t>(static_cast<uint16_t>(disparityQ4) + 1u);
    return raised > 0 ? static_cast<uint32_t>(raised) : 0;
  }
};

inline RvlCode differenceCode(uint32_t value, uint32_t last) {
  const auto step = static_cast<int32_t>(value - last);
  return rvlCode(static_cast<uint32_t>(step) << 1 ^ static_cast<uint32_t>(step >> 31));
}

template <class Value, class Pixel>
size_t rvlEncode(const Pixel* in, size_t pixels, uint8_t* out) {
  RvlStream stream{out, 0, 0};
  uint32_t last = 0;
  const Pixel* const end = in + pixels;
  while (in != end) {
    const Pixel* run = in;
    while (run != end && Value::of(*run) == 0) ++run;
    putCount(stream, static_cast<uint32_t>(run - in));
    in = run;
    while (run != end && Value::of(*run) != 0) ++run;
    putCount(stream, static_cast<uint32_t>(run - in));
    // Two values at a time: their codes do not wait for the stream, so half of its chain of dependent steps is saved.
    for (; run - in >= 2; in += 2) {
      const uint32_t first = Value::of(in[0]);
      const uint32_t second = Value::of(in[1]);
      const RvlCode a = differenceCode(first, last);
      const RvlCode b = differenceCode(second, first);
      stream.put(a.nibbles | uint64_t{b.nibbles} << a.bits, a.bits + b.bits);
      last = second;
    }
    if (in != run) {
      const uint32_t value = Value::of(*in++);
      const RvlCode code = differenceCode(value, last);
      stream.put(code.nibbles, code.bits);
      last = value;
    }
  }
  // Filled up to a whole word with zeros; put() has stored those that are already there.
  const size_t bytes = static_cast<size_t>(stream.out - out) + (stream.bits > 0 ? 1 : 0);
  const size_t whole = (bytes + 3) / 4 * 4;
  if (bytes < whole) std::memset(out + bytes, 0, whole - bytes);
  turnWords(out, out + whole);
  return whole;
}

/// Reads numbers out of words; `failed` stays set after the first one that is not there or too long.
struct RvlReader {
  const uint8_t* in;
  const uint8_t* end;
  uint32_t word = 0;
  uint32_t nibbles = 0;
  bool failed = false;

  uint32_t number() {
    uint32_t value = 0;
    // Ten nibbles hold 30 bits, more than any picture has pixels.
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

size_t rvlEncodeDepth(const uint16_t* millimetres, size_t pixels, uint8_t* out) {
  return rvlEncode<DepthValue>(millimetres, pixels, out);
}

size_t rvlEncodeDisparity(const int16_t* disparityQ4, size_t pixels, uint8_t* out) {
  return rvlEncode<DisparityValue>(disparityQ4, pixels, out);
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

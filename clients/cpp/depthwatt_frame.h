// SPDX-License-Identifier: Apache-2.0
// Reads a frame of depthwatt (docs/reference/frames.md): header, CRC, and the bodies raw, rvl, compressedDepth and voxels.
// C++17, one file, no library; allocates and throws nothing. Use an image library for the bodies png and jpeg.
//
//   depthwatt::Frame frame;
//   if (depthwatt::parseFrame(payload, bytes, frame) != depthwatt::Fault::none) return;
//   std::vector<uint16_t> counts(frame.pixels());
//   if (depthwatt::decode(frame, counts.data(), counts.size()) != depthwatt::Fault::none) return;
//   float metres = frame.value(counts[y * frame.width + x]);   // NaN: no value
//   // or, of the stream points: depthwatt::Point point = depthwatt::pointAt(frame, y * frame.width + x);
//   // or, if frame.encoding is voxels: decodeVoxels(frame, points, room, count)
//
// The host must be little-endian, as all supported boards and PCs are.
#ifndef DEPTHWATT_FRAME_H
#define DEPTHWATT_FRAME_H

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace depthwatt {

constexpr size_t kHeaderBytes = 96;
/** The size of a header that carries energy. */
constexpr size_t kEnergyHeaderBytes = 108;
constexpr uint32_t kMaxSide = 16384;

enum class Stream : uint8_t { depth = 1, disparity, confidence, left, points, right, registered, registeredConfidence };
enum class Encoding : uint8_t { raw = 1, rvl, png, compressedDepth, jpeg, voxels };
/** rgb8: three bytes a pixel, red first; only left, and registered as jpeg, have it. i16: only points have it. */
enum class Element : uint8_t { u8 = 1, u16, f32, rgb8, i16 };
/** camera: x right, y down, z ahead, from the left camera. robot: x ahead, y left, z up, from the middle of the baseline. */
enum class PointFrame : uint8_t { none = 0, camera, robot };
enum class PointColour : uint8_t { none = 0, grey, rgb };
enum class Clock : uint8_t { monotonic = 1, realtime, file };
enum class Quantity : uint8_t { depthMetres = 1, disparityPixels, confidence, greyValue, colourValue, pointMetres };
enum class InvalidRule : uint8_t { none = 0, zero, nan, lowest };

/** The fault of a message; none if it is valid. */
enum class Fault {
  none,
  tooShort,
  magic,
  version,
  headerBytes,
  bodyBytes,
  crc,
  size,
  code,
  element,
  scale,
  /** The body is packed in another way than the function unpacks. */
  encoding,
  /** The memory given holds fewer elements than the picture. */
  room,
  /** A body that ends early or late, a run beyond the picture, a value outside 1 to 65535, voxels out of order. */
  body,
};

inline const char* describe(Fault fault) {
  switch (fault) {
    case Fault::none: return "a frame";
    case Fault::tooShort: return "expected at least 96 bytes";
    case Fault::magic: return "expected the magic DWFR";
    case Fault::version: return "expected version 1";
    case Fault::headerBytes: return "expected a header of 96 bytes or more, within the message";
    case Fault::bodyBytes: return "expected a body as long as the header says";
    case Fault::crc: return "the CRC is another one: the message was damaged";
    case Fault::size: return "expected a width and a height of 1 to 16384";
    case Fault::code: return "a code of the header is not known";
    case Fault::element: return "the encoding has no such element";
    case Fault::scale: return "expected a finite unitScale above 0 and a finite valueOffset";
    case Fault::encoding:
      return "expected raw, rvl or compressedDepth; png and jpeg are image files, voxels need decodeVoxels()";
    case Fault::room: return "expected memory for width x height elements";
    case Fault::body: return "the body is not what its encoding writes";
  }
  return "";
}

/** Energy between the captures of two successive frames before this one, or of this one and the last. */
struct Energy {
  /** False: the frame carries no energy; the other members are 0. */
  bool known = false;
  float joules = 0;
  /** Expanded uncertainty (k = 2), if uncertaintyKnown. */
  bool uncertaintyKnown = false;
  float joulesUncertainty = 0;
  /** Length of the interval. */
  float seconds = 0;
  /** From the end of the interval to the capture of this frame. */
  uint16_t ageMs = 0;
};

/** A header with every field checked, and a view of the body. */
struct Frame {
  Stream stream;
  Encoding encoding;
  Element element;
  Clock clock;
  Quantity quantity;
  InvalidRule invalidRule;
  uint16_t flags;
  uint32_t width, height;
  /** 1, or the picture is a smaller one: pixel (x, y) is pixel (reduction x, reduction y) of what was computed. */
  uint32_t reduction;
  /** Coordinate frame of points; none in other messages, as are the two fields below. */
  PointFrame pointFrame;
  PointColour pointColour;
  uint32_t pointBytes;
  uint32_t frameNumber;
  /** Nanoseconds on `clock`. */
  uint64_t leftTimestampNs, rightTimestampNs;
  /** Add it to a capture time for nanoseconds since 1970; only where realtimeOffsetKnown. */
  int64_t realtimeOffsetNs;
  bool realtimeOffsetKnown;
  uint32_t leftSequence, rightSequence;
  double unitScale, valueOffset;
  uint32_t runId, clockDomain;
  /** Packed; lives as long as the message. */
  const uint8_t* body;
  size_t bodyBytes;
  Energy energy;

  size_t pixels() const { return size_t{width} * height; }

  /** Numbers of the unpacked picture: three a pixel for colours. */
  size_t elements() const { return element == Element::rgb8 ? 3 * pixels() : pixels(); }

  /** Metres, pixels or plain values as `quantity` says; NaN where there is no value. */
  float value(double count) const {
    if (invalidRule == InvalidRule::zero && count == 0) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(count * unitScale + valueOffset);
  }
};

/** A point of the stream points: metres, NaN where there is none, and its colour. */
struct Point {
  float x, y, z;
  uint8_t red, green, blue;
};

namespace detail {

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

constexpr std::array<uint32_t, 256> crcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t index = 0; index < 256; ++index) {
    uint32_t rest = index;
    for (int bit = 0; bit < 8; ++bit) rest = rest & 1 ? (rest >> 1) ^ 0xEDB88320u : rest >> 1;
    table[index] = rest;
  }
  return table;
}

class RvlReader {
 public:
  RvlReader(const uint8_t* body, size_t bytes) : next_(body), end_(body + bytes) {}

  /** At most ten nibbles; -1 where the body ends or the number is longer. */
  int64_t number() {
    uint32_t value = 0;
    for (int shift = 0; shift < 30; shift += 3) {
      if (nibbles_ == 0) {
        if (end_ - next_ < 4) return -1;
        word_ = load<uint32_t>(next_);
        next_ += 4;
        nibbles_ = 8;
      }
      const uint32_t nibble = word_ >> 28;
      word_ <<= 4;
      --nibbles_;
      value |= (nibble & 7) << shift;
      if (nibble < 8) return value;
    }
    return -1;
  }

  bool atEnd() const { return next_ == end_; }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
  uint32_t word_ = 0;
  int nibbles_ = 0;
};

}  // namespace detail

/** CRC-32 of zlib, PNG and Ethernet, continued from `previous`. */
inline uint32_t crc32(const uint8_t* bytes, size_t count, uint32_t previous = 0) {
  static constexpr std::array<uint32_t, 256> table = detail::crcTable();
  uint32_t crc = ~previous;
  for (size_t i = 0; i < count; ++i) crc = table[(crc ^ bytes[i]) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

/** Unpacks exactly `count` pixels of RVL [Wilson, ISS 2017]. */
inline Fault decodeRvl(const uint8_t* body, size_t bytes, uint16_t* pixels, size_t count) {
  detail::RvlReader reader(body, bytes);
  int64_t previous = 0;
  size_t at = 0;
  while (at < count) {
    const int64_t zeros = reader.number();
    if (zeros < 0 || static_cast<uint64_t>(zeros) > count - at) return Fault::body;
    for (int64_t i = 0; i < zeros; ++i) pixels[at++] = 0;
    const int64_t values = reader.number();
    if (values < 0 || static_cast<uint64_t>(values) > count - at || zeros + values == 0) return Fault::body;
    for (int64_t i = 0; i < values; ++i) {
      const int64_t folded = reader.number();
      if (folded < 0) return Fault::body;
      previous += (folded >> 1) ^ -(folded & 1);
      if (previous < 1 || previous > 65535) return Fault::body;
      pixels[at++] = static_cast<uint16_t>(previous);
    }
  }
  return reader.atEnd() ? Fault::none : Fault::body;
}

/** The CRC shows that a message is whole; in shared memory the sequence number of its slot does (depthwatt_shared.h). */
enum class Integrity { crc, sequence };

/** Checks a message; the body stays packed, and `frame` points into the message. */
inline Fault parseFrame(const void* message, size_t bytes, Frame& frame, Integrity integrity = Integrity::crc) {
  using detail::load;
  if (bytes < kHeaderBytes) return Fault::tooShort;
  const uint8_t* at = static_cast<const uint8_t*>(message);
  if (std::memcmp(at, "DWFR", 4) != 0) return Fault::magic;
  if (load<uint16_t>(at + 4) != 1) return Fault::version;
  const size_t headerBytes = load<uint16_t>(at + 6);
  if (headerBytes < kHeaderBytes || headerBytes > bytes) return Fault::headerBytes;
  const size_t bodyBytes = load<uint32_t>(at + 24);
  if (bodyBytes != bytes - headerBytes) return Fault::bodyBytes;
  if (integrity == Integrity::crc &&
      load<uint32_t>(at + 92) != crc32(at + kHeaderBytes, bytes - kHeaderBytes, crc32(at, 92)))
    return Fault::crc;
  const uint32_t width = load<uint32_t>(at + 16);
  const uint32_t height = load<uint32_t>(at + 20);
  if (width < 1 || width > kMaxSide || height < 1 || height > kMaxSide) return Fault::size;
  const auto within = [at](size_t offset, int min, int max) { return at[offset] >= min && at[offset] <= max; };
  if (!within(8, 1, 8) || !within(9, 1, 6) || !within(10, 1, 5) || !within(11, 1, 3) || !within(14, 1, 6) ||
      !within(15, 0, 3))
    return Fault::code;
  frame.stream = static_cast<Stream>(at[8]);
  frame.encoding = static_cast<Encoding>(at[9]);
  frame.element = static_cast<Element>(at[10]);
  frame.clock = static_cast<Clock>(at[11]);
  frame.flags = load<uint16_t>(at + 12);
  frame.quantity = static_cast<Quantity>(at[14]);
  frame.invalidRule = static_cast<InvalidRule>(at[15]);
  constexpr size_t kBytes[] = {0, 1, 2, 4, 3, 2};
  // 16384 x 16384 points of 16 bytes are 2^32 bytes, which is 0 if size_t has 32 bits.
  uint64_t elementBytes = kBytes[at[10]];
  frame.reduction = 1u << (frame.flags >> 3 & 3);
  frame.pointFrame = PointFrame::none;
  frame.pointColour = PointColour::none;
  frame.pointBytes = 0;
  if (frame.stream == Stream::points) {
    if (frame.element != Element::f32 && frame.element != Element::i16) return Fault::element;
    const bool voxels = frame.encoding == Encoding::voxels;
    if (frame.encoding != Encoding::raw && !voxels) return Fault::element;
    if (voxels && frame.element != Element::i16) return Fault::element;
    if (!within(90, 1, 2) || !within(91, voxels ? 0 : 1, voxels ? 0 : 2)) return Fault::code;
    frame.pointFrame = static_cast<PointFrame>(at[90]);
    frame.pointColour = static_cast<PointColour>(at[91]);
    frame.pointBytes = voxels ? 0 : frame.element == Element::f32 ? 16 : frame.pointColour == PointColour::rgb ? 10 : 8;
    if (load<uint16_t>(at + 88) != frame.pointBytes) return Fault::code;
    elementBytes = frame.pointBytes;
  } else if (frame.element == Element::i16 || frame.encoding == Encoding::voxels) return Fault::element;
  const bool jpeg = frame.encoding == Encoding::jpeg;
  const bool coloured = frame.stream == Stream::left ? !jpeg : frame.stream == Stream::registered && jpeg;
  if (frame.element == Element::rgb8 && !coloured) return Fault::element;
  if (frame.encoding == Encoding::raw && bodyBytes != elementBytes * width * height) return Fault::bodyBytes;
  const bool packed = frame.encoding == Encoding::rvl || frame.encoding == Encoding::compressedDepth;
  if (packed && frame.element != Element::u16) return Fault::element;
  if (jpeg && frame.element != Element::u8 && frame.element != Element::rgb8) return Fault::element;
  frame.unitScale = load<double>(at + 64);
  frame.valueOffset = load<double>(at + 72);
  if (!(frame.unitScale > 0) || !std::isfinite(frame.unitScale) || !std::isfinite(frame.valueOffset))
    return Fault::scale;
  frame.width = width;
  frame.height = height;
  frame.frameNumber = load<uint32_t>(at + 28);
  frame.leftTimestampNs = load<uint64_t>(at + 32);
  frame.rightTimestampNs = load<uint64_t>(at + 40);
  frame.realtimeOffsetNs = load<int64_t>(at + 48);
  frame.realtimeOffsetKnown = frame.flags & 1;
  frame.leftSequence = load<uint32_t>(at + 56);
  frame.rightSequence = load<uint32_t>(at + 60);
  frame.runId = load<uint32_t>(at + 80);
  frame.clockDomain = load<uint32_t>(at + 84);
  frame.energy = Energy();
  if (headerBytes >= kEnergyHeaderBytes) {
    const float joules = load<float>(at + 96);
    const float seconds = load<float>(at + 100);
    const uint16_t thousandths = load<uint16_t>(at + 104);
    if (joules > 0 && std::isfinite(joules) && seconds > 0 && std::isfinite(seconds)) {
      frame.energy.known = true;
      frame.energy.joules = joules;
      frame.energy.seconds = seconds;
      frame.energy.uncertaintyKnown = thousandths != 0xffff;
      frame.energy.joulesUncertainty = frame.energy.uncertaintyKnown ? joules * thousandths / 1000 : 0;
      frame.energy.ageMs = load<uint16_t>(at + 106);
    }
  }
  frame.body = at + headerBytes;
  frame.bodyBytes = bodyBytes;
  return Fault::none;
}

/**
 * Unpacks 16-bit counts, row by row: millimetres of depth, disparityQ4 + 1, 0 = invalid.
 * @param room elements that `counts` holds. Check frame.pixels() before you allocate: a hundred bytes can claim 2^28 of them.
 */
inline Fault decode(const Frame& frame, uint16_t* counts, size_t room) {
  if (frame.element != Element::u16) return Fault::element;
  if (room < frame.pixels()) return Fault::room;
  switch (frame.encoding) {
    case Encoding::raw: std::memcpy(counts, frame.body, frame.bodyBytes); return Fault::none;
    case Encoding::rvl: return decodeRvl(frame.body, frame.bodyBytes, counts, frame.pixels());
    case Encoding::compressedDepth:
      // ROS: 12 bytes of ConfigHeader, columns, rows, then the words.
      if (frame.bodyBytes < 20 || detail::load<uint32_t>(frame.body + 12) != frame.width ||
          detail::load<uint32_t>(frame.body + 16) != frame.height)
        return Fault::body;
      return decodeRvl(frame.body + 20, frame.bodyBytes - 20, counts, frame.pixels());
    default: return Fault::encoding;
  }
}

/** 8-bit values: confidence, or the left image, grey or in colours (frame.elements() says how many). */
inline Fault decode(const Frame& frame, uint8_t* values, size_t room) {
  if (frame.element != Element::u8 && frame.element != Element::rgb8) return Fault::element;
  if (frame.encoding != Encoding::raw) return Fault::encoding;
  if (room < frame.elements()) return Fault::room;
  std::memcpy(values, frame.body, frame.bodyBytes);
  return Fault::none;
}

/** Floats as they travel: metres or pixels, NaN = invalid. */
inline Fault decode(const Frame& frame, float* values, size_t room) {
  if (frame.element != Element::f32 || frame.stream == Stream::points) return Fault::element;
  if (frame.encoding != Encoding::raw) return Fault::encoding;
  if (room < frame.pixels()) return Fault::room;
  std::memcpy(values, frame.body, frame.bodyBytes);
  return Fault::none;
}

/** One of the points, unchecked: `index` is below frame.pixels(), frame.stream is points and frame.encoding raw. */
inline Point pointAt(const Frame& frame, size_t index) {
  const uint8_t* at = frame.body + index * frame.pointBytes;
  Point point{};
  float* const places[] = {&point.x, &point.y, &point.z};
  const bool floats = frame.element == Element::f32;
  for (size_t axis = 0; axis < 3; ++axis) {
    const int16_t millimetres = floats ? int16_t{0} : detail::load<int16_t>(at + 2 * axis);
    *places[axis] = floats                  ? static_cast<float>(detail::load<float>(at + 4 * axis) * frame.unitScale)
                    : millimetres == -32768 ? std::numeric_limits<float>::quiet_NaN()
                                            : static_cast<float>(millimetres * frame.unitScale);
  }
  const uint8_t* colour = at + (floats ? 12 : 6);
  const bool grey = frame.pointBytes == 8;
  point.red = grey ? colour[0] : colour[2];
  point.green = grey ? colour[0] : colour[1];
  point.blue = colour[0];
  return point;
}

/** Unpacks the stream points, one a pixel, row by row. */
inline Fault decode(const Frame& frame, Point* points, size_t room) {
  if (frame.stream != Stream::points) return Fault::element;
  if (frame.encoding != Encoding::raw) return Fault::encoding;
  if (room < frame.pixels()) return Fault::room;
  for (size_t i = 0; i < frame.pixels(); ++i) points[i] = pointAt(frame, i);
  return Fault::none;
}

/** Most voxels that a body can have: one a nibble, one a pixel. */
inline size_t maxVoxels(const Frame& frame) {
  const size_t nibbles = 2 * frame.bodyBytes;
  return nibbles < frame.pixels() ? nibbles : frame.pixels();
}

/**
 * Unpacks the stream points with the encoding voxels: the middle of each voxel, black.
 * @param room points that `points` holds: maxVoxels(frame) are enough
 * @param count the number of voxels; with Fault::room the number needed
 */
inline Fault decodeVoxels(const Frame& frame, Point* points, size_t room, size_t& count) {
  count = 0;
  if (frame.stream != Stream::points) return Fault::element;
  if (frame.encoding != Encoding::voxels) return Fault::encoding;
  detail::RvlReader reader(frame.body, frame.bodyBytes);
  const int64_t voxels = reader.number();
  if (voxels < 0 || static_cast<uint64_t>(voxels) > maxVoxels(frame)) return Fault::body;
  count = static_cast<size_t>(voxels);
  if (count > room) return Fault::room;
  const auto unfold = [](int64_t folded) { return (folded >> 1) ^ -(folded & 1); };
  int64_t x = 0, y = 0, z = 0, level = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t dx = reader.number();
    if (dx < 0) return Fault::body;
    x += dx;
    if (dx == 0) {
      const int64_t dy = reader.number();
      if (dy < 0) return Fault::body;
      y += dy;
      if (dy == 0) {
        const int64_t dlevel = reader.number(), dz = reader.number(), by = reader.number();
        if (dlevel < 0 || dz < 0 || by < 0) return Fault::body;
        if (i > 0 && dlevel == 0 && unfold(dz) <= 0) return Fault::body;
        level += dlevel;
        z += unfold(dz);
        y += unfold(by);
      }
      const int64_t bx = reader.number();
      if (bx < 0) return Fault::body;
      x += unfold(bx);
    }
    const auto isCell = [](int64_t value) { return value >= -32768 && value <= 32767; };
    if (level > 7 || !isCell(x) || !isCell(y) || !isCell(z)) return Fault::body;
    const double edge = frame.unitScale * static_cast<double>(1 << level);
    const auto middle = [edge](int64_t cell) { return static_cast<float>((static_cast<double>(cell) + 0.5) * edge); };
    points[i] = {middle(x), middle(y), middle(z), 0, 0, 0};
  }
  return reader.atEnd() ? Fault::none : Fault::body;
}

}  // namespace depthwatt

#endif  // DEPTHWATT_FRAME_H

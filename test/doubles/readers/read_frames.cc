// SPDX-License-Identifier: Apache-2.0
// Reads messages ([u32 length][bytes] ...) with clients/cpp/depthwatt_frame.h; prints "ok WIDTH HEIGHT NUMBER REDUCTION
// CRC-OF-COUNTS CRC-OF-VALUES", "unsupported" for image files, or "refused". Each message has its own allocation, so
// that a sanitizer detects its end.
#include <cstdio>
#include <memory>
#include <vector>

#include "../../../clients/cpp/depthwatt_frame.h"

namespace {

constexpr size_t kMaxPixels = size_t{1} << 20;

/// NaN has many bit patterns.
float plain(float value) { return std::isnan(value) ? -1e9f : value; }

template <typename T>
depthwatt::Fault unpack(const depthwatt::Frame& frame, uint32_t& sum, uint32_t& sumOfValues) {
  const std::unique_ptr<T[]> counts(new T[frame.elements()]);
  const depthwatt::Fault fault = depthwatt::decode(frame, counts.get(), frame.elements());
  if (fault != depthwatt::Fault::none) return fault;
  sum = depthwatt::crc32(reinterpret_cast<const uint8_t*>(counts.get()), frame.elements() * sizeof(T));
  std::vector<float> values;
  for (size_t i = 0; i < frame.elements(); ++i) values.push_back(plain(frame.value(counts[i])));
  sumOfValues = depthwatt::crc32(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
  return fault;
}

uint32_t bits(float value) {
  uint32_t pattern;
  std::memcpy(&pattern, &value, 4);
  return pattern;
}

/// As corpus.ts words it.
void printEnergy(const depthwatt::Energy& energy) {
  if (!energy.known) return;
  const long thousandths =
      energy.uncertaintyKnown ? std::lround(1000.0 * energy.joulesUncertainty / energy.joules) : -1;
  std::printf(" energy %u %u %ld %u", bits(energy.joules), bits(energy.seconds), thousandths, energy.ageMs);
}

void readPoints(const depthwatt::Frame& frame) {
  const bool voxels = frame.encoding == depthwatt::Encoding::voxels;
  std::vector<depthwatt::Point> points(voxels ? depthwatt::maxVoxels(frame) : frame.pixels());
  size_t count = points.size();
  if (voxels) {
    if (depthwatt::decodeVoxels(frame, points.data(), points.size(), count) != depthwatt::Fault::none) {
      std::puts("refused");
      return;
    }
    points.resize(count);
  } else if (depthwatt::decode(frame, points.data(), points.size()) != depthwatt::Fault::none) return;
  std::vector<float> places;
  std::vector<uint8_t> colours;
  for (const depthwatt::Point& point : points) {
    for (const float place : {point.x, point.y, point.z}) places.push_back(plain(place));
    if (voxels) continue;
    for (const uint8_t colour : {point.red, point.green, point.blue}) colours.push_back(colour);
  }
  std::printf("ok");
  printEnergy(frame.energy);
  std::printf(" %u %u %u %u %u %u %s\n", frame.width, frame.height, frame.frameNumber, frame.reduction,
              depthwatt::crc32(reinterpret_cast<const uint8_t*>(places.data()), places.size() * sizeof(float)),
              depthwatt::crc32(colours.data(), colours.size()),
              frame.pointFrame == depthwatt::PointFrame::robot ? "robot" : "camera");
}

void read(const uint8_t* message, size_t bytes) {
  depthwatt::Frame frame;
  depthwatt::Fault fault = depthwatt::parseFrame(message, bytes, frame);
  uint32_t sum = 0, values = 0;
  if (fault == depthwatt::Fault::none && frame.pixels() > kMaxPixels) fault = depthwatt::Fault::room;
  if (fault == depthwatt::Fault::none && frame.stream == depthwatt::Stream::points) {
    readPoints(frame);
    return;
  }
  if (fault == depthwatt::Fault::none)
    fault = frame.element == depthwatt::Element::u8 || frame.element == depthwatt::Element::rgb8
                ? unpack<uint8_t>(frame, sum, values)
            : frame.element == depthwatt::Element::u16 ? unpack<uint16_t>(frame, sum, values)
                                                       : unpack<float>(frame, sum, values);
  if (fault == depthwatt::Fault::none) {
    std::printf("ok");
    printEnergy(frame.energy);
    std::printf(" %u %u %u %u %u %u\n", frame.width, frame.height, frame.frameNumber, frame.reduction, sum, values);
  } else std::puts(fault == depthwatt::Fault::encoding ? "unsupported" : "refused");
}

}  // namespace

int main(int, char** words) {
  std::FILE* file = std::fopen(words[1], "rb");
  if (file == nullptr) return 2;
  uint32_t bytes = 0;
  while (std::fread(&bytes, 4, 1, file) == 1) {
    const std::unique_ptr<uint8_t[]> message(new uint8_t[bytes]);
    if (std::fread(message.get(), 1, bytes, file) != bytes) return 3;
    read(message.get(), bytes);
  }
  std::fclose(file);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Fuzz target of the C++ reader of frames: reads the bytes unchanged, and with a corrected CRC, which a fuzzer would
// not find. Bodies are decoded into heap blocks of the exact size and read.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../../clients/cpp/depthwatt_frame.h"

namespace {

/// A limit as a caller would set it: a hundred bytes can claim gigabytes.
constexpr size_t kMaxPixels = 1 << 16;

template <class T>
void unpack(const depthwatt::Frame& frame) {
  const size_t room = frame.elements();
  const std::unique_ptr<T[]> values(new T[room]);
  if (depthwatt::decode(frame, values.get(), room) != depthwatt::Fault::none) return;
  // Read each value and keep the result: a header's scale may make some of them infinite, of either sign.
  volatile float kept = 0;
  for (size_t i = 0; i < room; ++i) kept = frame.value(static_cast<double>(values[i]));
  (void)kept;
  // One element less must be rejected.
  if (depthwatt::decode(frame, values.get(), room - 1) == depthwatt::Fault::none) std::abort();
}

void read(const uint8_t* bytes, size_t count) {
  depthwatt::Frame frame;
  if (depthwatt::parseFrame(bytes, count, frame) != depthwatt::Fault::none) return;
  if (frame.pixels() == 0 || frame.pixels() > kMaxPixels) return;
  unpack<uint8_t>(frame);
  unpack<uint16_t>(frame);
  unpack<float>(frame);
  if (frame.stream != depthwatt::Stream::points) return;
  const std::unique_ptr<depthwatt::Point[]> points(new depthwatt::Point[frame.pixels()]);
  depthwatt::decode(frame, points.get(), frame.pixels());
  const size_t max = depthwatt::maxVoxels(frame);
  const std::unique_ptr<depthwatt::Point[]> middles(new depthwatt::Point[max]);
  size_t found = 0;
  if (depthwatt::decodeVoxels(frame, middles.get(), max, found) != depthwatt::Fault::none || found == 0) return;
  // Room for one voxel less must be rejected.
  if (depthwatt::decodeVoxels(frame, middles.get(), found - 1, found) != depthwatt::Fault::room) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::unique_ptr<uint8_t[]> message(new uint8_t[size]);
  if (size > 0) std::memcpy(message.get(), data, size);
  read(message.get(), size);
  if (size < depthwatt::kHeaderBytes) return 0;
  uint8_t* const at = message.get();
  const uint32_t body = static_cast<uint32_t>(size - depthwatt::kHeaderBytes);
  const uint32_t crc = depthwatt::crc32(at + depthwatt::kHeaderBytes, body, depthwatt::crc32(at, 92));
  std::memcpy(at + 92, &crc, sizeof crc);
  read(at, size);
  return 0;
}

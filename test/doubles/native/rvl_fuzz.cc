// SPDX-License-Identifier: Apache-2.0
// Fuzzes RVL under the address and undefined-behaviour sanitizers: every buffer is a heap block of the exact size, so
// that one byte outside it ends the program. Arguments: rounds, seed. Prints how many hostile bodies were valid and how
// many were rejected.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "../../../cuda/output/rvl/rvl.h"

namespace {

template <class T>
std::unique_ptr<T[]> block(size_t count) {
  return std::unique_ptr<T[]>(new T[count]);
}

/// Full-range noise, sparse values, a gentle walk, or the worst swing between 1 and 65535.
void fill(uint16_t* pixels, size_t count, std::mt19937& random) {
  const unsigned kind = random() % 4;
  uint32_t walk = random();
  for (size_t i = 0; i < count; ++i) {
    if (kind == 0) pixels[i] = static_cast<uint16_t>(random());
    else if (kind == 1) pixels[i] = random() % 3 ? 0 : static_cast<uint16_t>(random());
    else if (kind == 2) pixels[i] = static_cast<uint16_t>(walk += random() % 9 - 4);
    else pixels[i] = random() % 2 ? 65535 : 1;
  }
}

}  // namespace

int main(int, char** arguments) {
  using namespace depthwatt;
  const long rounds = std::atol(arguments[1]);
  std::mt19937 random(static_cast<unsigned>(std::atol(arguments[2])));
  size_t pictures = 0, refused = 0;
  for (long round = 0; round < rounds; ++round) {
    const size_t count = random() % 200;
    const auto pixels = block<uint16_t>(count);
    fill(pixels.get(), count, random);
    const auto fast = block<uint8_t>(rvlBound(count));
    const auto defined = block<uint8_t>(rvlBound(count));
    const size_t bytes = rvlEncodeDepth(pixels.get(), count, fast.get());
    if (bytes != rvlReference(pixels.get(), count, defined.get()) ||
        std::memcmp(fast.get(), defined.get(), bytes) != 0) {
      std::printf("round %ld: the fast form and the definition differ\n", round);
      return 1;
    }
    const auto disparity = block<int16_t>(count);
    std::memcpy(disparity.get(), pixels.get(), count * sizeof(uint16_t));
    rvlEncodeDisparity(disparity.get(), count, defined.get());

    const auto out = block<uint16_t>(count);
    auto body = block<uint8_t>(bytes);
    std::memcpy(body.get(), fast.get(), bytes);
    if (!rvlDecode(body.get(), bytes, out.get(), count) || std::memcmp(out.get(), pixels.get(), 2 * count) != 0) {
      std::printf("round %ld: decoding does not give back what was encoded\n", round);
      return 1;
    }
    for (unsigned flips = random() % 4; flips > 0 && bytes > 0; --flips) body[random() % bytes] ^= 1 << random() % 8;
    const size_t cut = random() % (bytes + 1);
    const auto damaged = block<uint8_t>(cut);
    std::memcpy(damaged.get(), body.get(), cut);
    ++(rvlDecode(damaged.get(), cut, out.get(), count) ? pictures : refused);

    const size_t noiseBytes = random() % 64;
    const auto noise = block<uint8_t>(noiseBytes);
    const uint8_t mask = random() % 2 ? 0xff : 0x33;  // few continue bits let decoding get further
    for (size_t i = 0; i < noiseBytes; ++i) noise[i] = static_cast<uint8_t>(random()) & mask;
    ++(rvlDecode(noise.get(), noiseBytes, out.get(), count) ? pictures : refused);
  }
  std::printf("%zu pictures, %zu refused\n", pictures, refused);
  return 0;
}

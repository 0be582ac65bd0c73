// SPDX-License-Identifier: Apache-2.0
// Compares RVL on the device with its definition: depth and disparity, with holes, noise, no zeros and only zeros.
#pragma once

#include "../output/rvl/rvl.h"
#include "../output/rvl/rvl_gpu.h"
#include "../match/matching.h"
#include "twins.h"

namespace depthwatt {

inline std::vector<uint16_t> rvlPicture(Random& random, size_t pixels) {
  std::vector<uint16_t> picture(pixels);
  const int kind = random.whole(0, 6), step = random.whole(0, 3) == 0 ? 65535 : random.whole(1, 40);
  const int hole = random.whole(1, 300);
  int value = random.whole(1, 65535);
  for (size_t i = 0; i < pixels;) {
    const size_t run = static_cast<size_t>(kind == 0 ? pixels : random.whole(1, kind == 1 ? 3 : 2 * hole));
    const bool zeros = kind == 2 || (kind > 0 && random.whole(0, 2) == 0);
    for (size_t end = std::min(pixels, i + run); i < end; ++i) {
      value = std::min(65535, std::max(1, value + random.whole(-step, step)));
      picture[i] = static_cast<uint16_t>(zeros ? 0 : value);
    }
  }
  // A value far from all others: its neighbours are found across many blocks.
  if (kind == 2 && random.whole(0, 1) == 0)
    picture[static_cast<size_t>(random.whole(0, static_cast<int>(pixels) - 1))] = 7;
  return picture;
}

inline void checkRvl(Random& random, size_t pixels) {
  std::vector<uint16_t> picture = rvlPicture(random, pixels);
  gpu::RvlScratch scratch;
  require(scratch.open(pixels), "rvl");
  DeviceBuffer<uint16_t> in;
  DeviceBuffer<uint32_t> words, bytes;
  require(words.allocate(gpu::rvlWords(pixels)), "rvl");
  require(bytes.allocate(1), "rvl");
  // Reveals words that are not cleared.
  require(cudaStatus(cudaMemset(words.get(), 0x5a, words.bytes()), "poison"), "rvl");
  for (const bool disparity : {false, true}) {
    if (disparity) {
      for (uint16_t& value : picture) {
        const int kind = value == 0 ? random.whole(0, 3) : 0;
        value = static_cast<uint16_t>(kind == 1   ? kInvalidDisparity
                                      : kind == 2 ? -random.whole(1, 32768)
                                      : kind == 3 ? 32767
                                                  : value % 32767);
      }
    }
    upload(in, picture);
    require(gpu::rvl(in.get(), disparity, pixels, scratch, words.get(), bytes.get(), nullptr), "rvl");
    std::vector<uint16_t> raised = picture;
    if (disparity) {
      for (uint16_t& value : raised)
        value = static_cast<int16_t>(value) < 0 || value == 32767 ? 0 : static_cast<uint16_t>(value + 1);
    }
    std::vector<uint8_t> expected(4 * gpu::rvlWords(pixels) + 8);
    expected.resize(rvlReference(raised.data(), pixels, expected.data()));
    const uint32_t size = fetched(bytes)[0];
    if (size != expected.size()) {
      fail("rvl of " + std::to_string(pixels) + " pixels: reference " + std::to_string(expected.size()) +
           " bytes, got " + std::to_string(size));
    }
    const std::vector<uint32_t> all = fetched(words);
    const uint8_t* const got = reinterpret_cast<const uint8_t*>(all.data());
    expectSame(expected, std::vector<uint8_t>(got, got + size), static_cast<int>(expected.size()), "rvl");
  }
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Compares the noise filter and the average over time on CUDA with their definitions.
#pragma once

#include "../prepare/average/average_gpu.h"
#include "../prepare/denoise/denoise.h"
#include "../prepare/denoise/denoise_gpu.h"
#include "twins.h"

namespace depthwatt {

/// Checks the noise filter: off, and at the smallest, a random and the largest range.
inline void checkSmooth(Random& random, const Case& c, const std::vector<uint8_t>& left,
                        const std::vector<uint8_t>& right) {
  const std::vector<uint8_t>* images[2] = {&left, &right};
  DeviceBuffer<uint8_t> in[2], out[2];
  DeviceBuffer<int32_t> range;
  for (int side = 0; side < 2; ++side) {
    upload(in[side], *images[side]);
    require(out[side].allocate(left.size()), "smooth");
  }
  for (const int32_t wide : {0, 1, random.whole(2, kMaxSmoothRange - 1), kMaxSmoothRange}) {
    upload(range, std::vector<int32_t>(1, wide));
    require(gpu::smooth(range.get(), in[0].get(), in[1].get(), out[0].get(), out[1].get(), c.width, c.height, nullptr),
            "smooth");
    for (int side = 0; side < 2; ++side) {
      std::vector<uint8_t> expected(*images[side]);
      if (wide > 0) {
        const ImageView<const uint8_t> image = packedView(images[side]->data(), c.width, c.height);
        std::vector<uint8_t> guide(image.width * image.height);
        smoothReference(image, packedView(guide.data(), c.width, c.height));
        bilateralReference(image, packedView(guide.data(), c.width, c.height).asConst(), wide,
                           packedView(expected.data(), c.width, c.height));
      }
      expectSame(expected, fetched(out[side]), c.width, "smooth " + c.name);
    }
  }
}

/// Averages frames with noise, single pixels that jump, and sudden changes of the whole image.
inline void checkAverage(Random& random, const Case& c, std::vector<uint8_t> left, std::vector<uint8_t> right) {
  const size_t pixels = left.size();
  std::vector<uint8_t>* const pictures[2] = {&left, &right};
  std::vector<int16_t> states[2] = {std::vector<int16_t>(pixels), std::vector<int16_t>(pixels)};
  DeviceBuffer<int16_t> dBefore[2], dAfter[2];
  DeviceBuffer<uint8_t> dAveraged[2];
  for (int side = 0; side < 2; ++side) {
    upload(dBefore[side], states[side]);
    require(dAfter[side].allocate(pixels), "average");
    require(dAveraged[side].allocate(pixels), "average");
  }
  for (int frame = 0; frame < 7; ++frame) {
    const int32_t range = random.whole(0, kMaxSmoothRange);
    std::vector<uint8_t> images[2], filtered[2];
    DeviceBuffer<uint8_t> dImages[2], dFiltered[2];
    DeviceBuffer<int32_t> dLimit;
    upload(dLimit, std::vector<int32_t>(1, averageLimit(range)));
    for (int side = 0; side < 2; ++side) {
      if (random.whole(0, 5) == 0) random.fill(*pictures[side], 0, 255);
      images[side] = *pictures[side];
      filtered[side].resize(pixels);
      random.fill(filtered[side], 0, 255);
      for (uint8_t& value : images[side])
        value = static_cast<uint8_t>(std::min(255, std::max(0, value + random.whole(-9, 9))));
      for (int i = random.whole(0, 12); i > 0; --i) images[side][random.whole(0, static_cast<int>(pixels) - 1)] ^= 128;
      upload(dImages[side], images[side]);
      upload(dFiltered[side], filtered[side]);
    }
    const auto side = [&](int which) {
      return gpu::AverageSide{dImages[which].get(), dFiltered[which].get(), dBefore[which].get(), dAfter[which].get(),
                              dAveraged[which].get()};
    };
    require(gpu::average(side(0), side(1), dLimit.get(), c.width, c.height, nullptr), "average");
    for (int which = 0; which < 2; ++which) {
      std::vector<int16_t> after(pixels);
      std::vector<uint8_t> averaged(pixels);
      const auto view = [&](auto& image) { return packedView(image.data(), c.width, c.height); };
      averageReference({view(images[which]).asConst(), view(filtered[which]).asConst(), view(states[which]).asConst(),
                        view(after), view(averaged), averageLimit(range)});
      const std::string name = "average over time, frame " + std::to_string(frame) + " " + c.name;
      expectSame(averaged, fetched(dAveraged[which]), c.width, name);
      expectSame(after, fetched(dAfter[which]), c.width, name + ", state");
      states[which] = after;
      upload(dBefore[which], after);
    }
  }
}

}  // namespace depthwatt

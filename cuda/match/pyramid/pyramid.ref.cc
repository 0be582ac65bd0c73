// SPDX-License-Identifier: Apache-2.0
// The definition of pyramid SAD; see pyramid.h.
#include "pyramid.h"

#include <map>
#include <vector>

#include "../winner.ref.h"

namespace depthwatt {
namespace {

int32_t within(int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }
int32_t absolute(int32_t value) { return value < 0 ? -value : value; }

struct Copy {
  int32_t width = 0, height = 0;
  std::vector<HsvPixel> pixels;
  const HsvPixel& at(int32_t x, int32_t y) const {
    return pixels[static_cast<size_t>(within(y, height)) * width + within(x, width)];
  }
};

const uint8_t* pixelBytes(const HsvPixel& pixel) { return reinterpret_cast<const uint8_t*>(&pixel); }

/// The bytes of a pixel that add up to hue across, hue down, saturation and value.
constexpr int32_t kParts[4][3] = {{0, -1, -1}, {1, -1, -1}, {2, 3, 6}, {4, 5, 7}};

/// @param fromImage the image's unit is half as large again as a copy's
Copy halved(const Copy& from, bool fromImage) {
  Copy copy;
  copy.width = (from.width + 1) / 2;
  copy.height = (from.height + 1) / 2;
  copy.pixels.resize(static_cast<size_t>(copy.width) * copy.height);
  for (int32_t y = 0; y < copy.height; ++y) {
    for (int32_t x = 0; x < copy.width; ++x) {
      auto* out = reinterpret_cast<uint8_t*>(&copy.pixels[static_cast<size_t>(y) * copy.width + x]);
      for (const auto& parts : kParts) {
        int32_t sum = 0;
        for (int32_t k = 0; k < 4; ++k) {
          const uint8_t* bytes = pixelBytes(from.at(2 * x + k % 2, 2 * y + k / 2));
          for (const int32_t part : parts) sum += part < 0 ? 0 : bytes[part];
        }
        // A quarter of the sum, in the copy's units, half up.
        int32_t rest = fromImage ? (3 * sum + 4) / 8 : (sum + 2) / 4;
        for (const int32_t part : parts) {
          if (part < 0) break;
          const int32_t taken = rest > 255 ? 255 : rest;
          out[part] = static_cast<uint8_t>(taken);
          rest -= taken;
        }
      }
    }
  }
  return copy;
}

/// @param own the image whose pixels get disparities. @param towards -1 if partners are to the left, 1 to the right
struct Matching {
  const PyramidParameters& p;
  const Copy& own;
  const Copy& partner;
  int32_t towards;

  int64_t sum(int32_t x, int32_t y, int32_t d) const {
    int64_t total = 0;
    for (int32_t j = -(p.windowHeight / 2); j <= p.windowHeight / 2; ++j) {
      for (int32_t i = -(p.windowWidth / 2); i <= p.windowWidth / 2; ++i) {
        const uint8_t* a = pixelBytes(own.at(x + i, y + j));
        const uint8_t* b = pixelBytes(partner.at(x + i + towards * d, y + j));
        for (int32_t k = 0; k < 8; ++k) total += absolute(a[k] - b[k]);
      }
    }
    return total;
  }
};

/// Finds the place of the smallest, the higher one of equals, without those between `from` and `to`. Returns false if
/// there is none.
bool smallest(const std::map<int32_t, int64_t>& sums, int32_t from, int32_t to, int32_t* place) {
  bool found = false;
  for (const auto& [d, sum] : sums) {
    if (d >= from && d <= to) continue;
    if (found && sum > sums.at(*place)) continue;
    *place = d;
    found = true;
  }
  return found;
}

struct Maps {
  std::vector<int16_t> whole, q4;
  std::vector<uint8_t> confidence;
};

Maps matched(const PyramidParameters& p, const Copy& own, const Copy& partner, int32_t towards) {
  std::vector<Copy> owns{own}, partners{partner};
  for (int32_t level = 0; level < p.levels; ++level) {
    owns.push_back(halved(owns.back(), level == 0));
    partners.push_back(halved(partners.back(), level == 0));
  }
  Maps maps;
  std::vector<int16_t> above;
  for (int32_t level = p.levels; level >= 0; --level) {
    const Copy& copy = owns[level];
    const Matching matching = {p, copy, partners[level], towards};
    maps.whole.resize(copy.pixels.size());
    maps.q4.resize(copy.pixels.size());
    maps.confidence.resize(copy.pixels.size());
    for (int32_t y = 0; y < copy.height; ++y) {
      for (int32_t x = 0; x < copy.width; ++x) {
        const size_t at = static_cast<size_t>(y) * copy.width + x;
        const int32_t low = p.lowest(level), high = p.highest(level);
        int32_t first = low, last = high, guess = -1;
        if (level < p.levels) {
          guess = 2 * above[static_cast<size_t>(y / 2) * owns[level + 1].width + x / 2];
          first = guess - 1 > low ? guess - 1 : low;
          last = guess + 2 < high ? guess + 2 : high;
        }
        std::map<int32_t, int64_t> sums;
        for (int32_t d = first; d <= last; ++d) sums[d] = matching.sum(x, y, d);
        int32_t best = 0, second = 0;
        smallest(sums, 1, 0, &best);
        if (level < p.levels && best != guess && sums.count(guess) > 0 && smallest(sums, best, best, &second)) {
          if (100 * (sums[second] - sums[best]) < p.peakRatio * sums[second] * absolute(second - best)) best = guess;
        }
        int32_t fine = 0;
        if (p.subpixel && sums.count(best - 1) > 0 && sums.count(best + 1) > 0) {
          const int64_t below = sums[best - 1], centre = sums[best], over = sums[best + 1];
          if (centre <= below && centre <= over) fine = subpixelQ4(below, centre, over);
        }
        int64_t certainty = 0;
        if (smallest(sums, best - 1, best + 1, &second) && sums[second] > sums[best]) {
          certainty = 255 * (sums[second] - sums[best]) / sums[second];
        }
        maps.whole[at] = static_cast<int16_t>(best);
        maps.q4[at] = static_cast<int16_t>(16 * best + fine);
        maps.confidence[at] = static_cast<uint8_t>(certainty);
      }
    }
    above = maps.whole;
  }
  return maps;
}

Copy ownedCopy(ImageView<const HsvPixel> image) {
  Copy copy;
  copy.width = image.width;
  copy.height = image.height;
  for (int32_t y = 0; y < image.height; ++y)
    copy.pixels.insert(copy.pixels.end(), image.row(y), image.row(y) + image.width);
  return copy;
}

template <class T>
void put(const std::vector<T>& from, ImageView<T> to) {
  for (int32_t y = 0; y < to.height; ++y) {
    for (int32_t x = 0; x < to.width; ++x) to.row(y)[x] = from[static_cast<size_t>(y) * to.width + x];
  }
}

}  // namespace

void pyramidReference(const PyramidParameters& p, const PyramidImages& images, const PyramidResult& result) {
  const Copy left = ownedCopy(images.left), right = ownedCopy(images.right);
  const Maps maps = matched(p, left, right, -1);
  put(maps.whole, result.disparity);
  put(maps.q4, result.disparityQ4);
  put(maps.confidence, result.confidence);
  if (result.rightDisparity.data != nullptr) put(matched(p, right, left, 1).whole, result.rightDisparity);
}

}  // namespace depthwatt

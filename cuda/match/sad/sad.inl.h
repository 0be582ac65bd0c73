// SPDX-License-Identifier: Apache-2.0
// Vector form of window SAD; compiled once per instruction set.
//
// A vector holds one pixel's disparities, so no operation crosses lanes: a column's sum adds a new cost and subtracts
// an old one, and a window's sum does the same with columns. The cost is independent of the window's size. Only the
// search for the winner crosses lanes. Costs are stored in the order of their widened halves (orderedForHalves).

#include "../finish.inl.h"
#include "sad_band.h"

namespace {

constexpr int32_t kSadLanes = kGroups * 16;

inline Halves sadRamp() {
  uint16_t values[kSadLanes / 2];
  for (int32_t i = 0; i < kSadLanes / 2; ++i) values[i] = static_cast<uint16_t>(i);
  readFromMemory(values);
  return loadHalves(values);
}

/// kChunks 0: as many as the band has.
template <SadChannels kChannels, int32_t kChunks>
struct SadStrip {
  static constexpr int32_t kCount = sadChannelCount(kChannels), kHalf = kSadLanes / 2;

  const SadBand& band;
  const int32_t firstPixel, endPixel;    ///< pixels whose windows are summed
  const int32_t firstColumn, endColumn;  ///< columns that they read
  const int32_t windowWidth, windowHeight, chunks;
  const Halves ramp;  ///< 0, 1, 2 and so on

  SadStrip(const SadBand& b, int32_t first, int32_t end)
      : band(b), firstPixel(first), endPixel(end), firstColumn(greater(first - b.parameters.windowWidth / 2, 0)),
        endColumn(lesser(end + b.parameters.windowWidth / 2, b.width)), windowWidth(b.parameters.windowWidth),
        windowHeight(b.parameters.windowHeight), chunks(kChunks > 0 ? kChunks : b.chunks), ramp(sadRamp()) {}

  static constexpr int32_t kSpan = kSadStrip + kLargestWindow - 1;
  uint8_t* costs(int32_t chunk, int32_t slot) const {
    return band.scratch.costs + (static_cast<size_t>(chunk) * windowHeight + slot) * kSpan * kSadLanes;
  }
  uint16_t* column(int32_t chunk, int32_t x) const {
    return band.scratch.columns + (static_cast<size_t>(chunk) * kSpan + x - firstColumn) * kSadLanes;
  }
  uint16_t* blockAt(int32_t pixel) const {
    return band.scratch.block + static_cast<size_t>(pixel) * chunks * kSadLanes;
  }

  /// Computes the costs of a row. They replace those of the slot, also in the columns' sums.
  void addRow(int32_t y, int32_t slot) const {
    for (int32_t chunk = 0; chunk < chunks; ++chunk) addRow(y, slot, chunk);
  }

  void addRow(int32_t y, int32_t slot, int32_t chunk) const {
    constexpr bool kPixel = kChannels == SadChannels::kPixel;
    constexpr int32_t kStep = kPixel ? static_cast<int32_t>(sizeof(HsvPixel)) : 1;
    const uint8_t* const row = band.right + static_cast<size_t>(y) * kCount * band.pitch;
    const uint8_t* partner =
        row + kStep * (band.width - 1 - firstColumn + band.parameters.minDisparity + chunk * kSadLanes);
    const auto* own =
        reinterpret_cast<const uint8_t*>(band.images.left.row(y) + firstColumn) + sadFirstChannel(kChannels);
    const Weights newLessOld = differenceWeights();
    uint8_t* old = costs(chunk, slot);
    uint16_t* sums = column(chunk, firstColumn);
    const uint8_t* const end = old + static_cast<size_t>(endColumn - firstColumn) * kSadLanes;
    for (; old < end; partner -= kStep, own += sizeof(HsvPixel), old += kSadLanes, sums += kSadLanes) {
      Bytes cost;
      if constexpr (kPixel) cost = pixelCosts(own, partner);
      else cost = orderedForHalves(costsByChannel(own, partner));
      const Bytes before = loadBytes(old);
      storeBytes(old, cost);
      storeHalves(sums, addHalves(loadHalves(sums), differenceLow(cost, before, newLessOld)));
      storeHalves(sums + kHalf, addHalves(loadHalves(sums + kHalf), differenceHigh(cost, before, newLessOld)));
    }
  }

  Bytes costsByChannel(const uint8_t* own, const uint8_t* partner) const {
    const size_t pitch = band.pitch;
    Bytes cost = splatBytes(0);
#pragma GCC unroll 6
    for (int32_t i = 0; i < kCount; ++i) {
      const Bytes a = splatBytes(own[i]), b = loadBytesOnce(partner + i * pitch);
      const Bytes difference = subBytes(maxBytes(a, b), minBytes(a, b));
      cost = i == 0 ? difference : addSaturatedBytes(cost, difference);
      if (kChannels != SadChannels::kAll && i == kCount - 1) cost = addSaturatedBytes(cost, difference);
    }
    return cost;
  }

  void clear() const {
    for (int32_t chunk = 0; chunk < chunks; ++chunk) {
      std::memset(costs(chunk, 0), 0, static_cast<size_t>(windowHeight) * kSpan * kSadLanes);
      std::memset(column(chunk, firstColumn), 0, static_cast<size_t>(kSpan) * kSadLanes * sizeof(uint16_t));
    }
  }

  /// Returns the column at x, which may be outside the image.
  const uint16_t* nearest(int32_t chunk, int32_t x) const {
    return column(chunk, lesser(greater(x, 0), band.width - 1));
  }

  /// Sums the windows of pixels [from, to), at most kSadBlock of them.
  void sumBlock(int32_t from, int32_t to) const {
    const int32_t reach = windowWidth / 2;
    const bool inside = from > reach && to + reach <= band.width;
    for (int32_t chunk = 0; chunk < chunks; ++chunk) {
      uint16_t* kept = band.scratch.running + static_cast<size_t>(chunk) * kSadLanes;
      uint16_t* out = blockAt(0) + chunk * kSadLanes;
      const ptrdiff_t step = static_cast<ptrdiff_t>(chunks) * kSadLanes;
      Halves low = loadHalves(kept), high = loadHalves(kept + kHalf);
      int32_t x = from;
      if (from == firstPixel) {
        low = high = splatHalves(0);
        for (int32_t i = -reach; i <= reach; ++i) {
          low = addHalves(low, loadHalves(nearest(chunk, from + i)));
          high = addHalves(high, loadHalves(nearest(chunk, from + i) + kHalf));
        }
        storeHalves(out, low), storeHalves(out + kHalf, high);
        ++x, out += step;
      }
      if (inside) {
        const uint16_t* comes = column(chunk, x + reach);
        const uint16_t* goes = column(chunk, x - reach - 1);
        for (; x < to; ++x, out += step, comes += kSadLanes, goes += kSadLanes) {
          low = subHalves(addHalves(low, loadHalves(comes)), loadHalves(goes));
          high = subHalves(addHalves(high, loadHalves(comes + kHalf)), loadHalves(goes + kHalf));
          storeHalves(out, low), storeHalves(out + kHalf, high);
        }
      }
      for (; x < to; ++x, out += step) {
        const uint16_t* comes = nearest(chunk, x + reach);
        const uint16_t* goes = nearest(chunk, x - reach - 1);
        low = subHalves(addHalves(low, loadHalves(comes)), loadHalves(goes));
        high = subHalves(addHalves(high, loadHalves(comes + kHalf)), loadHalves(goes + kHalf));
        storeHalves(out, low), storeHalves(out + kHalf, high);
      }
      storeHalves(kept, low);
      storeHalves(kept + kHalf, high);
    }
    padBlock(to - from);
  }

  /// Ensures that disparities that only pad the last vectors never win.
  void padBlock(int32_t pixels) const {
    const int32_t end = chunks * kSadLanes, first = band.parameters.numDisparities / kHalf * kHalf;
    for (int32_t at = first; at < end; at += kHalf) {
      const Halves least = padding(at);
      for (int32_t i = 0; i < pixels; ++i) storeHalves(blockAt(i) + at, maxHalves(loadHalves(blockAt(i) + at), least));
    }
  }

  /// Returns 65535 at places from `at` on that are beyond the search, else 0.
  Halves padding(int32_t at) const {
    uint16_t values[kHalf];
    for (int32_t i = 0; i < kHalf; ++i)
      values[i] = at + i < band.parameters.numDisparities ? uint16_t{0} : uint16_t{65535};
    readFromMemory(values);
    return loadHalves(values);
  }

  /// Returns the smallest of a pixel's sums.
  uint16_t lowestSum(const uint16_t* sums) const {
    Halves lowest = minHalves(loadHalves(sums), loadHalves(sums + kHalf));
    forEach<kChunks == 0 ? 0 : kChunks - 1>(chunks - 1, [&](int32_t i) {
      const uint16_t* at = sums + (i + 1) * kSadLanes;
      lowest = minHalves(lowest, minHalves(loadHalves(at), loadHalves(at + kHalf)));
    });
    return lowestHalf(lowest);
  }

  /// Returns the first place of an existing value, without a branch, which would often be mispredicted.
  int32_t findSum(const uint16_t* sums, uint16_t value) const {
    const Halves wanted = splatHalves(value);
    int32_t place = 0;
    forEach<kChunks>(chunks, [&](int32_t i) {
      const int32_t at = (chunks - 1 - i) * kSadLanes;
      const uint64_t bits = equalPlaces(loadHalves(sums + at), loadHalves(sums + at + kHalf), wanted);
      place = bits != 0 ? at + __builtin_ctzll(bits) / kPlaceBits : place;
    });
    return place;
  }

  /// Removes a place and its neighbours from a pixel's sums, so that the smallest remaining one is the second best.
  void takeOut(uint16_t* sums, int32_t place, int32_t last) const {
    sums[greater(place - 1, 0)] = sums[place] = sums[lesser(place + 1, last)] = 65535;
  }

  void select(int32_t y, int32_t from, int32_t to) const {
    const SadParameters& p = band.parameters;
    uint16_t *below = band.scratch.picked[0], *best = band.scratch.picked[1], *above = band.scratch.picked[2];
    uint16_t *winner = band.scratch.picked[3], *second = band.scratch.picked[4];
    const int32_t pixels = to - from;
    if (band.rightBest != nullptr) updateRight(y, from, to);
    // One task at a time: each is a long dependency chain, and so the chains of many pixels overlap.
    for (int32_t i = 0; i < pixels; ++i) best[i] = lowestSum(blockAt(i));
    for (int32_t i = 0; i < pixels; ++i) winner[i] = static_cast<uint16_t>(findSum(blockAt(i), best[i]));
    for (int32_t i = 0; i < pixels; ++i) {
      uint16_t* sums = blockAt(i);
      const int32_t place = winner[i], last = p.numDisparities - 1;
      const uint16_t lower = sums[greater(place - 1, 0)], higher = sums[lesser(place + 1, last)];
      below[i] = place > 0 ? lower : uint16_t{65535};
      above[i] = place < last ? higher : uint16_t{65535};
      takeOut(sums, place, last);
    }
    // Loading a vector that was just stored element by element stalls; by now the stores have reached the cache.
    for (int32_t i = 0; i < pixels; ++i) second[i] = lowestSum(blockAt(i));
    SgmParameters finish;
    finish.minDisparity = p.minDisparity;
    finish.subpixel = p.subpixel;
    Picked picked;
    picked.below = below, picked.best = best, picked.above = above, picked.winner = winner;
    finishPixels(finish, 65535, 0, picked, second, true, pixels);
    int16_t* whole = band.result.disparity.row(y) + from;
    int16_t* q4 = band.result.disparityQ4.row(y) + from;
    uint8_t* confidence = band.result.confidence.row(y) + from;
    std::memcpy(q4, below, static_cast<size_t>(pixels) * sizeof *q4);
    std::memcpy(whole, winner, static_cast<size_t>(pixels) * sizeof *whole);
    int32_t i = 0;
    for (; i + kLanesI16 <= pixels; i += kLanesI16)
      storeBytesI16(confidence + i, loadI16(reinterpret_cast<const int16_t*>(second + i)));
    for (; i < pixels; ++i) confidence[i] = static_cast<uint8_t>(second[i]);
  }

  /// Pixels are processed from left to right, so that a right pixel's disparities rise.
  void updateRight(int32_t y, int32_t from, int32_t to) const {
    uint16_t* rowBest = band.rightBest + static_cast<size_t>(y) * band.pitch;
    uint16_t* rowPlace = band.rightPlace + static_cast<size_t>(y) * band.pitch;
    for (int32_t x = from; x < to; ++x) {
      const uint16_t* sums = blockAt(x - from);
      const size_t first = static_cast<size_t>(band.width - 1 - x + band.parameters.minDisparity);
      for (int32_t at = 0; at < chunks * kSadLanes; at += kHalf) {
        const Halves sum = loadHalves(sums + at), best = loadHalves(rowBest + first + at);
        const Halves place = addHalves(ramp, splatHalves(static_cast<uint16_t>(at)));
        storeHalves(rowPlace + first + at, chooseLessHalves(sum, best, place, loadHalves(rowPlace + first + at)));
        storeHalves(rowBest + first + at, minHalves(sum, best));
      }
    }
  }

  void run() const {
    clear();
    const int32_t reach = windowHeight / 2;
    for (int32_t row = band.firstRow - reach; row < band.endRow + reach; ++row) {
      const int32_t inside = lesser(greater(row, 0), band.height - 1);
      addRow(inside, (row - (band.firstRow - reach)) % windowHeight);
      const int32_t y = row - reach;
      if (y < band.firstRow) continue;
      for (int32_t from = firstPixel; from < endPixel; from += kSadBlock) {
        const int32_t to = lesser(from + kSadBlock, endPixel);
        sumBlock(from, to);
        select(y, from, to);
      }
    }
  }
};

template <SadChannels kChannels, int32_t kChunks>
void sadStrips(const SadBand& band) {
  for (int32_t first = 0; first < band.width; first += kSadStrip) {
    SadStrip<kChannels, kChunks>(band, first, lesser(first + kSadStrip, band.width)).run();
  }
}

template <SadChannels kChannels>
void sadChunks(const SadBand& band) {
  constexpr int32_t kOften = 128 / kSadLanes;
  if (band.chunks == kOften) return sadStrips<kChannels, kOften>(band);
  sadStrips<kChannels, 0>(band);
}

inline void sadBand(const SadBand& band) {
  if (band.channels == SadChannels::kOnlyValue) return sadChunks<SadChannels::kOnlyValue>(band);
  if constexpr (kHasPixelCosts) return sadChunks<SadChannels::kPixel>(band);
  if (band.channels == SadChannels::kAll) return sadChunks<SadChannels::kAll>(band);
  sadChunks<SadChannels::kValueTwice>(band);
}

inline void sadTurnPixels(const HsvPixel* row, int32_t width, size_t pitch, uint8_t* out) {
  auto* pixels = reinterpret_cast<HsvPixel*>(out);
  for (int32_t x = 0; x < width; ++x) pixels[x] = row[width - 1 - x];
  for (size_t x = static_cast<size_t>(width); x < pitch; ++x) pixels[x] = row[0];
}

/// Eight pixels per step: their bytes of one channel are a word, which is stored in reverse.
inline void sadTurnRow(const HsvPixel* row, int32_t width, SadChannels channels, size_t pitch, uint8_t* out) {
  if (channels == SadChannels::kPixel) return sadTurnPixels(row, width, pitch, out);
  using Pixels [[gnu::vector_size(64)]] = uint64_t;
  using Channel [[gnu::vector_size(8)]] = uint8_t;
  const int32_t count = sadChannelCount(channels), first = sadFirstChannel(channels);
  int32_t x = 0;
  for (; x + 8 <= width; x += 8) {
    Pixels pixels;
    std::memcpy(&pixels, row + width - 8 - x, sizeof pixels);
    for (int32_t i = 0; i < count; ++i) {
      const Channel channel = __builtin_convertvector(pixels >> (8 * (first + i)), Channel);
      uint64_t word;
      std::memcpy(&word, &channel, sizeof word);
      word = __builtin_bswap64(word);
      std::memcpy(out + i * pitch + x, &word, sizeof word);
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    uint8_t* channel = out + i * pitch;
    for (int32_t at = x; at < width; ++at)
      channel[at] = reinterpret_cast<const uint8_t*>(row + width - 1 - at)[first + i];
    std::memset(channel + width, channel[width - 1], pitch - static_cast<size_t>(width));
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(SadKernels, kSadLanes, kHasPixelCosts, sadBand, sadTurnRow)

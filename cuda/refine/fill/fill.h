// SPDX-License-Identifier: Apache-2.0
// Fills holes along rows, so that every pixel has a disparity. A hole is a run of k invalid pixels b..e-1 of a row; l =
// D(b-1) and r = D(e) are the values next to it, i = x - (b-1) and j = e - x the distances to them.
//   interpolated(x) = l + floor((2 i (r - l) + (i + j)) / (2 (i + j)))
//   similar(x)      = l where |I(b-1) - I(x)| <= |I(e) - I(x)|, else r
//   bilateral   |l - r| <= thresholdQ4: interpolated; else similar          (Chang and Maruyama, section III.E, eq. 11 corrected)
//   background  |l - r| <= thresholdQ4 and 4 k > |l - r| (a hole over four times as wide as its step): interpolated;
//               else split: l left of s, r from s on. Without an s: min(l, r), since only one image sees the background there.
//               Before that the first min(lowestQ4 / 16 + 8, width / 8) columns become holes with confidence 0: they have eight
//               candidates or fewer, so their winners are unreliable.
//               l and r are not the values next to the hole but robust ones, because a hole often starts where values are already
//               wrong: see end below.
//   one neighbour only: bilateral copies it. background copies a left one; from a right one (in the strip that only the left image
//   sees) it continues the slope of up to 32 pixels next to the hole, see slope below.
//   a row without any valid pixel: the nearest filled row above, else below; an image without any: unchanged.
// s      of a hole that is no occlusion: l > r (an occlusion is left of the nearer object), or 32 k >= 3 |l - r| (it is as wide as
//        the step, and this hole is one and a half times as wide). With the grey values I(b-1) to I(e), and those beyond replicated,
//        edge(x) = |I(x) + I(x+1) - I(x-1) - I(x-2)| for x in b..e; s is the first x of the largest edge, if that is at least 32.
// end    of the hole's end at column e (left end: columns e - 4 to e, right end: e to e + 4) in row y: the lower median, the
//        ((n - 1) / 2)th smallest, of the n valid values in those columns of rows y - 2 to y + 2 whose grey differs from that of
//        (e, y) by at most 16; n < 3: D(e, y) itself.
// slope  n = the longest even count <= 32 of pixels from e on, all valid, each within one pixel of the one before; n < 16: 0.
//        h = n / 2, A = sum of the first h, B = sum of the other h, c = clamp(B - A, -2 h^2, 2 h^2)
//        D(x) = end(e) - floor((2 j c + h^2) / (2 h^2)), clamped to [lowestQ4, highestQ4]
// in   grey [height][width] uint8; in [height][width] int16       out filled [height][width] int16: another image than in, or for
//      bilateral the same        io confidence uint8 (may be empty): stays 0 where filled.
// border pixels outside the image are not valid.   ties: as written.   same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"
#include "../../../core/workers.h"

namespace depthwatt {

enum class FillMethod { kOff, kBilateral, kBackground };

/// Finds "off", "bilateral" or "background". Returns false for another name.
bool fillMethodFrom(const char* name, FillMethod* method);

struct FillParameters {
  FillMethod method = FillMethod::kOff;
  int32_t thresholdQ4 = 192;  ///< largest difference that interpolation bridges, 0 to 32767
  int32_t lowestQ4 = 0;       ///< limits of extrapolation: the search range
  int32_t highestQ4 = 32752;
};

constexpr int32_t kFillStripColumns = 8;
constexpr int32_t kEndColumns = 5, kEndRows = 2, kEndGrey = 16, kFewestEnd = 3;
constexpr int32_t kFillEdge = 32;

void fillReference(const FillParameters& parameters, ImageView<const uint8_t> grey,
                   ImageView<const int16_t> disparityQ4, ImageView<int16_t> filled, ImageView<uint8_t> confidence);

/// The fast form, the same for every instruction set: holes are few, and are visited one by one.
void fillHoles(const FillParameters& parameters, ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
               ImageView<int16_t> filled, ImageView<uint8_t> confidence, Workers& workers);

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// The definition of the whole matcher cbca: the references of its stages, in the order of section III of the paper.
#include <vector>

#include "../../refine/fill/fill.h"
#include "../../refine/left_right/left_right.h"
#include "../../refine/median/median.h"
#include "cbca_task.h"

namespace depthwatt {

void groundControlPointsReference(ImageView<const int16_t> whole, ImageView<const int16_t> rightWhole,
                                  ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence) {
  for (int32_t y = 0; y < whole.height; ++y) {
    for (int32_t x = 0; x < whole.width; ++x) {
      const int32_t own = whole.row(y)[x];
      disparityQ4.row(y)[x] = static_cast<int16_t>(own == kInvalidDisparity ? own : 16 * own);
      confidence.row(y)[x] = 255;
    }
  }
  LeftRightImages check = {whole, rightWhole, disparityQ4, confidence};
  check.tolerance = 0;
  leftRightReference(check);
}

void cbcaReference(const CrossParameters& cross, int32_t thresholdQ4, ImageView<const uint8_t> left,
                   ImageView<const uint8_t> right, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence) {
  const size_t pixels = static_cast<size_t>(left.width) * left.height;
  std::vector<int16_t> whole(pixels), rightWhole(pixels), points(pixels);
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), left.width, left.height); };
  crossReference(cross, {left, right, view(whole), view(rightWhole)});
  groundControlPointsReference(view(whole).asConst(), view(rightWhole).asConst(), view(points), confidence);
  medianReference(view(points).asConst(), disparityQ4);
  FillParameters fill;
  fill.method = FillMethod::kBilateral;
  fill.thresholdQ4 = thresholdQ4;
  fillReference(fill, left, disparityQ4.asConst(), disparityQ4, {});
}

void matchCbcaReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  cbcaReference(crossParametersFrom(task), cbcaThresholdQ4From(task), images.left, images.right, result.disparityQ4,
                result.confidence);
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Rectifies the left image's colours where they are asked for, and makes points of every row; see point_cloud.h.
#include "point_cloud.h"

#include "../simd/kernels.h"

namespace depthwatt {
namespace {

int threadsFor(int32_t asked) {
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  return asked > 0 ? asked : (online > 0 ? online : 1);
}

}  // namespace

PointCloud::PointCloud(const EngineParameters& parameters, const Kernels& kernels)
    : p_(parameters), kernels_(kernels), plan_(pointsPlanOf(parameters.points, parameters.width)),
      workers_(threadsFor(parameters.threads)) {
  if (parameters.points.colours && !p_.leftRgb)
    rgb_.resize(static_cast<size_t>(p_.width) * static_cast<size_t>(p_.height));
}

void PointCloud::make(const FrameInput& input, const FrameOutput& output, const int32_t* movedLeftMap) {
  PointsImages images;
  images.disparityQ4 = packedView<const int16_t>(output.disparityQ4, p_.width, p_.height);
  images.grey = packedView<const uint8_t>(output.left, p_.width, p_.height);
  // The colours may be a result of the frame already.
  images.rgb = packedView<const Rgb8>(p_.leftRgb ? output.leftRgb : rgb_.data(), p_.width, p_.height);
  const RectifySource source{input.left, p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat};
  const int32_t* map = movedLeftMap != nullptr ? movedLeftMap : p_.leftMap.empty() ? nullptr : p_.leftMap.data();
  workers_.rows(p_.height, [&](int32_t first, int32_t end) {
    if (!rgb_.empty()) kernels_.rectifyRgb(source, map, packedView(rgb_.data(), p_.width, p_.height), {}, first, end);
    kernels_.points(plan_, images, output.points, first, end);
  });
}

}  // namespace depthwatt

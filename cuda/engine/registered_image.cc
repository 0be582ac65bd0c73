// SPDX-License-Identifier: Apache-2.0
// See registered_image.h.
#include "registered_image.h"

#include <cstring>

#include "../simd/kernels.h"

namespace depthwatt {

Status RegisteredImage::check(const EngineParameters& p) {
  const bool hasImage = p.registers && p.registration.hasImage;
  if (p.makesPoints && p.points.fromRegistered && !hasImage) {
    return Status::error(Code::kParameter, "Points with the colours of another camera need its images.");
  }
  if (hasImage && registeredInputBytes(p) == 0) {
    return Status::error(Code::kParameter,
                         "Expected a row stride that holds %d pixels for the other camera's image, got %zu bytes.",
                         p.registration.width, p.registration.strideBytes);
  }
  return {};
}

RegisteredImage::RegisteredImage(const EngineParameters& p, InstructionSet set, std::shared_ptr<SharedWorkers> workers)
    : p_(p), rectify_(kernelsFor<RectifyKernels>(set)), registration_(kernelsFor<RegistrationKernels>(set)),
      workers_(std::move(workers)) {
  makeRegistrationPlan(p.registration, p.width, p.height, &plan_);
}

void RegisteredImage::run(const FrameInput& input, FrameOutput& output) const {
  const RegistrationParameters& camera = p_.registration;
  const SharedWorkers::Turn turn(*workers_);
  Workers& team = workers_->team();
  const bool coloursPoints = p_.makesPoints && p_.points.fromRegistered;
  const size_t bytes = pointBytes(p_.points);
  if (input.registered == nullptr) {
    if (!coloursPoints) return;
    const size_t points = static_cast<size_t>(p_.width) * static_cast<size_t>(p_.height);
    for (size_t i = 0; i < points; ++i) std::memset(output.points + (i + 1) * bytes - 4, 0, 4);
    return;
  }
  RegisteredImages images;
  images.millimetres = packedView<const uint16_t>(output.registered, camera.width, camera.height);
  images.confidence = packedView<const uint8_t>(output.registeredConfidence, camera.width, camera.height);
  const RectifySource source{
      input.registered, camera.width, camera.height, camera.strideBytes, camera.format, 0,
  };
  if (hasColours(camera.format)) {
    const auto rgb = packedView(reinterpret_cast<Rgb8*>(output.registeredImage), camera.width, camera.height);
    team.rows(camera.height,
              [&](int32_t first, int32_t end) { rectify_.rectifyRgb(source, nullptr, rgb, {}, first, end); });
    images.rgb = rgb.asConst();
  } else {
    const auto grey = packedView(output.registeredImage, camera.width, camera.height);
    team.rows(camera.height, [&](int32_t first, int32_t end) { rectify_.rectify(source, nullptr, grey, first, end); });
    images.grey = grey.asConst();
  }
  if (!coloursPoints) return;
  team.rows(p_.height, [&](int32_t first, int32_t end) {
    registration_.colour(plan_, packedView<const int16_t>(output.disparityQ4, p_.width, p_.height), images,
                         output.points, bytes, first, end);
  });
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Opens and identifies a device, and turns errno into a coded sentence.
#include "device.h"

#include <cerrno>
#include <cstring>

namespace v4l2camera {
namespace {

std::string fieldText(const __u8* field, size_t size) {
  const char* text = reinterpret_cast<const char*>(field);
  return std::string(text, strnlen(text, size));
}

Code codeFromErrno(int error) {
  switch (error) {
    case EACCES:
    case EPERM: return Code::kDevicePermission;
    case EBUSY: return Code::kDeviceBusy;
    case EINVAL:
    case ERANGE:
    case ENOTTY: return Code::kDeviceUnsuitable;
    default: return Code::kDeviceUnavailable;
  }
}

}  // namespace

Status Device::failure(const char* action, int negativeErrno) const {
  const int error = -negativeErrno;
  char buffer[96];
  // The GNU form returns the text, which may not be in the buffer.
  const char* text = strerror_r(error, buffer, sizeof buffer);
  return Status::error(codeFromErrno(error), "%s: %s failed: %s.", path_.c_str(), action, text);
}

Status Device::open(const VideoSystem& system, const std::string& path) {
  close();
  system_ = &system;
  path_ = path;
  const int descriptor = system.open(system.self, path.c_str());
  if (descriptor < 0) return failure("opening the camera", descriptor);
  descriptor_ = descriptor;

  v4l2_capability capability{};
  if (const int result = control(VIDIOC_QUERYCAP, &capability); result < 0) {
    close();
    if (result == -ENOTTY || result == -EINVAL) {
      return Status::error(Code::kDeviceUnsuitable, "%s: expected a V4L2 camera, got another kind of device.",
                           path.c_str());
    }
    return failure("identifying the device (VIDIOC_QUERYCAP)", result);
  }
  identity_.driver = fieldText(capability.driver, sizeof capability.driver);
  identity_.card = fieldText(capability.card, sizeof capability.card);
  identity_.bus = fieldText(capability.bus_info, sizeof capability.bus_info);
  // `capabilities` describes the whole physical device; by it a webcam's metadata node would look like a camera.
  identity_.capabilities =
      (capability.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? capability.device_caps : capability.capabilities;
  identity_.multiPlanar = (identity_.capabilities & V4L2_CAP_VIDEO_CAPTURE) == 0 &&
                          (identity_.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0;
  return {};
}

void Device::close() {
  if (descriptor_ < 0) return;
  system_->close(system_->self, descriptor_);
  descriptor_ = -1;
}

}  // namespace v4l2camera

// SPDX-License-Identifier: Apache-2.0
// An open V4L2 capture device: its identity, and every failure as a coded sentence with the device and a hint.
#pragma once

#include <linux/videodev2.h>

#include <string>

#include "status.h"
#include "system.h"

namespace v4l2camera {

/// The answer of VIDIOC_QUERYCAP, with the capabilities of this node (device_caps) if the driver gives them.
struct Identity {
  std::string driver;
  std::string card;
  std::string bus;
  uint32_t capabilities = 0;
  bool multiPlanar = false;

  bool captures() const { return (capabilities & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)) != 0; }
  bool streams() const { return (capabilities & V4L2_CAP_STREAMING) != 0; }
};

class Device {
 public:
  Device() = default;
  ~Device() { close(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Opens the node and reads its identity. Status codes: see failure().
  Status open(const VideoSystem& system, const std::string& path);
  void close();

  bool isOpen() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const VideoSystem& system() const { return *system_; }
  const std::string& path() const { return path_; }
  const Identity& identity() const { return identity_; }
  /// Returns the buffer type of every streaming call.
  uint32_t bufferType() const {
    return identity_.multiPlanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
  }

  /// Calls one ioctl. Returns 0 or -errno.
  int control(unsigned long request, void* argument) const {
    return system_->control(system_->self, descriptor_, request, argument);
  }

  /// Returns `negativeErrno` as a Status: EACCES, EPERM -> kDevicePermission, EBUSY -> kDeviceBusy, EINVAL, ERANGE,
  /// ENOTTY -> kDeviceUnsuitable, everything else -> kDeviceUnavailable.
  Status failure(const char* action, int negativeErrno) const;

 private:
  const VideoSystem* system_ = nullptr;
  int descriptor_ = -1;
  std::string path_;
  Identity identity_;
};

}  // namespace v4l2camera

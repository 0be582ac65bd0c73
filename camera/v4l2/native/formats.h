// SPDX-License-Identifier: Apache-2.0
// The formats, sizes and rates of a camera, and the negotiated format: every setting is read back from the driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.h"

namespace v4l2camera {

/// A range of sizes or intervals; discrete values have minimum = maximum.
struct SizeRange {
  uint32_t minWidth = 0, maxWidth = 0, stepWidth = 1;
  uint32_t minHeight = 0, maxHeight = 0, stepHeight = 1;
  /// Frame rates at the largest size of the range, Hz, in the driver's order; a range gives its two ends.
  std::vector<double> ratesHz;
  bool rateRange = false;
};

struct OfferedFormat {
  uint32_t fourcc = 0;
  std::string description;
  bool compressed = false;
  bool emulated = false;
  std::vector<SizeRange> sizes;
};

std::vector<OfferedFormat> enumerateFormats(const Device& device);

/// 0 keeps the driver's value.
struct FormatRequest {
  uint32_t fourcc = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  /// Frames per second.
  double rateHz = 0;
};

/// Memory planes of one image; no format of V4L2 has more.
constexpr uint32_t kMaxPlanes = 4;

struct PlaneFormat {
  /// Distance between rows.
  uint32_t strideBytes = 0;
  /// Memory that the driver needs for the plane, at least.
  uint32_t imageBytes = 0;
};

/// The driver's choice, which may differ from the request.
struct AgreedFormat {
  uint32_t fourcc = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t planeCount = 1;
  PlaneFormat planes[kMaxPlanes];
  /// Frames per second; 0 if the driver does not report it.
  double rateHz = 0;
};

/// Calls VIDIOC_S_FMT, then VIDIOC_S_PARM if the device has it. Another format or size than requested is no failure
/// here: the caller compares. Interlaced video is rejected.
Status agreeOnFormat(const Device& device, const FormatRequest& request, AgreedFormat* agreed);

/// Returns the rows of one memory plane of an image with `height` rows; 0 if the format's chroma is unknown.
uint32_t planeRows(const AgreedFormat& format, uint32_t plane);

/// Returns the four bytes as text, such as "YUYV", with '.' for bytes that are not printable.
std::string fourccText(uint32_t fourcc);

}  // namespace v4l2camera

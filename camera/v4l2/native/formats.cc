// SPDX-License-Identifier: Apache-2.0
// Format calls of V4L2: ENUM_FMT, ENUM_FRAMESIZES, ENUM_FRAMEINTERVALS, S_FMT and S_PARM, each read back.
#include "formats.h"

#include <cmath>
#include <cstring>

namespace v4l2camera {
namespace {

/// Bounds the loop for a driver that never ends its list.
constexpr uint32_t kMaxEntries = 256;

double hertz(const v4l2_fract& interval) {
  return interval.numerator == 0 ? 0 : static_cast<double>(interval.denominator) / interval.numerator;
}

void enumerateRates(const Device& device, uint32_t fourcc, SizeRange* range) {
  for (uint32_t index = 0; index < kMaxEntries; ++index) {
    v4l2_frmivalenum interval{};
    interval.index = index;
    interval.pixel_format = fourcc;
    interval.width = range->maxWidth;
    interval.height = range->maxHeight;
    if (device.control(VIDIOC_ENUM_FRAMEINTERVALS, &interval) < 0) return;
    if (interval.type == V4L2_FRMIVAL_TYPE_DISCRETE) {
      range->ratesHz.push_back(hertz(interval.discrete));
      continue;
    }
    range->rateRange = true;
    range->ratesHz = {hertz(interval.stepwise.max), hertz(interval.stepwise.min)};
    return;
  }
}

void enumerateSizes(const Device& device, OfferedFormat* format) {
  for (uint32_t index = 0; index < kMaxEntries; ++index) {
    v4l2_frmsizeenum size{};
    size.index = index;
    size.pixel_format = format->fourcc;
    if (device.control(VIDIOC_ENUM_FRAMESIZES, &size) < 0) return;
    SizeRange range;
    const bool discrete = size.type == V4L2_FRMSIZE_TYPE_DISCRETE;
    if (discrete) {
      range.minWidth = range.maxWidth = size.discrete.width;
      range.minHeight = range.maxHeight = size.discrete.height;
    } else {
      range = {size.stepwise.min_width,
               size.stepwise.max_width,
               size.stepwise.step_width,
               size.stepwise.min_height,
               size.stepwise.max_height,
               size.stepwise.step_height,
               {},
               false};
    }
    enumerateRates(device, format->fourcc, &range);
    format->sizes.push_back(range);
    if (!discrete) return;
  }
}

Status setFormat(const Device& device, const FormatRequest& request, AgreedFormat* agreed) {
  v4l2_format format{};
  format.type = device.bufferType();
  if (const int result = device.control(VIDIOC_G_FMT, &format); result < 0) {
    return device.failure("reading the image format (VIDIOC_G_FMT)", result);
  }
  if (device.identity().multiPlanar) {
    v4l2_pix_format_mplane& pixels = format.fmt.pix_mp;
    if (request.width > 0) pixels.width = request.width;
    if (request.height > 0) pixels.height = request.height;
    if (request.fourcc > 0) pixels.pixelformat = request.fourcc;
    pixels.field = V4L2_FIELD_NONE;
    pixels.num_planes = 1;
    // Zero requests the driver's own stride; the old values belong to the previous format.
    std::memset(pixels.plane_fmt, 0, sizeof pixels.plane_fmt);
  } else {
    v4l2_pix_format& pixels = format.fmt.pix;
    if (request.width > 0) pixels.width = request.width;
    if (request.height > 0) pixels.height = request.height;
    if (request.fourcc > 0) pixels.pixelformat = request.fourcc;
    pixels.field = V4L2_FIELD_NONE;
    pixels.bytesperline = 0;
    pixels.sizeimage = 0;
  }
  if (const int result = device.control(VIDIOC_S_FMT, &format); result < 0) {
    return device.failure("setting the image format (VIDIOC_S_FMT)", result);
  }
  uint32_t field = 0;
  if (device.identity().multiPlanar) {
    const v4l2_pix_format_mplane& pixels = format.fmt.pix_mp;
    if (pixels.num_planes < 1 || pixels.num_planes > kMaxPlanes) {
      return Status::error(Code::kDeviceUnsuitable, "%s: expected %s in 1 to %u memory planes, the driver gives %d.",
                           device.path().c_str(), fourccText(pixels.pixelformat).c_str(), kMaxPlanes,
                           pixels.num_planes);
    }
    *agreed = {pixels.pixelformat, pixels.width, pixels.height, pixels.num_planes, {}, 0};
    for (uint32_t i = 0; i < agreed->planeCount; ++i) {
      agreed->planes[i] = {pixels.plane_fmt[i].bytesperline, pixels.plane_fmt[i].sizeimage};
    }
    field = pixels.field;
  } else {
    const v4l2_pix_format& pixels = format.fmt.pix;
    *agreed = {pixels.pixelformat, pixels.width, pixels.height, 1, {{pixels.bytesperline, pixels.sizeimage}}, 0};
    field = pixels.field;
  }
  if (field != V4L2_FIELD_NONE && field != V4L2_FIELD_ANY) {
    return Status::error(Code::kDeviceUnsuitable, "%s: expected progressive video, the input gives interlaced fields.",
                         device.path().c_str());
  }
  return {};
}

/// Sets the rate, if the camera has one; a raw sensor's depends on its controls, which is no failure.
void setRate(const Device& device, double rateHz, AgreedFormat* agreed) {
  v4l2_streamparm parameters{};
  parameters.type = device.bufferType();
  if (device.control(VIDIOC_G_PARM, &parameters) < 0) return;
  if (rateHz > 0 && (parameters.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0) {
    parameters.parm.capture.timeperframe = {1000, static_cast<uint32_t>(std::lround(rateHz * 1000))};
    device.control(VIDIOC_S_PARM, &parameters);
    // Read back by a separate call, because some drivers answer S_PARM with the request.
    if (device.control(VIDIOC_G_PARM, &parameters) < 0) return;
  }
  agreed->rateHz = hertz(parameters.parm.capture.timeperframe);
}

}  // namespace

std::vector<OfferedFormat> enumerateFormats(const Device& device) {
  std::vector<OfferedFormat> formats;
  for (uint32_t index = 0; index < kMaxEntries; ++index) {
    v4l2_fmtdesc description{};
    description.index = index;
    description.type = device.bufferType();
    if (device.control(VIDIOC_ENUM_FMT, &description) < 0) break;
    OfferedFormat format;
    format.fourcc = description.pixelformat;
    const char* text = reinterpret_cast<const char*>(description.description);
    format.description.assign(text, strnlen(text, sizeof description.description));
    format.compressed = (description.flags & V4L2_FMT_FLAG_COMPRESSED) != 0;
    format.emulated = (description.flags & V4L2_FMT_FLAG_EMULATED) != 0;
    enumerateSizes(device, &format);
    formats.push_back(std::move(format));
  }
  return formats;
}

Status agreeOnFormat(const Device& device, const FormatRequest& request, AgreedFormat* agreed) {
  if (Status status = setFormat(device, request, agreed); !status.ok()) return status;
  setRate(device, request.rateHz, agreed);
  return {};
}

uint32_t planeRows(const AgreedFormat& format, uint32_t plane) {
  if (plane == 0) return format.height;
  switch (format.fourcc) {
    case V4L2_PIX_FMT_NV12M:
    case V4L2_PIX_FMT_NV21M:
    case V4L2_PIX_FMT_YUV420M:
    case V4L2_PIX_FMT_YVU420M: return (format.height + 1) / 2;
    case V4L2_PIX_FMT_NV16M:
    case V4L2_PIX_FMT_NV61M:
    case V4L2_PIX_FMT_YUV422M:
    case V4L2_PIX_FMT_YVU422M:
    case V4L2_PIX_FMT_YUV444M:
    case V4L2_PIX_FMT_YVU444M: return format.height;
    default: return 0;
  }
}

std::string fourccText(uint32_t fourcc) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) {
    // Bit 31 marks the big-endian form of a format; the letter below it is plain ASCII.
    const char letter = static_cast<char>((fourcc >> shift) & 0x7f);
    text += letter >= 32 && letter < 127 ? letter : '.';
  }
  if ((fourcc >> 31) != 0) text += "-BE";
  return text;
}

}  // namespace v4l2camera

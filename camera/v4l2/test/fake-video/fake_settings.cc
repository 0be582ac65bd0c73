// SPDX-License-Identifier: Apache-2.0
// Formats and controls of the in-memory driver.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fake_driver.h"

namespace v4l2camera::fake {
namespace {

uint32_t bytesPerPixel(uint32_t fourcc) {
  const bool one = fourcc == V4L2_PIX_FMT_GREY || fourcc == V4L2_PIX_FMT_NV12 || fourcc == V4L2_PIX_FMT_SRGGB8 ||
                   fourcc == V4L2_PIX_FMT_NV12M || fourcc == V4L2_PIX_FMT_YUV420M;
  return one ? 1 : fourcc == V4L2_PIX_FMT_Y12I ? 3 : 2;
}

/// Returns the formats in the order of their first size.
std::vector<uint32_t> listFourccs(const Camera& camera) {
  std::vector<uint32_t> list;
  for (const Size& size : camera.sizes) {
    bool known = false;
    for (const uint32_t fourcc : list) known = known || fourcc == size.fourcc;
    if (!known) list.push_back(size.fourcc);
  }
  return list;
}

const Size* sizeAt(const Camera& camera, uint32_t fourcc, uint32_t index) {
  for (const Size& size : camera.sizes) {
    if (size.fourcc == fourcc && index-- == 0) return &size;
  }
  return nullptr;
}

/// Returns a driver's answer to a request that it cannot meet: the first size of the format, or its first format.
const Size& nearest(const Camera& camera, uint32_t fourcc, uint32_t width, uint32_t height) {
  const Size* found = nullptr;
  for (const Size& size : camera.sizes) {
    if (size.fourcc != fourcc) continue;
    if (size.sensorMode != UINT32_MAX && size.sensorMode != camera.valueOf("Sensor Mode", 0)) continue;
    if (found == nullptr || (size.width == width && size.height == height)) found = &size;
  }
  return found != nullptr ? *found : camera.sizes.front();
}

void setFormat(Camera& camera, v4l2_format& format) {
  const bool planar = (camera.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0;
  v4l2_pix_format& one = format.fmt.pix;
  v4l2_pix_format_mplane& many = format.fmt.pix_mp;
  const Size& size = planar ? nearest(camera, many.pixelformat, many.width, many.height)
                            : nearest(camera, one.pixelformat, one.width, one.height);
  // As in the kernel's drivers, a request may ask for longer rows and larger images than needed.
  const uint32_t stride = std::max({size.width * bytesPerPixel(size.fourcc) + camera.strideExtra,
                                    static_cast<uint32_t>(camera.valueOf("Preferred Stride", 0)),
                                    planar ? uint32_t{many.plane_fmt[0].bytesperline} : uint32_t{one.bytesperline}});
  const uint32_t requestedBytes = planar ? many.plane_fmt[0].sizeimage : one.sizeimage;
  // A request for any order of fields is answered with the sensor's own, which is interlaced.
  const bool isProgressive = (planar ? uint32_t{many.field} : uint32_t{one.field}) == V4L2_FIELD_NONE;
  const uint32_t field = isProgressive ? camera.field : uint32_t{V4L2_FIELD_INTERLACED};
  // A compressed image has any size: drivers give its buffers more than the pixels would need.
  const uint32_t needed = size.fourcc == V4L2_PIX_FMT_MJPEG
                              ? std::max(65536u, size.width * size.height)
                              : stride * size.height * (size.fourcc == V4L2_PIX_FMT_NV12 ? 3 : 2) / 2;
  const uint32_t bytes = std::max(needed, requestedBytes);
  if (planar) {
    many.width = size.width;
    many.height = size.height;
    many.pixelformat = size.fourcc;
    many.field = field;
    many.num_planes = static_cast<__u8>(camera.memoryPlanes);
    many.plane_fmt[0].bytesperline = stride;
    many.plane_fmt[0].sizeimage = bytes;
    // The layout of NV12M and YUV420M: chroma at half height, in one plane of full rows or in two of half rows.
    for (uint32_t i = 1; i < camera.memoryPlanes && i < VIDEO_MAX_PLANES; ++i) {
      many.plane_fmt[i].bytesperline = camera.memoryPlanes > 2 ? stride / 2 : stride;
      many.plane_fmt[i].sizeimage = many.plane_fmt[i].bytesperline * size.height / 2;
    }
  } else {
    one.width = size.width;
    one.height = size.height;
    one.pixelformat = size.fourcc;
    one.field = field;
    one.bytesperline = stride;
    one.sizeimage = bytes;
  }
  if (camera.stubbornWidth > 0) (planar ? many.width : one.width) = camera.stubbornWidth;
  if (camera.lies.strideBytes > 0)
    (planar ? many.plane_fmt[0].bytesperline : one.bytesperline) = camera.lies.strideBytes;
  if (camera.lies.imageBytes > 0) (planar ? many.plane_fmt[0].sizeimage : one.sizeimage) = camera.lies.imageBytes;
  if (camera.lies.height != UINT32_MAX) (planar ? many.height : one.height) = camera.lies.height;
  camera.format = format;
}

int exchangeControl(Camera& camera, const v4l2_ext_controls& list, bool write) {
  for (uint32_t i = 0; i < list.count; ++i) {
    const auto found = camera.controls.find(list.controls[i].id);
    if (found == camera.controls.end()) return -EINVAL;
    Control& control = found->second;
    const bool wide = control.query.type == V4L2_CTRL_TYPE_INTEGER64;
    if (!write) {
      if (wide) {
        list.controls[i].value64 = control.value;
      } else {
        list.controls[i].value = static_cast<int32_t>(control.value);
      }
      continue;
    }
    if ((control.query.flags & V4L2_CTRL_FLAG_READ_ONLY) != 0) return -EACCES;
    const int64_t value = wide ? list.controls[i].value64 : list.controls[i].value;
    // As in NVIDIA's driver: these change the format, which buffers have already.
    const bool changesFormat =
        std::strcmp(control.query.name, "Sensor Mode") == 0 || std::strcmp(control.query.name, "Preferred Stride") == 0;
    if (changesFormat && !camera.slots.empty()) return -EBUSY;
    if (value < control.lowest || value > control.highest) return -ERANGE;
    const auto step = static_cast<int64_t>(control.query.step);
    // Drivers round to their steps silently, which is why values are read back.
    control.value = step > 1 ? value - (value - control.query.minimum) % step : value;
  }
  return 0;
}

}  // namespace

int64_t Camera::valueOf(const char* name, int64_t fallback) const {
  for (const auto& [id, control] : controls) {
    if (std::strcmp(control.query.name, name) == 0) return control.value;
  }
  return fallback;
}

int Driver::answerFormats(Camera& camera, unsigned long request, void* argument) {
  const uint32_t type = planar(camera) ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
  switch (request) {
    case VIDIOC_ENUM_FMT: {
      auto& description = *static_cast<v4l2_fmtdesc*>(argument);
      if (description.type != type) return -EINVAL;
      const auto list = listFourccs(camera);
      if (description.index >= list.size()) return -EINVAL;
      description.pixelformat = list[description.index];
      const Size& size = *sizeAt(camera, description.pixelformat, 0);
      description.flags = size.flags;
      // All 32 bytes may be letters: the text then has no end.
      std::strncpy(reinterpret_cast<char*>(description.description), size.description.c_str(),
                   sizeof description.description);
      return 0;
    }
    case VIDIOC_ENUM_FRAMESIZES: {
      auto& entry = *static_cast<v4l2_frmsizeenum*>(argument);
      const Size* size = sizeAt(camera, entry.pixel_format, entry.index);
      if (size == nullptr) return -EINVAL;
      if (size->minWidth > 0) {
        entry.type = V4L2_FRMSIZE_TYPE_STEPWISE;
        entry.stepwise = {size->minWidth,  size->width,  size->stepWidth,
                          size->minHeight, size->height, size->stepHeight};
        return 0;
      }
      entry.type = V4L2_FRMSIZE_TYPE_DISCRETE;
      entry.discrete = {size->width, size->height};
      return 0;
    }
    case VIDIOC_ENUM_FRAMEINTERVALS: {
      auto& entry = *static_cast<v4l2_frmivalenum*>(argument);
      for (const Size& size : camera.sizes) {
        if (size.fourcc != entry.pixel_format || size.width != entry.width || size.height != entry.height) continue;
        if (entry.index >= size.ratesHz.size()) return -EINVAL;
        if (size.minWidth > 0) {
          entry.type = V4L2_FRMIVAL_TYPE_STEPWISE;
          entry.stepwise = {{1, size.ratesHz.back()}, {1, size.ratesHz.front()}, {1, 1}};
          return 0;
        }
        entry.type = V4L2_FRMIVAL_TYPE_DISCRETE;
        entry.discrete = {2, 2 * size.ratesHz[entry.index]};
        return 0;
      }
      return -EINVAL;
    }
    case VIDIOC_G_FMT: {
      auto& format = *static_cast<v4l2_format*>(argument);
      if (format.type != type) return -EINVAL;
      format = camera.format;
      format.type = type;
      return 0;
    }
    case VIDIOC_S_FMT:
      if (static_cast<v4l2_format*>(argument)->type != type) return -EINVAL;
      if (camera.streaming) return -EBUSY;
      setFormat(camera, *static_cast<v4l2_format*>(argument));
      return 0;
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM: {
      if (static_cast<v4l2_streamparm*>(argument)->type != type) return -EINVAL;
      auto& capture = static_cast<v4l2_streamparm*>(argument)->parm.capture;
      if (request == VIDIOC_S_PARM) camera.requestedInterval = capture.timeperframe;
      if (request == VIDIOC_S_PARM && capture.timeperframe.numerator != 0) {
        const double wanted = static_cast<double>(capture.timeperframe.denominator) / capture.timeperframe.numerator;
        const v4l2_pix_format& one = camera.format.fmt.pix;
        const v4l2_pix_format_mplane& many = camera.format.fmt.pix_mp;
        const bool isPlanar = (camera.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0;
        const auto& rates = (isPlanar ? nearest(camera, many.pixelformat, many.width, many.height)
                                      : nearest(camera, one.pixelformat, one.width, one.height))
                                .ratesHz;
        if (!rates.empty() && std::find(rates.begin(), rates.end(), camera.rateHz) == rates.end())
          camera.rateHz = rates.front();
        for (const uint32_t rate : rates) {
          const auto distance = [&](uint32_t hertz) { return hertz > wanted ? hertz - wanted : wanted - hertz; };
          if (distance(rate) < distance(camera.rateHz)) camera.rateHz = rate;
        }
      }
      capture.capability = camera.fixedRate ? 0 : V4L2_CAP_TIMEPERFRAME;
      if (request == VIDIOC_S_PARM && camera.echoesRate) return 0;
      capture.timeperframe = {camera.rateHz == 0 ? 0u : 2u, 2 * camera.rateHz};
      return 0;
    }
    default: return -ENOTTY;
  }
}

int Driver::answerControls(Camera& camera, unsigned long request, void* argument) {
  switch (request) {
    case VIDIOC_QUERY_EXT_CTRL: {
      auto& query = *static_cast<v4l2_query_ext_ctrl*>(argument);
      const auto next = camera.controls.upper_bound(query.id & ~V4L2_CTRL_FLAG_NEXT_CTRL);
      if (next == camera.controls.end()) return -EINVAL;
      query = next->second.query;
      return 0;
    }
    case VIDIOC_QUERYMENU: {
      auto& entry = *static_cast<v4l2_querymenu*>(argument);
      const auto found = camera.controls.find(entry.id);
      if (found == camera.controls.end() || entry.index >= found->second.menu.size()) return -EINVAL;
      const std::string& name = found->second.menu[entry.index];
      if (name.empty()) return -EINVAL;
      if (found->second.query.type == V4L2_CTRL_TYPE_INTEGER_MENU) {
        entry.value = std::stoll(name);
        return 0;
      }
      std::strncpy(reinterpret_cast<char*>(entry.name), name.c_str(), sizeof entry.name - 1);
      return 0;
    }
    case VIDIOC_G_EXT_CTRLS: return exchangeControl(camera, *static_cast<v4l2_ext_controls*>(argument), false);
    case VIDIOC_S_EXT_CTRLS: return exchangeControl(camera, *static_cast<v4l2_ext_controls*>(argument), true);
    default: return -ENOTTY;
  }
}

}  // namespace v4l2camera::fake

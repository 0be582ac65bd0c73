// SPDX-License-Identifier: Apache-2.0
// Replaces the frames of libargus; see Argus/Argus.h of this folder.
#pragma once

#include "../Argus/Argus.h"
#include "../nvbufsurface.h"

namespace EGLStream {

namespace NV {
/// Row y of sensor s, capture c has the values 50 s + 10 c + y + x.
struct IImageNativeBuffer {
  uint32_t sensor = 0, capture = 0;
  int createNvBuffer(Argus::Size2D<uint32_t> size, NvBufSurfaceColorFormat, NvBufSurfaceLayout) const {
    NvBufSurface& surface = standInSurfaces()[sensor];
    surface.allocate(size.width(), size.height());
    copyToNvBuffer(static_cast<int>(sensor));
    return static_cast<int>(sensor);
  }
  Argus::Status copyToNvBuffer(int descriptor) const {
    NvBufSurface& surface = standInSurfaces()[descriptor];
    for (uint32_t y = 0; y < surface.height; ++y) {
      for (uint32_t x = 0; x < surface.width; ++x)
        surface.bytes[y * surface.params.planeParams.pitch[0] + x] =
            static_cast<uint8_t>(50 * sensor + 10 * capture + y + x);
    }
    return Argus::STATUS_OK;
  }
};
}  // namespace NV

struct Image : NV::IImageNativeBuffer {};
struct IFrame {
  Image image;
  Image* getImage() { return &image; }
};
struct IArgusCaptureMetadata {
  Argus::CaptureMetadata metadata;
  Argus::CaptureMetadata* getMetadata() { return &metadata; }
};
struct Frame : IFrame, IArgusCaptureMetadata {};

struct IFrameConsumer {
  uint32_t sensor = 0, next = 1;
  Frame* acquireFrame(uint64_t) {
    static const char* const frames = std::getenv("STAND_IN_FRAMES");
    static const char* const clock = std::getenv("STAND_IN_CLOCK");
    if (sensor == 2 && next == 3) ++next;
    if (next > static_cast<uint32_t>(frames == nullptr ? 5 : std::atoi(frames))) return nullptr;
    auto* const frame = new Frame;
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t nowNs = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
    frame->metadata.timestampNs = nowNs - 5000000u + (clock == nullptr ? 0 : std::strtoull(clock, nullptr, 10));
    frame->metadata.captureId = frame->image.capture = next++;
    frame->image.sensor = sensor;
    return frame;
  }
};
struct FrameConsumer : IFrameConsumer {
  static FrameConsumer* create(Argus::OutputStream* stream) {
    auto* const consumer = new FrameConsumer;
    consumer->sensor = stream->settings.device->index;
    return consumer;
  }
};

}  // namespace EGLStream

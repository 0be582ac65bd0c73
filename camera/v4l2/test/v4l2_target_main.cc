// SPDX-License-Identifier: Apache-2.0
// Fuzz target of capture: an in-memory driver whose answers the input modifies, in any field of any structure that a
// driver fills, while a camera is opened, read and closed. An announced image must be inside its buffer, which must not
// be held, and at the end nothing may be open or mapped. The first byte selects the camera; one byte of each answer
// decides whether it is correct, fails or is modified, and where.
#include <linux/videodev2.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "../native/capture.h"
#include "fake-video/fake_driver.h"

namespace {

using namespace v4l2camera;

/// The operating system for capture, answered by the in-memory driver and then modified.
class Liar {
 public:
  Liar(const uint8_t* data, size_t size) : data_(data), size_(size) {
    system = driver.system;
    system.self = this;
    system.open = [](void* self, const char* path) { return honest(self).open(honest(self).self, path); };
    system.close = [](void* self, int fd) { return honest(self).close(honest(self).self, fd); };
    system.wait = [](void* self, pollfd* set, int count, int timeoutMs) {
      return honest(self).wait(honest(self).self, set, count, timeoutMs);
    };
    system.unmap = [](void* self, void* memory, size_t length) {
      honest(self).unmap(honest(self).self, memory, length);
    };
    system.map = [](void* self, int fd, size_t length, int64_t offset, void** memory) {
      return static_cast<Liar*>(self)->map(fd, length, offset, memory);
    };
    system.control = [](void* self, int fd, unsigned long request, void* argument) {
      return static_cast<Liar*>(self)->control(fd, request, argument);
    };
  }

  /// Returns 0 after the end of the input.
  uint8_t byte() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return at_ < size_ ? data_[at_++] : 0;
  }
  uint32_t word() {
    constexpr uint32_t kOdd[] = {0, 1, 2, 255, 4096, 65535, INT32_MAX, UINT32_MAX};
    const uint8_t which = byte();
    if (which < 8) return kOdd[which];
    const uint32_t low = byte();
    return low | uint32_t{byte()} << (which % 24);
  }

  fake::Driver driver;
  VideoSystem system{};

 private:
  static const VideoSystem& honest(void* self) { return static_cast<Liar*>(self)->driver.system; }

  /// Like the kernel's videobuf2: never more than the buffer has. The driver's own size is mapped, so that it can fill
  /// it.
  int map(int fd, size_t length, int64_t offset, void** memory) {
    size_t room = 0;
    {
      const std::lock_guard<std::mutex> lock(driver.mutex);
      const fake::Camera& camera = *driver.cameras.begin()->second;
      room = camera.format.fmt.pix.sizeimage;
      if ((camera.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0) {
        room = 0;
        for (uint32_t i = 0; i < camera.memoryPlanes; ++i) {
          room = std::max<size_t>(room, camera.format.fmt.pix_mp.plane_fmt[i].sizeimage);
        }
      }
    }
    if (length > (room + 4095) / 4096 * 4096) return -EINVAL;
    return driver.system.map(driver.system.self, fd, std::max(room, length), offset, memory);
  }

  int control(int fd, unsigned long request, void* argument) {
    const int result = driver.system.control(driver.system.self, fd, request, argument);
    const uint8_t choice = byte();
    constexpr int kErrors[] = {EINVAL, EIO, EBUSY, EAGAIN, ENOTTY, ENOMEM, EPIPE, EACCES};
    // The kernel itself answers some of these correctly: descriptors, and structures with the caller's pointers.
    const bool kernels = request == VIDIOC_EXPBUF || request == VIDIOC_G_EXT_CTRLS || request == VIDIOC_S_EXT_CTRLS;
    // A stream that does not stop, and a buffer that returns unasked, cannot be detected.
    if (choice < 160 || kernels || request == VIDIOC_STREAMOFF || request == VIDIOC_QBUF) return result;
    if (choice < 170) return -kErrors[byte() % 8];
    for (int lies = 1 + choice % 3; lies > 0; --lies) bend(request, argument);
    return choice % 2 != 0 && result < 0 ? 0 : result;
  }

  void bend(unsigned long request, void* argument) {
    size_t size = _IOC_SIZE(request);
    auto* fields = static_cast<uint8_t*>(argument);
    if (size < 4) return;
    if (request == VIDIOC_QUERYBUF || request == VIDIOC_DQBUF) {
      auto& buffer = *static_cast<v4l2_buffer*>(argument);
      if (V4L2_TYPE_IS_MULTIPLANAR(buffer.type) && byte() % 2 == 0) {
        fields = reinterpret_cast<uint8_t*>(&buffer.m.planes[byte() % 2]);
        size = sizeof(v4l2_plane);
      } else {
        // The caller defines where the planes are, and the type and count.
        const size_t at = 4 * (byte() % (size / 4));
        const uint32_t lie = word();
        const bool callers = at == offsetof(v4l2_buffer, type) || at == offsetof(v4l2_buffer, memory) ||
                             (at >= offsetof(v4l2_buffer, m) && at < offsetof(v4l2_buffer, length));
        const bool planes = V4L2_TYPE_IS_MULTIPLANAR(buffer.type) && at == offsetof(v4l2_buffer, length);
        if (!callers && !planes) std::memcpy(fields + at, &lie, sizeof lie);
        return;
      }
    }
    const uint32_t lie = word();
    std::memcpy(fields + 4 * (byte() % (size / 4)), &lie, sizeof lie);
  }

  const uint8_t* data_;
  size_t size_, at_ = 0;
  std::mutex mutex_;
};

std::shared_ptr<fake::Camera> createCamera(uint8_t kind) {
  auto camera = std::make_shared<fake::Camera>();
  camera->path = camera->card = camera->bus = camera->driver = "fake";
  const bool planar = kind % 3 == 2;
  camera->capabilities = (planar ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE) | V4L2_CAP_STREAMING;
  camera->memoryPlanes = planar ? 2 : 1;
  const uint32_t fourccs[] = {V4L2_PIX_FMT_GREY, V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_NV12M};
  camera->sizes.push_back({fourccs[kind % 3], 16, 8, {30, 60}});
  camera->rateHz = 30;
  fake::Control gain;
  gain.query.id = 0x980913;
  gain.query.type = V4L2_CTRL_TYPE_INTEGER;
  gain.query.maximum = 100;
  gain.query.step = 1;
  camera->controls[gain.query.id] = gain;
  return camera;
}

/// Waits until the camera's thread has taken the delivered images, or for two milliseconds.
void settle(Capture& capture, uint32_t more) {
  for (int i = 0; i < 20 && capture.produced() < more && capture.fault() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void readImage(Capture& capture, uint32_t image) {
  if (image >= capture.imageCount()) std::abort();
  const FrameFacts& facts = capture.facts()[image];
  for (uint32_t plane = 0; plane < capture.planes(); ++plane) {
    const Buffer& memory = capture.images()[image * capture.planes() + plane];
    const FilledPlane& filled = facts.planes[plane];
    if (filled.bytesUsed > memory.bytes || filled.offsetBytes > filled.bytesUsed) std::abort();
    uint32_t sum = 0;
    for (size_t i = filled.offsetBytes; i < filled.bytesUsed; ++i) sum += memory.data[i];
    if (sum == UINT32_MAX) std::abort();
  }
}

void live(Liar& liar, fake::Camera& camera, const CaptureOptions& options) {
  Capture capture;
  if (!capture.open(liar.system, options).ok()) return;
  if (!capture.start([](void*) {}, nullptr).ok()) return;
  const auto streams = [&] {
    const std::lock_guard<std::mutex> lock(liar.driver.mutex);
    return camera.streaming;
  };
  for (int i = 0; i < 20 && !streams() && capture.fault() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  uint32_t read = 0;
  bool held[kMaxBuffers] = {};
  for (int frames = liar.byte() % 8; frames > 0; --frames) {
    fake::Image image;
    const uint8_t honesty = liar.byte();
    image.flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    image.sequence = honesty;
    image.bytesUsed = 16 * 8 * (options.format.fourcc == V4L2_PIX_FMT_YUYV ? 2 : 1);
    if (camera.memoryPlanes > 1) image.morePlanes.push_back(std::vector<uint8_t>(16 * 4, honesty));
    if (honesty > 200) {
      image.bytesUsed = liar.word();
      image.claimedIndex = liar.byte() % 2 != 0 ? liar.word() : UINT32_MAX;
      image.dataOffset = liar.byte() % 16;
      image.flags = liar.word();
      image.sequence = liar.word();
    }
    bool delivered = false;
    {
      const std::lock_guard<std::mutex> lock(liar.driver.mutex);
      delivered = liar.driver.deliver(camera, image);
    }
    if (delivered) settle(capture, read + 1);
    for (const uint32_t produced = capture.produced(); read != produced; ++read) {
      const uint32_t announced = capture.ring()[read % kRingEntries];
      readImage(capture, announced);
      // Two images must never be in one buffer while it is read.
      if (held[announced]) std::abort();
      held[announced] = honesty % 4 == 0;
      if (!held[announced]) capture.release(announced);
    }
    ControlEvent events[kMaxEvents];
    if (honesty % 8 == 1) capture.drainEvents(events);
  }
  capture.stop();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Liar liar(data, size);
  const uint8_t kind = liar.byte();
  const auto camera = createCamera(kind);
  liar.driver.cameras["fake"] = camera;
  CaptureOptions options;
  options.path = "fake";
  options.format = {camera->sizes[0].fourcc, 16, 8, kind % 2 != 0 ? 30.0 : 0.0};
  options.bufferCount = 4;
  options.separatePlanes = kind % 3 == 2;
  options.ownMemory = kind % 16 == 4;
  live(liar, *camera, options);
  if (camera->opens != 0 || camera->mappings != 0) std::abort();
  return 0;
}

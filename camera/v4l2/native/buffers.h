// SPDX-License-Identifier: Apache-2.0
// The frame buffers that camera and computer exchange: mapped driver memory, or the caller's memory.
#pragma once

#include <vector>

#include "device.h"
#include "formats.h"

namespace v4l2camera {

/// With fewer buffers, one late reader makes the driver drop frames.
constexpr int kFewestBuffers = 4;
constexpr int kMaxBuffers = 32;

/// One piece of memory: a whole image, or one plane of an image with separate planes.
struct Buffer {
  uint8_t* data = nullptr;
  size_t bytes = 0;
  /// Descriptor of the exported DMA buffer, or -1. Owned by the queue.
  int exported = -1;
  bool mapped = false;
};

/// The data of one plane.
struct FilledPlane {
  /// Includes the bytes before the data.
  uint32_t bytesUsed = 0;
  /// Offset of the data.
  uint32_t offsetBytes = 0;
};

/// One image from the driver.
struct FilledBuffer {
  uint32_t index = 0;
  FilledPlane planes[kMaxPlanes];
  uint32_t sequence = 0;
  /// V4L2_BUF_FLAG_*.
  uint32_t flags = 0;
  /// Driver's time stamp, nanoseconds modulo 2^64 (a clock may wrap).
  int64_t timestampNs = 0;
};

/// Returns kParameter for the caller's memory that cannot hold an image.
Status tooSmall(const Device& device, size_t imageBytes, size_t bytes);

class BufferQueue {
 public:
  /// Requests `count` buffers of driver memory with `planes` memory planes each (VIDIOC_REQBUFS, QUERYBUF, mmap); with
  /// `exportThem` also exports each plane as a DMA buffer (VIDIOC_EXPBUF). The driver may give more or fewer; fewer
  /// than kFewestBuffers is an error.
  Status requestMapped(const Device& device, int count, uint32_t planes, bool exportThem);
  /// Uses the caller's memory (USERPTR), one plane an image: `user` must stay valid until free().
  Status requestUser(const Device& device, const std::vector<Buffer>& user, size_t imageBytes);

  /// Returns 0 or -errno.
  int enqueue(const Device& device, uint32_t index) const;
  int dequeue(const Device& device, FilledBuffer* filled) const;

  /// Removes an image's mappings; its Buffers become empty. A mapping keeps the device node alive in the kernel, so an
  /// unplugged camera cannot come back under its own name before this.
  void unmap(const VideoSystem& system, uint32_t index);
  /// Closes the exported descriptors and returns the memory to the driver.
  void free(const Device& device);

  /// Returns the number of images; each has planes() memory planes.
  uint32_t count() const { return static_cast<uint32_t>(buffers_.size()) / planes_; }
  uint32_t planes() const { return planes_; }
  const Buffer& plane(uint32_t index, uint32_t plane) const { return buffers_[index * planes_ + plane]; }
  /// Returns the buffers image after image, plane after plane.
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  Status mapPlane(const Device& device, const v4l2_buffer& query, uint32_t plane, bool exportIt);
  Status request(const Device& device, uint32_t* count);

  uint32_t memory_ = V4L2_MEMORY_MMAP;
  uint32_t planes_ = 1;
  std::vector<Buffer> buffers_;
};

}  // namespace v4l2camera

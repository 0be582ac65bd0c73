// SPDX-License-Identifier: Apache-2.0
// The buffer calls of V4L2 (REQBUFS, QUERYBUF, EXPBUF, QBUF, DQBUF) for single- and multi-planar devices.
#include "buffers.h"

#include <fcntl.h>

#include <cerrno>

namespace v4l2camera {
namespace {

/// A v4l2_buffer, with its planes if the device is multi-planar. It points into itself and must not be copied.
struct PlanedBuffer {
  v4l2_buffer buffer{};
  v4l2_plane planes[kMaxPlanes]{};

  PlanedBuffer(const Device& device, uint32_t memory, uint32_t index, uint32_t planeCount) {
    buffer.type = device.bufferType();
    buffer.memory = memory;
    buffer.index = index;
    if (device.identity().multiPlanar) {
      buffer.m.planes = planes;
      buffer.length = planeCount;
    }
  }
  PlanedBuffer(const PlanedBuffer&) = delete;
};

}  // namespace

Status tooSmall(const Device& device, size_t imageBytes, size_t bytes) {
  return Status::error(Code::kParameter, "%s: expected user buffers of at least %zu bytes, got %zu.",
                       device.path().c_str(), imageBytes, bytes);
}

Status BufferQueue::request(const Device& device, uint32_t* count) {
  v4l2_requestbuffers request{};
  request.count = *count;
  request.type = device.bufferType();
  request.memory = memory_;
  if (const int result = device.control(VIDIOC_REQBUFS, &request); result < 0) {
    if (result == -EINVAL && memory_ == V4L2_MEMORY_USERPTR) {
      return Status::error(
          Code::kDeviceUnsuitable,
          "%s: expected a driver that writes into the caller's memory (V4L2_MEMORY_USERPTR), this one does "
          "not; use memory: mmap.",
          device.path().c_str());
    }
    return device.failure("asking for frame buffers (VIDIOC_REQBUFS)", result);
  }
  if (request.count < kFewestBuffers) {
    return Status::error(Code::kDeviceUnsuitable, "%s: expected at least %d frame buffers, the driver gives %u.",
                         device.path().c_str(), kFewestBuffers, request.count);
  }
  *count = request.count;
  return {};
}

Status BufferQueue::mapPlane(const Device& device, const v4l2_buffer& query, uint32_t plane, bool exportIt) {
  const bool multiPlanar = device.identity().multiPlanar;
  const size_t bytes = multiPlanar ? query.m.planes[plane].length : query.length;
  const int64_t offset = multiPlanar ? query.m.planes[plane].m.mem_offset : query.m.offset;
  void* memory = nullptr;
  const VideoSystem& system = device.system();
  if (const int result = system.map(system.self, device.descriptor(), bytes, offset, &memory); result < 0) {
    return device.failure("mapping a frame buffer", result);
  }
  buffers_.push_back({static_cast<uint8_t*>(memory), bytes, -1, true});
  if (!exportIt) return {};
  v4l2_exportbuffer exporting{};
  exporting.type = device.bufferType();
  exporting.index = query.index;
  exporting.plane = plane;
  exporting.flags = O_CLOEXEC | O_RDWR;
  if (const int result = device.control(VIDIOC_EXPBUF, &exporting); result < 0) {
    return device.failure("exporting a frame buffer (VIDIOC_EXPBUF)", result);
  }
  buffers_.back().exported = exporting.fd;
  return {};
}

Status BufferQueue::requestMapped(const Device& device, int count, uint32_t planes, bool exportThem) {
  memory_ = V4L2_MEMORY_MMAP;
  planes_ = planes;
  uint32_t given = static_cast<uint32_t>(count);
  if (Status status = request(device, &given); !status.ok()) return status;
  if (given > kMaxBuffers) given = kMaxBuffers;
  for (uint32_t index = 0; index < given; ++index) {
    PlanedBuffer query(device, memory_, index, planes);
    if (const int result = device.control(VIDIOC_QUERYBUF, &query.buffer); result < 0) {
      return device.failure("asking for a buffer's place (VIDIOC_QUERYBUF)", result);
    }
    for (uint32_t plane = 0; plane < planes; ++plane) {
      if (Status status = mapPlane(device, query.buffer, plane, exportThem); !status.ok()) {
        // Resize by whole images, so that unmap() finds the planes before this one.
        buffers_.resize((index + 1) * planes);
        return status;
      }
    }
  }
  return {};
}

Status BufferQueue::requestUser(const Device& device, const std::vector<Buffer>& user, size_t imageBytes) {
  memory_ = V4L2_MEMORY_USERPTR;
  for (const Buffer& buffer : user) {
    if (buffer.bytes < imageBytes) return tooSmall(device, imageBytes, buffer.bytes);
  }
  uint32_t given = static_cast<uint32_t>(user.size());
  if (Status status = request(device, &given); !status.ok()) return status;
  if (given > user.size()) {
    return Status::error(Code::kDeviceUnsuitable, "%s: expected to stream with %zu user buffers, the driver wants %u.",
                         device.path().c_str(), user.size(), given);
  }
  buffers_.assign(user.begin(), user.begin() + given);
  for (Buffer& buffer : buffers_) buffer.mapped = false;
  return {};
}

int BufferQueue::enqueue(const Device& device, uint32_t index) const {
  PlanedBuffer entry(device, memory_, index, planes_);
  if (memory_ == V4L2_MEMORY_USERPTR) {
    const auto address = reinterpret_cast<unsigned long>(buffers_[index].data);
    const auto bytes = static_cast<uint32_t>(buffers_[index].bytes);
    if (device.identity().multiPlanar) {
      entry.planes[0].m.userptr = address;
      entry.planes[0].length = bytes;
    } else {
      entry.buffer.m.userptr = address;
      entry.buffer.length = bytes;
    }
  }
  return device.control(VIDIOC_QBUF, &entry.buffer);
}

int BufferQueue::dequeue(const Device& device, FilledBuffer* filled) const {
  PlanedBuffer entry(device, memory_, 0, planes_);
  if (const int result = device.control(VIDIOC_DQBUF, &entry.buffer); result < 0) return result;
  // Validate the driver's index, which could otherwise cause a write outside the buffers.
  if (entry.buffer.index >= count()) return -EIO;
  filled->index = entry.buffer.index;
  if (device.identity().multiPlanar) {
    for (uint32_t i = 0; i < planes_; ++i) {
      filled->planes[i] = {entry.planes[i].bytesused, entry.planes[i].data_offset};
    }
  } else {
    filled->planes[0] = {entry.buffer.bytesused, 0};
  }
  filled->sequence = entry.buffer.sequence;
  filled->flags = entry.buffer.flags;
  const auto seconds = static_cast<uint64_t>(entry.buffer.timestamp.tv_sec);
  const auto microseconds = static_cast<uint64_t>(entry.buffer.timestamp.tv_usec);
  filled->timestampNs = static_cast<int64_t>(seconds * 1000000000u + microseconds * 1000u);
  return 0;
}

void BufferQueue::unmap(const VideoSystem& system, uint32_t index) {
  for (uint32_t plane = 0; plane < planes_; ++plane) {
    Buffer& buffer = buffers_[index * planes_ + plane];
    if (buffer.mapped) system.unmap(system.self, buffer.data, buffer.bytes);
    buffer.data = nullptr;
    buffer.bytes = 0;
    buffer.mapped = false;
  }
}

void BufferQueue::free(const Device& device) {
  const VideoSystem& system = device.system();
  for (Buffer& buffer : buffers_) {
    if (buffer.exported >= 0) system.close(system.self, buffer.exported);
    buffer.exported = -1;
  }
  v4l2_requestbuffers request{};
  request.type = device.bufferType();
  request.memory = memory_;
  // Fails while a mapping exists; closing the device then frees the buffers.
  device.control(VIDIOC_REQBUFS, &request);
}

}  // namespace v4l2camera

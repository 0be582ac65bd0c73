// SPDX-License-Identifier: Apache-2.0
// The buffers of the in-memory driver, by the rules of the kernel's videobuf2.
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "fake_driver.h"

namespace v4l2camera::fake {
namespace {

constexpr int64_t kSlotSpacing = 1 << 27;
constexpr int64_t kPlaneSpacing = 1 << 25;

/// Returns the offset at which a plane of a slot can be mapped.
int64_t planeOffset(const Slot& slot, uint32_t plane) { return slot.offset + plane * kPlaneSpacing; }

}  // namespace

int Driver::queue(Camera& camera, v4l2_buffer& buffer) {
  if (buffer.index >= camera.slots.size() || camera.slots[buffer.index].queued) return -EINVAL;
  Slot& slot = camera.slots[buffer.index];
  if (camera.memory == V4L2_MEMORY_USERPTR) {
    slot.memory = reinterpret_cast<void*>(planar(camera) ? buffer.m.planes[0].m.userptr : buffer.m.userptr);
  }
  slot.queued = true;
  camera.queued.push_back(buffer.index);
  return 0;
}

int Driver::dequeue(Camera& camera, int descriptor, v4l2_buffer& buffer) {
  if (camera.fatal) return -EIO;
  if (!camera.streaming) return -EINVAL;
  if (camera.done.empty() && camera.endlessErrors && !camera.queued.empty()) {
    buffer.index = camera.queued.front();
    buffer.flags = V4L2_BUF_FLAG_ERROR;
    camera.slots[buffer.index].queued = false;
    camera.queued.pop_front();
    return 0;
  }
  if (camera.done.empty()) return -EAGAIN;
  eventfd_t one = 0;
  if (!camera.endlessErrors) eventfd_read(descriptor, &one);
  const uint32_t index = camera.done.front();
  camera.done.pop_front();
  const Image& image = camera.slots[index].image;
  buffer.index = image.claimedIndex == UINT32_MAX ? index : image.claimedIndex;
  buffer.sequence = image.sequence;
  buffer.flags = image.flags;
  // As the kernel does: seconds rounded down, microseconds never negative.
  int64_t seconds = image.timestampNs / 1000000000;
  if (image.timestampNs % 1000000000 < 0) --seconds;
  buffer.timestamp.tv_sec = static_cast<time_t>(seconds);
  buffer.timestamp.tv_usec = static_cast<suseconds_t>((image.timestampNs - seconds * 1000000000) / 1000);
  if (planar(camera)) {
    if (buffer.length < camera.memoryPlanes) return -EINVAL;
    buffer.m.planes[0].bytesused = image.bytesUsed + image.dataOffset;
    for (uint32_t i = 0; i < camera.memoryPlanes; ++i) {
      buffer.m.planes[i].data_offset = image.claimedOffset == UINT32_MAX ? image.dataOffset : image.claimedOffset;
      if (i > 0 && i <= image.morePlanes.size()) {
        buffer.m.planes[i].bytesused = static_cast<uint32_t>(image.morePlanes[i - 1].size()) + image.dataOffset;
      }
    }
  } else {
    buffer.bytesused = image.bytesUsed;
  }
  return 0;
}

bool Driver::deliver(Camera& camera, const Image& image) {
  if (!camera.streaming || camera.queued.empty() || camera.unplugged) return false;
  if (image.bytes.size() + image.dataOffset > imageBytes(camera)) return false;
  const uint32_t index = camera.queued.front();
  camera.queued.pop_front();
  Slot& slot = camera.slots[index];
  slot.queued = false;
  slot.image.timestampNs = image.timestampNs;
  slot.image.sequence = image.sequence;
  slot.image.flags = image.flags;
  slot.image.bytesUsed = image.bytesUsed;
  slot.image.claimedIndex = image.claimedIndex;
  slot.image.claimedOffset = image.claimedOffset;
  slot.image.dataOffset = image.dataOffset;
  slot.image.morePlanes = image.morePlanes;
  for (uint32_t i = 0; i < image.morePlanes.size() && i + 1 < camera.memoryPlanes; ++i) {
    const std::vector<uint8_t>& bytes = image.morePlanes[i];
    auto* plane = static_cast<uint8_t*>(mapped_[{&camera, planeOffset(slot, i + 1)}]);
    if (bytes.size() + image.dataOffset > imageBytes(camera, i + 1)) return false;
    if (plane != nullptr && !bytes.empty()) std::memcpy(plane + image.dataOffset, bytes.data(), bytes.size());
  }
  void* memory = slot.memory != nullptr ? slot.memory : mapped_[{&camera, slot.offset}];
  if (memory != nullptr && !image.bytes.empty()) {
    std::memcpy(static_cast<uint8_t*>(memory) + image.dataOffset, image.bytes.data(), image.bytes.size());
  }
  camera.newest = static_cast<uint8_t*>(memory);
  camera.done.push_back(index);
  eventfd_write(camera.owner, 1);
  return true;
}

void Driver::poke(Camera& camera, uint32_t offset, uint8_t value) {
  if (camera.newest != nullptr) camera.newest[offset] = value;
}

int Driver::answerBuffers(Camera& camera, int descriptor, unsigned long request, void* argument) {
  switch (request) {
    case VIDIOC_REQBUFS: {
      auto& buffers = *static_cast<v4l2_requestbuffers*>(argument);
      if (camera.owner >= 0 && camera.owner != descriptor) return -EBUSY;
      if (buffers.count == 0 && camera.mappings > 0) return -EBUSY;
      if (buffers.count > 0 && camera.lies.buffers > 0) buffers.count = camera.lies.buffers;
      if (camera.fewestGiven != 0 && buffers.count > camera.fewestGiven) buffers.count = camera.fewestGiven;
      camera.owner = buffers.count == 0 ? -1 : descriptor;
      camera.memory = buffers.memory;
      camera.slots.assign(buffers.count, Slot{});
      camera.queued.clear();
      camera.done.clear();
      for (uint32_t i = 0; i < buffers.count; ++i) camera.slots[i].offset = i * kSlotSpacing;
      return 0;
    }
    case VIDIOC_QUERYBUF: {
      auto& buffer = *static_cast<v4l2_buffer*>(argument);
      if (buffer.index >= camera.slots.size()) return -EINVAL;
      const auto offset = static_cast<uint32_t>(camera.slots[buffer.index].offset);
      if (planar(camera)) {
        if (buffer.length < camera.memoryPlanes) return -EINVAL;
        for (uint32_t i = 0; i < camera.memoryPlanes; ++i) {
          const bool lies = i > 0 && camera.lies.planeBytes > 0;
          buffer.m.planes[i].length = lies ? camera.lies.planeBytes : imageBytes(camera, i);
          buffer.m.planes[i].m.mem_offset = static_cast<uint32_t>(planeOffset(camera.slots[buffer.index], i));
        }
      } else {
        buffer.length = camera.lies.bufferBytes > 0 ? camera.lies.bufferBytes : imageBytes(camera);
        buffer.m.offset = offset;
      }
      return 0;
    }
    case VIDIOC_EXPBUF: {
      if (static_cast<v4l2_exportbuffer*>(argument)->plane >= camera.memoryPlanes) return -EINVAL;
      const int exported = memfd_create("fake-dmabuf", MFD_CLOEXEC);
      static_cast<v4l2_exportbuffer*>(argument)->fd = exported;
      return exported < 0 ? -errno : 0;
    }
    case VIDIOC_QBUF: return queue(camera, *static_cast<v4l2_buffer*>(argument));
    case VIDIOC_DQBUF: return dequeue(camera, descriptor, *static_cast<v4l2_buffer*>(argument));
    case VIDIOC_STREAMON: {
      if (camera.owner != descriptor) return -EINVAL;
      camera.streaming = true;
      ++camera.streamOns;
      timespec on;
      clock_gettime(CLOCK_MONOTONIC, &on);
      camera.streamOnNs = int64_t{on.tv_sec} * 1000000000 + on.tv_nsec;
      return 0;
    }
    case VIDIOC_SUBSCRIBE_EVENT: {
      const auto& wanted = *static_cast<v4l2_event_subscription*>(argument);
      if (camera.controls.find(wanted.id) == camera.controls.end()) return -EINVAL;
      camera.watched.push_back(wanted.id);
      return 0;
    }
    case VIDIOC_DQEVENT: {
      if (camera.events.empty()) return -ENOENT;
      *static_cast<v4l2_event*>(argument) = camera.events.front();
      camera.events.pop_front();
      eventfd_t one = 0;
      eventfd_read(descriptor, &one);
      return 0;
    }
    case VIDIOC_STREAMOFF:
      camera.streaming = false;
      camera.queued.clear();
      for (size_t left = camera.done.size(); left > 0; --left) {
        eventfd_t one = 0;
        eventfd_read(descriptor, &one);
      }
      camera.done.clear();
      for (Slot& slot : camera.slots) slot.queued = false;
      return 0;
    default: return -ENOTTY;
  }
}

}  // namespace v4l2camera::fake

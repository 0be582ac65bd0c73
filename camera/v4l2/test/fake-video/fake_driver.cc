// SPDX-License-Identifier: Apache-2.0
// The answers of the in-memory driver to each call, by the rules of the kernel's videobuf2.
#include "fake_driver.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace v4l2camera::fake {
namespace {

constexpr int64_t kSlotSpacing = 1 << 27;
constexpr int64_t kPlaneSpacing = 1 << 25;

bool planar(const Camera& camera) { return (camera.capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE) != 0; }

void copyText(void* to, const std::string& text, size_t size) {
  std::strncpy(static_cast<char*>(to), text.c_str(), size - 1);
}

uint32_t imageBytes(const Camera& camera, uint32_t plane = 0) {
  return planar(camera) ? camera.format.fmt.pix_mp.plane_fmt[plane].sizeimage : camera.format.fmt.pix.sizeimage;
}

/// Returns the offset at which a plane of a slot can be mapped.
int64_t planeOffset(const Slot& slot, uint32_t plane) { return slot.offset + plane * kPlaneSpacing; }

}  // namespace

Driver::Driver() {
  system.self = this;
  system.open = [](void* self, const char* path) { return static_cast<Driver*>(self)->open(path); };
  system.close = [](void* self, int fd) { return static_cast<Driver*>(self)->close(fd); };
  system.control = [](void* self, int fd, unsigned long request, void* argument) {
    return static_cast<Driver*>(self)->control(fd, request, argument);
  };
  system.wait = [](void* self, pollfd* set, int count, int timeoutMs) {
    return static_cast<Driver*>(self)->wait(set, count, timeoutMs);
  };
  system.map = [](void* self, int fd, size_t length, int64_t offset, void** memory) {
    return static_cast<Driver*>(self)->map(fd, length, offset, memory);
  };
  system.unmap = [](void* self, void* memory, size_t length) { static_cast<Driver*>(self)->unmap(memory, length); };
}

Driver::~Driver() {
  ending_ = true;
  for (std::thread& runner : runners_) runner.join();
}

int Driver::open(const char* path) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = cameras.find(path);
  if (found == cameras.end() || found->second->unplugged) return -ENOENT;
  if (found->second->openError != 0) return -found->second->openError;
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
  descriptors_[descriptor] = found->second;
  ++found->second->opens;
  return descriptor;
}

int Driver::close(int descriptor) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = descriptors_.find(descriptor);
  if (found != descriptors_.end()) {
    Camera& camera = *found->second;
    --camera.opens;
    if (camera.owner == descriptor) {
      camera.owner = -1;
      camera.streaming = false;
      camera.watched.clear();
      camera.events.clear();
      camera.slots.clear();
      camera.queued.clear();
      camera.done.clear();
    }
    descriptors_.erase(found);
  }
  return ::close(descriptor) < 0 ? -errno : 0;
}

int Driver::wait(pollfd* set, int count, int timeoutMs) {
  const int ready = ::poll(set, static_cast<nfds_t>(count), timeoutMs);
  if (ready < 0) return errno == EINTR ? 0 : -errno;
  std::lock_guard<std::mutex> lock(mutex);
  for (int i = 0; i < count; ++i) {
    const auto found = descriptors_.find(set[i].fd);
    if (found == descriptors_.end()) continue;
    if (found->second->unplugged) set[i].revents = POLLERR | POLLHUP;
    if (found->second->fatal) set[i].revents = POLLERR;
    // One eventfd counts images and events together.
    if (found->second->unplugged || found->second->fatal || set[i].revents == 0) continue;
    set[i].revents = 0;
    if (!found->second->done.empty() || found->second->endlessErrors) set[i].revents |= POLLIN;
    if (!found->second->events.empty()) set[i].revents |= POLLPRI;
  }
  return ready;
}

int Driver::map(int descriptor, size_t length, int64_t offset, void** memory) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = descriptors_.find(descriptor);
  if (found == descriptors_.end()) return -EBADF;
  void* address = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return -errno;
  ++found->second->mappings;
  mappings_[address] = found->second.get();
  mapped_[{found->second.get(), offset}] = address;
  *memory = address;
  return 0;
}

void Driver::unmap(void* memory, size_t length) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = mappings_.find(memory);
  if (found != mappings_.end()) {
    --found->second->mappings;
    for (auto at = mapped_.begin(); at != mapped_.end();) at = at->second == memory ? mapped_.erase(at) : std::next(at);
    mappings_.erase(found);
  }
  ::munmap(memory, length);
}

int Driver::control(int descriptor, unsigned long request, void* argument) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = descriptors_.find(descriptor);
  if (found == descriptors_.end()) return -EBADF;
  Camera& camera = *found->second;
  if (camera.unplugged) return -ENODEV;
  const auto failing = camera.failures.find(request);
  if (failing != camera.failures.end() && failing->second.second > 0) {
    --failing->second.second;
    return -failing->second.first;
  }
  return answer(camera, descriptor, request, argument);
}

int Driver::answer(Camera& camera, int descriptor, unsigned long request, void* argument) {
  if (request == VIDIOC_QUERYCAP) {
    auto& capability = *static_cast<v4l2_capability*>(argument);
    copyText(capability.driver, camera.driver, sizeof capability.driver);
    copyText(capability.card, camera.card, sizeof capability.card);
    copyText(capability.bus_info, camera.bus, sizeof capability.bus_info);
    // The whole device also has capabilities that this node lacks.
    capability.capabilities =
        camera.capabilities | V4L2_CAP_DEVICE_CAPS | V4L2_CAP_META_CAPTURE | V4L2_CAP_VIDEO_CAPTURE;
    capability.device_caps = camera.capabilities;
    return 0;
  }
  int result = answerFormats(camera, request, argument);
  if (result == -ENOTTY) result = answerControls(camera, request, argument);
  if (result == -ENOTTY) result = answerBuffers(camera, descriptor, request, argument);
  return result;
}

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

void Driver::changeControl(Camera& camera, uint32_t id, int64_t value) {
  Control& control = camera.controls.at(id);
  control.value = value;
  if (std::find(camera.watched.begin(), camera.watched.end(), id) == camera.watched.end() || camera.owner < 0) return;
  v4l2_event event{};
  event.type = V4L2_EVENT_CTRL;
  event.id = id;
  event.u.ctrl.changes = V4L2_EVENT_CTRL_CH_VALUE;
  event.u.ctrl.type = control.query.type;
  event.u.ctrl.flags = control.query.flags;
  if (control.query.type == V4L2_CTRL_TYPE_INTEGER64) {
    event.u.ctrl.value64 = value;
  } else {
    event.u.ctrl.value = static_cast<int32_t>(value);
  }
  event.u.ctrl.minimum = static_cast<int32_t>(control.query.minimum);
  event.u.ctrl.maximum = static_cast<int32_t>(control.query.maximum);
  camera.events.push_back(event);
  eventfd_write(camera.owner, 1);
}

void Driver::unplug(Camera& camera) {
  camera.unplugged = true;
  camera.streaming = false;
  for (const auto& [descriptor, owner] : descriptors_) {
    if (owner.get() == &camera) eventfd_write(descriptor, 1);
  }
}

void Driver::run(const std::string& path, double rateHz, int frames) {
  const auto camera = cameras.at(path);
  runners_.emplace_back([this, camera, rateHz, frames] {
    timespec next{};
    clock_gettime(CLOCK_MONOTONIC, &next);
    const long periodNs = static_cast<long>(1e9 / rateHz);
    Image image;
    image.flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    for (int i = 0; i < frames && !ending_; ++i) {
      next.tv_nsec += periodNs;
      next.tv_sec += next.tv_nsec / 1000000000;
      next.tv_nsec %= 1000000000;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
      std::lock_guard<std::mutex> lock(mutex);
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      image.timestampNs = int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
      image.sequence = static_cast<uint32_t>(i);
      image.bytesUsed = imageBytes(*camera);
      deliver(*camera, image);
    }
  });
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

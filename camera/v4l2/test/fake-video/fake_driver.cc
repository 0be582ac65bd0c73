// SPDX-License-Identifier: Apache-2.0
// The calls of the in-memory driver: open, close, wait, map and the ioctl that leads to the other files.
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

void copyText(void* to, const std::string& text, size_t size) {
  std::strncpy(static_cast<char*>(to), text.c_str(), size - 1);
}

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
    if (camera.withoutDeviceCaps) capability.capabilities = camera.capabilities;
    return 0;
  }
  int result = answerFormats(camera, request, argument);
  if (result == -ENOTTY) result = answerControls(camera, request, argument);
  if (result == -ENOTTY) result = answerBuffers(camera, descriptor, request, argument);
  return result;
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

}  // namespace v4l2camera::fake

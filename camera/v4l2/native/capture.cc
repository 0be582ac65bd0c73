// SPDX-License-Identifier: Apache-2.0
// The functions of a camera that other threads call: open, start, release, stop.
#include "capture.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace v4l2camera {
namespace {

/// Images of a compressed format: enough for pairing, the engine's slots and its mailbox.
constexpr uint32_t kDecodedImages = 10;

/// The largest side of an image. A driver that reports more is wrong.
constexpr uint32_t kMaxPixels = 32768;

/// The largest size of all images in our own memory, which is allocated and touched at open: ten of 64 megapixels in
/// colours fit.
constexpr uint64_t kMaxOwnBytes = uint64_t{2} << 30;
/// The largest size of one image: twice what the widest format takes per pixel, plus what drivers add for compressed
/// ones.
constexpr uint64_t kMaxPixelBytes = 16, kMaxExtraBytes = uint64_t{16} << 20;

/// Returns whether images of this format have no fixed size.
bool isCompressed(uint32_t fourcc) {
  switch (fourcc) {
    case V4L2_PIX_FMT_MJPEG:
    case V4L2_PIX_FMT_JPEG:
    case V4L2_PIX_FMT_MPEG:
    case V4L2_PIX_FMT_H264:
    case V4L2_PIX_FMT_HEVC:
    case V4L2_PIX_FMT_VP8:
    case V4L2_PIX_FMT_VP9: return true;
    default: return false;
  }
}

}  // namespace

Status Capture::open(const VideoSystem& system, const CaptureOptions& options) {
  if (Status status = device_.open(system, options.path); !status.ok()) return status;
  if (!device_.identity().captures() || !device_.identity().streams()) {
    return Status::error(Code::kDeviceUnsuitable, "%s: expected a camera that streams, got %s, which does not.",
                         options.path.c_str(), device_.identity().card.c_str());
  }
  for (const auto& [name, value] : options.formatControls) {
    if (Status status = writeNamedControl(device_, name, value); !status.ok()) return status;
  }
  if (Status status = agreeOnFormat(device_, options.format, &format_); !status.ok()) return status;
  std::vector<Buffer> user = options.userBuffers;
  if (format_.width == 0 || format_.height == 0 || format_.width > kMaxPixels || format_.height > kMaxPixels) {
    return Status::error(Code::kDeviceUnsuitable, "%s: expected an image, the driver set a size of %ux%u.",
                         options.path.c_str(), format_.width, format_.height);
  }
  if (format_.planeCount > 1 && !(options.separatePlanes && user.empty() && !options.ownMemory)) {
    return Status::error(Code::kDeviceUnsuitable,
                         "%s: expected %s in one memory plane, the driver gives %u separate planes.",
                         options.path.c_str(), fourccText(format_.fourcc).c_str(), format_.planeCount);
  }
  for (uint32_t i = 0; i < format_.planeCount && !isCompressed(format_.fourcc); ++i) {
    // The last row may lack its padding.
    const uint32_t rows = planeRows(format_, i);
    if (rows > 1) fewestBytes_[i] = uint64_t{format_.planes[i].strideBytes} * (rows - 1);
  }
  const bool isJpeg = format_.fourcc == V4L2_PIX_FMT_MJPEG || format_.fourcc == V4L2_PIX_FMT_JPEG;
  const bool decodes = isJpeg && options.decoding != Decoding::kNone;
  if (decodes) {
    decoder_ = std::make_unique<JpegDecoder>();
    if (Status status = decoder_->open(); !status.ok()) return status;
  }
  colours_ = options.decoding == Decoding::kColours;
  keepMapped_ = options.keepMapped;
  const size_t decodedBytes = static_cast<size_t>(format_.width) * format_.height * (colours_ ? 3 : 1);
  const auto justified = [&](uint64_t count, uint64_t bytes) {
    const uint64_t expected = kMaxPixelBytes * format_.width * format_.height + kMaxExtraBytes;
    if (bytes <= expected && count * bytes <= kMaxOwnBytes) return Status{};
    return Status::error(Code::kDeviceUnsuitable,
                         "%s: expected images of %ux%u that fit into memory, the driver's take %llu bytes each.",
                         options.path.c_str(), format_.width, format_.height, static_cast<unsigned long long>(bytes));
  };
  if (options.ownMemory) {
    const size_t bytes = decodes ? decodedBytes : format_.planes[0].imageBytes;
    if (Status status = justified(static_cast<uint64_t>(options.bufferCount), bytes); !status.ok()) return status;
    userMemory_ = UserMemory::make(static_cast<size_t>(options.bufferCount), bytes);
    if (userMemory_ == nullptr) return device_.failure("allocating image memory", -ENOMEM);
    for (size_t i = 0; i < userMemory_->count(); ++i) {
      user.push_back({userMemory_->buffer(i), userMemory_->bytes(), -1, false});
    }
  }
  if (decodes && !user.empty()) {
    for (const Buffer& buffer : user) {
      if (buffer.bytes < decodedBytes) return tooSmall(device_, decodedBytes, buffer.bytes);
    }
    decoded_ = std::move(user);
    user.clear();
  } else if (decodes) {
    const size_t bytes = decodedBytes;
    if (Status status = justified(kDecodedImages, bytes); !status.ok()) return status;
    decodedMemory_.resize(bytes * kDecodedImages);
    for (uint32_t i = 0; i < kDecodedImages; ++i) {
      decoded_.push_back({decodedMemory_.data() + i * bytes, bytes, -1, false});
    }
  }
  Status status = user.empty()
                      ? queue_.requestMapped(device_, options.bufferCount, format_.planeCount, options.exportBuffers)
                      : queue_.requestUser(device_, user, format_.planes[0].imageBytes);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < queue_.buffers().size(); ++i) {
    const uint32_t plane = i % format_.planeCount;
    const size_t bytes = queue_.buffers()[i].bytes;
    if (bytes >= fewestBytes_[plane]) continue;
    return Status::error(Code::kDeviceUnsuitable,
                         "%s: expected buffers for %ux%u in rows of %u bytes, the driver gives %zu bytes.",
                         options.path.c_str(), format_.width, format_.height, format_.planes[plane].strideBytes, bytes);
  }
  wakeDescriptor_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wakeDescriptor_ < 0) return device_.failure("making an eventfd", -errno);
  return {};
}

Status Capture::start(void (*wake)(void*), void* context) {
  if (threadRuns_ || stopped_) {
    return Status::error(Code::kParameter, "%s: expected one start of an open camera, got another.",
                         device_.path().c_str());
  }
  wake_ = wake;
  wakeContext_ = context;
  if (const int error = pthread_create(&thread_, nullptr, threadEntry, this); error != 0) {
    return device_.failure("starting the camera's thread", -error);
  }
  threadRuns_ = true;
  pthread_setname_np(thread_, "v4l2-camera");
  return {};
}

bool Capture::release(uint32_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (decoder_) {
    if (index >= decoded_.size() || !decodedHeld_[index]) return false;
    decodedHeld_[index] = false;
    return true;
  }
  if (index >= queue_.count() || states_[index] != State::kHeld) return false;
  states_[index] = State::kIdle;
  if (stopped_) {
    if (!keepMapped_) queue_.unmap(device_.system(), index);
  } else {
    giveBack(index);
  }
  return true;
}

bool Capture::isHeld(uint32_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  return decoder_ ? decodedHeld_[index] : states_[index] == State::kHeld;
}

void Capture::restartAt(int64_t monotonicNs) {
  restartNs_.store(monotonicNs);
  eventfd_write(wakeDescriptor_, 1);
}

void Capture::stop() {
  if (threadRuns_) {
    stopAsked_.store(true);
    eventfd_write(wakeDescriptor_, 1);
    pthread_join(thread_, nullptr);
    threadRuns_ = false;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_ || !device_.isOpen()) return;
  stopped_ = true;
  for (uint32_t i = 0; i < queue_.count(); ++i) {
    if (states_[i] != State::kHeld && !keepMapped_) queue_.unmap(device_.system(), i);
  }
  queue_.free(device_);
  device_.close();
  if (wakeDescriptor_ >= 0) ::close(wakeDescriptor_);
  wakeDescriptor_ = -1;
}

void Capture::freeKept() {
  std::lock_guard<std::mutex> lock(mutex_);
  keepMapped_ = false;
  for (uint32_t i = 0; stopped_ && i < queue_.count(); ++i) {
    if (states_[i] != State::kHeld) queue_.unmap(device_.system(), i);
  }
}

Status Capture::watchControl(uint32_t id) {
  v4l2_event_subscription subscription{};
  subscription.type = V4L2_EVENT_CTRL;
  subscription.id = id;
  const int result = device_.control(VIDIOC_SUBSCRIBE_EVENT, &subscription);
  return result < 0 ? device_.failure("asking for a control's events (VIDIOC_SUBSCRIBE_EVENT)", result) : Status{};
}

uint32_t Capture::drainEvents(ControlEvent* events) {
  std::lock_guard<std::mutex> lock(eventMutex_);
  const uint32_t count = eventCount_;
  for (uint32_t i = 0; i < count; ++i) events[i] = events_[i];
  eventCount_ = 0;
  return count;
}

bool Capture::hasEvents() {
  std::lock_guard<std::mutex> lock(eventMutex_);
  return eventCount_ > 0;
}

uint32_t Capture::eventsLost() {
  std::lock_guard<std::mutex> lock(eventMutex_);
  return eventsLost_;
}

void Capture::releaseAll() {
  for (uint32_t i = 0; i < queue_.count(); ++i) queue_.unmap(device_.system(), i);
}

int64_t Capture::threadNs() const {
  clockid_t clock{};
  timespec time{};
  if (!threadRuns_ || pthread_getcpuclockid(thread_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

}  // namespace v4l2camera

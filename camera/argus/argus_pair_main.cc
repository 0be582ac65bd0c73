// SPDX-License-Identifier: Apache-2.0
// argus-pair LEFT RIGHT WIDTH HEIGHT RATE: two sensors in one Argus session, as a side by side stream for --side-by-side.
//
// One capture request serves both sensors, so they share their settings and start together. Each frame's line states the left sensor's
// time stamp as XTIME, where that is CLOCK_MONOTONIC, and the number of the capture as XSEQ. Untested on hardware; build it on the board:
//
//   api=/usr/src/jetson_multimedia_api
//   g++ -O2 -std=c++14 argus_pair_main.cc -o argus-pair -I$api/include -I$api/argus/include
//     -L/usr/lib/aarch64-linux-gnu/tegra -lnvargus_socketclient -lnvbufsurface      (one line)
#include <Argus/Argus.h>
#include <EGLStream/ArgusCaptureMetadata.h>
#include <EGLStream/EGLStream.h>
#include <EGLStream/NV/ImageNativeBuffer.h>
#include <nvbufsurface.h>

#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

using Argus::interface_cast;
using Argus::UniqueObj;

constexpr uint64_t kTimeoutNs = 5000000000u;
/// A time stamp that is older is of another clock.
constexpr uint64_t kOldestNs = 1000000000u;

[[noreturn]] [[gnu::format(printf, 1, 2)]] void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::exit(1);
}

/// Returns the interface of an object. Ends the program if the object lacks it.
template <class Interface, class Object>
Interface* require(Object& object, const char* name) {
  Interface* const found = interface_cast<Interface>(object);
  if (found == nullptr) fail("Expected %s from Argus, got none. Is nvargus-daemon running?", name);
  return found;
}

uint32_t readNumber(const char* text, const char* name, long low, long high) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == 0 || *end != 0 || value < low || value > high)
    fail("Expected %s of %ld to %ld, got %.40s.", name, low, high, text);
  return static_cast<uint32_t>(value);
}

uint64_t monotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// One sensor's frames, copied into a linear buffer that the CPU reads.
class Sensor {
 public:
  Sensor(Argus::ICaptureSession& session, Argus::IRequest& request, Argus::CameraDevice* device,
         Argus::Size2D<uint32_t> size)
      : size_(size), settings_(session.createOutputStreamSettings(Argus::STREAM_TYPE_EGL)) {
    require<Argus::IOutputStreamSettings>(settings_, "stream settings")->setCameraDevice(device);
    auto* const egl = require<Argus::IEGLOutputStreamSettings>(settings_, "EGL stream settings");
    egl->setPixelFormat(Argus::PIXEL_FMT_YCbCr_420_888);
    egl->setResolution(size);
    egl->setMetadataEnable(true);
    stream_.reset(session.createOutputStream(settings_.get()));
    consumer_.reset(EGLStream::FrameConsumer::create(stream_.get()));
    frames_ = require<EGLStream::IFrameConsumer>(consumer_, "a frame consumer");
    if (request.enableOutputStream(stream_.get()) != Argus::STATUS_OK) fail("Argus refuses the stream of a sensor.");
  }

  /// Waits for the next frame. Returns false after the timeout.
  bool next() {
    frame_.reset(frames_->acquireFrame(kTimeoutNs));
    if (!frame_) return false;
    auto* const attached = require<EGLStream::IArgusCaptureMetadata>(frame_, "capture metadata");
    Argus::CaptureMetadata* const raw = attached->getMetadata();
    auto* const metadata = interface_cast<Argus::ICaptureMetadata>(raw);
    if (metadata == nullptr) fail("Expected capture metadata from Argus, got none.");
    timestampNs_ = metadata->getSensorTimestamp();
    captureId_ = metadata->getCaptureId();
    return true;
  }

  uint64_t timestampNs() const { return timestampNs_; }
  uint32_t captureId() const { return captureId_; }

  /// Copies the grey of the frame to `to`, a row every `stride` bytes.
  void copyGrey(uint8_t* to, size_t stride) {
    EGLStream::Image* const raw = require<EGLStream::IFrame>(frame_, "a frame")->getImage();
    auto* const image = interface_cast<EGLStream::NV::IImageNativeBuffer>(raw);
    if (image == nullptr) fail("Expected a native buffer from Argus, got none.");
    if (descriptor_ < 0) {
      descriptor_ = image->createNvBuffer(size_, NVBUF_COLOR_FORMAT_NV12, NVBUF_LAYOUT_PITCH);
      if (descriptor_ < 0 || NvBufSurfaceFromFd(descriptor_, reinterpret_cast<void**>(&surface_)) != 0 ||
          NvBufSurfaceMap(surface_, 0, 0, NVBUF_MAP_READ) != 0)
        fail("No memory for a frame.");
    } else if (image->copyToNvBuffer(descriptor_) != Argus::STATUS_OK) {
      fail("A frame cannot be copied.");
    }
    NvBufSurfaceSyncForCpu(surface_, 0, 0);
    const NvBufSurfaceParams& plane = surface_->surfaceList[0];
    const auto* from = static_cast<const uint8_t*>(plane.mappedAddr.addr[0]);
    for (uint32_t y = 0; y < size_.height(); ++y, from += plane.planeParams.pitch[0], to += stride)
      std::memcpy(to, from, size_.width());
  }

 private:
  const Argus::Size2D<uint32_t> size_;
  UniqueObj<Argus::OutputStreamSettings> settings_;
  UniqueObj<Argus::OutputStream> stream_;
  UniqueObj<EGLStream::FrameConsumer> consumer_;
  EGLStream::IFrameConsumer* frames_ = nullptr;
  UniqueObj<EGLStream::Frame> frame_;
  uint64_t timestampNs_ = 0;
  uint32_t captureId_ = 0;
  int descriptor_ = -1;
  NvBufSurface* surface_ = nullptr;
};

/// Waits for the frames of one capture. A frame whose partner was lost is passed over.
void nextPair(Sensor& left, Sensor& right) {
  bool found = left.next() && right.next();
  while (found && left.captureId() != right.captureId())
    found = static_cast<int32_t>(left.captureId() - right.captureId()) < 0 ? left.next() : right.next();
  if (!found) fail("The sensors send nothing: look at nvargus-daemon's log and at dmesg.");
}

void writeAll(const void* bytes, size_t size) {
  // The reader has gone: an orderly end.
  if (std::fwrite(bytes, 1, size, stdout) != size) std::exit(0);
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) fail("Usage: argus-pair LEFT RIGHT WIDTH HEIGHT RATE, such as argus-pair 0 1 1280 720 30");
  std::signal(SIGPIPE, SIG_IGN);
  const uint32_t indices[2] = {readNumber(words[1], "a sensor", 0, 63), readNumber(words[2], "a sensor", 0, 63)};
  const Argus::Size2D<uint32_t> size(readNumber(words[3], "a width", 16, 8192),
                                     readNumber(words[4], "a height", 16, 8192));
  const uint32_t rateHz = readNumber(words[5], "a rate", 1, 1000);

  UniqueObj<Argus::CameraProvider> provider(Argus::CameraProvider::create());
  auto* const cameras = require<Argus::ICameraProvider>(provider, "a camera provider");
  std::vector<Argus::CameraDevice*> all;
  cameras->getCameraDevices(&all);
  std::vector<Argus::CameraDevice*> devices;
  for (uint32_t index : indices) {
    if (index >= all.size()) fail("Expected sensor %u, Argus lists %zu.", index, all.size());
    devices.push_back(all[index]);
  }
  UniqueObj<Argus::CaptureSession> session(cameras->createCaptureSession(devices));
  auto* const capture = require<Argus::ICaptureSession>(session, "a session of both sensors");
  UniqueObj<Argus::Request> request(capture->createRequest());
  auto* const asked = require<Argus::IRequest>(request, "a request");
  Sensor left(*capture, *asked, devices[0], size), right(*capture, *asked, devices[1], size);
  Argus::SourceSettings* const rawSource = asked->getSourceSettings();
  auto* const source = interface_cast<Argus::ISourceSettings>(rawSource);
  if (source == nullptr ||
      source->setFrameDurationRange(Argus::Range<uint64_t>(1000000000u / rateHz)) != Argus::STATUS_OK)
    fail("Argus refuses %u Hz.", rateHz);
  if (capture->repeat(request.get()) != Argus::STATUS_OK) fail("Argus does not start the capture.");

  char line[96];
  const auto writeLine = [&](int length) { writeAll(line, static_cast<size_t>(length)); };
  writeLine(
      std::snprintf(line, sizeof line, "YUV4MPEG2 W%u H%u F%u:1 Ip Cmono\n", 2 * size.width(), size.height(), rateHz));
  std::vector<uint8_t> both(2 * static_cast<size_t>(size.width()) * size.height());
  bool warned = false;
  for (;;) {
    nextPair(left, right);
    const uint64_t ageNs = monotonicNs() - left.timestampNs();
    left.copyGrey(both.data(), 2 * size.width());
    right.copyGrey(both.data() + size.width(), 2 * size.width());
    if (ageNs <= kOldestNs) {
      writeLine(std::snprintf(line, sizeof line, "FRAME XTIME=%llu XSEQ=%u\n",
                              static_cast<unsigned long long>(left.timestampNs()), left.captureId()));
    } else {
      if (!warned)
        std::fputs("The sensors' time stamps are not CLOCK_MONOTONIC, so times of arrival are used.\n", stderr);
      warned = true;
      writeLine(std::snprintf(line, sizeof line, "FRAME XSEQ=%u\n", left.captureId()));
    }
    writeAll(both.data(), both.size());
    std::fflush(stdout);
  }
}

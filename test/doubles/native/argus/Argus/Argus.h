// SPDX-License-Identifier: Apache-2.0
// Replaces the parts of libargus that camera/argus/argus_pair_main.cc uses: sensors that draw frames. STAND_IN_FRAMES: frames until a
// timeout; STAND_IN_CLOCK: nanoseconds by which the time stamps differ from CLOCK_MONOTONIC. The right sensor loses capture 3.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace Argus {

enum Status { STATUS_OK, STATUS_INVALID_PARAMS };
enum StreamType { STREAM_TYPE_EGL };
enum PixelFormat { PIXEL_FMT_YCbCr_420_888 };

template <class T>
class UniqueObj {
 public:
  explicit UniqueObj(T* object = nullptr) : object_(object) {}
  UniqueObj(const UniqueObj&) = delete;
  ~UniqueObj() { delete object_; }
  void reset(T* object = nullptr) {
    delete object_;
    object_ = object;
  }
  T* get() const { return object_; }
  operator bool() const { return object_ != nullptr; }

 private:
  T* object_;
};

template <class Interface, class Object>
Interface* interface_cast(Object* object) {
  return object;
}
template <class Interface, class Object>
Interface* interface_cast(const UniqueObj<Object>& object) {
  return object.get();
}

template <class T>
class Size2D {
 public:
  Size2D(T width = 0, T height = 0) : width_(width), height_(height) {}
  T width() const { return width_; }
  T height() const { return height_; }

 private:
  T width_, height_;
};

template <class T>
struct Range {
  explicit Range(T value) : min(value), max(value) {}
  T min, max;
};

struct ICaptureMetadata {
  uint64_t timestampNs = 0;
  uint32_t captureId = 0;
  uint64_t getSensorTimestamp() const { return timestampNs; }
  uint32_t getCaptureId() const { return captureId; }
};
struct CaptureMetadata : ICaptureMetadata {};

struct CameraDevice {
  uint32_t index;
};

struct IOutputStreamSettings {
  CameraDevice* device = nullptr;
  Status setCameraDevice(CameraDevice* chosen) {
    device = chosen;
    return STATUS_OK;
  }
};
struct IEGLOutputStreamSettings {
  Size2D<uint32_t> resolution;
  bool metadata = false;
  Status setPixelFormat(PixelFormat) { return STATUS_OK; }
  Status setResolution(const Size2D<uint32_t>& size) {
    resolution = size;
    return STATUS_OK;
  }
  Status setMetadataEnable(bool enable) {
    metadata = enable;
    return STATUS_OK;
  }
};
struct OutputStreamSettings : IOutputStreamSettings, IEGLOutputStreamSettings {};
struct OutputStream {
  OutputStreamSettings settings;
};

struct ISourceSettings {
  uint64_t frameNs = 0;
  Status setFrameDurationRange(const Range<uint64_t>& range) {
    frameNs = range.min;
    return STATUS_OK;
  }
};
struct SourceSettings : ISourceSettings {};
struct IRequest {
  SourceSettings source;
  int streams = 0;
  SourceSettings* getSourceSettings() { return &source; }
  Status enableOutputStream(OutputStream*) {
    ++streams;
    return STATUS_OK;
  }
};
struct Request : IRequest {};

struct ICaptureSession {
  size_t devices = 0;
  Request* createRequest() { return new Request; }
  OutputStreamSettings* createOutputStreamSettings(StreamType) { return new OutputStreamSettings; }
  OutputStream* createOutputStream(const OutputStreamSettings* settings) {
    if (!settings->metadata || settings->device == nullptr) return nullptr;
    return new OutputStream{*settings};
  }
  Status repeat(const Request* request) {
    return devices == 2 && request->streams == 2 && request->source.frameNs > 0 ? STATUS_OK : STATUS_INVALID_PARAMS;
  }
};
struct CaptureSession : ICaptureSession {};

struct ICameraProvider {
  CameraDevice sensors[3] = {{0}, {1}, {2}};
  Status getCameraDevices(std::vector<CameraDevice*>* found) {
    for (CameraDevice& sensor : sensors) found->push_back(&sensor);
    return STATUS_OK;
  }
  CaptureSession* createCaptureSession(const std::vector<CameraDevice*>& devices) {
    auto* const session = new CaptureSession;
    session->devices = devices.size();
    return session;
  }
};
struct CameraProvider : ICameraProvider {
  static CameraProvider* create() { return std::getenv("STAND_IN_NO_DAEMON") ? nullptr : new CameraProvider; }
};

}  // namespace Argus

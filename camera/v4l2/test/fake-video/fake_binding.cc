// SPDX-License-Identifier: Apache-2.0
// The in-memory driver as a separate Node-API module; fake-video.ts builds it and has the types.
#include <napi.h>

#include <unistd.h>

#include "fake_driver.h"

namespace v4l2camera::fake {
namespace {

uint32_t number(const Napi::Object& object, const char* name, uint32_t fallback = 0) {
  const Napi::Value value = object.Get(name);
  return value.IsNumber() ? value.As<Napi::Number>().Uint32Value() : fallback;
}

std::string text(const Napi::Object& object, const char* name) { return object.Get(name).ToString().Utf8Value(); }

uint32_t fourccFrom(const std::string& letters) { return v4l2_fourcc(letters[0], letters[1], letters[2], letters[3]); }

std::shared_ptr<Camera> readCamera(const Napi::Object& options) {
  auto camera = std::make_shared<Camera>();
  camera->path = text(options, "path");
  camera->card = text(options, "card");
  camera->bus = text(options, "bus");
  camera->driver = text(options, "driver");
  const bool planar = options.Get("multiPlanar").ToBoolean().Value();
  const bool metadata = options.Get("metadataOnly").ToBoolean().Value();
  const uint32_t capture = planar ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE;
  camera->capabilities = (metadata ? V4L2_CAP_META_CAPTURE : capture) | V4L2_CAP_STREAMING;
  camera->fixedRate = options.Get("fixedRate").ToBoolean().Value();
  camera->withoutDeviceCaps = options.Get("withoutDeviceCaps").ToBoolean().Value();
  camera->fewestGiven = number(options, "maxBuffers");
  camera->strideExtra = number(options, "strideExtra");
  camera->field = number(options, "field", V4L2_FIELD_NONE);
  camera->memoryPlanes = number(options, "memoryPlanes", 1);
  camera->stubbornWidth = number(options, "stubbornWidth");
  camera->endlessErrors = options.Get("endlessErrors").ToBoolean().Value();
  camera->echoesRate = options.Get("echoesRate").ToBoolean().Value();
  if (options.Get("lies").IsObject()) {
    const auto lies = options.Get("lies").As<Napi::Object>();
    camera->lies.strideBytes = number(lies, "strideBytes");
    camera->lies.bufferBytes = number(lies, "bufferBytes");
    camera->lies.height = number(lies, "height", UINT32_MAX);
    camera->lies.buffers = number(lies, "buffers");
    camera->lies.planeBytes = number(lies, "planeBytes");
    camera->lies.imageBytes = number(lies, "imageBytes");
  }
  const auto formats = options.Get("formats").As<Napi::Array>();
  for (uint32_t i = 0; i < formats.Length(); ++i) {
    const auto format = formats.Get(i).As<Napi::Object>();
    Size size{fourccFrom(text(format, "fourcc")),
              number(format, "width"),
              number(format, "height"),
              {},
              number(format, "sensorMode", UINT32_MAX)};
    if (format.Get("bigEndian").ToBoolean().Value()) size.fourcc |= 1u << 31;
    size.flags = number(format, "flags", size.fourcc == V4L2_PIX_FMT_MJPEG ? V4L2_FMT_FLAG_COMPRESSED : 0);
    if (format.Get("description").IsString()) size.description = text(format, "description");
    if (format.Get("range").IsObject()) {
      const auto range = format.Get("range").As<Napi::Object>();
      size.minWidth = number(range, "minWidth");
      size.stepWidth = number(range, "stepWidth");
      size.minHeight = number(range, "minHeight");
      size.stepHeight = number(range, "stepHeight");
    }
    const auto rates = format.Get("ratesHz").As<Napi::Array>();
    for (uint32_t r = 0; r < rates.Length(); ++r) size.ratesHz.push_back(rates.Get(r).As<Napi::Number>().Uint32Value());
    camera->sizes.push_back(std::move(size));
  }
  camera->rateHz = camera->sizes.empty() || camera->sizes[0].ratesHz.empty() ? 30 : camera->sizes[0].ratesHz[0];
  const auto controls = options.Get("controls").As<Napi::Array>();
  for (uint32_t i = 0; i < controls.Length(); ++i) {
    const auto given = controls.Get(i).As<Napi::Object>();
    Control control;
    control.query.id = number(given, "id");
    control.query.type = number(given, "type", V4L2_CTRL_TYPE_INTEGER);
    control.query.flags = number(given, "flags");
    std::strncpy(control.query.name, text(given, "name").c_str(), sizeof control.query.name - 1);
    control.query.minimum = given.Get("minimum").As<Napi::Number>().Int64Value();
    control.query.maximum = given.Get("maximum").As<Napi::Number>().Int64Value();
    control.query.step = number(given, "step", 1);
    control.query.default_value = control.value = given.Get("value").As<Napi::Number>().Int64Value();
    if (given.Get("menu").IsArray()) {
      const auto menu = given.Get("menu").As<Napi::Array>();
      for (uint32_t m = 0; m < menu.Length(); ++m) control.menu.push_back(menu.Get(m).ToString().Utf8Value());
    }
    control.lowest = control.query.minimum;
    control.highest = control.query.maximum;
    if (given.Has("accepts")) {
      const auto accepts = given.Get("accepts").As<Napi::Array>();
      control.lowest = accepts.Get(0u).As<Napi::Number>().Int64Value();
      control.highest = accepts.Get(1u).As<Napi::Number>().Int64Value();
    }
    camera->controls[control.query.id] = control;
  }
  return camera;
}

Image readImage(const Napi::Object& options) {
  Image image;
  bool lossless = false;
  image.timestampNs = options.Get("timestampNs").As<Napi::BigInt>().Int64Value(&lossless);
  image.sequence = number(options, "sequence");
  image.flags = number(options, "flags", V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC);
  image.bytesUsed = number(options, "bytesUsed");
  image.claimedIndex = number(options, "claimedIndex", UINT32_MAX);
  if (options.Get("bytes").IsTypedArray()) {
    const auto bytes = options.Get("bytes").As<Napi::Uint8Array>();
    image.bytes.assign(bytes.Data(), bytes.Data() + bytes.ByteLength());
    if (image.bytesUsed == 0) image.bytesUsed = static_cast<uint32_t>(image.bytes.size());
  }
  image.claimedOffset = number(options, "claimedOffset", UINT32_MAX);
  image.dataOffset = number(options, "dataOffset");
  if (options.Get("morePlanes").IsArray()) {
    const auto planes = options.Get("morePlanes").As<Napi::Array>();
    for (uint32_t i = 0; i < planes.Length(); ++i) {
      const auto bytes = planes.Get(i).As<Napi::Uint8Array>();
      image.morePlanes.emplace_back(bytes.Data(), bytes.Data() + bytes.ByteLength());
    }
  }
  return image;
}

unsigned long requestFrom(const std::string& name) {
  if (name == "QBUF") return VIDIOC_QBUF;
  if (name == "DQBUF") return VIDIOC_DQBUF;
  if (name == "STREAMON") return VIDIOC_STREAMON;
  if (name == "REQBUFS") return VIDIOC_REQBUFS;
  if (name == "EXPBUF") return VIDIOC_EXPBUF;
  if (name == "S_FMT") return VIDIOC_S_FMT;
  return VIDIOC_QUERYCAP;
}

Napi::Value create(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const auto driver = std::make_shared<Driver>();
  auto api = Napi::Object::New(env);
  const auto add = [&](const char* name, auto function) { api.Set(name, Napi::Function::New(env, function, name)); };
  // Never freed: a camera that was closed while an image was held uses the table again when its environment ends, and
  // the order in which an environment's objects end is undefined.
  static auto& drivers = *new std::vector<std::shared_ptr<Driver>>;
  drivers.push_back(driver);
  api.Set("system", Napi::External<VideoSystem>::New(env, &driver->system));
  const auto find = [driver](const Napi::CallbackInfo& call) -> Camera& {
    const auto found = driver->cameras.find(call[0].ToString().Utf8Value());
    if (found == driver->cameras.end()) throw Napi::Error::New(call.Env(), "no such camera");
    return *found->second;
  };
  add("add", [driver](const Napi::CallbackInfo& call) {
    auto camera = readCamera(call[0].As<Napi::Object>());
    std::lock_guard<std::mutex> lock(driver->mutex);
    driver->cameras[camera->path] = camera;
  });
  add("deliver", [driver, find](const Napi::CallbackInfo& call) -> Napi::Value {
    const Image image = readImage(call[1].As<Napi::Object>());
    std::lock_guard<std::mutex> lock(driver->mutex);
    return Napi::Boolean::New(call.Env(), driver->deliver(find(call), image));
  });
  add("fail", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    find(call).failures[requestFrom(call[1].ToString().Utf8Value())] = {call[2].As<Napi::Number>().Int32Value(),
                                                                        call[3].As<Napi::Number>().Int32Value()};
  });
  add("openError", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    find(call).openError = call[1].As<Napi::Number>().Int32Value();
  });
  add("fatal", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    Camera& camera = find(call);
    camera.fatal = call[1].ToBoolean().Value();
    if (camera.fatal && camera.owner >= 0) {
      const uint64_t one = 1;
      if (write(camera.owner, &one, sizeof one) < 0) return;
    }
  });
  add("unplug", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    driver->unplug(find(call));
  });
  add("plug", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    Camera& camera = find(call);
    camera.unplugged = camera.fatal = false;
  });
  add("poke", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    driver->poke(find(call), call[1].As<Napi::Number>().Uint32Value(),
                 static_cast<uint8_t>(call[2].As<Napi::Number>().Uint32Value()));
  });
  add("control", [driver, find](const Napi::CallbackInfo& call) -> Napi::Value {
    std::lock_guard<std::mutex> lock(driver->mutex);
    return Napi::Number::New(
        call.Env(), static_cast<double>(find(call).controls.at(call[1].As<Napi::Number>().Uint32Value()).value));
  });
  add("change", [driver, find](const Napi::CallbackInfo& call) {
    std::lock_guard<std::mutex> lock(driver->mutex);
    driver->changeControl(find(call), call[1].As<Napi::Number>().Uint32Value(),
                          call[2].As<Napi::Number>().Int64Value());
  });
  add("run", [driver](const Napi::CallbackInfo& call) {
    driver->run(call[0].ToString().Utf8Value(), call[1].As<Napi::Number>().DoubleValue(),
                call[2].As<Napi::Number>().Int32Value());
  });
  add("state", [driver, find](const Napi::CallbackInfo& call) -> Napi::Value {
    std::lock_guard<std::mutex> lock(driver->mutex);
    const Camera& camera = find(call);
    auto state = Napi::Object::New(call.Env());
    state.Set("queued", static_cast<double>(camera.queued.size()));
    state.Set("streaming", camera.streaming);
    state.Set("opens", camera.opens);
    state.Set("mappings", camera.mappings);
    state.Set("streamOns", camera.streamOns);
    auto interval = Napi::Array::New(state.Env(), 2);
    interval.Set(0u, camera.requestedInterval.numerator);
    interval.Set(1u, camera.requestedInterval.denominator);
    state.Set("requestedInterval", interval);
    state.Set("streamOnNs", static_cast<double>(camera.streamOnNs));
    return state;
  });
  return api;
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("create", Napi::Function::New(env, create, "create"));
  return exports;
}

}  // namespace

NODE_API_MODULE(fake_video, initialise)

}  // namespace v4l2camera::fake

// SPDX-License-Identifier: Apache-2.0
// power/native.ts's functions in C++: conversions only.
#include "binding.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "nvml.h"
#include "sampler.h"

namespace depthwatt {
namespace {

Napi::Object unavailable(Napi::Env env, const std::string& reason) {
  auto result = Napi::Object::New(env);
  result.Set("available", false);
  result.Set("reason", reason);
  return result;
}

Napi::Value nvmlOpen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Nvml& nvml = Nvml::instance();
  if (const char* problem = nvml.open()) return unavailable(env, problem);
  auto devices = Napi::Array::New(env);
  for (uint32_t i = 0; i < nvml.deviceCount(); ++i) {
    char name[96] = "";
    char uuid[96] = "";
    nvml.deviceName(i, name, sizeof name);
    nvml.deviceUuid(i, uuid, sizeof uuid);
    auto device = Napi::Object::New(env);
    device.Set("index", i);
    device.Set("name", name);
    device.Set("uuid", uuid);
    devices.Set(i, device);
  }
  auto result = Napi::Object::New(env);
  result.Set("available", true);
  result.Set("driver", nvml.driverVersion());
  result.Set("devices", devices);
  return result;
}

using Reader = int (Nvml::*)(uint32_t, double*) const;

Napi::Value nvmlRead(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Nvml& nvml = Nvml::instance();
  const uint32_t device = info[0].ToNumber().Uint32Value();
  auto result = Napi::Object::New(env);
  const auto add = [&](const char* key, Reader reader) {
    double value = 0;
    const int status = device < nvml.deviceCount() ? (nvml.*reader)(device, &value) : 2;
    if (status == 0) {
      result.Set(key, value);
    } else {
      auto problem = Napi::Object::New(env);
      problem.Set("error", nvml.errorText(status));
      result.Set(key, problem);
    }
  };
  add("powerMilliwatts", &Nvml::powerMilliwatts);
  add("energyMillijoules", &Nvml::energyMillijoules);
  add("smClockMegahertz", &Nvml::smClockMegahertz);
  add("memoryClockMegahertz", &Nvml::memoryClockMegahertz);
  add("temperatureCelsius", &Nvml::temperatureCelsius);
  add("throttleReasons", &Nvml::throttleReasons);
  return result;
}

Napi::Value nvmlErrorText(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), Nvml::instance().errorText(info[0].ToNumber().Int32Value()));
}

SampleSource sampleSourceOf(const Napi::Object& object) {
  SampleSource source;
  if (object.Has("file")) {
    source.path = object.Get("file").ToString().Utf8Value();
    return source;
  }
  source.device = object.Get("nvml").ToNumber().Uint32Value();
  const std::string quantity = object.Get("quantity").ToString().Utf8Value();
  source.kind = quantity == "energy"       ? SampleSource::Kind::kNvmlEnergy
                : quantity == "powerUsage" ? SampleSource::Kind::kNvmlPowerUsage
                                           : SampleSource::Kind::kNvmlPower;
  return source;
}

Napi::Object costOf(Napi::Env env, const SamplerCost& cost) {
  auto result = Napi::Object::New(env);
  result.Set("wallSeconds", cost.wallNs / 1e9);
  result.Set("readSeconds", cost.readNs / 1e9);
  result.Set("ownSeconds", cost.ownNs / 1e9);
  result.Set("timerSeconds", cost.timerNs / 1e9);
  result.Set("slowestReadSeconds", cost.slowestReadNs / 1e9);
  result.Set("ticks", static_cast<double>(cost.ticks));
  result.Set("missedTicks", static_cast<double>(cost.missedTicks));
  result.Set("overruns", static_cast<double>(cost.overruns));
  return result;
}

/// {sources: {file} | {nvml, quantity}[], periodNs, capacityRows} -> {originNs, drain, cost, stop} or unavailable.
Napi::Value createSampler(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject() || !info[0].As<Napi::Object>().Get("sources").IsArray()) {
    return unavailable(env, "a sampler needs a list of sources");
  }
  const auto options = info[0].As<Napi::Object>();
  const auto list = options.Get("sources").As<Napi::Array>();
  std::vector<SampleSource> sources;
  for (uint32_t i = 0; i < list.Length(); ++i) sources.push_back(sampleSourceOf(list.Get(i).As<Napi::Object>()));
  const bool usesNvml = std::any_of(sources.begin(), sources.end(),
                                    [](const SampleSource& s) { return s.kind != SampleSource::Kind::kFile; });
  if (usesNvml) {
    if (const char* problem = Nvml::instance().open()) return unavailable(env, problem);
    for (const SampleSource& source : sources) {
      if (source.kind == SampleSource::Kind::kFile || source.device < Nvml::instance().deviceCount()) continue;
      return unavailable(env, "NVML shows no GPU with index " + std::to_string(source.device));
    }
  }
  const auto period = static_cast<int64_t>(options.Get("periodNs").ToNumber().DoubleValue());
  const uint32_t capacity = options.Get("capacityRows").ToNumber().Uint32Value();
  if (sources.empty() || period < 1000000 || capacity < 2) {
    return unavailable(env, "a sampler needs a source, a period of at least 1 ms and room for two rows");
  }
  auto sampler = std::make_shared<Sampler>(std::move(sources), period, capacity);
  if (const int error = sampler->start(); error != 0) {
    return unavailable(env, "the sampling thread could not be started: errno " + std::to_string(error));
  }
  auto result = Napi::Object::New(env);
  result.Set("available", true);
  result.Set("originNs", Napi::BigInt::New(env, sampler->originNs()));
  result.Set("drain", Napi::Function::New(env, [sampler](const Napi::CallbackInfo& call) {
               // Sizes of other arrays would be counted as if each of their elements had eight bytes.
               const bool doubles = call[0].IsTypedArray() &&
                                    call[0].As<Napi::TypedArray>().TypedArrayType() == napi_float64_array;
               if (!doubles) throw Napi::TypeError::New(call.Env(), "drain: expected a Float64Array");
               auto out = call[0].As<Napi::Float64Array>();
               const size_t perRow = sampler->sources() * (sizeof(Sample) / sizeof(double));
               const auto rows = static_cast<uint32_t>(out.ElementLength() / perRow);
               return Napi::Number::New(call.Env(), sampler->drain(reinterpret_cast<Sample*>(out.Data()), rows));
             }));
  result.Set("cost", Napi::Function::New(env, [sampler](const Napi::CallbackInfo& call) {
               return costOf(call.Env(), sampler->cost());
             }));
  result.Set("stop", Napi::Function::New(env, [sampler](const Napi::CallbackInfo& call) {
               sampler->stop();
               return call.Env().Undefined();
             }));
  return result;
}

}  // namespace

void addPower(Napi::Env env, Napi::Object exports) {
  auto power = Napi::Object::New(env);
  power.Set("nvmlOpen", Napi::Function::New(env, nvmlOpen, "nvmlOpen"));
  power.Set("nvmlRead", Napi::Function::New(env, nvmlRead, "nvmlRead"));
  power.Set("nvmlErrorText", Napi::Function::New(env, nvmlErrorText, "nvmlErrorText"));
  power.Set("createSampler", Napi::Function::New(env, createSampler, "createSampler"));
  exports.Set("power", power);
}

}  // namespace depthwatt

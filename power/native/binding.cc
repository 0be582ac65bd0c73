// SPDX-License-Identifier: Apache-2.0
// Binds the functions of power/native.ts: conversions only.
#include "binding.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "nvml.h"
#include "sampler.h"
#include "../../core/napi/errors.h"

namespace depthwatt {
namespace {

constexpr uint32_t kMaxSources = 64;
constexpr uint32_t kMaxRows = 1 << 16;

Napi::Object unavailable(Napi::Env env, const std::string& reason) {
  auto result = Napi::Object::New(env);
  result.Set("available", false);
  result.Set("reason", reason);
  return result;
}

/// Returns NaN for values that are not numbers. Converting a symbol would throw an error of V8.
double numberIn(const Napi::Value& value) { return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN; }

/// Returns a whole number from 0, or one that no device has.
uint32_t deviceIn(const Napi::Value& value) {
  const double number = numberIn(value);
  return number >= 0 && number < UINT32_MAX && number == std::floor(number) ? static_cast<uint32_t>(number)
                                                                            : UINT32_MAX;
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
  const uint32_t device = deviceIn(info[0]);
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
  const double status = numberIn(info[0]);
  const bool fits = std::abs(status) <= INT32_MAX;
  return Napi::String::New(info.Env(), Nvml::instance().errorText(fits ? static_cast<int>(status) : INT32_MAX));
}

/// @returns false for a value that is not a source
bool readSampleSource(const Napi::Value& value, SampleSource* source) {
  if (!value.IsObject()) return false;
  const auto object = value.As<Napi::Object>();
  const Napi::Value file = object.Get("file");
  if (file.IsString()) {
    source->path = file.As<Napi::String>().Utf8Value();
    return true;
  }
  const Napi::Value device = object.Get("nvml"), quantity = object.Get("quantity");
  if (!device.IsNumber() || !quantity.IsString()) return false;
  const std::string name = quantity.As<Napi::String>().Utf8Value();
  source->device = deviceIn(device);
  source->kind = name == "energy"       ? SampleSource::Kind::kNvmlEnergy
                 : name == "powerUsage" ? SampleSource::Kind::kNvmlPowerUsage
                                        : SampleSource::Kind::kNvmlPower;
  return true;
}

Napi::Object samplerCost(Napi::Env env, const SamplerCost& cost) {
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
  std::vector<SampleSource> sources(std::min(list.Length(), kMaxSources + 1));
  for (uint32_t i = 0; i < sources.size(); ++i) {
    if (!readSampleSource(list.Get(i), &sources[i])) return unavailable(env, "a source is {file} or {nvml, quantity}");
  }
  const bool usesNvml = std::any_of(sources.begin(), sources.end(),
                                    [](const SampleSource& s) { return s.kind != SampleSource::Kind::kFile; });
  if (usesNvml) {
    if (const char* problem = Nvml::instance().open()) return unavailable(env, problem);
    for (const SampleSource& source : sources) {
      if (source.kind == SampleSource::Kind::kFile || source.device < Nvml::instance().deviceCount()) continue;
      return unavailable(env, "NVML shows no GPU with index " + std::to_string(source.device));
    }
  }
  const double period = numberIn(options.Get("periodNs")), capacity = numberIn(options.Get("capacityRows"));
  const bool fits = !sources.empty() && sources.size() <= kMaxSources && period >= 1e6 && period <= 1e12 &&
                    capacity >= 2 && capacity <= kMaxRows;
  if (!fits) {
    return unavailable(env, "a sampler needs 1 to " + std::to_string(kMaxSources) +
                                " sources, a period of 1 ms to 1000 s and room for 2 to " + std::to_string(kMaxRows) +
                                " rows");
  }
  auto sampler =
      std::make_shared<Sampler>(std::move(sources), static_cast<int64_t>(period), static_cast<uint32_t>(capacity));
  if (const int error = sampler->start(); error != 0) {
    return unavailable(env, "the sampling thread could not be started: errno " + std::to_string(error));
  }
  auto result = Napi::Object::New(env);
  result.Set("available", true);
  result.Set("originNs", Napi::BigInt::New(env, sampler->originNs()));
  result.Set("drain", Napi::Function::New(env, [sampler](const Napi::CallbackInfo& call) {
               // Other arrays would be counted as if each element had eight bytes.
               const bool doubles =
                   call[0].IsTypedArray() && call[0].As<Napi::TypedArray>().TypedArrayType() == napi_float64_array;
               if (!doubles)
                 throw errorFrom(call.Env(), Status::error(Code::kParameter, "drain: expected a Float64Array."));
               auto out = call[0].As<Napi::Float64Array>();
               const size_t perRow = sampler->sources() * (sizeof(Sample) / sizeof(double));
               const auto rows = static_cast<uint32_t>(out.ElementLength() / perRow);
               return Napi::Number::New(call.Env(), sampler->drain(reinterpret_cast<Sample*>(out.Data()), rows));
             }));
  result.Set("cost", Napi::Function::New(env, [sampler](const Napi::CallbackInfo& call) {
               return samplerCost(call.Env(), sampler->cost());
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

// SPDX-License-Identifier: Apache-2.0
// The functions of NVML's stable C interface that a meter needs, by name; types as in NVML's API reference.
#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace depthwatt {
namespace {

constexpr int kSuccess = 0;
constexpr int kFunctionNotFound = 13;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kFieldPowerInstant = 186;
constexpr int kValueUnsignedInt = 1;

/// nvmlFieldValue_t.
struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestampUs;
  long long latencyUs;
  int valueType;
  int status;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
    long long sll;
  } value;
};
static_assert(sizeof(FieldValue) == 40, "nvmlFieldValue_t is 40 bytes in NVML's ABI");

using Device = void*;

/// Every function that is called; null if this driver lacks it.
struct Functions {
  int (*init)() = nullptr;
  const char* (*errorString)(int) = nullptr;
  int (*driverVersion)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
};
Functions f;
bool instantPower[16] = {};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

void findAll(void* library) {
  find(library, "nvmlInit_v2", f.init);
  find(library, "nvmlErrorString", f.errorString);
  find(library, "nvmlSystemGetDriverVersion", f.driverVersion);
  find(library, "nvmlDeviceGetCount_v2", f.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  find(library, "nvmlDeviceGetName", f.name);
  find(library, "nvmlDeviceGetUUID", f.uuid);
  find(library, "nvmlDeviceGetPowerUsage", f.power);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", f.energy);
  find(library, "nvmlDeviceGetClockInfo", f.clock);
  find(library, "nvmlDeviceGetTemperature", f.temperature);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", f.throttle);
  find(library, "nvmlDeviceGetFieldValues", f.fields);
}

/// Calls a getter of one unsigned number. Returns kFunctionNotFound if this driver lacks it.
template <class Number, class Getter, class... Arguments>
int readNumber(Getter getter, double* value, Arguments... arguments) {
  if (getter == nullptr) return kFunctionNotFound;
  Number number = 0;
  const int status = getter(arguments..., &number);
  *value = static_cast<double>(number);
  return status;
}

/// A driver may fill all of `text`, or leave it unchanged; the result is always a terminated string.
int readText(int (*getter)(Device, char*, unsigned), Device device, char* text, uint32_t bytes) {
  std::memset(text, 0, bytes);
  const int status = getter(device, text, bytes);
  text[bytes - 1] = 0;
  return status;
}

const char* errorFrom(int status) {
  const char* text = f.errorString(status);
  return text == nullptr ? "an error without a name" : text;
}

int instant(Device device, double* value) {
  FieldValue field{};
  field.fieldId = kFieldPowerInstant;
  const int status = f.fields(device, 1, &field);
  if (status != kSuccess) return status;
  if (field.status != kSuccess) return field.status;
  *value =
      field.valueType == kValueUnsignedInt ? static_cast<double>(field.value.u) : static_cast<double>(field.value.ull);
  return kSuccess;
}

}  // namespace

Nvml& Nvml::instance() {
  static Nvml nvml;
  return nvml;
}

const char* Nvml::open() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (count_ > 0) return nullptr;
  if (library_ == nullptr) library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* why = dlerror();
    std::snprintf(problem_, sizeof problem_, "no NVIDIA driver: %s", why == nullptr ? "libnvidia-ml.so.1" : why);
    return problem_;
  }
  findAll(library_);
  if (f.init == nullptr || f.errorString == nullptr || f.count == nullptr || f.handle == nullptr ||
      f.power == nullptr || f.name == nullptr || f.uuid == nullptr) {
    std::snprintf(problem_, sizeof problem_, "libnvidia-ml.so.1 lacks the functions of NVML 5 and later");
    return problem_;
  }
  int status = f.init();
  unsigned count = 0;
  if (status == kSuccess) status = f.count(&count);
  if (status != kSuccess) {
    std::snprintf(problem_, sizeof problem_, "NVML does not start: %s", errorFrom(status));
    return problem_;
  }
  const unsigned wanted = std::min<unsigned>(count, kMaxDevices);
  for (unsigned i = 0; i < wanted && status == kSuccess; ++i) {
    status = f.handle(i, &devices_[i]);
    double milliwatts = 0;
    if (status == kSuccess && f.fields != nullptr) instantPower[i] = instant(devices_[i], &milliwatts) == kSuccess;
  }
  if (status != kSuccess) {
    std::snprintf(problem_, sizeof problem_, "NVML shows no handle for a GPU: %s", errorFrom(status));
    return problem_;
  }
  if (wanted == 0) {
    std::snprintf(problem_, sizeof problem_, "NVML is there but shows no GPU");
    return problem_;
  }
  if (f.driverVersion != nullptr) f.driverVersion(driver_, sizeof driver_ - 1);
  count_ = wanted;
  return nullptr;
}

int Nvml::deviceName(uint32_t device, char* text, uint32_t bytes) const {
  return readText(f.name, devices_[device], text, bytes);
}

int Nvml::deviceUuid(uint32_t device, char* text, uint32_t bytes) const {
  return readText(f.uuid, devices_[device], text, bytes);
}

int Nvml::powerMilliwatts(uint32_t device, double* value) const {
  return instantPower[device] ? instant(devices_[device], value) : powerUsageMilliwatts(device, value);
}

int Nvml::powerUsageMilliwatts(uint32_t device, double* value) const {
  return readNumber<unsigned>(f.power, value, devices_[device]);
}

int Nvml::energyMillijoules(uint32_t device, double* value) const {
  return readNumber<unsigned long long>(f.energy, value, devices_[device]);
}

int Nvml::smClockMegahertz(uint32_t device, double* value) const {
  return readNumber<unsigned>(f.clock, value, devices_[device], kClockSm);
}

int Nvml::memoryClockMegahertz(uint32_t device, double* value) const {
  return readNumber<unsigned>(f.clock, value, devices_[device], kClockMemory);
}

int Nvml::temperatureCelsius(uint32_t device, double* value) const {
  return readNumber<unsigned>(f.temperature, value, devices_[device], kTemperatureGpu);
}

int Nvml::throttleReasons(uint32_t device, double* value) const {
  return readNumber<unsigned long long>(f.throttle, value, devices_[device]);
}

const char* Nvml::errorText(int status) const {
  return f.errorString == nullptr ? "NVML is not open" : errorFrom(status);
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, found at run time: nothing here needs its headers or links against it.
#pragma once

#include <cstdint>

namespace depthwatt {

/// Thread-safe as NVML itself is; every reading is one library call and no allocation. Status 0 is success.
class Nvml {
 public:
  /// The process's one instance; open() must have succeeded before anything else is called.
  static Nvml& instance();

  /// Loads libnvidia-ml.so.1 and initialises it, once. Returns nullptr, or a sentence saying why it is not there
  /// (valid until the next call).
  const char* open();

  const char* driverVersion() const { return driver_; }
  uint32_t deviceCount() const { return count_; }
  int deviceName(uint32_t device, char* text, uint32_t bytes) const;
  int deviceUuid(uint32_t device, char* text, uint32_t bytes) const;

  /// Board power now, milliwatts: the instantaneous reading where the driver has one, else its power usage (which
  /// recent GPUs average over a second).
  int powerMilliwatts(uint32_t device, double* value) const;
  /// The average that nvmlDeviceGetPowerUsage gives, milliwatts.
  int powerUsageMilliwatts(uint32_t device, double* value) const;
  /// Energy since the driver was loaded, millijoules; Volta and newer.
  int energyMillijoules(uint32_t device, double* value) const;
  /// Megahertz of the streaming multiprocessors and of the memory.
  int smClockMegahertz(uint32_t device, double* value) const;
  int memoryClockMegahertz(uint32_t device, double* value) const;
  int temperatureCelsius(uint32_t device, double* value) const;
  /// Bit mask of nvmlClocksThrottleReason*; 1 = idle only.
  int throttleReasons(uint32_t device, double* value) const;

  /// NVML's own words for a status.
  const char* errorText(int status) const;

 private:
  static constexpr uint32_t kMaxDevices = 16;
  void* library_ = nullptr;
  void* devices_[kMaxDevices] = {};
  uint32_t count_ = 0;
  char driver_[96] = "";
  char problem_[256] = "";
};

}  // namespace depthwatt

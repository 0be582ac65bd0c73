// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, loaded at run time: it needs neither headers nor linking.
#pragma once

#include <cstdint>

namespace depthwatt {

/// As thread-safe as NVML; every reading is one library call without allocation. Status 0 is success.
class Nvml {
 public:
  /// Returns the process's only instance; open() must succeed before anything else is called.
  static Nvml& instance();

  /// Loads libnvidia-ml.so.1 and initialises it, once. Returns nullptr, or a sentence that says why it failed (valid
  /// until the next call).
  const char* open();

  const char* driverVersion() const { return driver_; }
  uint32_t deviceCount() const { return count_; }
  int deviceName(uint32_t device, char* text, uint32_t bytes) const;
  int deviceUuid(uint32_t device, char* text, uint32_t bytes) const;

  /// Reads the current board power, milliwatts: the instantaneous reading if the driver has one, else its power usage
  /// (which recent GPUs average over a second).
  int powerMilliwatts(uint32_t device, double* value) const;
  /// Reads the average of nvmlDeviceGetPowerUsage, milliwatts.
  int powerUsageMilliwatts(uint32_t device, double* value) const;
  /// Energy since the driver was loaded, millijoules; Volta and newer.
  int energyMillijoules(uint32_t device, double* value) const;
  /// Megahertz of the streaming multiprocessors and of the memory.
  int smClockMegahertz(uint32_t device, double* value) const;
  int memoryClockMegahertz(uint32_t device, double* value) const;
  int temperatureCelsius(uint32_t device, double* value) const;
  /// Bit mask of nvmlClocksThrottleReason*; 1 = idle only.
  int throttleReasons(uint32_t device, double* value) const;

  /// Returns NVML's text for a status.
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

// SPDX-License-Identifier: Apache-2.0
// The energy counter of the card.
#pragma once

#include <dlfcn.h>

#include "program.h"

namespace depthwatt {

/// The card's count of joules; fails if it has none.
class Energy {
 public:
  Energy() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto byIndex = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    read_ =
        reinterpret_cast<int (*)(void*, unsigned long long*)>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
    if (init == nullptr || byIndex == nullptr || init() != 0 || byIndex(0, &device_) != 0) read_ = nullptr;
  }
  bool available() const { return read_ != nullptr; }
  double joules() const {
    unsigned long long millijoules = 0;
    if (read_ == nullptr || read_(device_, &millijoules) != 0) fail("the card counts no energy");
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  void* device_ = nullptr;
  int (*read_)(void*, unsigned long long*) = nullptr;
};

}  // namespace depthwatt

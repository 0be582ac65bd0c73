// SPDX-License-Identifier: Apache-2.0
// The sentences that say why CUDA cannot be used, one for each cause. Independent of CUDA, so that tests need no GPU.
#pragma once

#include "../../core/status.h"

namespace depthwatt {
namespace gpu {

/// The findings of a probe. Versions as CUDA counts them: 13000 is 13.0.
struct ProbeFindings {
  int driverVersion = 0;  ///< 0 = no driver
  int runtimeVersion = 0;
  bool driverAccepted = true;  ///< false: the runtime rejected the driver
  int devices = 0;
  bool codeForDevice = true;
  int major = 0, minor = 0;  ///< compute capability of device 0
  const char* deviceName = "";
  const char* architectures = "";  ///< what this build has code for
  const char* otherError = nullptr;
};

inline Status probeStatus(const ProbeFindings& f) {
  const Code code = Code::kBackendUnavailable;
  if (f.driverVersion == 0) return Status::error(code, "CUDA unavailable: there is no NVIDIA driver on this machine.");
  if (!f.driverAccepted) {
    return Status::error(
        code, "CUDA unavailable: the NVIDIA driver serves CUDA %d.%d, this build needs %d.%d; update the driver.",
        f.driverVersion / 1000, f.driverVersion % 1000 / 10, f.runtimeVersion / 1000, f.runtimeVersion % 1000 / 10);
  }
  if (f.otherError != nullptr)
    return Status::error(code, "CUDA unavailable: the driver refuses (%.150s).", f.otherError);
  if (f.devices == 0) return Status::error(code, "CUDA unavailable: the NVIDIA driver is there, but it sees no GPU.");
  if (!f.codeForDevice) {
    return Status::error(code,
                         "CUDA unavailable: %.60s is of architecture %d%d, this build has code for %.60s "
                         "(DEPTHWATT_CUDA_ARCHS=%d%d npm run build:cuda).",
                         f.deviceName, f.major, f.minor, f.architectures, f.major, f.minor);
  }
  return {};
}

}  // namespace gpu
}  // namespace depthwatt

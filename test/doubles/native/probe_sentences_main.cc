// SPDX-License-Identifier: Apache-2.0
// Prints the probe's sentence for findings given by the command line: driver runtime accepted devices codeForDevice
// [otherError]
#include <cstdio>
#include <cstdlib>

#include "../../../cuda/gpu/probe_sentences.h"

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  depthwatt::gpu::ProbeFindings f;
  f.driverVersion = std::atoi(argv[1]);
  f.runtimeVersion = std::atoi(argv[2]);
  f.driverAccepted = std::atoi(argv[3]) != 0;
  f.devices = std::atoi(argv[4]);
  f.codeForDevice = std::atoi(argv[5]) != 0;
  f.major = 8, f.minor = 7, f.deviceName = "Orin", f.architectures = "90";
  f.otherError = argc > 6 ? argv[6] : nullptr;
  const depthwatt::Status status = depthwatt::gpu::probeStatus(f);
  std::printf("%s\n", status.ok() ? "ok" : status.message);
  return status.ok() || status.code == depthwatt::Code::kBackendUnavailable ? 0 : 1;
}

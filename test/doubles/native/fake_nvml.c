// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 of one GPU for machines without one. Its power is 200 W + 100 W sin(2 pi t / 3 s), updated every
// 20 ms, and its energy counter is the exact integral. FAKE_NVML_BROKEN makes readings fail like those of a lost GPU.
// Its clocks are always throttled, or, with FAKE_NVML_HOT_FILE, while that file exists. With
// FAKE_NVML_JOULES_PER_CPU_SECOND it draws this many joules per second of CPU time of this process and nothing else:
// work then costs energy, as on a board, and waiting for other programs costs none.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml_field.h"

static const double kMean = 200, kSwing = 100, kPeriod = 3, kRenewal = 0.02;
static const int kGpuIsLost = 15;

static double seconds(void) {
  static double begin = 0;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  if (begin == 0) begin = now;
  return now - begin;
}

static double cpuSeconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double joulesPerCpuSecond(void) {
  const char* text = getenv("FAKE_NVML_JOULES_PER_CPU_SECOND");
  return text == NULL ? 0 : atof(text);
}

/** For the whole of a process, or while a file is there. */
static int broken(void) {
  const char* file = getenv("FAKE_NVML_BROKEN_FILE");
  return getenv("FAKE_NVML_BROKEN") != NULL || (file != NULL && access(file, F_OK) == 0);
}

int nvmlInit_v2(void) { return 0; }
const char* nvmlErrorString(int status) { return status == kGpuIsLost ? "GPU is lost" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  strncpy(text, "000.00 (fake)", bytes);
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned bytes) {
  strncpy(text, "Fake GPU", bytes);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  strncpy(text, "GPU-fake", bytes);
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  static double lastSeconds = 0, lastCpuSeconds = 0, lastWatts = 0;
  const double perSecond = joulesPerCpuSecond(), now = seconds();
  if (perSecond > 0) {
    if (now - lastSeconds > 0.05) {
      const double used = cpuSeconds();
      lastWatts = perSecond * (used - lastCpuSeconds) / (now - lastSeconds);
      lastSeconds = now;
      lastCpuSeconds = used;
    }
    *milliwatts = (unsigned)(1000 * lastWatts);
    return 0;
  }
  const double t = floor(now / kRenewal) * kRenewal;
  *milliwatts = (unsigned)(1000 * (kMean + kSwing * sin(2 * M_PI * t / kPeriod)));
  return broken() ? kGpuIsLost : 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const double t = seconds(), perSecond = joulesPerCpuSecond();
  if (perSecond > 0) {
    *millijoules = (unsigned long long)(1000 * perSecond * cpuSeconds());
    return 0;
  }
  const double joules = kMean * t + kSwing * kPeriod / (2 * M_PI) * (1 - cos(2 * M_PI * t / kPeriod));
  *millijoules = 5000000ULL + (unsigned long long)(1000 * joules);
  return broken() ? kGpuIsLost : 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* megahertz) {
  *megahertz = clock == 2 ? 3201 : 1980;
  return 0;
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  const char* file = getenv("FAKE_NVML_HOT_FILE");
  *reasons = file == NULL || access(file, F_OK) == 0 ? 4 : 0;
  return 0;
}
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* fields) {
  for (int i = 0; i < count; ++i) {
    unsigned milliwatts = 0;
    fields[i].status = nvmlDeviceGetPowerUsage(device, &milliwatts);
    fields[i].valueType = 1;
    fields[i].value.u = milliwatts;
  }
  return 0;
}

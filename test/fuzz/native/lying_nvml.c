// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 with random wrong answers: names that fill their buffer without an end, unbounded counts,
// statuses, types and values of any kind, errors without text. LYING_NVML_SEED repeats a run.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned fieldId, scopeId;
  long long timestampUs, latencyUs;
  int valueType, status;
  unsigned long long value;
} FieldValue;

static uint64_t next(void) {
  static uint64_t state = 0;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (state == 0) {
    const char* text = getenv("LYING_NVML_SEED");
    state = 0x9e3779b97f4a7c15u ^ (text == NULL ? 1 : strtoull(text, NULL, 10));
  }
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  const uint64_t now = state * 0x2545f4914f6cdd1du;
  pthread_mutex_unlock(&mutex);
  return now;
}

/* Mostly well, else any number. */
static int status(void) { return next() % 4 ? 0 : (int)next(); }

static int fill(char* text, unsigned bytes) {
  const unsigned many = next() % 2 ? bytes : (unsigned)(next() % (bytes + 1));
  for (unsigned i = 0; i < many; ++i) text[i] = (char)(next() | 1);
  return status();
}

int nvmlInit_v2(void) { return status(); }
const char* nvmlErrorString(int code) { return next() % 2 ? NULL : code < 0 ? "" : "lies"; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) { return fill(text, bytes); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)next() >> next() % 32;
  return status();
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)next();
  return next() % 40 ? 0 : status();
}
int nvmlDeviceGetName(void* device, char* text, unsigned bytes) { return fill(text, bytes); }
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) { return fill(text, bytes); }
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (next() % 4) *milliwatts = (unsigned)next();
  return status();
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (next() % 4) *millijoules = next();
  return status();
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* megahertz) {
  *megahertz = (unsigned)next();
  return status();
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = (unsigned)next();
  return status();
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = next();
  return status();
}
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].status = status();
    fields[i].valueType = (int)(next() % 9) - 1;
    fields[i].value = next();
  }
  return status();
}

// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 of any number of GPUs whose readings are known: NVML_GPUS of them. These variables hold the
// status that a function gives instead of 0: NVML_INIT, NVML_COUNT, NVML_HANDLE (of the second GPU), NVML_LOST (every
// power and energy). Compiled with OLD it has only the functions of old drivers, with BROKEN not all of these either.
#include <stdlib.h>
#include <string.h>

#include "nvml_field.h"

enum { kInvalidArgument = 2, kNotSupported = 3 };

static int number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atoi(text);
}
static int indexOf(void* device) { return (int)(size_t)device - 1; }

int nvmlInit_v2(void) { return number("NVML_INIT"); }
const char* nvmlErrorString(int status) {
  static char text[16] = "status ";
  if (status == 99) return NULL;
  char digits[12];
  int n = 0;
  for (int rest = status; rest > 0 || n == 0; rest /= 10) digits[n++] = (char)('0' + rest % 10);
  for (int i = 0; i < n && 7 + i < 15; ++i) text[7 + i] = digits[n - 1 - i], text[8 + i] = 0;
  return text;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)number("NVML_GPUS");
  return number("NVML_COUNT");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return index == 1 ? number("NVML_HANDLE") : 0;
}
/// The second name fills all of its memory, the third one is not written.
int nvmlDeviceGetName(void* device, char* text, unsigned bytes) {
  if (indexOf(device) == 1) memset(text, 'x', bytes);
  else if (indexOf(device) != 2) strncpy(text, "Scripted GPU", bytes);
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 700 + (unsigned)indexOf(device);
  return number("NVML_LOST");
}
#ifndef BROKEN
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  strncpy(text, "GPU-0", bytes);
  text[4] = (char)('a' + indexOf(device));
  return 0;
}
#endif
#ifndef OLD
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  strncpy(text, "999.9", bytes);
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = (1ULL << 40) + (unsigned)indexOf(device);
  return number("NVML_LOST");
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* megahertz) {
  *megahertz = 1000 * clock + (unsigned)indexOf(device);
  return clock == 1 || clock == 2 ? 0 : kInvalidArgument;
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = 40 + (unsigned)indexOf(device);
  return sensor == 0 ? 0 : kInvalidArgument;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = (1ULL << 33) + (unsigned)indexOf(device);
  return 0;
}
/// The power of a moment (field 186): of GPU 0 in 32 bits, of GPU 1 in 64 bits; GPU 2 has no such field, and GPU 3
/// has no fields.
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* fields) {
  const int index = indexOf(device);
  if (index == 3 || count != 1) return kNotSupported;
  fields->status = index == 2 || fields->fieldId != 186 ? kNotSupported : number("NVML_LOST");
  fields->valueType = index == 1 ? 3 : 1;
  if (index == 1) fields->value.ull = 5000000000ULL;
  else fields->value.ull = (7ULL << 32) + 1000;
  return 0;
}
#endif

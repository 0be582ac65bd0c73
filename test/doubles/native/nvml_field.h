// SPDX-License-Identifier: Apache-2.0
// One field of nvmlDeviceGetFieldValues, as NVML's header lays it out.
#pragma once

typedef struct {
  unsigned fieldId, scopeId;
  long long timestampUs, latencyUs;
  int valueType, status;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
} FieldValue;

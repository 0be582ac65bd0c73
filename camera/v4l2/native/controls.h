// SPDX-License-Identifier: Apache-2.0
// Camera controls, such as exposure, gain and trigger modes: lists, sets and reads them back.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device.h"

namespace v4l2camera {

struct Control {
  uint32_t id = 0;
  /// enum v4l2_ctrl_type.
  uint32_t type = 0;
  /// V4L2_CTRL_FLAG_*.
  uint32_t flags = 0;
  std::string name;
  int64_t minimum = 0;
  int64_t maximum = 0;
  int64_t step = 0;
  int64_t initial = 0;
  /// Choices of a menu: its value, and its name (or, for integer menus, its number as text).
  std::vector<std::pair<int64_t, std::string>> menu;
};

/// Returns every control with one number as its value (integer, boolean, menu, 64-bit, bit mask, button), in the
/// driver's order.
std::vector<Control> enumerateControls(const Device& device);

/// Reads or writes one control. @param wide for V4L2_CTRL_TYPE_INTEGER64
Status readControl(const Device& device, uint32_t id, bool wide, int64_t* value);
Status writeControl(const Device& device, uint32_t id, bool wide, int64_t value);

/// Writes the control with this name, as controlName of src/controls.ts writes it. kDeviceUnsuitable if it is absent.
Status writeNamedControl(const Device& device, const std::string& name, int64_t value);

}  // namespace v4l2camera

// SPDX-License-Identifier: Apache-2.0
// Control calls of V4L2: QUERY_EXT_CTRL, QUERYMENU, G_EXT_CTRLS and S_EXT_CTRLS.
#include "controls.h"

#include <cstring>

namespace v4l2camera {
namespace {

/// Bounds the loop for a driver that never ends its list.
constexpr int kMaxControls = 1024;
constexpr int64_t kMaxMenuEntries = 256;

/// "Sensor Mode" -> "sensor_mode".
std::string plainName(const std::string& name) {
  std::string plain;
  for (const char letter : name) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    const bool kept = upper || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (kept) plain += static_cast<char>(upper ? letter - 'A' + 'a' : letter);
    else if (!plain.empty() && plain.back() != '_') plain += '_';
  }
  while (!plain.empty() && plain.back() == '_') plain.pop_back();
  return plain;
}

bool hasOneNumber(const v4l2_query_ext_ctrl& query) {
  if (query.nr_of_dims != 0) return false;
  switch (query.type) {
    case V4L2_CTRL_TYPE_INTEGER:
    case V4L2_CTRL_TYPE_BOOLEAN:
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_BUTTON:
    case V4L2_CTRL_TYPE_INTEGER64:
    case V4L2_CTRL_TYPE_BITMASK:
    case V4L2_CTRL_TYPE_INTEGER_MENU: return true;
    default: return false;
  }
}

void enumerateMenu(const Device& device, Control* control) {
  for (int64_t index = control->minimum; index <= control->maximum && index < kMaxMenuEntries; ++index) {
    v4l2_querymenu entry{};
    entry.id = control->id;
    entry.index = static_cast<uint32_t>(index);
    // A menu may have holes, which the driver refuses.
    if (device.control(VIDIOC_QUERYMENU, &entry) < 0) continue;
    if (control->type == V4L2_CTRL_TYPE_INTEGER_MENU) {
      control->menu.emplace_back(index, std::to_string(static_cast<long long>(entry.value)));
    } else {
      const char* name = reinterpret_cast<const char*>(entry.name);
      control->menu.emplace_back(index, std::string(name, strnlen(name, sizeof entry.name)));
    }
  }
}

int exchange(const Device& device, unsigned long request, v4l2_ext_control* control) {
  v4l2_ext_controls list{};
  list.which = V4L2_CTRL_WHICH_CUR_VAL;
  list.count = 1;
  list.controls = control;
  return device.control(request, &list);
}

}  // namespace

std::vector<Control> enumerateControls(const Device& device) {
  std::vector<Control> controls;
  v4l2_query_ext_ctrl query{};
  query.id = V4L2_CTRL_FLAG_NEXT_CTRL;
  for (int count = 0; count < kMaxControls && device.control(VIDIOC_QUERY_EXT_CTRL, &query) >= 0; ++count) {
    if (hasOneNumber(query) && (query.flags & V4L2_CTRL_FLAG_DISABLED) == 0) {
      Control control;
      control.id = query.id;
      control.type = query.type;
      control.flags = query.flags;
      control.name.assign(query.name, strnlen(query.name, sizeof query.name));
      control.minimum = query.minimum;
      control.maximum = query.maximum;
      control.step = static_cast<int64_t>(query.step);
      control.initial = query.default_value;
      if (query.type == V4L2_CTRL_TYPE_MENU || query.type == V4L2_CTRL_TYPE_INTEGER_MENU) {
        enumerateMenu(device, &control);
      }
      controls.push_back(std::move(control));
    }
    const uint32_t next = query.id | V4L2_CTRL_FLAG_NEXT_CTRL;
    query = {};
    query.id = next;
  }
  return controls;
}

Status readControl(const Device& device, uint32_t id, bool wide, int64_t* value) {
  v4l2_ext_control control{};
  control.id = id;
  if (const int result = exchange(device, VIDIOC_G_EXT_CTRLS, &control); result < 0) {
    return device.failure("reading a control (VIDIOC_G_EXT_CTRLS)", result);
  }
  *value = wide ? control.value64 : control.value;
  return {};
}

Status writeControl(const Device& device, uint32_t id, bool wide, int64_t value) {
  v4l2_ext_control control{};
  control.id = id;
  if (wide) {
    control.value64 = value;
  } else {
    control.value = static_cast<int32_t>(value);
  }
  const int result = exchange(device, VIDIOC_S_EXT_CTRLS, &control);
  return result < 0 ? device.failure("setting a control (VIDIOC_S_EXT_CTRLS)", result) : Status{};
}

Status writeNamedControl(const Device& device, const std::string& name, int64_t value) {
  for (const Control& control : enumerateControls(device)) {
    if (plainName(control.name) != name) continue;
    const Status status = writeControl(device, control.id, control.type == V4L2_CTRL_TYPE_INTEGER64, value);
    if (status.ok()) return status;
    return Status::error(status.code, "%s (%s=%lld)", status.message, name.c_str(), static_cast<long long>(value));
  }
  return Status::error(Code::kDeviceUnsuitable, "%s: the camera has no control \"%s\".", device.path().c_str(),
                       name.c_str());
}

}  // namespace v4l2camera

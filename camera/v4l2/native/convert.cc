// SPDX-License-Identifier: Apache-2.0
// One function per structure; field names are those of src/native.ts.
#include "convert.h"

namespace v4l2camera {
namespace {

template <class Item, class Convert>
Napi::Array arrayFrom(Napi::Env env, const std::vector<Item>& items, Convert convert) {
  auto array = Napi::Array::New(env, items.size());
  for (size_t i = 0; i < items.size(); ++i) array.Set(static_cast<uint32_t>(i), convert(items[i]));
  return array;
}

Napi::Object sizeToJs(Napi::Env env, const SizeRange& range) {
  auto size = Napi::Object::New(env);
  size.Set("minWidth", range.minWidth);
  size.Set("maxWidth", range.maxWidth);
  size.Set("stepWidth", range.stepWidth);
  size.Set("minHeight", range.minHeight);
  size.Set("maxHeight", range.maxHeight);
  size.Set("stepHeight", range.stepHeight);
  size.Set("ratesHz", arrayFrom(env, range.ratesHz, [&](double hertz) { return Napi::Number::New(env, hertz); }));
  size.Set("rateRange", range.rateRange);
  return size;
}

const char* controlKind(uint32_t type) {
  switch (type) {
    case V4L2_CTRL_TYPE_BOOLEAN: return "boolean";
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_INTEGER_MENU: return "menu";
    case V4L2_CTRL_TYPE_BUTTON: return "button";
    case V4L2_CTRL_TYPE_BITMASK: return "bitmask";
    default: return "integer";
  }
}

Napi::Object controlToJs(Napi::Env env, const Control& control) {
  auto object = Napi::Object::New(env);
  object.Set("id", control.id);
  object.Set("name", control.name);
  object.Set("kind", controlKind(control.type));
  object.Set("wide", control.type == V4L2_CTRL_TYPE_INTEGER64);
  object.Set("readable", (control.flags & V4L2_CTRL_FLAG_WRITE_ONLY) == 0 && control.type != V4L2_CTRL_TYPE_BUTTON);
  object.Set("writable", (control.flags & V4L2_CTRL_FLAG_READ_ONLY) == 0);
  object.Set("inactive", (control.flags & V4L2_CTRL_FLAG_INACTIVE) != 0);
  object.Set("minimum", static_cast<double>(control.minimum));
  object.Set("maximum", static_cast<double>(control.maximum));
  object.Set("step", static_cast<double>(control.step));
  object.Set("initial", static_cast<double>(control.initial));
  object.Set("menu", arrayFrom(env, control.menu, [&](const auto& entry) {
               auto choice = Napi::Object::New(env);
               choice.Set("value", static_cast<double>(entry.first));
               choice.Set("name", entry.second);
               return choice;
             }));
  return object;
}

}  // namespace

Napi::Object toJs(Napi::Env env, const Identity& identity, const std::string& path) {
  auto object = Napi::Object::New(env);
  object.Set("path", path);
  object.Set("driver", identity.driver);
  object.Set("card", identity.card);
  object.Set("bus", identity.bus);
  object.Set("captures", identity.captures());
  object.Set("streams", identity.streams());
  object.Set("multiPlanar", identity.multiPlanar);
  return object;
}

Napi::Object toJs(Napi::Env env, const AgreedFormat& format) {
  auto object = Napi::Object::New(env);
  object.Set("fourcc", fourccText(format.fourcc));
  object.Set("width", format.width);
  object.Set("height", format.height);
  object.Set("strideBytes", format.planes[0].strideBytes);
  object.Set("imageBytes", format.planes[0].imageBytes);
  auto planes = Napi::Array::New(env, format.planeCount);
  for (uint32_t i = 0; i < format.planeCount; ++i) {
    auto plane = Napi::Object::New(env);
    plane.Set("strideBytes", format.planes[i].strideBytes);
    plane.Set("imageBytes", format.planes[i].imageBytes);
    planes.Set(i, plane);
  }
  object.Set("planes", planes);
  object.Set("rateHz", format.rateHz);
  return object;
}

Napi::Array toJs(Napi::Env env, const std::vector<OfferedFormat>& formats) {
  return arrayFrom(env, formats, [&](const OfferedFormat& format) {
    auto object = Napi::Object::New(env);
    object.Set("fourcc", fourccText(format.fourcc));
    object.Set("description", format.description);
    object.Set("compressed", format.compressed);
    object.Set("emulated", format.emulated);
    object.Set("sizes", arrayFrom(env, format.sizes, [&](const SizeRange& range) { return sizeToJs(env, range); }));
    return object;
  });
}

Napi::Array toJs(Napi::Env env, const std::vector<Control>& controls) {
  return arrayFrom(env, controls, [&](const Control& control) { return controlToJs(env, control); });
}

}  // namespace v4l2camera

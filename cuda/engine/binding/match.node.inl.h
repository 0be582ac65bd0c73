// SPDX-License-Identifier: Apache-2.0
// native.stages.match({variant: "reference" | any instruction set, algorithm, parameters?, width, height, minDisparity,
//   numDisparities, halfResolution?, leftRight?, threads?, left, right: Uint8Array, leftRgb?, rightRgb?: Uint8Array,
//   disparityQ4: Int16Array, confidence: Uint8Array}): runs any matcher of the registry, as the engine opens it for images of this
//   size and a search in their pixels. halfResolution only selects the defaults of its parameters. Colours are packed.
#include "../../match/registry.h"

#include "session_options.h"
#include "variant.h"

namespace depthwatt {
namespace {

bool readFlag(const Napi::Object& call, const char* name) {
  return !call.Get(name).IsUndefined() && readBoolean(call, name);
}

Napi::Value match(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  MatchTask task;
  task.width = readInteger(call, "width", 1, 32768);
  task.height = readInteger(call, "height", 1, 32768);
  task.search = {readInteger(call, "minDisparity", -kAnyInt, kAnyInt),
                 readInteger(call, "numDisparities", -kAnyInt, kAnyInt)};
  task.leftRight = readFlag(call, "leftRight");
  task.matcher = readMatcherChoice(call, readFlag(call, "halfResolution"));
  throwUnlessOk(info.Env(), checkMatcher(task.matcher, task.search, false));
  MatcherImages images{readImage<const uint8_t>(call, "left"), readImage<const uint8_t>(call, "right"), {}, {}};
  if (task.matcher.facts->images != ImagesNeeded::kGrey) {
    const size_t rowBytes = 3 * static_cast<size_t>(task.width);
    const auto colours = [&](const char* name) {
      const auto bytes = readImage<const uint8_t>(call, name, 3 * task.width, task.height, rowBytes);
      return packedView(reinterpret_cast<const Rgb8*>(bytes.data), task.width, task.height);
    };
    images.leftRgb = colours("leftRgb");
    if (task.leftRight || task.matcher.facts->images == ImagesNeeded::kGreyAndRgb)
      images.rightRgb = colours("rightRgb");
  }
  const MatcherResult result{
      readImage<int16_t>(call, "disparityQ4", task.width, task.height, 2 * static_cast<size_t>(task.width)),
      readImage<uint8_t>(call, "confidence", task.width, task.height, static_cast<size_t>(task.width))};
  if (variant.isReference) {
    throwUnlessOk(info.Env(), matchReference(task, images, result));
    return Napi::String::New(info.Env(), variant.name());
  }
  Workers workers(readInteger(call, "threads", 1, 64, 1));
  std::unique_ptr<CpuMatcher> matcher;
  throwUnlessOk(info.Env(), openCpuMatcher(task, variant.set, workers, &matcher));
  matcher->compute(images, result);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addMatch(Napi::Env env, Napi::Object stages) { stages.Set("match", Napi::Function::New(env, match, "match")); }

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// native.rooms.match({variant: "reference" | any instruction set, algorithm, parameters?, width, height, minDisparity,
//   numDisparities, halfResolution?, leftRight?, threads?, left, right: Uint8Array, leftRgb?, rightRgb?: Uint8Array,
//   disparityQ4: Int16Array, confidence: Uint8Array}): any matcher of the registry, as the engine opens it for images of this
//   size and a search in their pixels. halfResolution: only says which defaults its parameters have. Colours are packed.
// native.matchers() -> what the registry says of each.
#include "../../../match/registry.h"

#include "../../../simd/kernels.h"
#include "../../../../core/napi/errors.h"
#include "../session_options.h"

namespace depthwatt {
namespace {

bool flagOf(const Napi::Object& call, const char* name) {
  return !call.Get(name).IsUndefined() && booleanOf(call, name);
}

Napi::Value match(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Kernels* kernels = kernelsOf(call);
  MatchTask task;
  task.width = integerOf(call, "width", 1, 32768);
  task.height = integerOf(call, "height", 1, 32768);
  task.search = {integerOf(call, "minDisparity", -kAnyInt, kAnyInt),
                 integerOf(call, "numDisparities", -kAnyInt, kAnyInt)};
  task.leftRight = flagOf(call, "leftRight");
  task.matcher = matcherChoiceOf(call, flagOf(call, "halfResolution"));
  throwUnlessOk(info.Env(), checkMatcher(task.matcher, task.search, false));
  MatcherImages images{imageOf<const uint8_t>(call, "left"), imageOf<const uint8_t>(call, "right"), {}, {}};
  if (task.matcher.facts->images != ImagesNeeded::kGrey) {
    const size_t rowBytes = 3 * static_cast<size_t>(task.width);
    const auto colours = [&](const char* name) {
      const auto bytes = imageOf<const uint8_t>(call, name, 3 * task.width, task.height, rowBytes);
      return packedView(reinterpret_cast<const Rgb8*>(bytes.data), task.width, task.height);
    };
    images.leftRgb = colours("leftRgb");
    if (task.leftRight || task.matcher.facts->images == ImagesNeeded::kGreyAndRgb)
      images.rightRgb = colours("rightRgb");
  }
  const MatcherResult result{
      imageOf<int16_t>(call, "disparityQ4", task.width, task.height, 2 * static_cast<size_t>(task.width)),
      imageOf<uint8_t>(call, "confidence", task.width, task.height, static_cast<size_t>(task.width))};
  if (kernels == nullptr) {
    throwUnlessOk(info.Env(), matchReference(task, images, result));
    return Napi::String::New(info.Env(), "reference");
  }
  Workers workers(integerOf(call, "threads", 1, 64, 1));
  std::unique_ptr<CpuMatcher> matcher;
  throwUnlessOk(info.Env(), openCpuMatcher(task, *kernels, workers, &matcher));
  matcher->compute(images, result);
  return Napi::String::New(info.Env(), nameOf(kernels->instructionSet));
}

/// As matcher.ts of the matcher's folder has it.
Napi::Object describedParameter(Napi::Env env, const MatcherParameter& p) {
  auto object = Napi::Object::New(env);
  const auto choices = [&](bool numbers) {
    auto list = Napi::Array::New(env);
    const std::string text = p.choices;
    uint32_t count = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      const std::string one = text.substr(at, end - at);
      if (numbers) list.Set(count++, std::stoi(one));
      else list.Set(count++, one);
      at = end + 1;
    }
    return list;
  };
  object.Set("key", p.key);
  switch (p.kind) {
    case ParameterKind::kWhole:
      object.Set("kind", "whole");
      object.Set("low", p.low);
      object.Set("high", p.high);
      object.Set("default", p.fallback);
      if (p.fallbackAtHalf != p.fallback) object.Set("defaultAtHalf", p.fallbackAtHalf);
      break;
    case ParameterKind::kOneOf:
      object.Set("kind", "oneOf");
      object.Set("choices", choices(true));
      object.Set("default", p.fallback);
      break;
    case ParameterKind::kWord: {
      const Napi::Array words = choices(false);
      object.Set("kind", "word");
      object.Set("choices", words);
      object.Set("default", words.Get(static_cast<uint32_t>(p.fallback)));
      break;
    }
    case ParameterKind::kFlag:
      object.Set("kind", "flag");
      object.Set("default", p.fallback != 0);
      break;
  }
  if (*p.unit != '\0') object.Set("unit", p.unit);
  object.Set("description", p.description);
  return object;
}

Napi::Value matchers(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto list = Napi::Array::New(env);
  for (const MatcherFacts* facts : matcherFacts()) {
    auto object = Napi::Object::New(env);
    object.Set("name", facts->name);
    object.Set("description", facts->description);
    constexpr const char* kImages[] = {"grey", "grey and left rgb", "grey and rgb"};
    object.Set("images", kImages[static_cast<int>(facts->images)]);
    object.Set("halfByDefault", facts->halfByDefault);
    auto parameters = Napi::Array::New(env);
    for (int32_t i = 0; i < facts->parameterCount; ++i) {
      parameters.Set(static_cast<uint32_t>(i), describedParameter(env, facts->parameters[i]));
    }
    object.Set("parameters", parameters);
    auto steps = Napi::Array::New(env);
    for (int32_t i = 0; i < facts->ladder.count; ++i) {
      auto step = Napi::Object::New(env);
      step.Set("key", facts->ladder.steps[i].key);
      step.Set("value", facts->ladder.steps[i].value);
      steps.Set(static_cast<uint32_t>(i), step);
    }
    auto ladder = Napi::Object::New(env);
    ladder.Set("steps", steps);
    ladder.Set("atHalf", facts->ladder.atHalf);
    if (facts->ladder.workKey == nullptr) ladder.Set("workPerCell", facts->ladder.workPerCell);
    else ladder.Set("workPerCell", facts->ladder.workKey);
    object.Set("ladder", ladder);
    list.Set(list.Length(), object);
  }
  return list;
}

}  // namespace

void addMatch(Napi::Env env, Napi::Object rooms) { rooms.Set("match", Napi::Function::New(env, match, "match")); }

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Facts of matchers and stages for JavaScript; see facts.h.
#include "facts.h"

#include "../../match/registry.h"
#include "../stage_registry.h"
#include "session_options.h"

namespace depthwatt {
namespace {

Napi::Array choiceList(Napi::Env env, const Setting& setting) {
  auto list = Napi::Array::New(env);
  for (const std::string& choice : listChoices(setting)) {
    if (setting.kind == SettingKind::kOneOf) list.Set(list.Length(), std::stoi(choice));
    else list.Set(list.Length(), choice);
  }
  return list;
}

Napi::Value settingValue(Napi::Env env, const Setting& setting, int32_t stored) {
  if (stored == kAutomatic) return Napi::String::New(env, "auto");
  switch (setting.kind) {
    case SettingKind::kFlag: return Napi::Boolean::New(env, stored != 0);
    case SettingKind::kWord: return Napi::String::New(env, listChoices(setting)[static_cast<size_t>(stored)]);
    case SettingKind::kFraction: return Napi::Number::New(env, stored * (1.0 / setting.denominator));
    case SettingKind::kWhole:
    case SettingKind::kOneOf: break;
  }
  return Napi::Number::New(env, stored);
}

Napi::Object described(Napi::Env env, const Setting& setting) {
  constexpr const char* kKinds[] = {"whole", "fraction", "oneOf", "word", "flag"};
  auto object = Napi::Object::New(env);
  object.Set("key", setting.key);
  object.Set("kind", kKinds[static_cast<int>(setting.kind)]);
  if (setting.kind == SettingKind::kWhole || setting.kind == SettingKind::kFraction) {
    object.Set("low", setting.low * (1.0 / setting.denominator));
    object.Set("high", setting.high * (1.0 / setting.denominator));
  }
  if (setting.kind == SettingKind::kFraction && !setting.rounded) object.Set("step", 1.0 / setting.denominator);
  if (*setting.choices != '\0') object.Set("choices", choiceList(env, setting));
  if (setting.automatic) object.Set("automatic", true);
  object.Set("default", settingValue(env, setting, setting.fallback));
  if (setting.fallbackAtHalf != setting.fallback)
    object.Set("defaultAtHalf", settingValue(env, setting, setting.fallbackAtHalf));
  if (*setting.unit != '\0') object.Set("unit", setting.unit);
  if (!setting.live) object.Set("takesEffect", "restart");
  object.Set("description", setting.description);
  return object;
}

Napi::Array describedAll(Napi::Env env, const Setting* settings, int32_t count) {
  auto list = Napi::Array::New(env);
  for (int32_t i = 0; i < count; ++i) list.Set(list.Length(), described(env, settings[i]));
  return list;
}

Napi::Object describedLadder(Napi::Env env, const QualityLadder& facts) {
  auto steps = Napi::Array::New(env);
  for (int32_t i = 0; i < facts.count; ++i) {
    auto step = Napi::Object::New(env);
    step.Set("key", facts.steps[i].key);
    step.Set("value", facts.steps[i].value);
    steps.Set(steps.Length(), step);
  }
  auto ladder = Napi::Object::New(env);
  ladder.Set("steps", steps);
  ladder.Set("atHalf", facts.atHalf);
  if (facts.workKey == nullptr) ladder.Set("workPerCell", facts.workPerCell);
  else ladder.Set("workPerCell", facts.workKey);
  return ladder;
}

Napi::Value facts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  constexpr const char* kImages[] = {"grey", "grey and left rgb", "grey and rgb"};
  auto matchers = Napi::Array::New(env);
  for (const MatcherFacts* matcher : matcherFacts()) {
    auto object = Napi::Object::New(env);
    object.Set("name", matcher->name);
    object.Set("description", matcher->description);
    object.Set("images", kImages[static_cast<int>(matcher->images)]);
    object.Set("halfByDefault", matcher->halfByDefault);
    object.Set("parameters", describedAll(env, matcher->parameters, matcher->parameterCount));
    object.Set("ladder", describedLadder(env, matcher->ladder));
    matchers.Set(matchers.Length(), object);
  }
  auto stages = Napi::Array::New(env);
  for (int stage = 0; stage < kStageCount; ++stage) {
    const StageFacts& found = *stageFacts()[stage];
    auto object = Napi::Object::New(env);
    object.Set("name", found.name);
    object.Set("settings", describedAll(env, found.settings, found.settingCount));
    stages.Set(stages.Length(), object);
  }
  auto all = Napi::Object::New(env);
  all.Set("matchers", matchers);
  all.Set("stages", stages);
  return all;
}

Napi::Value brokenRule(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Object match = objectAt(info, 0, "the matching settings");
  const bool halfResolution = readBoolean(match, "halfResolution");
  const MatcherChoice choice = readMatcherChoice(match, halfResolution);
  const MatchSearch search = {readInteger(match, "minDisparity", -kAnyInt, kAnyInt),
                              readInteger(match, "numDisparities", -kAnyInt, kAnyInt)};
  const BrokenRule broken = findBrokenRule(choice, search, halfResolution);
  if (broken.empty()) return env.Null();
  auto keys = Napi::Array::New(env);
  for (const std::string& key : broken.keys) keys.Set(keys.Length(), key);
  auto result = Napi::Object::New(env);
  result.Set("keys", keys);
  result.Set("text", broken.text);
  return result;
}

Napi::Value chooseSearchFor(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Object match = objectAt(info, 0, "the matching settings"), place = objectAt(info, 1, "the images"),
                     device = objectAt(info, 2, "the device");
  const bool halfResolution = readBoolean(match, "halfResolution");
  const auto matched = [&](int32_t value) { return halfResolution ? (value + 1) / 2 : value; };
  MatchTask task;
  task.matcher = readMatcherChoice(match, halfResolution);
  task.width = matched(readInteger(place, "width", 1, 32768));
  task.height = matched(readInteger(place, "height", 1, 32768));
  const int32_t first = readInteger(match, "minDisparity", 0, kMaxDisparity);
  const int32_t end = first + readInteger(match, "numDisparities", 1, kMaxNumDisparities);
  task.search = {matched(first), matched(end) - matched(first)};
  const SearchChoice search =
      chooseSearch(&task, {readString(device, "instructionSet"), readInteger(device, "multiprocessors", 0, 1 << 16)});
  if (search.name.empty()) return env.Null();
  auto result = Napi::Object::New(env);
  result.Set("chosen", search.name);
  result.Set("reason", search.reason);
  return result;
}

}  // namespace

void addFacts(Napi::Env env, Napi::Object exports) {
  exports.Set("facts", Napi::Function::New(env, facts, "facts"));
  exports.Set("brokenRule", Napi::Function::New(env, brokenRule, "brokenRule"));
  exports.Set("chooseSearch", Napi::Function::New(env, chooseSearchFor, "chooseSearch"));
}

}  // namespace depthwatt

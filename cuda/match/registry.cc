// SPDX-License-Identifier: Apache-2.0
// The matchers of matchers.h on the CPU, and what is the same for the parameters of all of them; see registry.h.
#include "registry.h"

#include <cmath>
#include <cstring>
#include <new>

#include "matchers.h"

namespace depthwatt {

#define DEPTHWATT_DECLARE(name, Name)                                                                 \
  const MatcherFacts& name##Facts();                                                                  \
  Status open##Name##OnCpu(const MatchTask&, const Kernels&, Workers&, std::unique_ptr<CpuMatcher>*); \
  [[gnu::weak]] void match##Name##Reference(const MatchTask&, const MatcherImages&, const MatcherResult&);
DEPTHWATT_MATCHERS(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

namespace {

struct Entry {
  const MatcherFacts& (*facts)();
  Status (*open)(const MatchTask&, const Kernels&, Workers&, std::unique_ptr<CpuMatcher>*);
  void (*reference)(const MatchTask&, const MatcherImages&, const MatcherResult&);
};

#define DEPTHWATT_ENTRY(name, Name) {name##Facts, open##Name##OnCpu, match##Name##Reference},
const Entry kEntries[] = {DEPTHWATT_MATCHERS(DEPTHWATT_ENTRY)};
#undef DEPTHWATT_ENTRY

/// Null where the facts come from somewhere else.
const Entry* entryOf(const MatchTask& task) {
  for (const Entry& entry : kEntries) {
    if (&entry.facts() == task.matcher.facts) return &entry;
  }
  return nullptr;
}

Status unknownMatcher() { return Status::error(Code::kParameter, "Expected a matcher of the registry."); }

std::vector<std::string> choicesOf(const MatcherParameter& parameter) {
  std::vector<std::string> choices;
  const char* at = parameter.choices;
  while (*at != '\0') {
    const size_t length = std::strcspn(at, " ");
    choices.emplace_back(at, length);
    at += length + (at[length] == ' ' ? 1 : 0);
  }
  return choices;
}

/// "a, b or c".
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

std::string expectationOf(const MatcherParameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kWhole:
      return "a whole number of " + std::to_string(parameter.low) + " to " + std::to_string(parameter.high);
    case ParameterKind::kFlag: return "true or false";
    case ParameterKind::kOneOf:
    case ParameterKind::kWord: break;
  }
  return listed(choicesOf(parameter));
}

std::string shown(const GivenValue& value) {
  if (value.kind == GivenValue::kFlag) return value.flag ? "true" : "false";
  if (value.kind == GivenValue::kWord) return "'" + value.word.substr(0, 40) + "'";
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value.number);
  return text;
}

/// The value as the number that stands for it; false where the parameter has no such value.
bool read(const MatcherParameter& parameter, const GivenValue& value, int32_t* number) {
  if (parameter.kind == ParameterKind::kFlag) {
    *number = value.flag ? 1 : 0;
    return value.kind == GivenValue::kFlag;
  }
  if (parameter.kind == ParameterKind::kWord) {
    const std::vector<std::string> words = choicesOf(parameter);
    for (size_t i = 0; i < words.size(); ++i) {
      *number = static_cast<int32_t>(i);
      if (value.kind == GivenValue::kWord && words[i] == value.word) return true;
    }
    return false;
  }
  if (value.kind != GivenValue::kNumber || value.number != std::floor(value.number) || std::fabs(value.number) > 1e9)
    return false;
  *number = static_cast<int32_t>(value.number);
  if (parameter.kind == ParameterKind::kWhole) return *number >= parameter.low && *number <= parameter.high;
  for (const std::string& choice : choicesOf(parameter)) {
    if (choice == std::to_string(*number)) return true;
  }
  return false;
}

}  // namespace

const std::vector<const MatcherFacts*>& matcherFacts() {
  static const std::vector<const MatcherFacts*> all = [] {
    std::vector<const MatcherFacts*> facts;
    for (const Entry& entry : kEntries) facts.push_back(&entry.facts());
    return facts;
  }();
  return all;
}

Status findMatcher(const std::string& name, const MatcherFacts** found) {
  std::vector<std::string> names;
  for (const MatcherFacts* facts : matcherFacts()) {
    names.emplace_back(facts->name);
    if (name != facts->name) continue;
    *found = facts;
    return {};
  }
  return Status::error(Code::kParameter, "Expected %s for match.algorithm, got '%.40s'.", listed(names).c_str(),
                       name.c_str());
}

MatcherChoice withDefaults(const MatcherFacts& facts, bool halfResolution) {
  MatcherChoice choice;
  choice.facts = &facts;
  for (int32_t i = 0; i < facts.parameterCount; ++i) {
    const MatcherParameter& parameter = facts.parameters[i];
    choice.values.push_back(halfResolution ? parameter.fallbackAtHalf : parameter.fallback);
  }
  return choice;
}

Status setParameter(MatcherChoice* choice, const std::string& key, const GivenValue& value) {
  const MatcherFacts& facts = *choice->facts;
  std::vector<std::string> keys;
  for (int32_t i = 0; i < facts.parameterCount; ++i) {
    const MatcherParameter& parameter = facts.parameters[i];
    keys.emplace_back(parameter.key);
    if (key != parameter.key) continue;
    if (read(parameter, value, &choice->values[static_cast<size_t>(i)])) return {};
    return Status::error(Code::kParameter, "Expected %s for match.%s.%s, got %s.", expectationOf(parameter).c_str(),
                         facts.name, parameter.key, shown(value).c_str());
  }
  return Status::error(Code::kParameter, "Expected a parameter of %s (%s), got match.%s.%.40s.", facts.name,
                       listed(keys).c_str(), facts.name, key.c_str());
}

Status checkMatcher(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution) {
  if (search.numDisparities < kMinNumDisparities || search.numDisparities > kMaxNumDisparities) {
    return Status::error(Code::kParameter, "Expected match.numDisparities of %d to %d, got %d.", kMinNumDisparities,
                         kMaxNumDisparities, search.numDisparities);
  }
  if (search.minDisparity < 0 || search.minDisparity > kMaxDisparity - search.numDisparities) {
    return Status::error(Code::kParameter,
                         "Expected match.minDisparity of 0 to %d beside match.numDisparities of %d, got %d.",
                         kMaxDisparity - search.numDisparities, search.numDisparities, search.minDisparity);
  }
  return choice.facts->check == nullptr ? Status() : choice.facts->check(choice, search, halfResolution);
}

Status openCpuMatcher(const MatchTask& task, const Kernels& kernels, Workers& workers,
                      std::unique_ptr<CpuMatcher>* opened) {
  const Entry* const entry = entryOf(task);
  if (entry == nullptr) return unknownMatcher();
  try {
    return entry->open(task, kernels, workers, opened);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected memory for %s at %dx%d with %d disparities, the allocation failed.",
                         task.matcher.facts->name, task.width, task.height, task.search.numDisparities);
  }
}

Status matchReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  const Entry* const entry = entryOf(task);
  if (entry == nullptr) return unknownMatcher();
  if (entry->reference == nullptr) {
    return Status::error(Code::kBackendUnavailable, "Expected a matcher that has a reference, %s has none.",
                         task.matcher.facts->name);
  }
  entry->reference(task, images, result);
  return {};
}

}  // namespace depthwatt

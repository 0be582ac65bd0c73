// SPDX-License-Identifier: Apache-2.0
// The CPU matchers of matchers.h, and what all of them do with parameters; see registry.h.
#include "registry.h"

#include <new>

#include "matchers.h"

namespace depthwatt {

#define DEPTHWATT_DECLARE(name, Name)                                                                 \
  const MatcherFacts& name##Facts();                                                                  \
  Status open##Name##OnCpu(const MatchTask&, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>*); \
  [[gnu::weak]] void match##Name##Reference(const MatchTask&, const MatcherImages&, const MatcherResult&);
DEPTHWATT_MATCHERS(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

namespace {

struct Entry {
  const MatcherFacts& (*facts)();
  Status (*open)(const MatchTask&, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>*);
  void (*reference)(const MatchTask&, const MatcherImages&, const MatcherResult&);
};

#define DEPTHWATT_ENTRY(name, Name) {name##Facts, open##Name##OnCpu, match##Name##Reference},
const Entry kEntries[] = {DEPTHWATT_MATCHERS(DEPTHWATT_ENTRY)};
#undef DEPTHWATT_ENTRY

/// Returns null if the facts are not a registered matcher's.
const Entry* findEntry(const MatchTask& task) {
  for (const Entry& entry : kEntries) {
    if (&entry.facts() == task.matcher.facts) return &entry;
  }
  return nullptr;
}

Status unknownMatcher() { return Status::error(Code::kParameter, "Expected a matcher of the registry."); }

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
    const Setting& parameter = facts.parameters[i];
    choice.values.push_back(halfResolution ? parameter.fallbackAtHalf : parameter.fallback);
  }
  return choice;
}

Status setParameter(MatcherChoice* choice, const std::string& key, const GivenValue& value) {
  const MatcherFacts& facts = *choice->facts;
  std::vector<std::string> keys;
  for (int32_t i = 0; i < facts.parameterCount; ++i) {
    const Setting& parameter = facts.parameters[i];
    keys.emplace_back(parameter.key);
    if (key != parameter.key) continue;
    return readSetting(parameter, std::string("match.") + facts.name + "." + key, value,
                       &choice->values[static_cast<size_t>(i)]);
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
                         "Expected match.minDisparity of 0 to %d with match.numDisparities of %d, got %d.",
                         kMaxDisparity - search.numDisparities, search.numDisparities, search.minDisparity);
  }
  const BrokenRule broken = findBrokenRule(choice, search, halfResolution);
  if (broken.empty()) return {};
  return Status::error(Code::kParameter, "%s: %s.", broken.keys[0].c_str(), broken.text.c_str());
}

BrokenRule findBrokenRule(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution) {
  return choice.facts->check == nullptr ? BrokenRule() : choice.facts->check(choice, search, halfResolution);
}

Status openCpuMatcher(const MatchTask& task, InstructionSet set, Workers& workers,
                      std::unique_ptr<CpuMatcher>* opened) {
  const Entry* const entry = findEntry(task);
  if (entry == nullptr) return unknownMatcher();
  try {
    return entry->open(task, set, workers, opened);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected memory for %s at %dx%d with %d disparities, the allocation failed.",
                         task.matcher.facts->name, task.width, task.height, task.search.numDisparities);
  }
}

Status matchReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  const Entry* const entry = findEntry(task);
  if (entry == nullptr) return unknownMatcher();
  if (entry->reference == nullptr) {
    return Status::error(Code::kBackendUnavailable, "Expected a matcher that has a reference, %s has none.",
                         task.matcher.facts->name);
  }
  entry->reference(task, images, result);
  return {};
}

}  // namespace depthwatt

// SPDX-License-Identifier: Apache-2.0
// Collects the facts of all stages, and their settings; see stage_registry.h.
#include "stage_registry.h"

namespace depthwatt {

#define DEPTHWATT_DECLARE(name, Name) const StageFacts& name##Facts();
DEPTHWATT_STAGES(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

const StageFacts* const* stageFacts() {
#define DEPTHWATT_FACTS(name, Name) &name##Facts(),
  static const StageFacts* const all[] = {DEPTHWATT_STAGES(DEPTHWATT_FACTS)};
#undef DEPTHWATT_FACTS
  return all;
}

StageSettings defaultStageSettings(bool halfResolution) {
  StageSettings settings;
  settings.stages = stageFacts();
  for (int stage = 0; stage < kStageCount; ++stage) {
    const StageFacts& facts = *settings.stages[stage];
    for (int32_t i = 0; i < facts.settingCount; ++i) {
      settings.keys.push_back(facts.settings[i].key);
      settings.values.push_back(halfResolution ? facts.settings[i].fallbackAtHalf : facts.settings[i].fallback);
    }
  }
  return settings;
}

Status setStageSetting(StageSettings* settings, const std::string& key, const GivenValue& value) {
  size_t place = 0;
  for (int stage = 0; stage < kStageCount; ++stage) {
    const StageFacts& facts = *settings->stages[stage];
    for (int32_t i = 0; i < facts.settingCount; ++i, ++place) {
      if (key == facts.settings[i].key) return readSetting(facts.settings[i], key, value, &settings->values[place]);
    }
  }
  return Status::error(Code::kParameter, "Expected a setting of a stage, got %.60s.", key.c_str());
}

Status checkStages(const EngineParameters& parameters) {
  for (int stage = 0; stage < kStageCount; ++stage) {
    const StageFacts& facts = *parameters.settings.stages[stage];
    const Status status = facts.check == nullptr ? Status() : facts.check(parameters);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace depthwatt

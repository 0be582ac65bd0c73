// SPDX-License-Identifier: Apache-2.0
// The stages of stages.h by their facts. Nothing else knows which there are.
#pragma once

#include "../setting_value.h"
#include "../stage.h"

namespace depthwatt {

/// kStageCount of them.
const StageFacts* const* stageFacts();

/// Every setting with its default.
StageSettings defaultStageSettings(bool halfResolution);

/// kParameter: names the setting, what it accepts and what was given; or says that no stage has it.
Status setStageSetting(StageSettings* settings, const std::string& key, const GivenValue& value);

/// The stages' own rules.
Status checkStages(const EngineParameters& parameters);

}  // namespace depthwatt

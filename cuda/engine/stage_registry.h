// SPDX-License-Identifier: Apache-2.0
// Access to the stages of stages.h through their facts.
#pragma once

#include "../setting_value.h"
#include "../stage.h"

namespace depthwatt {

/// Returns kStageCount facts.
const StageFacts* const* stageFacts();

/// Returns every setting with its default.
StageSettings defaultStageSettings(bool halfResolution);

/// Sets one value. kParameter names the setting, the accepted values and the given one, or reports that no stage has
/// it.
Status setStageSetting(StageSettings* settings, const std::string& key, const GivenValue& value);

/// Checks the rules of each stage.
Status checkStages(const EngineParameters& parameters);

}  // namespace depthwatt

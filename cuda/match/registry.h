// SPDX-License-Identifier: Apache-2.0
// Asks for a matcher by name. Nothing outside a matcher's folder knows which there are.
#pragma once

#include <string>

#include "../setting_value.h"
#include "matcher.h"

namespace depthwatt {

/// In the order of matchers.h.
const std::vector<const MatcherFacts*>& matcherFacts();

/// kParameter with the names there are where there is none of this name.
Status findMatcher(const std::string& name, const MatcherFacts** found);

/// The matcher with each parameter's default.
MatcherChoice withDefaults(const MatcherFacts& facts, bool halfResolution);

/// kParameter that names match.<matcher>.<key>, what was expected and what came.
Status setParameter(MatcherChoice* choice, const std::string& key, const GivenValue& value);

/// Values against their ranges, the search against what disparityQ4 holds, then the matcher's own rules.
Status checkMatcher(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);

/// The matcher's own rules alone: the first that its values break.
BrokenRule brokenRuleOf(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);

Status openCpuMatcher(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened);

/// The definition; kBackendUnavailable where the matcher has none.
Status matchReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result);

}  // namespace depthwatt

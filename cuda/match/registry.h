// SPDX-License-Identifier: Apache-2.0
// Finds matchers by name. Code outside a matcher's folder uses only this.
#pragma once

#include <string>

#include "../setting_value.h"
#include "matcher.h"

namespace depthwatt {

/// Returns the facts of all matchers, in the order of matchers.h.
const std::vector<const MatcherFacts*>& matcherFacts();

/// Finds a matcher. kParameter lists the existing names if there is none.
Status findMatcher(const std::string& name, const MatcherFacts** found);

/// Returns the matcher with each parameter's default.
MatcherChoice withDefaults(const MatcherFacts& facts, bool halfResolution);

/// Sets a parameter. kParameter names match.<matcher>.<key>, the accepted values and the given one.
Status setParameter(MatcherChoice* choice, const std::string& key, const GivenValue& value);

/// Checks values against their ranges, the search against what disparityQ4 holds, then the matcher's own rules.
Status checkMatcher(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);

/// Returns the first of the matcher's own rules that its values break.
BrokenRule findBrokenRule(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);

Status openCpuMatcher(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened);

/// Runs the definition. kBackendUnavailable if the matcher has none.
Status matchReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result);

}  // namespace depthwatt

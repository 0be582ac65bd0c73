// SPDX-License-Identifier: Apache-2.0
// Parses a user's value for a setting, by the facts of the setting.
#pragma once

#include <string>
#include <vector>

#include "../core/status.h"
#include "setting.h"

namespace depthwatt {

/// A value as the user gave it, before its setting is looked up.
struct GivenValue {
  enum { kNumber, kWord, kFlag } kind = kNumber;
  double number = 0;
  std::string word;
  bool flag = false;
};

/// Returns the words or numbers of kOneOf and kWord.
std::vector<std::string> listChoices(const Setting& setting);

/// Returns "a, b or c".
std::string listed(const std::vector<std::string>& words);

/// Stores the number that represents the value. kParameter names the setting as `key`, the accepted values and the
/// given one.
Status readSetting(const Setting& setting, const std::string& key, const GivenValue& value, int32_t* stored);

}  // namespace depthwatt

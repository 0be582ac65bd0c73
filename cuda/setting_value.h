// SPDX-License-Identifier: Apache-2.0
// Reads a value that somebody gave for a setting, against the facts of the setting.
#pragma once

#include <string>
#include <vector>

#include "../core/status.h"
#include "setting.h"

namespace depthwatt {

/// A value as it was given, before its setting is looked up.
struct GivenValue {
  enum { kNumber, kWord, kFlag } kind = kNumber;
  double number = 0;
  std::string word;
  bool flag = false;
};

/// The words or numbers of kOneOf and kWord.
std::vector<std::string> choicesOf(const Setting& setting);

/// "a, b or c".
std::string listed(const std::vector<std::string>& words);

/// Stores the value as the number that stands for it. kParameter: names the setting as `key`, what it accepts and what was given.
Status readSetting(const Setting& setting, const std::string& key, const GivenValue& value, int32_t* stored);

}  // namespace depthwatt

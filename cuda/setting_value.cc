// SPDX-License-Identifier: Apache-2.0
// Checks values against the facts of their settings; see setting_value.h.
#include "setting_value.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace depthwatt {
namespace {

std::string numberText(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}

std::string expectedText(const Setting& setting) {
  const std::string automatic = setting.automatic ? "auto or " : "";
  const double one = 1.0 / setting.denominator;
  const std::string range = numberText(setting.low * one) + " to " + numberText(setting.high * one);
  switch (setting.kind) {
    case SettingKind::kWhole: return automatic + "a whole number of " + range;
    case SettingKind::kFraction:
      return automatic + (setting.rounded ? "a number of " : "a multiple of " + numberText(one) + " from ") + range;
    case SettingKind::kFlag: return automatic + "true or false";
    case SettingKind::kOneOf:
    case SettingKind::kWord: break;
  }
  return automatic + listed(listChoices(setting));
}

std::string shown(const GivenValue& value) {
  if (value.kind == GivenValue::kFlag) return value.flag ? "true" : "false";
  return value.kind == GivenValue::kWord ? "'" + value.word.substr(0, 40) + "'" : numberText(value.number);
}

/// Returns false if the setting does not accept the value.
bool read(const Setting& setting, const GivenValue& value, int32_t* stored) {
  if (setting.automatic && value.kind == GivenValue::kWord && value.word == "auto") {
    *stored = kAutomatic;
    return true;
  }
  const std::vector<std::string> choices = listChoices(setting);
  switch (setting.kind) {
    case SettingKind::kFlag: *stored = value.flag ? 1 : 0; return value.kind == GivenValue::kFlag;
    case SettingKind::kWord:
      for (size_t i = 0; i < choices.size(); ++i) {
        *stored = static_cast<int32_t>(i);
        if (value.kind == GivenValue::kWord && choices[i] == value.word) return true;
      }
      return false;
    case SettingKind::kWhole:
    case SettingKind::kFraction:
    case SettingKind::kOneOf: break;
  }
  // Written so that NaN is rejected.
  if (value.kind != GivenValue::kNumber || !(std::fabs(value.number) <= 1e9)) return false;
  const double exact = value.number * setting.denominator, whole = std::round(exact);
  if (!setting.rounded && whole != exact) return false;
  if (!(std::fabs(whole) <= 1e9)) return false;
  *stored = static_cast<int32_t>(whole);
  if (setting.kind != SettingKind::kOneOf) return *stored >= setting.low && *stored <= setting.high;
  for (const std::string& choice : choices) {
    if (choice == std::to_string(*stored)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> listChoices(const Setting& setting) {
  std::vector<std::string> choices;
  for (const char* at = setting.choices; *at != '\0';) {
    const size_t length = std::strcspn(at, " ");
    choices.emplace_back(at, length);
    at += length + (at[length] == ' ' ? 1 : 0);
  }
  return choices;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

Status readSetting(const Setting& setting, const std::string& key, const GivenValue& value, int32_t* stored) {
  if (read(setting, value, stored)) return {};
  return Status::error(Code::kParameter, "Expected %s for %s, got %s.", expectedText(setting).c_str(), key.c_str(),
                       shown(value).c_str());
}

}  // namespace depthwatt

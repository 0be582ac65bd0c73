// SPDX-License-Identifier: Apache-2.0
// A setting of a matcher or a stage: its name, type, range, default, unit and description. These facts are written once, here in
// C++; cuda/facts.ts is generated from them. Plain C++14: nvcc reads it too.
#pragma once

#include <cstdint>

namespace depthwatt {

/// How a value is stored as a number: itself; a multiple of 1 / denominator; the word's index among the choices; 0 or 1.
enum class SettingKind { kWhole, kFraction, kOneOf, kWord, kFlag };

/// How half resolution changes a value: not at all; a length, ceil(v / 2); an area, ceil(v / 4).
enum class AtHalf { kSame, kLength, kArea };

/// The stored value of "auto".
constexpr int32_t kAutomatic = INT32_MIN + 1;
/// What a lookup returns for a key that does not exist. No setting accepts it.
constexpr int32_t kNoSuchSetting = INT32_MIN;

struct Setting {
  const char* key = "";  ///< of a matcher: "p1" for match.sgm.p1; of a stage: dotted, "refine.rounds"
  SettingKind kind = SettingKind::kFlag;
  int32_t low = 0, high = 0;  ///< kWhole, kFraction: in stored units
  int32_t denominator = 1;    ///< kFraction
  bool rounded = false;       ///< kFraction: other values are rounded, not refused
  const char* choices = "";   ///< kOneOf: whole numbers, kWord: words; separated by blanks
  int32_t fallback = 0;       ///< the stored default
  int32_t fallbackAtHalf = 0;
  const char* unit = "";  ///< "" for none
  const char* description = "";
  AtHalf atHalf = AtHalf::kSame;
  bool automatic = false;  ///< "auto" is a value too
  bool live = true;        ///< a change takes effect on a running program

  constexpr Setting restart() const {
    Setting changed = *this;
    changed.live = false;
    return changed;
  }
  constexpr Setting length() const {
    Setting changed = *this;
    changed.atHalf = AtHalf::kLength;
    return changed;
  }
  constexpr Setting area() const {
    Setting changed = *this;
    changed.atHalf = AtHalf::kArea;
    return changed;
  }
  /// Accepts "auto" too, which becomes the default.
  constexpr Setting orAuto() const {
    Setting changed = *this;
    changed.automatic = true;
    changed.fallback = changed.fallbackAtHalf = kAutomatic;
    return changed;
  }
};

constexpr Setting wholeByResolution(const char* key, int32_t low, int32_t high, int32_t atFull, int32_t atHalf,
                                    const char* unit, const char* description) {
  Setting setting;
  setting.key = key;
  setting.kind = SettingKind::kWhole;
  setting.low = low;
  setting.high = high;
  setting.fallback = atFull;
  setting.fallbackAtHalf = atHalf;
  setting.unit = unit;
  setting.description = description;
  return setting;
}
constexpr Setting wholeNumber(const char* key, int32_t low, int32_t high, int32_t fallback, const char* unit,
                              const char* description) {
  return wholeByResolution(key, low, high, fallback, fallback, unit, description);
}
/// low, high and fallback in stored units of 1 / denominator.
constexpr Setting fraction(const char* key, int32_t denominator, bool rounded, int32_t low, int32_t high,
                           int32_t fallback, const char* unit, const char* description) {
  Setting setting = wholeNumber(key, low, high, fallback, unit, description);
  setting.kind = SettingKind::kFraction;
  setting.denominator = denominator;
  setting.rounded = rounded;
  return setting;
}
constexpr Setting oneOf(const char* key, const char* numbers, int32_t fallback, const char* unit,
                        const char* description) {
  Setting setting = wholeNumber(key, 0, 0, fallback, unit, description);
  setting.kind = SettingKind::kOneOf;
  setting.choices = numbers;
  return setting;
}
/// The first word is the default.
constexpr Setting word(const char* key, const char* words, const char* description) {
  Setting setting = oneOf(key, words, 0, "", description);
  setting.kind = SettingKind::kWord;
  return setting;
}
constexpr Setting flag(const char* key, bool fallback, const char* description) {
  Setting setting = wholeNumber(key, 0, 1, fallback ? 1 : 0, "", description);
  setting.kind = SettingKind::kFlag;
  return setting;
}

}  // namespace depthwatt

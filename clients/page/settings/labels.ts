// SPDX-License-Identifier: Apache-2.0
// Names of settings and of their groups in words, made of their keys.
import { S } from "../strings.js";

const T = S.settings;

const capital = (text: string) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;

/** Words of a name such as maxCorrectionDegrees; "P1" and "armX" keep their capital. */
function splitWords(name: string): string[] {
  return name
    .replace(/([a-z])([A-Z0-9])/g, "$1 $2")
    .split(" ")
    .map((word) => (/^[A-Z]\d*$/.test(word) ? word : word.toLowerCase()));
}

/** Returns "Maximum correction (degrees)" for health.maxCorrectionDegrees with the unit degrees. */
export function settingLabel(key: string, unit: string | undefined): string {
  const names = splitWords(key.slice(key.lastIndexOf(".") + 1));
  const isUnit = (word: string) => unit !== undefined && UNIT_WORDS[word] === unit;
  const last = names.at(-1);
  if (names.length > 1 && last !== undefined && isUnit(last)) names.pop();
  const words = names.map((name) => T.words[name] ?? name).filter(Boolean);
  return `${capital(words.join(" "))}${unit === undefined ? "" : ` (${unit})`}`;
}

const UNIT_WORDS: Record<string, string> = {
  degrees: "degrees",
  metres: "m",
  seconds: "s",
  percent: "%",
  watts: "W",
  thousandths: "1/1000",
};

/** Returns "MQTT: depth" for the group outputs.mqtt.depth. */
export function groupLabel(group: string): string {
  const known = T.groups[group];
  if (known !== undefined) return known;
  const dot = group.lastIndexOf(".");
  const name = group.slice(dot + 1);
  const parent = group.slice(0, Math.max(0, dot));
  if (parent === "match") return T.matcherGroup(name);
  const words = splitWords(name).join(" ");
  return parent === "" ? capital(words) : `${groupLabel(parent)}: ${words}`;
}

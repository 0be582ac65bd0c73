// SPDX-License-Identifier: Apache-2.0
// Reads a moment as people give it: a duration before now, or a date.
import { DepthwattError } from "../../../core/index.js";

const SECONDS: Record<string, number> = {
  s: 1,
  sec: 1,
  m: 60,
  min: 60,
  h: 3600,
  hour: 3600,
  d: 86_400,
  day: 86_400,
};
const LONG_NAMES: Record<string, string> = { second: "s", minute: "min" };

/**
 * @param text "2 hours", "30 min ago", "1d", or a date that JavaScript parses (local time without a zone)
 * @throws DepthwattError USAGE
 */
export function sinceMoment(text: string, now: Date): Date {
  const [, count, word = ""] = /^\s*(\d+(?:\.\d+)?)\s*(s|[a-z]+?)s?(?:\s+ago)?\s*$/i.exec(text) ?? [];
  const unit = word.toLowerCase();
  const seconds = SECONDS[LONG_NAMES[unit] ?? unit];
  if (count !== undefined && seconds !== undefined)
    return new Date(now.getTime() - Number(count) * seconds * 1000);
  const ms = count === undefined ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new DepthwattError("USAGE", `expected a duration or a date after --since, got '${text}'`, {
      hint: "Such as '2 hours', '30 min', '1 day', or 2026-01-31T08:00.",
    });
  return new Date(ms);
}

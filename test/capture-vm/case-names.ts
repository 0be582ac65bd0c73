// SPDX-License-Identifier: Apache-2.0
// The names of a group's cases, read from its file: running that file needs the cameras that only the guest has.
import { readFileSync } from "node:fs";

/** Each case is a property of the exported object, its name in quotes at the first level of indentation. */
export function caseNames(group: string): string[] {
  const file = new URL(`guest/${group === "bad-days" ? "bad-day" : group}-cases.mjs`, import.meta.url);
  const names = [...readFileSync(file, "utf8").matchAll(/^ {2}"([^"]+)":/gm)].map((match) => match[1]!);
  if (names.length === 0) throw new Error(`${file.pathname} holds no case`);
  return names;
}

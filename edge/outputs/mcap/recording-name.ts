// SPDX-License-Identifier: Apache-2.0
// Names of a recording's files.
import { extname } from "node:path";

/** "out-{time}.mcap" and part 2 become "out-20261122T180507Z-0002.mcap". */
export function recordingName(pattern: string, date: Date, part: number | undefined): string {
  const time = date.toISOString().replace(/[-:]|\.\d+/g, "");
  const name = pattern.replaceAll("{time}", time);
  if (part === undefined) return name;
  const ending = extname(name);
  return `${name.slice(0, name.length - ending.length)}-${String(part).padStart(4, "0")}${ending}`;
}

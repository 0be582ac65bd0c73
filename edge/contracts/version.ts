// SPDX-License-Identifier: Apache-2.0
// The version, from the one place that states it: package.json, of which the build leaves an extract in dist.
import { readFileSync } from "node:fs";

export const VERSION: string = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version;

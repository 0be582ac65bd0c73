// SPDX-License-Identifier: Apache-2.0
// Detects a depthwatt from a Debian package, which then owns user, units and udev rule.
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** As the unit starts it. */
export const mainScript = (): string =>
  realpathSync(fileURLToPath(new URL("../cli/main.js", import.meta.url)));

/** Where the Debian package has its program, and dpkg its list of files. */
export const isPackaged = (script = mainScript()): boolean =>
  script.startsWith("/usr/lib/depthwatt/") && existsSync("/var/lib/dpkg/info/depthwatt.list");

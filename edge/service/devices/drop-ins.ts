// SPDX-License-Identifier: Apache-2.0
// The drop-ins with the rules of this board's GPU nodes. They are in /run: a read-only root works, and
// a reboot removes old rules.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Every pair's unit has the same rules. */
export const DROP_INS = ["depthwatt", "depthwatt@"].map(
  (unit) => `/run/systemd/system/${unit}.service.d/devices.conf`,
);

/**
 * Writes the drop-ins, or removes them without a text.
 * @returns whether one has changed
 */
export function renewDropIns(text: string | undefined, root = "/"): boolean {
  let changed = false;
  for (const path of DROP_INS.map((name) => join(root, name))) {
    const present = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    if (present === text) continue;
    changed = true;
    if (text === undefined) rmSync(path);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }
  return changed;
}

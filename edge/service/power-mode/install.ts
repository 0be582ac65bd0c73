// SPDX-License-Identifier: Apache-2.0
// The steps that let the service change power modes, and those that forbid it again.
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DepthwattError, packageRoot } from "../../../core/index.js";
import type { Step } from "../steps.js";

export const SOCKET_UNIT = "depthwatt-power-mode.socket";
const REQUEST_UNIT = "depthwatt-power-mode@.service";
const FOLDER = "/etc/systemd/system";

/** The shipped units, the second with this machine's paths. */
export function unitTexts(node: string, helper: string): Record<string, string> {
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
  if (![node, helper].every((path) => /^[\w./@+-]+$/.test(path))) {
    throw new DepthwattError(
      "SERVICE_FAILED",
      `Expected paths without blanks and quotes for what runs as root, got ${node} and ${helper}.`,
      { hint: "Install Node and depthwatt for the whole system, in /usr or /opt." },
    );
  }
  return {
    [SOCKET_UNIT]: read(SOCKET_UNIT),
    [REQUEST_UNIT]: read(REQUEST_UNIT).replace(/^ExecStart=.*$/m, () => `ExecStart=${node} ${helper}`),
  };
}

/** Where a file can be exchanged: itself and every folder above it. */
const upwards = (path: string): string[] => (path === "/" ? [path] : [path, ...upwards(dirname(path))]);

/** Lists the files of the helper, next to Node. */
function programFiles(): string[] {
  const folders = ["dist", "build/Release"].map((name) => join(packageRoot(), name));
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [
      folder,
      ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    ]);
}

/**
 * Checks that only root can write what runs as root.
 * @throws DepthwattError SERVICE_FAILED naming the first file that others can write
 */
export function checkRootsOwn(programs: readonly string[], owner = 0): void {
  for (const path of new Set([...programs.flatMap(upwards), ...programFiles()])) {
    const { uid, mode } = lstatSync(path).isSymbolicLink() ? statSync(path) : lstatSync(path);
    // In a folder such as /tmp only the owner of a file may exchange it.
    const isOpen = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
    if (uid === owner && !isOpen) continue;
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${path} may be written by others than root, and a helper of the service would run it as root`,
      {
        hint: "Install Node and depthwatt as root, in /usr or /opt: sudo npm install -g depthwatt.",
        context: { path },
      },
    );
  }
}

export const helperPath = () => fileURLToPath(new URL("./helper.js", import.meta.url));

const run = (title: string, ...words: [string, ...string[]]): Step => ({ kind: "run", title, words });
const readUnits = run("systemd reads its units", "systemctl", "daemon-reload");

/** Files that planAllowing() writes: the socket first. */
export const POWER_MODE_FILES = [SOCKET_UNIT, REQUEST_UNIT].map((name) => join(FOLDER, name));

/** @param packaged the Debian package has brought the units, which are only switched */
export function planAllowing(node: string, helper: string, packaged: boolean): Step[] {
  const files = Object.entries(unitTexts(node, helper)).map(([name, text]): Step => {
    const path = join(FOLDER, name);
    return { kind: "write", title: "unit of the helper", path, mode: 0o644, text, keepExisting: false };
  });
  return [
    ...(packaged ? [] : [...files, readUnits]),
    run("the helper listens", "systemctl", "enable", "--now", SOCKET_UNIT),
  ];
}

export function planForbidding(packaged: boolean): Step[] {
  const end = run("the helper ends", "systemctl", "disable", "--now", SOCKET_UNIT);
  if (packaged) return [end];
  const files = POWER_MODE_FILES.map((path): Step => ({ kind: "remove", title: "unit of the helper", path }));
  return [end, ...files, readUnits];
}

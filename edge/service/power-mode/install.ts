// SPDX-License-Identifier: Apache-2.0
// The steps that let the service change power modes, and those that forbid it again.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DepthwattError, hasCode, packageRoot } from "../../../core/index.js";

export const SOCKET_UNIT = "depthwatt-power-mode.socket";
const REQUEST_UNIT = "depthwatt-power-mode@.service";
const FOLDER = "/etc/systemd/system";

export type Step =
  | { kind: "run"; words: [string, ...string[]] }
  | { kind: "write"; path: string; text: string }
  | { kind: "remove"; path: string };

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

/** What the helper is made of, beside Node. */
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
 * What runs as root may be nobody else's to write.
 * @throws DepthwattError SERVICE_FAILED naming the first file that is
 */
export function checkRootsOwn(programs: readonly string[], owner = 0): void {
  for (const path of new Set([...programs.flatMap(upwards), ...programFiles()])) {
    const { uid, mode } = lstatSync(path).isSymbolicLink() ? statSync(path) : lstatSync(path);
    // In a folder such as /tmp only the owner of a file may exchange it.
    const isOpen = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
    if (uid === owner && !isOpen) continue;
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${path} may be written by others than root, and the helper for power modes would run it as root`,
      {
        hint: "Install Node and depthwatt as root, in /usr or /opt: sudo npm install -g depthwatt.",
        context: { path },
      },
    );
  }
}

export const helperPath = () => fileURLToPath(new URL("./helper.js", import.meta.url));

export function planAllowing(node: string, helper: string): Step[] {
  return [
    ...Object.entries(unitTexts(node, helper)).map(
      ([name, text]): Step => ({ kind: "write", path: join(FOLDER, name), text }),
    ),
    { kind: "run", words: ["systemctl", "daemon-reload"] },
    { kind: "run", words: ["systemctl", "enable", "--now", SOCKET_UNIT] },
  ];
}

export function planForbidding(): Step[] {
  return [
    { kind: "run", words: ["systemctl", "disable", "--now", SOCKET_UNIT] },
    ...[SOCKET_UNIT, REQUEST_UNIT].map((name): Step => ({ kind: "remove", path: join(FOLDER, name) })),
    { kind: "run", words: ["systemctl", "daemon-reload"] },
  ];
}

export function describeStep(step: Step): string {
  if (step.kind === "run") return `run ${step.words.join(" ")}`;
  return step.kind === "write" ? `write ${step.path}` : `remove ${step.path}`;
}

/** @throws DepthwattError SERVICE_FAILED naming the step */
export function perform(step: Step): void {
  try {
    if (step.kind === "write") writeFileSync(step.path, step.text, { mode: 0o644 });
    else if (step.kind === "remove") rmSync(step.path, { force: true });
    else {
      const [program, ...rest] = step.words;
      const { status, stderr, error } = spawnSync(program, rest, { encoding: "utf8" });
      if (error) throw error;
      if (status !== 0) throw new Error(stderr.trim() || `${basename(program)} ended with status ${status}`);
    }
  } catch (cause) {
    throw new DepthwattError("SERVICE_FAILED", `${describeStep(step)}: ${(cause as Error).message}`, {
      hint: hasCode(cause, "EACCES")
        ? "Run it as root; --dry-run prints each step."
        : "'depthwatt power-modes --dry-run' with --allow or --forbid prints each step.",
      cause,
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
// A step of installing or removing the service, as data: printed by --dry-run, done by perform().
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../camera/index.js";
import { DepthwattError, hasCode } from "../../core/index.js";

export type Step =
  | { kind: "run"; title: string; words: [string, ...string[]]; unlessMissing?: string }
  | { kind: "folder"; title: string; path: string; mode: number }
  | { kind: "remove"; title: string; path: string }
  | {
      kind: "write";
      title: string;
      path: string;
      mode: number;
      text: string;
      keepExisting: boolean;
      group?: string;
    };

/** Describes a step in the words of --dry-run. */
export function describeStep(step: Step): string {
  if (step.kind === "run") return `run ${step.words.join(" ")}`;
  if (step.kind === "remove") return `remove ${step.path}`;
  const mode = step.mode.toString(8).padStart(4, "0");
  if (step.kind === "folder") return `make ${step.path} (mode ${mode})`;
  const kept = step.keepExisting ? ", unless it is there" : "";
  const group = step.group === undefined ? "" : `, group ${step.group}`;
  return `write ${step.path} (mode ${mode}${group}, ${Buffer.byteLength(step.text)} bytes${kept})`;
}

/** Returns the ID of a group; undefined if the machine has no such group. */
function groupNumber(name: string, root: string): number | undefined {
  const file = join(root, "etc/group");
  const line = existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .find((one) => one.startsWith(`${name}:`))
    : undefined;
  return line === undefined ? undefined : Number(line.split(":")[2]);
}

function runStep({ words, unlessMissing }: Extract<Step, { kind: "run" }>): string | undefined {
  const [program, ...rest] = words;
  const { status, stderr, error } = spawnSync(program, rest, { encoding: "utf8" });
  if (unlessMissing !== undefined && hasCode(error, "ENOENT"))
    return `left out: there is no ${program}; ${unlessMissing}`;
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim() || `it ended with status ${status}`);
  return undefined;
}

/** An existing file keeps its content, but gets the printed mode: a password that all users can read protects nothing. */
function placeStep(step: Extract<Step, { kind: "folder" | "write" }>, root: string): void {
  const path = join(root, step.path);
  if (step.kind === "folder") makeFolder(path, step.mode);
  else if (!(step.keepExisting && existsSync(path))) {
    makeFolder(dirname(path));
    writeFileSync(path, step.text, { mode: step.mode });
  }
  // The mode above is cut by the umask, and does not apply to what was there.
  chmodSync(path, step.mode);
  const group = step.kind === "write" && step.group !== undefined ? groupNumber(step.group, root) : undefined;
  if (group !== undefined) chownSync(path, -1, group);
}

/**
 * Does one step.
 * @param root what "/" means; another folder in tests
 * @returns why it was left out; undefined: it was done
 * @throws DepthwattError SERVICE_FAILED naming the step
 */
export function perform(step: Step, root = "/"): string | undefined {
  try {
    if (step.kind === "run") return runStep(step);
    if (step.kind === "remove") rmSync(join(root, step.path), { force: true, recursive: true });
    else placeStep(step, root);
    return undefined;
  } catch (cause) {
    const denied = hasCode(cause, "EACCES") || hasCode(cause, "EPERM");
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${step.title}: ${describeStep(step)}: ${(cause as Error).message}`,
      {
        hint: denied
          ? "Run it as root; --dry-run prints each step."
          : "--dry-run prints each step; do this one by hand, then run the command again.",
        cause,
      },
    );
  }
}

// SPDX-License-Identifier: Apache-2.0
// Ends the tools of the tests without leftovers: SIGINT and SIGTERM end the programs that a tool started, run its clean-up and
// exit with 130 or 143. An error ends it with a message, a hint and exit status 2.
import { spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname } from "node:path";

/** Longest time that interrupted programs have to end before they are killed. */
const GRACE_MS = 5000;

/** @type {Map<import("node:child_process").ChildProcess, Promise<unknown>>} */
const running = new Map();
let isEnding = false;

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function signalGroup({ pid }, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

async function endPrograms() {
  const children = [...running.keys()];
  for (const child of children) signalGroup(child, "SIGTERM");
  const timer = new Promise((resolve) => setTimeout(resolve, GRACE_MS));
  await Promise.race([Promise.all(running.values()), timer]);
  // Programs that these started may still run.
  for (const child of children) signalGroup(child, "SIGKILL");
}

/**
 * Runs a program in its own process group. Its promise never settles if the tool is interrupted.
 * @param {string} program
 * @param {readonly string[]} words
 * @param {import("node:child_process").SpawnOptions & { timeoutMs?: number }} options after `timeoutMs` the group is killed
 * @returns {Promise<{ status: number | null, output: string }>} `status` is null after a timeout or a signal; `output` is what it
 *   wrote to pipes
 */
export async function run(program, words, { timeoutMs, ...options } = {}) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], ...options, detached: true });
  /** @type {Buffer[]} */
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => output.push(chunk));
  const closed = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => {
      // A program that it started may hold its pipes open.
      signalGroup(child, "SIGKILL");
      if (child.stdout === null) resolve(status);
    });
    child.once("close", resolve);
  });
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => signalGroup(child, "SIGKILL"), timeoutMs);
  running.set(child, closed);
  try {
    const status = await closed;
    if (isEnding) await new Promise(() => {});
    return { status, output: Buffer.concat(output).toString() };
  } finally {
    running.delete(child);
    clearTimeout(timer);
  }
}

/** Writes a file whole or not at all. */
export function writeWhole(path, text) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  } catch (error) {
    rmSync(`${path}.new`, { force: true });
    throw error;
  }
}

/** @returns {string | undefined} what a person can do about an error of the system */
function hintFor(error) {
  if (/ENOSPC|No space left/.test(`${error.code} ${error.message}`))
    return "free 1 GB there, or set TMPDIR to another disk";
  if (error.code !== "ENOENT") return error.hint;
  return error.syscall?.startsWith("spawn")
    ? `install ${error.path}: run 'npm run test:setup'`
    : "run 'npm run build' first";
}

/**
 * Sets how the process ends.
 * @param {() => void} remove removes what the tool made, at every end of the process
 * @param {() => void} [restore] repairs what an interrupted run has changed, once its programs have ended
 */
export function endCleanly(remove, restore = () => {}) {
  process.on("exit", remove);
  /** @param {number} status */
  const end = async (status) => {
    if (isEnding) return;
    isEnding = true;
    await endPrograms();
    try {
      restore();
    } finally {
      process.exit(status);
    }
  };
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
    process.on(signal, () => void end(128 + constants.signals[signal]));
  process.on("uncaughtException", (error) => {
    if (isEnding) return;
    // Ctrl-C ended a program that the tool waited for.
    const number = constants.signals[error.signal];
    if (number !== undefined) return void end(128 + number);
    const hint = hintFor(error);
    console.error(`error: ${hint === undefined ? error.stack : `${error.message}\nhint: ${hint}`}`);
    void end(2);
  });
}

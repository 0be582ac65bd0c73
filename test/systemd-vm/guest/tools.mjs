// SPDX-License-Identifier: Apache-2.0
// Shares between the guest's cases: commands, waiting, the service and its messages, reports.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { openSync, writeFileSync, writeSync } from "node:fs";

export { assert };

const console = openSync("/dev/ttyS0", "w");
export const report = (facts) => writeSync(console, `\n@@report ${JSON.stringify(facts)}\n`);
export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const uptime = () => Number(process.hrtime.bigint()) / 1e9;

/** A command's stdout; its failure is the case's, with what it said. */
export function sh(command, ...words) {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (error) throw error;
  assert.equal(status, 0, `${command} ${words.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Runs a command that is expected to fail. */
export function tried(command, ...words) {
  const { status, stdout, stderr } = spawnSync(command, words, { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

export async function until(condition, what, limitSeconds = 120) {
  const end = performance.now() + 1000 * limitSeconds;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) {
      const status = tried("systemctl", "status", "--no-pager", "--lines=30", UNIT).output;
      assert.fail(`not within ${limitSeconds} s: ${what}\n${status}`);
    }
    // Each look starts a program, which takes the emulated machine longer than what it waits for takes.
    await rest(500);
  }
}

export const UNIT = "depthwatt.service";
export const NODE = "/opt/node/bin/node";
export const MAIN = "/opt/depthwatt/dist/edge/cli/main.js";
export const CONFIG = "/etc/depthwatt/config.yaml";
export const PASSWORD = "/etc/depthwatt/mqtt-password";
export const LEFT = "/dev/video0";
export const RIGHT = "/dev/video1";

/** Properties of the unit, as systemd has them. */
export function show(...names) {
  const text = sh("systemctl", "show", ...names.flatMap((name) => ["-p", name]), UNIT);
  const facts = Object.fromEntries(
    text
      .trim()
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  return names.length === 1 ? facts[names[0]] : facts;
}
export const mainPid = () => Number(show("MainPID"));

/** Entries of the journal since a time of CLOCK_MONOTONIC in seconds, as journalctl -o json gives them. */
export function journal(sinceSeconds = 0, ...more) {
  const text = sh("journalctl", "-u", UNIT, "-o", "json", "--no-pager", ...more);
  return text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .filter((entry) => Number(entry.__MONOTONIC_TIMESTAMP) >= 1e6 * sinceSeconds);
}
export const words = (entries) => entries.map((entry) => String(entry.MESSAGE)).join("\n");

/** One message of a topic as a reader of the broker gets it. @returns undefined where none came in time */
export function hear(topic, waitSeconds = 100) {
  const login = ["-u", "reader", "-P", "reader", "-t", `depthwatt/board/${topic}`];
  return new Promise((resolve) => {
    const child = spawn("mosquitto_sub", [...login, "-C", "1", "-W", String(waitSeconds), "-N"]);
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.on("close", (status) => resolve(status === 0 ? Buffer.concat(chunks) : undefined));
  });
}

/** The next depth image, taken apart: its header and checksum have been checked. */
export async function hearDepth(waitSeconds = 100) {
  const message = await hear("depth", waitSeconds);
  assert(
    message !== undefined,
    `no depth within ${waitSeconds} s\n${tried("systemctl", "status", "--no-pager", "--lines=30", UNIT).output}`,
  );
  const { parseFrame } = await import("/opt/depthwatt/dist/clients/javascript/src/index.js");
  const { header } = parseFrame(message);
  assert.deepEqual([header.width, header.height], [320, 180]);
  return header;
}

export async function hearState(wanted, waitSeconds = 100) {
  return until(
    async () => {
      const text = await hear("state", 5);
      const state = text === undefined ? undefined : JSON.parse(text.toString());
      return state?.state === wanted ? state : undefined;
    },
    `state ${wanted}`,
    waitSeconds,
  );
}

/** The settings of the service, over the ones that every case uses. */
export function configure(more = "", { match = "numDisparities: 16, sgm: {paths: 2}", outputs = "" } = {}) {
  writeFileSync(
    CONFIG,
    `device: board
source:
  kind: v4l2
  v4l2: {left: ${LEFT}, right: ${RIGHT}, width: 320, height: 180, rateHz: 5}
calibration: {file: /opt/scene/calibration.json}
match: {${match}}
refine: {fill: off, boundary: false, speckleSize: 0}
outputs:
  mqtt:
    broker: mqtt://localhost:1883
    username: depthwatt
    passwordFile: /run/credentials/depthwatt.service/mqtt-password
${outputs}
${more}`,
  );
}

/** v4l2-ctl -c: presses a button of a camera, as a fault comes. */
export const press = (device, button) => sh("v4l2-ctl", "-d", device, "-c", `${button}=1`);
const bind = (verb) => writeFileSync(`/sys/bus/platform/drivers/vivid/${verb}`, "vivid.0");
export const unplugAll = () => bind("unbind");
export const plugAll = () => bind("bind");

/** Runs cases one after the other, each within its limit, and reports each. */
export async function runCases(cases) {
  for (const [name, body] of Object.entries(cases)) {
    const started = performance.now();
    let timer;
    const limit = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("the case took more than 600 s")), 600_000);
    });
    const took = () => Math.round(performance.now() - started);
    try {
      const facts = await Promise.race([body(), limit]);
      report({ case: name, ok: true, ms: took(), facts });
    } catch (error) {
      report({ case: name, ok: false, ms: took(), error: error.stack });
    } finally {
      clearTimeout(timer);
    }
  }
}

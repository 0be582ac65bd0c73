// SPDX-License-Identifier: Apache-2.0
// Helpers of the guest's programs: the built package, vivid's cameras and their faults, waiting, reports.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { listDevices } from "../../../dist/index.js";

export * from "../../../dist/index.js";
export { assert };

export const report = (facts) => process.stdout.write(`@@report ${JSON.stringify(facts)}\n`);
export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(condition, what, limitMs = 60_000) {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    assert(performance.now() < end, `not within ${limitMs} ms: ${what}`);
    await rest(5);
  }
}

/** v4l2-ctl -c: a control set by another process. */
export const setControl = (device, control) =>
  execFileSync("v4l2-ctl", ["-d", device, "-c", control], { stdio: "pipe" });

const bind = (verb) => writeFileSync(`/sys/bus/platform/drivers/vivid/${verb}`, "vivid.0");
/** Takes every vivid device away, as a pulled plug does, and gives them back. */
export const unplugAll = () => bind("unbind");
export const plugAll = () => bind("bind");

/** Where the two webcams are now: one that was unplugged while it was held comes back under another number. */
export async function webcams() {
  const found = await listDevices();
  return ["platform:vivid-000", "platform:vivid-001"].map(
    (bus) => found.find((one) => one.available && one.captures && one.bus === bus).path,
  );
}

/** Descriptors, threads and mappings of video buffers that this process has. */
export const held = () => ({
  descriptors: readdirSync("/proc/self/fd").length,
  threads: readdirSync("/proc/self/task").length,
  mappings: readFileSync("/proc/self/maps", "utf8").match(/\/dev\/video/g)?.length ?? 0,
});

/** `held()` as soon as it stays equal for 100 ms: the kernel lists a thread for a moment after it was joined. */
export async function heldAtRest() {
  for (let before = held(), same = 0; ; ) {
    await rest(5);
    const now = held();
    same = isDeepStrictEqual(now, before) ? same + 1 : 0;
    if (same === 20) return now;
    before = now;
  }
}

/** Reads a camera in a loop until `enough` frames came. @returns what was seen */
export async function read(camera, enough, body = () => {}) {
  const seen = [];
  for await (const frame of camera) {
    const { sequence, timestampNs, lostBefore, timestampOrigin, timestampPoint, bytesUsed } = frame;
    seen.push({ sequence, timestampNs, lostBefore, timestampOrigin, timestampPoint, bytesUsed });
    body(frame);
    if (seen.length >= enough) break;
  }
  return seen;
}

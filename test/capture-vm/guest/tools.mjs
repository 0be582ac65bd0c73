// SPDX-License-Identifier: Apache-2.0
// Shares between the guest's cases: the built project, the cameras' controls, a recording consumer, checks and reports.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export { assert };
export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
export const built = (path) => import(join(root, "dist", path));

const { loadAddon } = await built("core/addon.js");
export const native = loadAddon();
const parts = await import("v4l2-camera/parts");
export const video = parts.loadAddon();
export const clocks = () => video.clocks();
export const { openV4l2Source } = await built("camera/live/open-source.js");
export const { CameraControls, FORMAT_TRAITS, V4l2Camera, videoNodes } = parts;
export const { mean } = await built("core/statistics.js");
export const { toGrey } = await built("camera/recordings/still.js");

/** The two webcams; the right one is multi-planar. */
export let LEFT = "/dev/video0";
export let RIGHT = "/dev/video1";

/** A device that was unplugged while it was open comes back under another number: finds it by its place on the bus. */
export async function findDevice(bus, captures = true) {
  for (const path of videoNodes()) {
    const found = await video.identify(path);
    if (found.bus === bus && found.captures === captures) return path;
  }
  throw new Error(`no device at ${bus}`);
}

async function findVideoNodes() {
  LEFT = await findDevice("platform:vivid-000");
  RIGHT = await findDevice("platform:vivid-001");
}

// Output of commands is compared as text.
process.env.NO_COLOR = "1";

export const report = (facts) => process.stdout.write(`@@report ${JSON.stringify(facts)}\n`);
export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(condition, what, limitMs = 40_000) {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    assert(performance.now() < end, `not within ${limitMs} ms: ${what}`);
    await rest(5);
  }
}

/** v4l2-ctl -c: presses a button or sets a control from another process, as a fault comes. */
export function setControl(device, control) {
  execFileSync("v4l2-ctl", ["-d", device, "-c", control], { stdio: "pipe" });
}

export const press = (device, button) => setControl(device, `${button}=1`);

const bind = (verb) => writeFileSync(`/sys/bus/platform/drivers/vivid/${verb}`, "vivid.0");
/** Takes every vivid device away, as a pulled plug does, and gives them back. */
export const unplugAll = () => bind("unbind");
export const plugAll = () => bind("bind");

export const descriptors = () => readdirSync("/proc/self/fd").length;
export const residentKilobytes = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);

/** Opens both webcams as a source that records; `keep` pairs stay held. */
export async function openPair(settings = {}) {
  const notes = [];
  const source = await openV4l2Source(
    { left: LEFT, right: RIGHT, width: 320, height: 180, format: "GREY", rateHz: 15, ...settings },
    { video, clocks, onNote: (note) => notes.push(note) },
  );
  const record = { source, notes, pairs: [], degraded: [], warnings: [], errors: [] };
  record.start = () =>
    source.start({
      onPair(pair) {
        const { left, right, clock, timestampPoint } = pair;
        record.pairs.push({
          at: performance.now(),
          leftNs: left.timestampNs,
          rightNs: right.timestampNs,
          leftSequence: left.sequence,
          rightSequence: right.sequence,
          clock,
          timestampPoint,
        });
        record.onPair?.(pair);
        pair.release();
      },
      onDegraded: (reason) => record.degraded.push({ reason, at: performance.now() }),
      onWarning: (message) => record.warnings.push(message),
      onEnd: () => {},
      onError: (error) => record.errors.push(error),
    });
  return record;
}

/** Runs `use` with a started pair source and always stops it. */
export async function withPair(settings, use) {
  const record = await openPair(settings);
  try {
    record.start();
    return await use(record);
  } finally {
    await record.source.stop();
  }
}

/** Holds for every source at any time: order, the window, and images that are not used twice. */
export function checkPairs({ pairs, source }, windowMs = 33.334) {
  for (const [i, pair] of pairs.entries()) {
    const skewMs = Math.abs(Number(pair.rightNs - pair.leftNs)) / 1e6;
    assert(skewMs <= windowMs, `pair ${i} is ${skewMs} ms apart`);
    if (i === 0) continue;
    assert(pair.leftNs > pairs[i - 1].leftNs, `pair ${i} is not younger on the left`);
    assert(pair.rightNs > pairs[i - 1].rightNs, `pair ${i} is not younger on the right`);
  }
  assert.equal(source.counters().pairs, pairs.length);
}

/** At each pair, how many images a camera has numbered that were neither paired nor counted as lost, up to a constant. */
export function watchLosses(record) {
  const uncounted = { left: [], right: [] };
  const sum = (drops) => Object.values(drops).reduce((total, count) => total + count, 0);
  record.onPair = ({ left, right }) => {
    const { pairs, dropsLeft, dropsRight } = record.source.counters();
    uncounted.left.push(left.sequence - pairs - sum(dropsLeft));
    uncounted.right.push(right.sequence - pairs - sum(dropsRight));
  };
  return uncounted;
}

/**
 * Holds if every loss was counted once. An uncounted loss raises the figure for good; a loss before an image that still waits for
 * its partner lowers it for a while. So the highest figures of both halves are compared.
 */
export function checkLosses(uncounted) {
  for (const figures of Object.values(uncounted)) {
    const half = figures.length >> 1;
    const [first, second] = [figures.slice(0, half), figures.slice(half)].map((some) => Math.max(...some));
    assert.equal(second, first, JSON.stringify(figures));
  }
}

/** One camera alone, started; frames are recorded and given back unless `keep`. */
export async function withCamera(options, use) {
  const camera = await V4l2Camera.open(video, {
    path: LEFT,
    fourcc: "GREY",
    width: 320,
    height: 180,
    rateHz: 25,
    ...options,
  });
  const frames = [];
  const faults = [];
  try {
    camera.start({
      onFrame(frame) {
        const { data } = frame;
        frames.push({ data, copy: options.copy ? data.slice() : undefined });
        camera.release(frame);
      },
      onFault: (error) => faults.push(error),
    });
    return await use({ camera, frames, faults });
  } finally {
    await camera.close();
  }
}

/**
 * Runs a command line in this process: starting Node again takes seconds in the emulation.
 * @returns exit code and output
 */
export async function depthwatt(words, { asUser } = {}) {
  const { runCommandLine } = await built("edge/cli/program.js");
  const written = { out: "", err: "" };
  const streams = [
    [process.stdout, process.stdout.write, "out"],
    [process.stderr, process.stderr.write, "err"],
  ];
  for (const [stream, , name] of streams) {
    stream.write = (text) => {
      written[name] += text;
      return true;
    };
  }
  if (asUser !== undefined) process.seteuid(asUser);
  try {
    const code = await runCommandLine(words);
    process.exitCode = 0;
    return { code, ...written };
  } finally {
    if (asUser !== undefined) process.seteuid(0);
    for (const [stream, write] of streams) stream.write = write;
  }
}

/** Runs cases one after the other, each within its limit, and reports each. */
export async function runCases(cases) {
  let failed = 0;
  for (const [name, body] of Object.entries(cases)) {
    const started = performance.now();
    let timer;
    const limit = new Promise((_, reject) => {
      const limitMs = /^(end to end|calibrate)/.test(name) ? 900_000 : 180_000;
      timer = setTimeout(() => reject(new Error(`the case took more than ${limitMs} ms`)), limitMs);
    });
    try {
      const facts = await Promise.race([findVideoNodes().then(body), limit]);
      report({ case: name, ok: true, ms: Math.round(performance.now() - started), facts });
    } catch (error) {
      failed++;
      report({ case: name, ok: false, ms: Math.round(performance.now() - started), error: error.stack });
    } finally {
      clearTimeout(timer);
    }
  }
  return failed;
}

// SPDX-License-Identifier: Apache-2.0
// depthwatt consume as a whole: what it prints of a stream, which device it follows, and how it ends.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { FRAME_HEADROOM_BYTES, type StreamName } from "../../../../../core/frame/frame-format.js";
import { writeFrame } from "../../../../../core/frame/payload.js";
import "../../../../../edge/commands/consume/command.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { makeFrame } from "../../../../doubles/frames.js";
import {
  CONNECT,
  connack,
  publication,
  type ScriptedBroker,
  type Session,
  SUBSCRIBE,
  startScriptedBroker,
} from "../../../../doubles/scripted-broker.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const listeners = () => SIGNALS.map((name) => process.listenerCount(name));
const LISTENERS = listeners();

let broker: ScriptedBroker | undefined;
let running: Promise<unknown> | undefined;
afterEach(async () => {
  // Only a test that failed leaves its command running, or listeners.
  if (process.listenerCount("SIGINT") > LISTENERS[0]!) process.emit("SIGINT");
  await running;
  for (const [i, name] of SIGNALS.entries())
    for (const listener of process.listeners(name).slice(LISTENERS[i])) process.off(name, listener);
  vi.restoreAllMocks();
  await broker?.close();
  broker = undefined;
});

function consume(...words: readonly string[]) {
  const ran = runInProcess(["consume", ...words]);
  running = ran.catch(() => {});
  return ran;
}

interface Sent {
  device?: string;
  base?: string;
  number: number;
  run?: number;
  /** Changes the message before it is sent. */
  damage?: (message: Buffer) => void;
  stream?: StreamName;
  /** The topic's last level, if it is not the stream. */
  leaf?: string;
  seconds?: number;
  size?: [number, number];
}

// 4 x 3 millimetres of 2 bytes behind a header of 96 bytes are 120 bytes.
const FRAME_BYTES = 120;

function frameMessage(sent: Sent): Buffer {
  const { device = "one", base = "depthwatt", number, run = 1, stream = "depth", leaf = stream } = sent;
  const { buffer, bodyBytes, frame } = makeFrame(
    number,
    { stream, encoding: "raw", clock: "file", realtimeOffsetNs: undefined },
    sent.size ?? [4, 3],
  );
  const identity = { frameNumber: number, runId: run, clockDomain: 0 };
  const message = Buffer.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity));
  sent.damage?.(message);
  return publication(`${base}/${device}/${leaf}`, message);
}

/** Starts a broker that sends these frames to its first subscriber, and then does `next`. */
async function brokerOf(frames: readonly Sent[], next: (session: Session) => void = () => {}) {
  broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type !== SUBSCRIBE) return;
    session.send(...frames.map(frameMessage));
    next(session);
  });
  return broker.url;
}

const connected = (url: string) => `connected to ${url}, MQTT 5`;
const NO_CLOCK = "the frames' capture clock has no relation to this machine's clock";
const NO_ENERGY = "no frame carried energy: the publisher's metrics say why";

test("follows the first device, names each other one once, and ends after --frames", async () => {
  const others = Array.from(
    { length: 22 },
    (_, i): Sent => ({ device: `other-${i}`, base: "b/c", number: 1 }),
  );
  const one = (number: number): Sent => ({ base: "b/c", number });
  const url = await brokerOf([one(1), ...others, ...others, one(2), one(5), one(6)]);
  const { code, stdout, stderr } = await consume(url, "--base", "b/c", "--frames", "3");
  expect(code, stderr).toBe(0);
  expect(stderr.split("\n")).toEqual([
    connected(url),
    ...others.slice(0, 20).map(({ device }) => `also there, not shown: b/c/${device} (use --device)`),
    "",
  ]);
  const lines = stdout.split("\n");
  expect(lines[0]).toMatch(/^3 frames {2}\d+\.\d fps {2}latency - {2}lost 2 {2}crc errors 0$/);
  expect(lines[1]).toMatch(/^0(\.\d+)? s, 360 bytes, 120 bytes a frame$/);
  expect(lines.slice(2)).toEqual([`energy unknown: ${NO_ENERGY}`, `latency unknown: ${NO_CLOCK}`, ""]);
  expect(listeners()).toEqual(LISTENERS);
});

test("--device, --stream and --json: the whole summary, and nothing about a good connection", async () => {
  const disparity = { stream: "disparity" } as const;
  const url = await brokerOf([
    { ...disparity, device: "two", number: 7 },
    { ...disparity, number: 1 },
    { number: 1 },
  ]);
  const words = ["--device", "two", "--stream", "disparity", "--frames", "1", "--json"];
  const { code, stdout, stderr } = await consume(url, ...words);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toEqual({
    frames: 1,
    seconds: 0,
    fps: { available: false, reason: "a rate needs two frames" },
    latencyMs: { available: false, reason: NO_CLOCK },
    gaps: 0,
    crcErrors: 0,
    invalid: 0,
    publishers: 1,
    bytes: FRAME_BYTES,
    energy: { available: false, reason: NO_ENERGY },
  });
  const subscribed = broker!.packets.find(({ type }) => type === SUBSCRIBE)!.bytes.toString("latin1");
  expect(subscribed).toContain("depthwatt/two/disparity");
});

test("counts damage on the way and refused frames apart, and reports each kind once", async () => {
  const flip = (message: Buffer) => void message.writeUInt8(message.at(-1)! ^ 1, message.length - 1);
  const magic = (message: Buffer) => void message.writeUInt8(message[0]! ^ 1, 0);
  const url = await brokerOf([
    { number: 1, damage: flip },
    { number: 2, damage: flip },
    { number: 3, damage: magic },
    { number: 4, stream: "disparity", leaf: "depth" },
    { number: 5, size: [13, 1] },
    { number: 6 },
  ]);
  const words = ["--frames", "1", "--max-pixels", "12", "--json"];
  const { code, stdout, stderr } = await consume(url, ...words);
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ frames: 1, crcErrors: 2, invalid: 3, gaps: 0 });
  const lines = stderr.split("\n");
  expect(lines).toHaveLength(5);
  expect(lines.slice(0, 4).every((line) => line.startsWith("one/depth: "))).toBe(true);
  expect(stderr).toMatch(/crc32/);
  expect(stderr).toContain("expected stream depth as in the topic, found disparity");
  expect(stderr).toContain("12");
});

test("publishers that share the device's name are reported with their runs", async () => {
  // Each of the two runs comes back twice.
  const turns = [10, 11, 10, 11, 10, 11].map((run, number): Sent => ({ run, number }));
  const strangers = turns.map((sent) => ({ ...sent, device: "two" }));
  const url = await brokerOf([{ number: 0, run: 10 }, ...strangers, ...turns.slice(1)]);
  const { stdout, stderr } = await consume(url, "--frames", "6", "--json");
  expect(JSON.parse(stdout).publishers).toBe(2);
  expect(stderr.split("\n")).toEqual([
    "also there, not shown: depthwatt/two (use --device)",
    "2 publishers send as depthwatt/one at once (runs 0000000a and 0000000b)",
    "hint: give each its own device name ('depthwatt run --device NAME')",
    "",
  ]);
});

test("--save reports the frames that were saved, and ends the command where a format cannot hold them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-consume-"));
  try {
    const url = await brokerOf([{ number: 1 }, { number: 2 }]);
    const saving = [url, "--save", folder, "--frames", "2", "--json"];
    const saved = await consume(...saving);
    expect([saved.code, saved.stderr]).toEqual([
      0,
      `saved 2 frames to ${folder}, skipped 0 (the disk was busy), 0 not decodable\n`,
    ]);
    const names = ["one-depth-00000001-000001", "one-depth-00000001-000002"];
    expect(readdirSync(folder)).toEqual(names.flatMap((name) => [`${name}.json`, `${name}.png`]));
    const raw = await consume(...saving, "--format", "raw");
    expect(raw.code).toBe(0);
    expect(readdirSync(folder).filter((name) => name.endsWith(".raw"))).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Keeps every timer of so many milliseconds from running, and returns their callbacks that are not cleared. */
function holdTimers(milliseconds: number) {
  const held = new Map<unknown, () => void>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  let made = 0;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((action: () => void, ms?: number, ...more: []) => {
    if (ms !== milliseconds) return set(action, ms, ...more);
    const id = `held ${made++}`;
    held.set(id, action);
    return id;
  }) as never);
  vi.spyOn(globalThis, "clearTimeout").mockImplementation(((id: never) => {
    if (!held.delete(id)) clear(id);
  }) as never);
  return { held, made: () => made };
}

test("--timeout begins again with each frame, and names the topic that is silent", async () => {
  const timers = holdTimers(7000);
  let url = await brokerOf([{ number: 1 }, { number: 2 }], ({ socket }) => {
    const check = setInterval(() => {
      if (timers.made() < 3) return;
      clearInterval(check);
      expect(timers.held.size).toBe(1);
      for (const action of timers.held.values()) action();
    }, 1);
    socket.on("close", () => clearInterval(check));
  });
  const silent = await consume(url, "--timeout", "7");
  expect(silent.code).toBe(5);
  expect(silent.stderr).toBe(
    `${connected(url)}\nerror: no frame on depthwatt/+/depth for 7 s (${connected(url)})\n` +
      "hint: Check base topic, device and stream, and that a 'depthwatt run' publishes to this broker.\n",
  );
  expect(silent.stdout).toMatch(/^2 frames /);
  expect([timers.made(), timers.held.size, listeners()]).toEqual([3, 0, LISTENERS]);
  await broker!.close();

  url = await brokerOf([{ number: 1 }]);
  const ended = await consume(url, "--timeout", "7", "--frames", "1");
  expect([ended.code, timers.held.size]).toEqual([0, 0]);
});

test.each(SIGNALS)("%s ends it in order", async (signal) => {
  const url = await brokerOf([], ({ socket }) => {
    const check = setInterval(() => process.listenerCount(signal) > LISTENERS[0]! && process.emit(signal), 1);
    for (const event of ["end", "close"]) socket.on(event, () => clearInterval(check));
  });
  const { code, stdout, stderr } = await consume(url);
  expect([code, stderr]).toEqual([0, `${connected(url)}\n`]);
  expect(stdout.split("\n")).toEqual([
    "0 frames  - fps  latency -  lost 0  crc errors 0",
    "0 s, 0 bytes, 0 bytes a frame",
    "energy unknown: no frame came",
    "latency unknown: no frame came",
    "",
  ]);
  expect(listeners()).toEqual(LISTENERS);
});

test("a refused password ends it at once, with the flags that would fix it", async () => {
  // MQTT 5, reason code 0x86: bad user name or password.
  broker = await startScriptedBroker((packet, session) => {
    if (packet.type === CONNECT) session.send(connack(0x86));
  });
  const { code, stdout, stderr } = await consume(broker.url, "--json");
  expect(code).toBe(5);
  expect(JSON.parse(stdout)).toMatchObject({ frames: 0, publishers: 0 });
  expect(stderr).toContain("--username");
  expect(stderr).toContain("--password-file");
  expect(stderr).not.toContain("outputs.mqtt");
  expect(broker.connections).toBe(1);
});

test("on a terminal the summary is renewed on one line, which is cleared at the end", async () => {
  const before = process.stderr.isTTY;
  let show = () => {};
  const set = globalThis.setInterval;
  vi.spyOn(globalThis, "setInterval").mockImplementation(((action: () => void, ms?: number) => {
    if (ms !== 500) return set(action, ms);
    show = action;
    return "live";
  }) as never);
  const clear = vi.spyOn(globalThis, "clearInterval");
  const url = await brokerOf([], (session) => {
    show();
    session.send(frameMessage({ number: 1 }));
  });
  try {
    process.stderr.isTTY = true;
    const { code, stderr } = await consume(url, "--frames", "1", "--json");
    expect(code).toBe(0);
    expect(stderr).toBe("\r\u001b[K0 frames  - fps  latency -  lost 0  crc errors 0\r\u001b[K");
    expect(clear).toHaveBeenCalledWith("live");
  } finally {
    process.stderr.isTTY = before;
  }
});

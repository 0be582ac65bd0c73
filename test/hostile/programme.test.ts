// SPDX-License-Identifier: Apache-2.0
// Random attacks on every door: messages to the consumer, arguments to native code, configurations, bytes to the embedded
// broker. Each must end in an error with a code, or in nothing; never in a crash, a hang, or memory that grows.
// DEPTHWATT_HOSTILE_COUNT: tries of each kind. DEPTHWATT_SEED repeats a failure.
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import mqtt, { type MqttClient } from "mqtt";
import { afterAll, expect, test } from "vitest";
import { encodePng } from "../../camera/index.js";
import { matchesPattern } from "../../camera/recordings/replay-listing.js";
import { connectConsumer } from "../../clients/javascript/src/consumer.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { writeFrame } from "../../core/frame/payload.js";
import { isDepthwattError, printable, redactBrokenUrl, redactUrl } from "../../core/index.js";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { loadConfig } from "../../edge/config/index.js";
import { cpuMsSince } from "../doubles/cpu-time.js";
import { makeFrame } from "../doubles/frames.js";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { native, Random } from "../doubles/stages.js";

const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 300);
const random = new Random();
const counts: Record<string, number> = {};
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};
afterAll(() => reportFuzz("hostile programme", { seed: random.seed, counts }));

const bytes = (length: number) => random.fill(new Uint8Array(length), 0, 255);

/** A body that may fit, be damaged, be cut, or be made to be large. */
async function hostileBody(encoding: string, pixels: Uint16Array, good: Uint8Array): Promise<Uint8Array> {
  const kind = random.whole(0, 5);
  const body = encoding === "png" ? await encodePng({ data: pixels, width: 64, height: 48 }) : good;
  if (kind === 0) return bytes(random.whole(0, 200));
  if (kind === 1) return body.slice(0, random.whole(0, body.length));
  if (kind === 2) return new Uint8Array(Buffer.concat([body, bytes(random.whole(1, 50))]));
  if (kind === 3) return deflateSync(Buffer.alloc(random.whole(0, 1 << 20)));
  if (kind === 5) return body;
  const damaged = Uint8Array.from(body);
  for (let i = random.whole(1, 20); i > 0; i--)
    damaged[random.whole(0, damaged.length - 1)] = random.whole(0, 255);
  return damaged;
}

test("messages: right headers and CRCs around bodies that are anything", async () => {
  const client = Object.assign(new EventEmitter(), { connected: false });
  const consumer = connectConsumer(client as unknown as MqttClient);
  let slowestMs = 0;
  consumer.on("invalid", () => count("messages refused"));
  consumer.on("frame", (frame) => {
    const before = process.cpuUsage();
    try {
      frame.values();
      count("frames unpacked");
    } catch (error) {
      expect(isDepthwattError(error) && error.code, String(error)).toBe("PAYLOAD_INVALID");
      count("bodies refused");
    }
    slowestMs = Math.max(slowestMs, cpuMsSince(before));
  });
  for (let i = 0; i < COUNT; i++) {
    const encoding = random.pick(["rvl", "png", "raw", "compressedDepth"] as const);
    const { buffer, bodyBytes, pixels, frame } = makeFrame(i);
    const good = buffer.slice(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + bodyBytes);
    const body = await hostileBody(encoding, pixels, good);
    const whole = new Uint8Array(FRAME_HEADROOM_BYTES + body.length);
    whole.set(body, FRAME_HEADROOM_BYTES);
    const side = () => random.pick([1, 48, 64, 4096, 16384, 0xffffffff]);
    const size = random.whole(0, 3) === 0 ? { width: side(), height: side() } : {};
    const description = {
      ...frame,
      encoding,
      ...size,
      stream: random.pick(["depth", "depth", "left"] as const),
    };
    const identity = { frameNumber: random.whole(0, 3), runId: random.whole(0, 20), clockDomain: 0 };
    const message = writeFrame(whole, FRAME_HEADROOM_BYTES, body.length, description, identity);
    if (random.whole(0, 9) === 0) message[random.whole(0, message.length - 1)] = 7;
    client.emit("message", `depthwatt/d${random.whole(0, 5)}/depth`, Buffer.from(message));
    count("messages");
  }
  expect(slowestMs).toBeLessThan(10_000);
}, 120_000);

const ODD = () =>
  random.pick<() => unknown>([
    () => undefined,
    () => null,
    () => Number.NaN,
    () => Number.POSITIVE_INFINITY,
    () => -1,
    () => 2 ** 31,
    () => 2 ** 53,
    () => 0.5,
    () => "16",
    () => ({}),
    () => [],
    () => new Uint8Array(random.whole(0, 64)),
    () => new Float64Array(3),
    () => new Int16Array(random.whole(0, 64)),
    () => structuredClone(new Uint8Array(8)),
    () => Symbol.iterator,
    () => 10n,
    () => () => 1,
  ])();

/** Random arguments of a stage's call: mostly valid, so that the checks behind the first one are reached. */
function hostileCall(): Record<string, unknown> {
  const pixels = 16 * 8;
  const right: Record<string, unknown> = {
    variant: "scalar",
    width: 16,
    height: 8,
    threads: 1,
    minDisparity: 0,
    numDisparities: 8,
    paths: 4,
    p1: 2,
    p2: 9,
    armX: 3,
    armY: 3,
    similarity: 20,
    minPixels: 3,
    rangeQ4: 16,
    thresholdQ4: 16,
    lowestQ4: 0,
    highestQ4: 127,
    focalPixels: 100,
    baselineMetres: 0.1,
    disparityOffsetPixels: 0,
    format: "GREY",
    inputWidth: 16,
    inputHeight: 8,
    method: "background",
    strideBytes: 16,
    image: new Uint8Array(pixels),
    grey: new Uint8Array(pixels),
    left: new Uint8Array(pixels),
    right: new Uint8Array(pixels),
    result: new Int16Array(pixels),
    disparity: new Int16Array(pixels),
    rightDisparity: new Int16Array(pixels),
    disparityQ4: new Int16Array(pixels),
    census: new Uint32Array(pixels),
    censusLeft: new Uint32Array(pixels),
    censusRight: new Uint32Array(pixels),
    greyLeft: new Uint8Array(pixels),
    half: new Int16Array(pixels),
    depth: new Uint16Array(pixels),
    body: new Uint8Array(1024),
    pixels: new Uint16Array(pixels),
    sums: new Uint16Array(pixels * 8),
  };
  const keys = Object.keys(right);
  for (let i = random.whole(0, 3); i > 0; i--) right[random.pick(keys)] = ODD();
  return right;
}

test("native stages: calls of wrong types, sizes and numbers", () => {
  const names = Object.keys(native.stages);
  for (let i = 0; i < COUNT * 10; i++) {
    const stage = native.stages[random.pick(names)] as unknown as (call: unknown) => unknown;
    const call = random.whole(0, 19) === 0 ? ODD() : hostileCall();
    count("stage calls");
    try {
      stage(call);
      count("stage calls answered");
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  }
}, 120_000);

test("the scene and the sampler: options of wrong types", () => {
  for (let i = 0; i < COUNT; i++) {
    const options = {
      width: 16,
      height: 16,
      seed: 1,
      noiseGrey: 1,
      cellPixels: 4,
      focalPixels: 9,
      buffers: 1,
      [random.pick(["width", "seed", "left", "buffers"])]: ODD(),
    };
    expect(() => new native.Scene(options as never, ODD() as never)).toThrow();
    const wanted = { sources: ODD(), periodNs: ODD(), capacityRows: ODD() };
    let available = false;
    try {
      ({ available } = native.power.createSampler(wanted as never));
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
    expect(available).toBe(false);
    count("scenes and samplers refused");
  }
});

test("configurations: anything that YAML can hold", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-programme-"));
  const path = join(folder, "c.yaml");
  const word = () =>
    random.pick([
      "match",
      "source",
      "outputs",
      "mqtt",
      "base",
      "p1",
      "*",
      "&a",
      "<<",
      "__proto__",
      "constructor",
      "é",
      "\u0000",
      "'",
      "[",
      "{",
      "- ",
      ":",
      "\n ",
      "8",
      "1e99",
      "!!js/function",
      "|",
      ">",
      "?",
    ]);
  for (let i = 0; i < COUNT; i++) {
    writeFileSync(
      path,
      Array.from({ length: random.whole(1, 40) }, word).join(random.pick(["", " ", ": ", "\n"])),
    );
    const before = process.cpuUsage();
    try {
      loadConfig({ file: path, environment: {}, boards: { root: "/nowhere" } });
      count("configurations read");
    } catch (error) {
      expect(isDepthwattError(error) && error.exitCode, String(error)).toBe(2);
      count("configurations refused");
    }
    expect(cpuMsSince(before)).toBeLessThan(5000);
  }
  rmSync(folder, { recursive: true });
}, 120_000);

test("texts of any shape are redacted, printed and matched in time that is linear", () => {
  for (const unit of [":", "@", "a:", "a://", "a://b:", "://@", "*", "?*", "\\", "a*"]) {
    const text = unit.repeat(200_000);
    const before = process.cpuUsage();
    for (const treat of [redactUrl, redactBrokenUrl, printable]) treat(text);
    matchesPattern("a".repeat(255), text);
    expect(cpuMsSince(before), unit).toBeLessThan(4000);
    count("long texts");
  }
}, 120_000);

test("the embedded broker: random bytes on many connections, and it serves on", async () => {
  const broker = await startTrialBroker({ port: 0, webSocketPort: null, maxPacketBytes: 1 << 20 });
  try {
    const connectPacket = Buffer.from([0x10, 13, 0, 4, ...Buffer.from("MQTT"), 4, 2, 0, 0, 0, 1, 97]);
    for (let i = 0; i < COUNT / 3; i++) {
      await new Promise<void>((resolve) => {
        const socket = connect(broker.port, "127.0.0.1", () => {
          if (random.whole(0, 1) === 0) socket.write(connectPacket);
          socket.write(bytes(random.whole(1, 2000)));
          setTimeout(() => socket.destroy(), random.whole(0, 20));
        });
        socket.on("error", () => {});
        socket.once("close", () => resolve());
      });
      count("broker connections");
    }
    const client = await mqtt.connectAsync(broker.url, { protocolVersion: 4 });
    await client.subscribeAsync("t");
    const got = new Promise<string>((resolve) =>
      client.once("message", (_, payload) => resolve(String(payload))),
    );
    await client.publishAsync("t", "alive");
    expect(await got).toBe("alive");
    await client.endAsync(true);
  } finally {
    await broker.close();
  }
}, 120_000);

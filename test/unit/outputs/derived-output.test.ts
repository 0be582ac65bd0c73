// SPDX-License-Identifier: Apache-2.0
// The open output of derived measurements at a scripted broker: every message whole, and its alarms.
import { afterEach, expect, test } from "vitest";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { openDerived } from "../../../edge/outputs/derived/derived-output.js";
import { until } from "../../doubles/frames.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SETTINGS = {
  enabled: true,
  rateHz: "max",
  zones: "all 0,0 1,0 1,1 0,1; left 0,0 0.5,0 0.5,1 0,1",
  alarms: "all 1.5",
  minPixels: 3,
  scan: true,
  scanTop: 0,
  scanBottom: 1,
  scanRays: 2,
  scanMinPixels: 1,
  quality: true,
  qualityWindow: 1,
  floor: "off",
  grid: false,
  gridBinary: false,
  gridRos: false,
};
const RIG = { rectification: { focalPixels: 2, cx: 1.5 } };

async function openOutput(changes: object = {}, settings: object = {}) {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const all = { ...SETTINGS, ...settings };
  const picture = { rig: RIG, hasDepth: true, ...changes };
  const output = await openDerived({
    settings: all,
    base: "depthwatt",
    device: "rig",
    broker: () => broker.access,
    notice: () => {},
    ...picture,
  } as unknown as OutputContext<never>);
  cleanups.push(() => output.close());
  await output.ready;
  const frame = (width: number, height: number, slot: object, result: object = {}) => {
    const lease = { released: 0, sent: 0 };
    output.frame({
      frame: { width, height, clock: "file", leftTimestampNs: 12_345n, slot, result },
      release: () => lease.released++,
      sent: () => lease.sent++,
    } as unknown as FrameLease);
    expect(lease).toEqual({ released: 1, sent: 1 });
  };
  /** The next message of each topic, without the alarms. */
  const next = async (count: number) => {
    const isAlarm = ({ topic }: { topic: string }) => topic.endsWith("/alarms");
    await until(`${count} messages`, () => broker.heard.filter((one) => !isAlarm(one)).length >= count);
    const taken = broker.take().filter(([topic]) => !topic.endsWith("/alarms"));
    for (const [topic, , retained] of taken) expect([topic, retained]).toEqual([topic, false]);
    return Object.fromEntries(taken.map(([topic, text]) => [topic.replace("depthwatt/rig/", ""), text]));
  };
  return { output, broker, settings: all, picture, frame, next };
}

const SMALL = {
  depthMillimetres: Uint16Array.of(1000, 1200, 3000, 4000, 1300, 0, 5000, 900),
  disparityQ4: Int16Array.of(16, 16, 32, 32, 16, -32768, 48, 48),
  confidence: Uint8Array.of(9, 9, 9, 9, 9, 9, 9, 0),
};
const HEAD = { clock: "file", leftTimestampNs: "12345" };

test("zones, scan and quality of a frame, and an alarm", async () => {
  const { output, broker, frame, next } = await openOutput();
  expect(output.streams).toEqual(["zones", "alarms", "scan", "quality"]);
  frame(4, 2, SMALL, { matchedPixels: 6, validPixels: 7 });
  const messages = await next(3);
  expect(messages).toEqual({
    zones: {
      ...HEAD,
      zones: {
        // The third smallest of the matched depths.
        all: { nearestMetres: 1.3, matchedShare: 0.75 },
        left: { nearestMetres: 1.3, matchedShare: 0.75 },
      },
    },
    scan: {
      ...HEAD,
      scan: {
        angleMin: expect.any(Number),
        angleMax: expect.any(Number),
        angleIncrement: expect.any(Number),
        rangeMax: 65.535,
        ranges: [expect.any(Number), expect.any(Number)],
      },
    },
    quality: {
      ...HEAD,
      matchedShare: 0.75,
      validShare: 0.875,
      plane: { available: false, reason: "too few pixels of the window were matched" },
      temporalNoisePixels: { available: false, reason: "needs 40 frames" },
    },
  });
  const { scan } = messages.scan as { scan: Record<"angleMin" | "angleMax" | "angleIncrement", number> };
  // Columns 0 and 3 see atan(1.5 / 2) to both sides.
  expect([scan.angleMin, scan.angleMax, scan.angleIncrement]).toEqual([-0.643501, 0.643501, 1.28700222]);
  const alarms = () => broker.heard.filter(({ topic }) => topic === "depthwatt/rig/alarms");
  expect(output.counters().details).toMatchObject({ connected: true, alarms: { all: "on" } });
  await output.close();
  expect(alarms().at(-1)).toEqual({
    topic: "depthwatt/rig/alarms",
    text: '{"available":false,"reason":"the program has ended"}',
    retained: true,
  });
});

test("without depth there are reasons, and a zone without enough matched pixels has one", async () => {
  const reason = "without a calibration there is no depth";
  const none = { available: false, reason };
  for (const changes of [{ hasDepth: false }, { hasDepth: false, rig: undefined }]) {
    const { frame, next, output } = await openOutput(changes);
    frame(4, 2, SMALL, { matchedPixels: 6, validPixels: 7 });
    const { zones, scan } = (await next(3)) as Record<string, object>;
    expect(zones).toEqual({
      ...HEAD,
      zones: { all: { nearestMetres: none }, left: { nearestMetres: none } },
    });
    expect(scan).toEqual({ ...HEAD, scan: none });
    expect(output.counters().details).toMatchObject({ alarms: { all: "unknown" } });
  }
  const { frame, next } = await openOutput(
    {},
    { minPixels: 4, scan: false, quality: false, alarms: undefined },
  );
  frame(4, 2, SMALL);
  expect(await next(1)).toEqual({
    zones: {
      ...HEAD,
      zones: {
        all: { nearestMetres: 3, matchedShare: 0.75 },
        left: {
          nearestMetres: { available: false, reason: "fewer than 4 pixels of the zone were matched" },
          matchedShare: 0.75,
        },
      },
    },
  });
});

test("quality has the plane, and the noise of 40 frames until the next 40", async () => {
  const { broker, frame } = await openOutput({}, { zones: undefined, alarms: undefined, scan: false });
  const [width, height] = [16, 8];
  const pixels = width * height;
  for (let turn = 0; turn < 80; turn++) {
    const add = turn % 2 === 0 ? 16 : -16;
    const slot = {
      disparityQ4: Int16Array.from({ length: pixels }, (_, i) => 160 + 16 * (i % width) + add),
      // The second 40 frames are not matched.
      confidence: new Uint8Array(pixels).fill(turn < 40 ? 9 : 0),
    };
    frame(width, height, slot, { matchedPixels: 1, validPixels: 3 });
  }
  await until("all messages", () => broker.heard.length === 80);
  const found = broker.take().map(([, document]) => document as Record<string, unknown>);
  expect(found[0]).toMatchObject({
    matchedShare: 0.0078,
    validShare: 0.0234,
    // One pixel of disparity for each column; the middle is at column 8.
    plane: { rmsPixels: 0, inlierShare: 1, disparityPixels: 19 },
  });
  const noise = found.map(({ temporalNoisePixels }) => temporalNoisePixels);
  expect(noise.slice(0, 39)).toEqual(Array(39).fill({ available: false, reason: "needs 40 frames" }));
  // Plus and minus 1: the variance is 40 / 39.
  expect(noise.slice(39, 79)).toEqual(Array(40).fill(1.0127));
  expect(noise[79]).toEqual({ available: false, reason: "no pixel was matched in all 40 frames" });
});

test("of zones with more than 320000 pixels every second row is read", async () => {
  const { frame, next } = await openOutput(
    {},
    { alarms: undefined, scan: false, quality: false, zones: "all 0,0 1,0 1,1 0,1" },
  );
  const share = async (width: number, height: number) => {
    const depthMillimetres = new Uint16Array(width * height).fill(1000);
    // Odd rows are not matched.
    const confidence = Uint8Array.from({ length: width * height }, (_, i) => 1 - (Math.floor(i / width) % 2));
    frame(width, height, { depthMillimetres, confidence });
    const { zones } = (await next(1)) as { zones: { zones: { all: { matchedShare: number } } } };
    return zones.zones.all.matchedShare;
  };
  expect(await share(800, 400)).toBe(0.5);
  expect(await share(801, 400)).toBe(1);
});

test("zones and alarms change while it is open, and the last alarm is withdrawn", async () => {
  const { output, broker, settings, picture, frame } = await openOutput();
  const configure = (changes: object) =>
    output.configure!({ ...settings, ...changes } as never, picture as never);
  const states = () => output.counters().details!.alarms;
  const { zones, alarms } = output as unknown as { zones: string[]; alarms: string[] };
  expect([zones, alarms]).toEqual([["all", "left"], ["all"]]);
  frame(4, 2, SMALL);
  expect(states()).toEqual({ all: "on" });
  // A zone that stays where it is keeps the state of its alarm; one that moves does not.
  configure({ alarms: "left 2; all 1.5" });
  expect(states()).toEqual({ left: "unknown", all: "on" });
  configure({ zones: "all 0,0 1,0 1,1; left 0,0 0.5,0 0.5,1 0,1" });
  expect(states()).toEqual({ all: "unknown" });
  configure({ zones: undefined, alarms: undefined, scan: false, quality: false });
  expect([output.streams, states()]).toEqual([[], undefined]);
  await until("the alarms are withdrawn", () => broker.heard.some(({ text }) => text === ""));
  expect(broker.heard.at(-1)).toEqual({ topic: "depthwatt/rig/alarms", text: "", retained: true });
  frame(4, 2, SMALL);
  configure({ zones: "wrong", alarms: "wrong" });
  expect(output.streams).toEqual(["scan", "quality"]);
});

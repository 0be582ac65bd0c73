// SPDX-License-Identifier: Apache-2.0
// The open output of derived measurements at a scripted broker: every message whole, and its alarms.
import { afterEach, expect, test, vi } from "vitest";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { openDerived } from "../../../edge/outputs/derived/derived-output.js";
import { until } from "../../doubles/frames.js";
import {
  readRosGrid,
  readRosHeader,
  readRosPoints,
  readRosScan,
  readRosTransforms,
} from "../../doubles/ros-reader.js";
import { PUBLISH } from "../../doubles/scripted-broker.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
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
  const published = () => broker.packets.filter(({ type }) => type === PUBLISH);
  // The state of the alarm is published twice: before a frame, and with it.
  await until("all were sent", () => output.counters().sent === published().length);
  expect(output.counters()).toEqual({
    sent: published().length,
    bytes: published().reduce((sum, { payloadBytes }) => sum + payloadBytes, 0),
    drops: {},
    details: { connected: true, messageDrops: {}, alarms: { all: "on" } },
  });
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
  // Zones come over another connection, and may come later.
  const withdrawn = broker.heard.filter(({ topic }) => topic === "depthwatt/rig/alarms").at(-1);
  expect(withdrawn).toEqual({ topic: "depthwatt/rig/alarms", text: "", retained: true });
  frame(4, 2, SMALL);
  configure({ zones: "wrong", alarms: "wrong" });
  expect(output.streams).toEqual(["scan", "quality"]);
});

const FLOOR = {
  zones: undefined,
  alarms: undefined,
  scan: false,
  quality: false,
  floor: "auto",
  grid: true,
  gridBinary: true,
  gridRos: true,
  gridMetres: 1.5,
  gridCellMetres: 0.5,
};
/** Level cameras of 90 degrees, 0.1 m apart. */
const LEVEL = {
  rectification: { focalPixels: 2, baselineMetres: 0.1, disparityOffsetPixels: 0, cx: 2, cy: 1 },
};

/** The floor 1 m below: its disparity grows by 0.1 px for each row; in 65536 x 16ths of a pixel. */
function floorNumbers(outcome: number, isThere: number) {
  const numbers = new Float64Array(13);
  numbers[0] = outcome;
  // 2048 of 64 x 48 pixels are below the horizon, 1536 of them on the floor.
  numbers[5] = 1536;
  numbers[7] = 2048;
  numbers.set([isThere, 0, 0.1 * 16 * 65_536, 0], 9);
  return numbers;
}

test("the floor and its grid as JSON, as bytes and as ROS messages, and on the page twice a second", async () => {
  const shown: object[] = [];
  const { output, broker } = await openOutput(
    { rig: LEVEL, showGrid: (grid: object) => shown.push(grid) },
    FLOOR,
  );
  vi.useFakeTimers({ toFake: ["performance"] });
  expect(output.streams).toEqual(["floor", "grid", "cells", "ros"]);
  // Nearest first, from right to left: an obstacle ahead, a drop-off to the left of the second row.
  const grid = Uint8Array.of(1, 2, 0, 1, 1, 3, 0, 0, 0);
  const lease = { released: 0, sent: 0 };
  const offer = (floor: Float64Array, more: object = {}) =>
    output.frame({
      frame: { width: 4, height: 2, clock: "file", leftTimestampNs: 12_345n, slot: { floor, grid }, ...more },
      release: () => lease.released++,
      sent: () => lease.sent++,
    } as unknown as FrameLease);
  let taken = 0;
  const take = async (count: number) => {
    const published = () => broker.packets.filter(({ type }) => type === PUBLISH).slice(taken);
    await until(`${count} messages`, () => published().length >= count);
    const all = published().map(({ topic, bytes, payloadBytes }) => [
      topic.replace("depthwatt/rig/", ""),
      bytes.subarray(bytes.length - payloadBytes),
    ]);
    taken += all.length;
    return Object.fromEntries(all) as Record<string, Buffer>;
  };
  const json = (body: Buffer) => JSON.parse(body.toString()) as { grid: object };

  offer(floorNumbers(0, 1));
  const first = await take(7);
  expect(Object.keys(first)).toEqual([
    "floor",
    "grid",
    "cells",
    "ros/grid",
    "ros/grid_scan",
    "ros/obstacles",
    "ros/tf",
  ]);
  expect(json(first.floor!)).toEqual({
    ...HEAD,
    floor: {
      source: "estimated",
      heightMetres: 1,
      pitchDegrees: 0,
      rollDegrees: 0,
      confidence: 0.75,
      imageShare: 0.5,
    },
  });
  const { grid: document } = json(first.grid!);
  expect(document).toMatchObject({
    cellMetres: 0.5,
    rows: ["???", "v..", "?#."],
    scan: { angleMax: 0.785398 },
  });
  // Version 1, clock 3 (file), a head of 32 bytes, the time, the sizes, 0.5 m as a float, then two bits a cell.
  const cells = first.cells!;
  expect([cells.subarray(0, 4).toString(), cells.length, cells.readBigUInt64LE(8)]).toEqual([
    "DWGR",
    35,
    12_345n,
  ]);
  expect([cells[4], cells[5], cells.readUInt16LE(6)]).toEqual([1, 3, 32]);
  expect([cells.readUInt16LE(16), cells.readUInt16LE(18), cells.readFloatLE(20)]).toEqual([3, 3, 0.5]);
  expect([...cells.subarray(32)]).toEqual([0b01001001, 0b00001101, 0]);
  expect(readRosGrid(first["ros/grid"]!)).toMatchObject({
    stampNs: 12_345n,
    frameId: "stereo_floor",
    resolution: 0.5,
    width: 3,
    height: 3,
    // A row for each column of the grid, from right to left.
    data: Int8Array.of(0, 0, -1, 100, 0, -1, -1, 100, -1),
  });
  expect(readRosScan(first["ros/grid_scan"]!)).toMatchObject({ stampNs: 12_345n, rangeMax: 1.5 });
  expect(readRosPoints(first["ros/obstacles"]!)).toMatchObject({ stampNs: 12_345n, width: 2 });
  const [transform] = readRosTransforms(first["ros/tf"]!);
  expect(transform).toMatchObject({ stampNs: 12_345n, child: "stereo_floor" });
  expect(transform!.translation[2]).toBeCloseTo(-1, 12);
  expect(shown).toEqual([document]);

  vi.advanceTimersByTime(499);
  offer(floorNumbers(0, 1), { clock: "monotonic", leftTimestampNs: process.hrtime.bigint() });
  const second = await take(7);
  expect(shown).toHaveLength(1);
  const sinceMs = Date.now() - Number(readRosHeader(second["ros/grid"]!).stampNs / 1_000_000n);
  expect(Math.abs(sinceMs)).toBeLessThan(60_000);

  // No floor: all is unknown, and there is no transform.
  vi.advanceTimersByTime(1);
  offer(floorNumbers(2, 0));
  const third = await take(6);
  const reason = "no plane below the cameras fits the pixels";
  const unknown = { available: false, reason: `no floor: ${reason}` };
  expect([json(third.floor!), json(third.grid!)]).toEqual([
    { ...HEAD, floor: { available: false, reason } },
    { ...HEAD, grid: unknown },
  ]);
  expect([third["ros/tf"], [...third.cells!.subarray(32)]]).toEqual([undefined, [0, 0, 0]]);
  expect(shown).toEqual([document, unknown]);
  expect(lease).toEqual({ released: 3, sent: 3 });
});

test("the topics of the floor are those of the settings; without a calibration there is no floor", async () => {
  for (const [settings, streams] of [
    [{ gridBinary: false, gridRos: false }, ["floor", "grid"]],
    [{ gridBinary: false }, ["floor", "grid", "ros"]],
    [{ gridRos: false }, ["floor", "grid", "cells"]],
  ] as const) {
    const { output } = await openOutput({ rig: LEVEL }, { ...FLOOR, ...settings });
    expect(output.streams).toEqual(streams);
  }
  const none = { available: false, reason: "without a calibration there is no depth" };
  for (const picture of [{ rig: undefined }, { rig: LEVEL, hasDepth: false }]) {
    const { frame, next } = await openOutput(picture, { ...FLOOR, gridBinary: false, gridRos: false });
    frame(4, 2, { floor: floorNumbers(0, 1), grid: new Uint8Array(9) });
    expect(await next(2)).toEqual({ floor: { ...HEAD, floor: none }, grid: { ...HEAD, grid: none } });
  }
});

test("a frame whose messages the broker does not get is one that was not sent", async () => {
  const { output, broker } = await openOutput({}, { alarms: undefined });
  await broker.close();
  await until("the broker is away", () => output.counters().details!.connected === false);
  const lease = { released: 0, sent: 0 };
  for (let frames = 0; frames < 2; frames++)
    output.frame({
      frame: { width: 4, height: 2, clock: "file", leftTimestampNs: 1n, slot: SMALL, result: {} },
      release: () => lease.released++,
      sent: () => lease.sent++,
    } as unknown as FrameLease);
  expect(lease).toEqual({ released: 2, sent: 0 });
  // Zones, scan and quality of both frames.
  expect(output.counters()).toMatchObject({
    sent: 0,
    bytes: 0,
    drops: { notSent: 2 },
    details: { messageDrops: { offline: 6 } },
  });
});

// SPDX-License-Identifier: Apache-2.0
// The open output of detections at a scripted broker: the frame of each message, how long messages wait, and refusals.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { rectify, sceneCalibration } from "../../../camera/index.js";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { openDetections } from "../../../edge/outputs/detections/detections-output.js";
import { until } from "../../doubles/frames.js";
import { startSideListener } from "../../doubles/side-listener.js";

const cleanups: (() => unknown)[] = [];
// The output's clock stands still; a test moves it.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] }));
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SIZE = 32;
const calibration = sceneCalibration({ width: SIZE, height: SIZE, view: "rectified" });
const rig = { calibration, rectification: rectify(calibration) };
const SETTINGS = {
  enabled: true,
  format: "depthwatt",
  image: "rectified",
  delayMs: 0,
  toleranceMs: 100,
  historyFrames: 3,
  rateHz: "max",
  minConfidence: 0.5,
  maxPerSecond: 200,
  keepSeconds: 10,
};
const TOPIC = "depthwatt/rig/detections";

async function openOutput(settings: object = {}) {
  const broker = await startSideListener();
  cleanups.push(() => broker.close());
  const topic = (settings as { topic?: string }).topic ?? TOPIC;
  const picture = { rig, hasDepth: true };
  const output = await openDetections({
    settings: Object.defineProperties({ ...SETTINGS }, Object.getOwnPropertyDescriptors(settings)),
    base: "depthwatt",
    device: "rig",
    broker: () => broker.access,
    notice: () => {},
    ...picture,
  } as unknown as OutputContext<never>);
  cleanups.push(() => output.close());
  await output.ready;
  await until("the subscription", () => broker.subscriptions === 1);
  const frame = (sequence: number, timeMs: number, changes: object = {}) => {
    const lease = { released: 0, sent: 0 };
    output.frame({
      frame: {
        width: SIZE,
        height: SIZE,
        clock: "realtime",
        leftTimestampNs: BigInt(timeMs) * 1_000_000n,
        leftSequence: sequence,
        slot: {
          left: new Uint8Array(SIZE * SIZE),
          right: new Uint8Array(0),
          disparityQ4: new Int16Array(SIZE * SIZE).fill(160),
          confidence: new Uint8Array(SIZE * SIZE).fill(128),
        },
        ...changes,
      },
      release: () => lease.released++,
      sent: () => lease.sent++,
    } as unknown as FrameLease);
    expect(lease).toEqual({ released: 1, sent: 1 });
  };
  const say = (message: object | string, retained = false) =>
    broker.say(topic, typeof message === "string" ? message : JSON.stringify(message), retained);
  const answers = async (count: number) => {
    await until(`${count} answers`, () => broker.heard.length >= count);
    const all = broker.take();
    for (const [topic, , retained] of all)
      expect([topic, retained]).toEqual(["depthwatt/rig/distances", false]);
    return all.map(([, document]) => document as Record<string, unknown>);
  };
  const details = () => output.counters().details as Record<string, unknown>;
  return { output, broker, picture, frame, say, answers, details };
}

const BASE_MS = 1_700_000_000_000;
const car = { id: "x", label: "car", box: [0.2, 0.2, 0.8, 0.8] };

test("a message is answered with the frame that it names, or the reason why there is none", async () => {
  const { output, broker, frame, say, answers } = await openOutput({ delayMs: 40 });
  for (const sequence of [1, 2, 3, 4]) frame(sequence, BASE_MS + 1000 * sequence);
  const answerOf = async (message: object | string, retained = false) => {
    say(message, retained);
    const [answer] = await answers(1);
    return answer!;
  };
  const place = (sequence: number) => ({
    ok: true,
    clock: "realtime",
    leftTimestampNs: `${BASE_MS + 1000 * sequence}000000`,
    leftSequence: sequence,
    timeMs: BASE_MS + 1000 * sequence,
  });
  expect(await answerOf({ detections: [] })).toEqual({ ...place(4), detections: [], nearestMetres: {} });
  const { focalPixels, baselineMetres } = rig.rectification;
  const metres = Number(((focalPixels * baselineMetres) / 10).toFixed(4));
  expect(await answerOf({ id: "a", leftSequence: 3, detections: [car, { ...car, id: "y" }] })).toEqual({
    ...place(3),
    id: "a",
    detections: ["x", "y"].map((id) => expect.objectContaining({ id, label: "car", distanceMetres: metres })),
    nearestMetres: { car: metres },
  });
  const named = (reference: object) => answerOf({ id: 7, ...reference, detections: [] });
  expect(await named({ leftTimestampNs: `${BASE_MS + 2100}000000` })).toMatchObject({ ...place(2), id: "7" });
  expect(await named({ timeMs: BASE_MS + 3140 })).toMatchObject(place(3));
  const refusal = (reason: string) => ({ id: "7", ok: false, reason });
  expect(await named({ timeMs: BASE_MS + 3141 })).toEqual(
    refusal("that frame was not kept; outputs.detections.rateHz limits how many are"),
  );
  expect(await named({ leftSequence: 1 })).toEqual(
    refusal("the frame is older than outputs.detections.historyFrames frames"),
  );
  expect(await answerOf("oops")).toEqual({ ok: false, reason: "expected JSON, got something else" });
  expect(await answerOf({ detections: [] }, true)).toEqual({
    ok: false,
    reason: "retained messages are ignored",
  });
  await until("all were sent", () => output.counters().sent === 8);
  const bytes = broker.packets.reduce((sum, packet) => sum + packet.payloadBytes, 0);
  expect(output.counters()).toEqual({
    sent: 8,
    bytes,
    drops: {},
    details: {
      connected: true,
      measured: 2,
      waiting: 0,
      ignored: 0,
      refused: { missing: 1, late: 1, invalid: 1, retained: 1 },
      messageDrops: {},
    },
  });
});

test("a pixel needs the least confidence, rounded up", async () => {
  const { frame, say, answers } = await openOutput({ minConfidence: 0.501 });
  frame(1, BASE_MS);
  say({ detections: [car] });
  expect((await answers(1))[0]).toMatchObject({ detections: [{ distanceMetres: expect.any(Number) }] });
  const strict = await openOutput({ minConfidence: 0.503 });
  strict.frame(1, BASE_MS);
  strict.say({ detections: [car] });
  const [answer] = await strict.answers(1);
  expect(answer).toMatchObject({ detections: [{ distanceMetres: { available: false }, matchedShare: 0 }] });
});

test("a message waits a second for its frame, which may still come, but not for the far future", async () => {
  const { frame, say, answers, details } = await openOutput();
  say({ id: "newest", detections: [] });
  say({ id: "far", timeMs: Date.now() + 60_000, detections: [] });
  const [far] = await answers(1);
  expect(far).toMatchObject({
    id: "far",
    reason: expect.stringMatching(/^the time is 5\d{4}|60000 ms in the/),
  });
  expect(details()).toMatchObject({ waiting: 1, refused: { future: 1 } });
  frame(4, BASE_MS);
  expect((await answers(1))[0]).toMatchObject({ id: "newest", leftSequence: 4 });
  say({ id: "next", leftSequence: 5, detections: [] });
  say({ id: "never", leftSequence: 6, detections: [] });
  await until("both wait", () => details().waiting === 2);
  vi.advanceTimersByTime(750);
  frame(5, BASE_MS + 50);
  expect((await answers(1))[0]).toMatchObject({ id: "next", leftSequence: 5 });
  expect(details()).toMatchObject({ waiting: 1 });
  vi.advanceTimersByTime(250);
  expect(await answers(1)).toEqual([{ id: "never", ok: false, reason: "no such frame came within 1000 ms" }]);
  expect(details()).toMatchObject({ waiting: 0, measured: 0, refused: { future: 1, early: 1 } });
});

test("without any frame a message is refused after a second, and 64 messages wait at a time", async () => {
  const { say, answers, details } = await openOutput();
  for (let id = 0; id < 65; id++) say({ id, detections: [] });
  expect(await answers(1)).toEqual([
    { id: "64", ok: false, reason: "64 messages wait for their frames already" },
  ]);
  expect(details().waiting).toBe(64);
  vi.advanceTimersByTime(1000);
  // Ten refusals a second are answered, one of which was the first; those of the tick before are over.
  const refused = await answers(9);
  expect(refused[0]).toEqual({ id: "0", ok: false, reason: "no frame was computed yet" });
  expect(details()).toMatchObject({ waiting: 0, refused: { waiting: 1, empty: 64 } });
});

test("detections are limited by the second, and refusals that no answer named are summed up", async () => {
  const { frame, say, answers, details } = await openOutput({ maxPerSecond: 14 });
  frame(1, BASE_MS);
  const empty = { leftSequence: 1, detections: [] };
  for (let message = 0; message < 12; message++) say("oops");
  expect(await answers(10)).toHaveLength(10);
  say(empty);
  expect(await answers(1)).toMatchObject([{ ok: true }]);
  // One is left.
  say({ leftSequence: 1, detections: [car, car] });
  await until("it is refused", () => (details().refused as Record<string, number>).rateLimit === 1);
  expect(details()).toMatchObject({ measured: 0, refused: { invalid: 12 } });
  vi.advanceTimersByTime(999);
  expect(details()).toMatchObject({ refused: { invalid: 12, rateLimit: 1 } });
  vi.advanceTimersByTime(1);
  expect(await answers(1)).toEqual([
    {
      ok: false,
      reason: "too many messages were refused to answer each",
      refused: { invalid: 2, rateLimit: 1 },
    },
  ]);
  say({ leftSequence: 1, detections: [car, car] });
  expect(await answers(1)).toMatchObject([{ ok: true, detections: [{}, {}] }]);
  for (let message = 0; message < 13; message++) say({ id: message, leftSequence: 1, detections: [] });
  const last = (await answers(13)).at(-1);
  expect(last).toEqual({ ok: false, reason: "more than 14 detections a second" });
});

test("an object that its detector lost is forgotten; another camera's messages are ignored", async () => {
  const frigate = { format: "frigate", camera: "porch", imageWidth: 100, imageHeight: 100 };
  const { frame, say, answers, details } = await openOutput(frigate);
  frame(1, BASE_MS);
  const event = (type: string, camera: string) => ({
    type,
    after: { camera, id: "1", label: "cat", frame_time: BASE_MS / 1000, box: [20, 20, 80, 80] },
  });
  say(event("new", "garden"));
  say(event("new", "porch"));
  say(event("end", "porch"));
  const [first, second] = await answers(2);
  expect(first).toMatchObject({ ok: true, nearestMetres: { cat: expect.any(Number) } });
  expect(second).toEqual({
    ok: true,
    detections: [{ id: "1", label: "cat", ended: true }],
    nearestMetres: {},
  });
  expect(details()).toMatchObject({ ignored: 1, measured: 1 });
});

test("another rig forgets frames and objects, the same one keeps them; replayed frames are as old as their arrival", async () => {
  const { output, picture, frame, say, answers } = await openOutput();
  const arrivedNs = process.hrtime.bigint();
  const nowMs = Date.now();
  frame(1, 0, { clock: "file", arrivedNs });
  output.configure!({} as never, picture as never);
  say({ detections: [car] });
  const [answer] = await answers(1);
  expect(answer).toMatchObject({
    clock: "file",
    leftTimestampNs: "0",
    nearestMetres: { car: expect.any(Number) },
  });
  expect(Math.abs((answer!.timeMs as number) - nowMs)).toBeLessThan(10_000);
  output.configure!({} as never, { ...picture, rig: { ...rig } } as never);
  say({ id: "new", detections: [] });
  await until("it waits", () => output.counters().details!.waiting === 1);
  frame(2, BASE_MS);
  expect((await answers(1))[0]).toMatchObject({ id: "new", leftSequence: 2, nearestMetres: {} });
});

test("the distance is that of both images: 10.25 px where the matcher found 10", async () => {
  const { frame, say, answers } = await openOutput();
  const grey = (x: number, y: number) => 128 + 50 * Math.sin(0.5 * x + y) + 50 * Math.cos(0.23 * x - y);
  const image = (shift: number) =>
    Uint8Array.from({ length: SIZE * SIZE }, (_, i) =>
      Math.round(grey((i % SIZE) + shift, Math.floor(i / SIZE))),
    );
  const disparityQ4 = new Int16Array(SIZE * SIZE).fill(160);
  const confidence = new Uint8Array(SIZE * SIZE).fill(255);
  frame(1, BASE_MS, { slot: { left: image(0), right: image(10.25), disparityQ4, confidence } });
  say({ detections: [{ ...car, box: [0.5, 0.1, 0.9, 0.9] }] });
  const [answer] = await answers(1);
  const [measured] = answer!.detections as Record<string, number>[];
  const { focalPixels, baselineMetres } = rig.rectification;
  expect(Math.abs(measured!.disparityPixels! - 10.25)).toBeLessThan(0.01);
  expect(measured!.distanceMetres).toBeCloseTo(
    (focalPixels * baselineMetres) / measured!.disparityPixels!,
    3,
  );
  // Rounding to whole grey levels is noise of 0.3 levels in each image.
  expect(measured!.standardErrorMetres).toBeGreaterThan(0);
  expect(measured!.standardErrorMetres).toBeLessThan(0.01);
});

test("detections are read from the topic of the settings; a message names its own image", async () => {
  const raw = sceneCalibration({ width: SIZE, height: SIZE });
  const turned = { calibration: raw, rectification: rectify(raw) };
  const answerFor = async (settings: object, message: object) => {
    const opened = await openOutput({ topic: "door/objects", ...settings });
    opened.output.configure!({} as never, { ...opened.picture, rig: turned } as never);
    // Between two thousandths of a millisecond: the times of doubles this large are 0.00024 ms apart.
    opened.frame(1, BASE_MS, { leftTimestampNs: BigInt(BASE_MS) * 1_000_000n + 123_456_700n });
    opened.say({ detections: [{ ...car, id: undefined }], ...message });
    const [answer] = await opened.answers(1);
    expect(answer).toMatchObject({ ok: true, timeMs: BASE_MS + 123.457 });
    return (answer!.detections as { sizeMetres: object }[])[0]!.sizeMetres;
  };
  const [rectified, captured] = [await answerFor({}, {}), await answerFor({ image: "raw" }, {})];
  expect(captured).not.toEqual(rectified);
  expect(await answerFor({}, { image: "raw" })).toEqual(captured);
  expect(await answerFor({ image: "raw" }, { image: "rectified" })).toEqual(rectified);
});

test("messages take a quarter of the time, and are refused beyond", async () => {
  const slow = {
    // It is read for each measurement, which so takes 125 ms of the output's clock.
    get minConfidence() {
      vi.advanceTimersByTime(125);
      return 0.5;
    },
  };
  const { frame, say, answers, details } = await openOutput(slow);
  frame(1, BASE_MS);
  const answer = async () => {
    say({ detections: [car] });
    const [{ ok, reason }] = (await answers(1)) as [{ ok: boolean; reason?: string }];
    return [ok, reason];
  };
  // 250 ms may be spent at once: 125 are left, then 31.25 and -62.5, since each 125 ms bring 31.25 back.
  for (let message = 0; message < 3; message++) expect(await answer()).toEqual([true, undefined]);
  const busy = [false, "detections took 25 % of the time already"];
  expect(await answer()).toEqual(busy);
  vi.advanceTimersByTime(125);
  expect(await answer()).toEqual(busy);
  vi.advanceTimersByTime(1);
  expect(await answer()).toEqual([true, undefined]);
  expect(details()).toMatchObject({ measured: 4, refused: { busy: 2 } });
});

test("a time waits for its frame if it is at most a second ahead, less the delay of the detections", async () => {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval", "Date"], now: BASE_MS });
  const { frame, say, answers, details } = await openOutput({ delayMs: 40 });
  frame(1, BASE_MS - 5000);
  say({ id: "far", timeMs: BASE_MS + 1041, detections: [] });
  expect(await answers(1)).toEqual([
    { id: "far", ok: false, reason: "the time is 1001 ms in the future; compare the clocks" },
  ]);
  say({ id: "near", timeMs: BASE_MS + 1040, detections: [] });
  await until("it waits", () => details().waiting === 1);
  frame(2, BASE_MS + 1000);
  expect(await answers(1)).toMatchObject([{ id: "near", ok: true, leftSequence: 2 }]);
});

// SPDX-License-Identifier: Apache-2.0
// Tests how the page joins its worker, its state and the requests of control. The test stands for the worker and the screen.
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import type { FrameSet, FromWorker, ToWorker } from "../../../clients/page/frame-set.js";
import type { Values } from "../../../clients/page/settings/changes.js";
import { S } from "../../../clients/page/strings.js";
import type { ControlAnswer, ToPage } from "../../../edge/outputs/viewer/protocol.js";

const sent: ToWorker[] = [];
const screen: (() => void)[] = [];
const page = vi.hoisted(() => ({ worker: undefined as { onmessage(event: object): void } | undefined }));
vi.stubGlobal(
  "Worker",
  class {
    onmessage = () => {};
    constructor() {
      page.worker = this;
    }
    postMessage(message: ToWorker) {
      sent.push(message);
    }
  },
);
vi.stubGlobal("requestAnimationFrame", (draw: () => void) => screen.push(draw));
vi.stubGlobal("location", { protocol: "https:", host: "board:8080", pathname: "/rigs/front/index.html" });
// The page's state lives in its modules: other files of this process get others.
vi.resetModules();
afterAll(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});
const { change, chooseDevice, controlNow, pageState } = await import("../../../clients/page/store.js");
const live = await import("../../../clients/page/live.js");
const changes = await import("../../../clients/page/settings/changes.js");
const zones = await import("../../../clients/page/picture/zones.js");
const { regionBetween, sendRegion } = await import("../../../clients/page/picture/region.js");
const { refreshSettings } = await import("../../../clients/page/settings/refresh.js");

const receive = (data: FromWorker) => page.worker!.onmessage({ data });
const hear = (message: object) => receive({ type: "said", message: message as ToPage });
const refresh = () => {
  for (const draw of screen.splice(0)) draw();
};
const kinds = () => sent.map(({ type }) => type);

interface Asked {
  id: number;
  command: string;
  device: string | undefined;
  payload: { body: object; signed?: string; signature?: string };
}
/** The newest request that the page has sent. */
function asked(): Asked {
  const say = sent.filter((message) => message.type === "say").at(-1)!;
  const message = say.message as unknown as Omit<Asked, "payload"> & { payload: string };
  return { ...message, payload: JSON.parse(message.payload) };
}
const answer = (reply: object) => hear({ type: "answer", id: asked().id, answer: reply });
const refusal = { ok: false, code: "CONFIG_INVALID", message: "Too large.", hint: "Use less." };

/** Opens a run that takes changes. */
const ENABLED = {
  state: { enabled: true, canSave: true },
  settings: [{ key: "outputs.derived.zones", default: "all 0,0 1,0 1,1" }],
  values: { "region.x": 5, "outputs.derived.zones": "a 0,0 1,0 1,1; b 0,0 0.5,0 0.5,0.5" },
  presets: [],
};
beforeEach(() => {
  sent.length = 0;
  screen.length = 0;
  receive({ type: "link", state: "lost" });
  receive({ type: "link", state: "open" });
  hear({ type: "devices", devices: [] });
  change({ device: "cam", opened: {}, changes: { steps: [], unsaved: [] }, frozen: false, documents: {} });
  hear({ type: "control", ...ENABLED });
});

test("connects with the page's own scheme, host and folder", () => {
  live.connect();
  vi.stubGlobal("location", { protocol: "http:", host: "board", pathname: "/" });
  live.connect();
  expect(sent).toEqual([
    { type: "connect", url: "wss://board:8080/rigs/front/live" },
    { type: "connect", url: "ws://board/live" },
  ]);
});

test("asks for a device and its streams once, until they change", () => {
  for (const streams of [["depth"], ["depth"], ["depth", "left"]] as const) live.watch("cam", [...streams]);
  expect(kinds()).toEqual(["watch", "watch"]);
});

test.each<[object, object]>([
  [{ type: "password", reason: "wrong" }, { password: "wrong" }],
  [
    { type: "hello", timeMs: Date.now(), origin: "x" },
    { password: undefined, hello: { origin: "x" } },
  ],
  [
    { type: "source", connected: false, reason: "the broker is away" },
    { source: { connected: false, reason: "the broker is away" } },
  ],
  [
    { type: "devices", devices: [{ name: "other" }] },
    { device: "cam", devices: [{ name: "other" }] },
  ],
  [{ type: "watching", device: "other" }, { device: "other" }],
  [{ type: "watching" }, { device: "cam" }],
  [
    { type: "info", device: "cam", document: { version: "1" } },
    { documents: { cam: { info: { version: "1" } } } },
  ],
  [{ type: "metrics", device: "cam", document: { fps: 3 } }, { documents: { cam: { metrics: { fps: 3 } } } }],
])("takes %j", (message, expected) => {
  change({ password: "needed" });
  hear(message);
  expect(pageState()).toMatchObject(expected);
});

test("the first device is shown if none is chosen; documents of devices that left are forgotten", () => {
  change({ device: undefined });
  for (const device of ["one", "two"]) hear({ type: "state", device, document: { state: "online" } });
  hear({ type: "devices", devices: [{ name: "two" }] });
  expect(pageState()).toMatchObject({ device: "two", documents: { two: { state: { state: "online" } } } });
  expect(Object.keys(pageState().documents)).toEqual(["two"]);
});

test("the newest 200 lines of the log are kept, and none of an earlier connection", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, timeMs) => ({ timeMs, text: "x" }));
  hear({ type: "log", lines: lines(150) });
  hear({ type: "log", lines: lines(100) });
  expect(pageState().log.length).toBe(200);
  receive({ type: "link", state: "lost" });
  expect(pageState().log.length).toBe(200);
  receive({ type: "link", state: "open" });
  expect(pageState().log).toEqual([]);
});

const set = (frameNumber: number, rest: object = {}): FrameSet =>
  ({
    device: "cam",
    pictures: { depth: { header: { frameNumber, runId: 1, stream: "depth" } } },
    damaged: {},
    skipped: 0,
    bytes: 10,
    ...rest,
  }) as never;

test("draws the newest set at each screen refresh, and grants the worker as many as it received", () => {
  const drawn: number[] = [];
  const stop = live.onFrames(({ pictures }) => drawn.push(pictures.depth!.header.frameNumber));
  const before = { ...live.shownFrames };
  for (const number of [1, 2]) receive({ type: "frames", set: set(number, { skipped: 3 }) });
  refresh();
  expect(drawn).toEqual([2]);
  expect(kinds()).toEqual(["shown", "shown"]);
  receive({ type: "frames", set: set(2, { damaged: { left: "cut" } }) });
  refresh();
  receive({ type: "frames", set: set(1, { pictures: { depth: { header: { frameNumber: 1, runId: 2 } } } }) });
  refresh();
  expect(live.shownFrames).toMatchObject({
    sets: before.sets + 3,
    skipped: before.skipped + 3,
    damaged: before.damaged + 1,
    outOfOrder: before.outOfOrder + 1, // a new run begins at 1 again
  });
  const late: number[] = [];
  live.onFrames(({ pictures }) => late.push(pictures.depth!.header.frameNumber))();
  expect(late).toEqual([1]);
  stop();
});

test("a set of another device is not drawn, and a frozen page keeps its own until it is released", () => {
  const drawn: string[] = [];
  const stop = live.onFrames(({ device }) => drawn.push(device));
  drawn.length = 0;
  receive({ type: "frames", set: set(5, { device: "other" }) });
  refresh();
  expect([drawn, kinds()]).toEqual([[], ["shown"]]);
  live.freeze(true);
  receive({ type: "frames", set: set(6) });
  refresh();
  expect([drawn, kinds()]).toEqual([[], ["shown"]]);
  live.freeze(false);
  expect(kinds()).toEqual(["shown", "shown"]);
  chooseDevice("other");
  live.watch("other", ["left"]);
  expect(live.shownSet()).toBeUndefined();
  stop();
});

test("requests wait for an answer; without a connection, or when it breaks, they are unanswered", async () => {
  const first = live.ask("get", {});
  hear({ type: "answer", id: asked().id + 1, answer: refusal });
  receive({ type: "link", state: "lost" });
  expect(await first).toEqual(S.unanswered);
  sent.length = 0;
  expect(await live.ask("get", {})).toEqual(S.unanswered);
  expect(sent).toEqual([]);
});

test.each<[object, object | undefined]>([
  [{ enabled: true, canSave: true }, undefined],
  [
    { enabled: true, canSave: true, signedFor: "base/cam" },
    { id: expect.any(String), client: "page" },
  ],
  [{ enabled: false, reason: "no secret" }, undefined],
  [{ enabled: false, reason: "opened by its secret", askedBelow: "base" }, { id: expect.any(String) }],
])("under %j a request is signed: %j", (state, signed) => {
  hear({ type: "control", ...ENABLED, state });
  void live.ask("get", {});
  const { payload } = asked();
  if (signed === undefined) expect(payload).toEqual({ id: expect.any(String), client: "page", body: {} });
  else {
    expect(payload.signature).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(payload.signed!)).toMatchObject(signed);
  }
});

test("a change is a step that can be taken back and saved; a refused one is neither", async () => {
  expect(await changes.undoChange()).toBeUndefined();
  const change = async (values: Values, reply: object): Promise<ControlAnswer> => {
    const pending = changes.changeSettings(values);
    answer(reply);
    return pending;
  };
  expect(await change({ "region.x": 9 }, refusal)).toMatchObject({ ok: false });
  expect(pageState().changes).toEqual({ steps: [], unsaved: [] });
  await change({ "region.x": 9, "match.p1": 3 }, { ok: true, values: { "region.x": 9, "match.p1": 3 } });
  expect(pageState().changes).toEqual({
    steps: [{ "region.x": 5, "match.p1": null }],
    unsaved: ["region.x", "match.p1"],
  });
  const undone = changes.undoChange();
  expect(asked().payload.body).toEqual({ values: { "region.x": 5, "match.p1": null } });
  answer(refusal);
  expect(await undone).toMatchObject({ ok: false });
  expect(pageState().changes.steps.length).toBe(1);
  const again = changes.undoChange();
  answer({ ok: true });
  await again;
  expect(pageState().changes).toEqual({ steps: [], unsaved: ["region.x", "match.p1"] });
  for (const [reply, left] of [
    [refusal, ["region.x", "match.p1"]],
    [{ ok: true }, []],
  ] as const) {
    const saving = changes.saveChanges();
    expect(asked().payload.body).toMatchObject({ values: { "region.x": 5 }, save: true });
    answer(reply);
    await saving;
    expect(pageState().changes.unsaved).toEqual(left);
  }
});

test("a preset is asked for by name; an answer that comes after the device was left is no step", async () => {
  const pending = changes.choosePreset("sgm");
  expect(asked()).toMatchObject({ command: "set", payload: { body: { preset: "sgm" } } });
  chooseDevice("other");
  answer({ ok: true, values: { "region.x": 1 } });
  expect(await pending).toMatchObject({ ok: true });
  expect(pageState().changes.steps).toEqual([]);
});

test("settings of a broker's device open once it has answered schema and get", async () => {
  expect(await changes.openSettings()).toEqual(S.unanswered); // a run needs no opening
  hear({ type: "control", ...ENABLED, state: { enabled: false, reason: "closed", askedBelow: "base" } });
  const refused = changes.openSettings();
  answer(refusal);
  expect(await refused).toMatchObject({ ok: false, code: "CONFIG_INVALID" });
  const left = changes.openSettings();
  chooseDevice("other");
  answer({ ok: true, settings: [] });
  expect(await left).toEqual(S.unanswered);
  chooseDevice("cam");
  const opening = changes.openSettings();
  answer({ ok: true, settings: ENABLED.settings });
  await vi.waitFor(() => expect(asked().command).toBe("get"));
  answer({ ok: true, values: { "region.x": 7 } });
  expect(await opening).toMatchObject({ ok: true });
  expect(controlNow(pageState())).toMatchObject({
    state: { enabled: true, signedFor: "base/cam" },
    values: { "region.x": 7 },
    presets: [],
  });
  // A broker's device answers only the client that asked, so its values are taken from the answer.
  const pending = changes.changeSettings({ "region.x": 8 });
  answer({ ok: true, values: { "region.x": 8 } });
  await pending;
  expect(controlNow(pageState()).values).toEqual({ "region.x": 8 });
  expect(pageState().changes.steps).toEqual([{ "region.x": 7 }]);
});

test("values of an opened device are asked for once for several calls, and again while it is busy", async () => {
  vi.useFakeTimers();
  try {
    const gets = () => sent.filter(({ type }) => type === "say").length;
    refreshSettings("cam");
    await vi.advanceTimersByTimeAsync(500);
    expect(gets()).toBe(0); // its settings were never opened
    change({ opened: { cam: { ...controlNow(pageState()) } } });
    for (let i = 0; i < 3; i++) refreshSettings("cam");
    await vi.advanceTimersByTimeAsync(500);
    expect(gets()).toBe(1);
    answer({ ...refusal, code: "CONTROL_BUSY" });
    await vi.advanceTimersByTimeAsync(1499);
    expect(gets()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(gets()).toBe(2);
    answer({ ok: true, values: { "region.x": 6 } });
    await vi.advanceTimersByTimeAsync(5000);
    expect(gets()).toBe(2);
    expect(pageState().opened.cam!.values["region.x"]).toBe(6);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  [
    { x: 40, y: 30 },
    { x: 10, y: 50 },
    { x: 10, y: 30, width: 31, height: 21 },
  ],
  [
    { x: 40, y: 30 },
    { x: 40, y: 30 },
    { x: 0, y: 0, width: 0, height: 0 },
  ],
  [
    { x: 0, y: 0 },
    { x: 100, y: 6 },
    { x: 0, y: 0, width: 0, height: 0 },
  ],
])("a region from %j to %j is sent as %j; a refusal is a line of the log", async (a, b, sentRegion) => {
  const pending = sendRegion(regionBetween(a, b));
  expect(asked().payload.body).toEqual({
    values: Object.fromEntries(Object.entries(sentRegion).map(([key, value]) => [`region.${key}`, value])),
  });
  answer(refusal);
  await pending;
  expect(pageState().log).toMatchObject([{ level: "warn", text: "Too large. Use less." }]);
});

test("zones are added, replaced and removed in the words of their setting; the last one leaves no value", async () => {
  const corners = [
    { x: -1, y: 0 },
    { x: 0.123456, y: 0 },
    { x: 1, y: 2 },
  ];
  const text = async (pending: Promise<ControlAnswer>) => {
    answer({ ok: true });
    await pending;
    return (asked().payload.body as { values: object }).values;
  };
  const KEY = "outputs.derived.zones";
  expect(await text(zones.addZone({ name: "a", corners }))).toEqual({
    [KEY]: "b 0,0 0.5,0 0.5,0.5; a 0,0 0.1235,0 1,1",
  });
  expect(await text(zones.removeZone("a"))).toEqual({ [KEY]: "b 0,0 0.5,0 0.5,0.5" });
  hear({ type: "control", ...ENABLED, values: { [KEY]: "a 0,0 1,0 1,1" } });
  expect(await text(zones.removeZone("a"))).toEqual({ [KEY]: null });
  hear({ type: "control", ...ENABLED, settings: [] });
  expect(await text(zones.addZone({ name: "a", corners }))).toEqual({ [KEY]: "a 0,0 0.1235,0 1,1" });
});

const all = (value: number, count: number) => Uint8Array.from({ length: count }, () => value);
/** A set of 5 x 5 pixels at so many millimetres. */
function frameSet(millimetres: number, confidence?: Uint8Array): FrameSet {
  const header = { unitScale: 0.001, valueOffset: 0, invalidRule: "zero", width: 5, height: 5 };
  const depth = { header, counts: new Uint16Array(25).fill(millimetres) };
  return {
    ...set(1),
    pictures: { depth, ...(confidence && { confidence: { header, counts: confidence } }) },
  } as never;
}

const zone = { name: "a", corners: [0, 1, 1, 0].map((x, i) => ({ x, y: i < 2 ? 0 : 1 })) };
const floats = frameSet(2000, all(9, 25));
(floats.pictures.depth as { counts: object }).counts = new Float32Array(25);
test.each<[string, FrameSet, number, number | undefined]>([
  ["enough matched pixels", frameSet(2000, all(9, 25)), 20, 2],
  ["too few", frameSet(2000, all(9, 25)), 26, Number.NaN],
  ["no confidence", frameSet(2000), 1, undefined],
  ["confidence of another size", frameSet(2000, all(9, 4)), 1, undefined],
  ["depth in floats", floats, 1, undefined],
  ["no depth", { ...frameSet(0), pictures: {} }, 1, undefined],
])("the distance of a zone with %s", (_what, set, minPixels, expected) => {
  expect(zones.nearestInZone(set, zone, minPixels)).toEqual(expected);
});

const control = (values: object, settings: object[] = [{ key: "outputs.derived.zones", default: "d" }]) =>
  ({ settings, values }) as never;
test.each<[string, unknown, unknown]>([
  ["no such setting", zones.zonesFrom(control({}, [])), undefined],
  ["no value", zones.zonesFrom(control({})), []],
  ["text that is no zone", zones.zonesFrom(control({ "outputs.derived.zones": "x" })), []],
  ["the device's zone", zones.hasOwnZones(control({ "outputs.derived.zones": "d" })), false],
  ["a drawn zone", zones.hasOwnZones(control({ "outputs.derived.zones": "e" })), true],
  ["no zones", zones.hasOwnZones(control({}, [])), false],
  [
    "the first free name",
    zones.freeName([
      { ...zone, name: "zone-1" },
      { ...zone, name: "zone-3" },
    ]),
    "zone-2",
  ],
])("zones of %s", (_what, found, expected) => expect(found).toEqual(expected));

// SPDX-License-Identifier: Apache-2.0
// A page behind a slow network: what waits at its socket must not cost it the head of a set of frames, nor an answer.
import { EventEmitter } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import type { WebSocket } from "ws";
import type { PictureStream } from "../../../core/frame/frame-format.js";
import { documentationUrl, VERSION } from "../../../edge/contracts/version.js";
import { Hub } from "../../../edge/outputs/viewer/hub.js";
import type { FromPage, ToPage } from "../../../edge/outputs/viewer/protocol.js";

/** A WebSocket that holds what it was given, as one does whose other end does not read. */
class SlowSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: (ToPage | Uint8Array)[] = [];
  readonly terminate = vi.fn();
  readonly close = vi.fn();
  readonly ping = vi.fn();

  send(data: string | Uint8Array, _options?: object, done?: () => void): void {
    this.bufferedAmount += data.length;
    this.sent.push(typeof data === "string" ? JSON.parse(data) : data);
    done?.();
  }
}

function opened() {
  const hub = new Hub({
    kind: "run",
    origin: "a test",
    control: {
      describe: () => ({
        type: "control",
        state: { enabled: true, canSave: false },
        settings: [],
        values: {},
        presets: [],
      }),
      ask: async ({ id }) => ({ type: "answer", id, answer: { ok: true } }),
    },
  });
  const socket = new SlowSocket();
  hub.join(socket as unknown as WebSocket, "a test");
  // Ends the hub's beat, which would go on in the tests behind this one.
  onTestFinished(() => void socket.emit("close"));
  const hear = (message: FromPage) => socket.emit("message", JSON.stringify(message), false);
  const kinds = () => socket.sent.map((one) => (one instanceof Uint8Array ? one.length : one.type));
  return { hub, socket, hear, kinds };
}

test("each set of frames has its head, however much waits in front of it", () => {
  const { hub, socket, hear, kinds } = opened();
  hear({ type: "watch", device: "a", streams: ["depth"] });
  hear({ type: "next" });
  hear({ type: "next" });
  socket.sent.length = 0;
  const frames = new Map<PictureStream, Uint8Array>([["depth", new Uint8Array(3 << 20)]]);
  for (let set = 0; set < 2; set++) hub.send("a", frames, () => {});
  expect(kinds()).toEqual(["frames", 3 << 20, "frames", 3 << 20]);
});

test("an answer is sent while frames wait; other words are left out and said again", async () => {
  const { hub, socket, hear, kinds } = opened();
  socket.sent.length = 0;
  socket.bufferedAmount = 5 << 20;
  hub.log("info", "a line");
  hear({ type: "ask", id: 7, command: "get", payload: "{}" });
  await vi.waitFor(() => expect(kinds()).toEqual(["answer"]));
  socket.bufferedAmount = 0;
  hear({ type: "next" });
  expect(kinds()).toContain("log");
});

test.each([
  [1 << 20, ["log"]],
  [(1 << 20) + 1, []],
])("with %i bytes in front of it a line of the log is sent or not", (bufferedAmount, sent) => {
  const { hub, socket, hear, kinds } = opened();
  socket.sent.length = 0;
  socket.bufferedAmount = bufferedAmount;
  hub.log("info", "a line");
  expect(kinds()).toEqual(sent);
  socket.bufferedAmount = 0;
  socket.sent.length = 0;
  hear({ type: "next" });
  // All of it again, once.
  const all = ["source", "devices", "log", "control"];
  expect(kinds()).toEqual(sent.length > 0 ? [] : all);
  hear({ type: "next" });
  expect(kinds()).toEqual(sent.length > 0 ? [] : all);
});

const ask = { type: "ask", id: 7, command: "get", payload: "{}" };
test.each<[string, number, (length: number) => object]>([
  ["password", 1024, (length) => ({ type: "login", password: "x".repeat(length) })],
  ["device to watch", 256, (length) => ({ type: "watch", device: "x".repeat(length), streams: [] })],
  ["list of streams", 8, (length) => ({ type: "watch", streams: Array(length).fill("left") })],
  ["device to ask", 256, (length) => ({ ...ask, device: "x".repeat(length) })],
  ["command", 64, (length) => ({ ...ask, command: "x".repeat(length) })],
  ["request", 65_536, (length) => ({ ...ask, payload: "x".repeat(length) })],
])("a %s may be %i long", (_, max, make) => {
  const { socket, hear } = opened();
  hear(make(max) as FromPage);
  expect(socket.close).not.toHaveBeenCalled();
  hear(make(max + 1) as FromPage);
  expect(socket.close.mock.calls).toEqual([[1008, "expected a message of depthwatt's page"]]);
});

test("an answer is sent with 64 MiB in front of it, and not with more; nothing to a socket that closes", async () => {
  const { hub, socket, hear, kinds } = opened();
  const ask = async () => {
    hear({ type: "ask", id: 7, command: "get", payload: "{}" });
    // The answer comes with the next microtasks.
    await new Promise((done) => setImmediate(done));
  };
  socket.sent.length = 0;
  socket.bufferedAmount = 64 << 20;
  await ask();
  expect([kinds(), socket.terminate.mock.calls.length]).toEqual([["answer"], 0]);
  socket.bufferedAmount = (64 << 20) + 1;
  await ask();
  expect([kinds(), socket.terminate.mock.calls.length]).toEqual([["answer"], 1]);
  socket.bufferedAmount = 0;
  socket.readyState = 2;
  hub.log("info", "a line");
  expect(kinds()).toEqual(["answer"]);
});

test("skipped sets are counted until the next one, and a set without a watched stream settles at once", () => {
  const { hub, socket, hear } = opened();
  hear({ type: "watch", device: "a", streams: ["depth"] });
  expect(hub.watched("b")).toBe(false);
  for (let set = 0; set < 3; set++) hub.wanted("a");
  hub.wanted("b");
  hear({ type: "next" });
  hear({ type: "next" });
  expect(hub.wanted("a")).toEqual(new Set(["depth"]));
  let settled = 0;
  hub.send("b", new Map([["depth", new Uint8Array(1)]]), () => settled++);
  hub.send("a", new Map([["left", new Uint8Array(1)]]), () => settled++);
  hub.send("a", new Map([["depth", new Uint8Array(1)]]), () => settled++);
  // No credit is left.
  hub.send("a", new Map([["depth", new Uint8Array(1)]]), () => settled++);
  expect(settled).toBe(4);
  const heads = socket.sent.filter((one) => !(one instanceof Uint8Array) && one.type === "frames");
  expect(heads).toEqual([
    { type: "frames", device: "a", count: 0, skipped: 3 },
    { type: "frames", device: "a", count: 1, skipped: 0 },
  ]);
  hear({ type: "watch", device: "a", streams: [] });
  expect(hub.watched("a")).toBe(false);
});

test("a page is greeted, hears about its source, and gets the first device if it names none", () => {
  const { hub, socket, hear } = opened();
  const hello = { type: "hello", protocol: 1, version: VERSION, kind: "run", origin: "a test" };
  expect(socket.sent.slice(0, 2)).toEqual([
    { ...hello, help: documentationUrl("guides/live-page.md"), timeMs: expect.any(Number) },
    { type: "source", connected: true, reason: "a test" },
  ]);
  const last = () => socket.sent.at(-1);
  hear({ type: "watch", device: undefined, streams: ["depth"] });
  expect(last()).toEqual({ type: "watching" });
  hub.document("a", "info", {});
  hub.document("b", "info", {});
  hear({ type: "watch", device: undefined, streams: ["depth"] });
  expect(last()).toEqual({ type: "watching", device: "a" });
  hub.source(false, "the broker is away");
  expect(last()).toEqual({ type: "source", connected: false, reason: "the broker is away" });
  hub.controlChanged();
  expect(last()).toMatchObject({ type: "control", state: { enabled: true } });
  const view = new Hub({ kind: "view", origin: "mqtt://broker" });
  const page = new SlowSocket();
  view.join(page as unknown as WebSocket, "a test");
  expect(page.sent[1]).toEqual({ type: "source", connected: false, reason: "mqtt://broker" });
  // Without control there is nothing to report.
  const before = page.sent.length;
  view.controlChanged();
  expect(page.sent).toHaveLength(before);
  view.close();
  expect([view.pages, page.close.mock.calls]).toEqual([0, [[1001, "depthwatt was stopped"]]]);
});

test("who a page is, and whether it is on this machine, is reported to control; a stranger hears nothing of it", () => {
  const visitors: unknown[] = [];
  const password: string[] = [];
  const hub = new Hub({
    kind: "run",
    origin: "a test",
    gate: {
      check: (given: string, who: string) => {
        password.push(given, who);
        return given === "right" ? "right" : "wait";
      },
    } as never,
    control: { describe: (visitor: unknown) => visitors.push(visitor) && { type: "control" } } as never,
  });
  const socket = new SlowSocket();
  hub.join(socket as unknown as WebSocket, "10.0.0.1", true);
  onTestFinished(() => void socket.emit("close"));
  const hear = (message: FromPage) => socket.emit("message", JSON.stringify(message), false);
  hub.controlChanged();
  hub.source(true, "again");
  hear({ type: "login", password: "wrong" });
  socket.emit("message", Buffer.from("{"), true);
  expect(socket.sent.slice(1)).toEqual([
    { type: "password", reason: "needed" },
    { type: "password", reason: "wait" },
  ]);
  expect([visitors, socket.close.mock.calls]).toEqual([[], []]);
  hear({ type: "login", password: "right" });
  expect(visitors).toEqual([{ who: "10.0.0.1", local: true }]);
  hear({ type: "login", password: "wrong" });
  expect(socket.sent.at(-1)).toEqual({ type: "control" });
  expect(password).toEqual(["wrong", "10.0.0.1", "right", "10.0.0.1"]);
});

test("the grid of a device that has stopped is withdrawn, once there was one", () => {
  const { hub, socket } = opened();
  const grids = () => socket.sent.filter((one) => !(one instanceof Uint8Array) && one.type === "grid");
  const say = (state: string) => hub.document("a", "state", { state, reason: "" });
  say("stopped");
  hub.document("a", "grid", { rows: [] });
  for (const state of ["online", "degraded"]) say(state);
  expect(grids()).toHaveLength(1);
  for (const state of ["stopped", "offline"]) {
    say(state);
    expect(grids().at(-1)).toMatchObject({ device: "a", document: { available: false } });
  }
  expect(grids()).toHaveLength(3);
});

test("beats go to every page each 2 s, and stop with the last page; the fifth unanswered ping is the last", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const hub = new Hub({ kind: "run", origin: "a test" });
  const [answering, silent] = [new SlowSocket(), new SlowSocket()];
  for (const socket of [answering, silent]) hub.join(socket as unknown as WebSocket, "a test");
  answering.ping.mockImplementation(() => answering.emit("pong"));
  vi.advanceTimersByTime(1999);
  expect(answering.ping).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect([answering.ping.mock.calls.length, silent.ping.mock.calls.length]).toEqual([1, 1]);
  expect(silent.sent.at(-1)).toEqual({ type: "beat" });
  vi.advanceTimersByTime(8000);
  expect(silent.terminate).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2000);
  expect([silent.terminate.mock.calls.length, silent.ping.mock.calls.length]).toEqual([1, 5]);
  expect([answering.terminate.mock.calls.length, answering.ping.mock.calls.length]).toEqual([0, 6]);
  silent.emit("close");
  expect([hub.pages, vi.getTimerCount()]).toEqual([1, 1]);
  answering.emit("close");
  expect([hub.pages, vi.getTimerCount()]).toEqual([0, 0]);
});

test("of 256 devices the longest silent one gives its place, after 30 s and if no page shows it", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { hub, socket, hear } = opened();
  const names = () => {
    // The lists of the names before have filled it.
    socket.bufferedAmount = 0;
    const list = socket.sent.findLast((one) => !(one instanceof Uint8Array) && one.type === "devices");
    return new Set((list as { devices: { name: string }[] }).devices.map(({ name }) => name));
  };
  for (let name = 0; name < 256; name++) {
    hub.wanted(`d${name}`);
    vi.advanceTimersByTime(1);
    socket.bufferedAmount = 0;
  }
  // The last one is 1 ms old, and the first one 256.
  vi.advanceTimersByTime(30_000 - 256);
  hub.wanted("early");
  expect([names().has("d0"), names().has("early")]).toEqual([true, false]);
  vi.advanceTimersByTime(3);
  hear({ type: "watch", device: "d0", streams: ["left"] });
  hub.document("retained", "info", {});
  hub.wanted("new");
  expect(["d0", "d1", "d2", "retained", "new"].map((name) => names().has(name))).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
  // A name that a page asks for has a place, although it has sent no frame yet.
  hear({ type: "watch", device: "asked", streams: ["left"] });
  hub.document("asked", "info", {});
  expect(["d0", "d2", "asked"].map((name) => names().has(name))).toEqual([false, true, true]);
  const lines = socket.sent.flatMap((one) =>
    !(one instanceof Uint8Array) && one.type === "log" ? one.lines : [],
  );
  expect(lines.map(({ level, text }) => [level, text.slice(0, 21)])).toEqual([
    ["warn", "more than 256 devices"],
  ]);
});

test("of more than 16 pages without a password the oldest of the address that has most is cut off", () => {
  const check = (given: string) => (given === "right" ? "right" : "wrong");
  const hub = new Hub({ kind: "run", origin: "a test", gate: { check } as never });
  onTestFinished(() => hub.close());
  const join = (who: string) => {
    const socket = new SlowSocket();
    hub.join(socket as unknown as WebSocket, who);
    return socket;
  };
  const isCut = ({ terminate }: SlowSocket) => terminate.mock.calls.length > 0;
  // One that has given the password is no stranger, although it is older than all.
  const admitted = join("crowd");
  admitted.emit("message", JSON.stringify({ type: "login", password: "right" }), false);
  const alone = Array.from({ length: 7 }, (_, i) => join(`address ${i}`));
  const crowd = Array.from({ length: 9 }, () => join("crowd"));
  const all = () => [admitted, ...alone, ...crowd].map(isCut);
  expect([hub.pages, all()]).toEqual([17, Array(17).fill(false)]);
  const late = join("late");
  expect(crowd.map(isCut)).toEqual([true, ...Array(8).fill(false)]);
  join("later");
  expect(crowd.map(isCut)).toEqual([true, true, ...Array(7).fill(false)]);
  expect([hub.pages, [admitted, late, ...alone].some(isCut)]).toEqual([17, false]);
  late.emit("message", JSON.stringify({ type: "watch", streams: ["depth"] }), false);
  const needed = { type: "password", reason: "needed" };
  expect(late.sent.slice(1)).toEqual([needed, needed]);
  expect(admitted.sent.at(-1)).toMatchObject({ type: "log" });
});

test("a newcomer hears the newest source, and a change of state the list of devices", () => {
  const { hub, socket } = opened();
  hub.source(false, "the broker is away");
  hub.document("a", "state", { state: "online", reason: "one" });
  hub.document("a", "state", { state: "degraded", reason: "two" });
  const device = (state: string, reason: string) => ({
    type: "devices",
    devices: [{ name: "a", state, reason }],
  });
  expect(socket.sent.slice(-5)).toEqual([
    { type: "devices", devices: [{ name: "a", state: "unknown", reason: "" }] },
    { type: "state", device: "a", document: { state: "online", reason: "one" } },
    device("online", "one"),
    { type: "state", device: "a", document: { state: "degraded", reason: "two" } },
    device("degraded", "two"),
  ]);
  const newcomer = new SlowSocket();
  hub.join(newcomer as unknown as WebSocket, "a test");
  onTestFinished(() => void newcomer.emit("close"));
  expect(newcomer.sent.slice(1, 4)).toEqual([
    { type: "source", connected: false, reason: "the broker is away" },
    device("degraded", "two"),
    { type: "state", device: "a", document: { state: "degraded", reason: "two" } },
  ]);
});

test("a page that asks and never reads is cut off", async () => {
  const { socket, hear } = opened();
  socket.bufferedAmount = 100 << 20;
  hear({ type: "ask", id: 7, command: "get", payload: "{}" });
  await vi.waitFor(() => expect(socket.terminate).toHaveBeenCalled());
});

// SPDX-License-Identifier: Apache-2.0
// Sends documents and frames to pages over real WebSockets without a browser: credits, skipped frames, newcomers, passwords, limits.
import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { PictureStream } from "../../../core/frame/frame-format.js";
import { HttpServer, PasswordGate } from "../../../edge/http/index.js";
import { Hub, type HubOptions } from "../../../edge/outputs/viewer/hub.js";
import { BEAT_MS, type FromPage, type ToPage } from "../../../edge/outputs/viewer/protocol.js";
import { until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(options: Partial<HubOptions> = {}) {
  const hub = new Hub({ kind: "run", origin: "a test", ...options });
  const server = new HttpServer({ address: "127.0.0.1", port: 0 });
  server.socket("/live", (socket, { url = "" }) => hub.join(socket, url.split("?")[1] ?? "a test"), {
    password: "handler",
  });
  await server.listen();
  cleanups.push(async () => {
    hub.close();
    await server.close();
  });
  const join = async (who = "a test") => {
    const socket = new WebSocket(`${server.url?.replace("http", "ws")}/live?${who}`);
    const said: ToPage[] = [];
    const frames: Buffer[] = [];
    socket.on("message", (data: Buffer, binary) => {
      if (binary) frames.push(data);
      else said.push(JSON.parse(String(data)));
    });
    cleanups.push(() => socket.terminate());
    await once(socket, "open");
    const say = (message: FromPage | object) => socket.send(JSON.stringify(message));
    const heard = <Type extends ToPage["type"]>(type: Type) =>
      said.filter((message): message is Extract<ToPage, { type: Type }> => message.type === type);
    return { socket, said, frames, say, heard };
  };
  return { hub, join };
}

const FRAME = new Map<PictureStream, Uint8Array>([
  ["depth", Uint8Array.of(1, 2, 3)],
  ["left", Uint8Array.of(4)],
]);

function offer(hub: Hub): string[] {
  const wanted = [...hub.wanted("a")];
  let settled = 0;
  if (wanted.length > 0) hub.send("a", FRAME, () => settled++);
  return wanted;
}

test("a page is sent as many sets as it has asked for, only those it watches, with the number of skipped ones", async () => {
  const { hub, join } = await opened();
  hub.document("a", "info", {});
  const page = await join();
  expect(offer(hub)).toEqual([]);
  page.say({ type: "watch", device: "a", streams: ["depth"] });
  page.say({ type: "next" });
  await until("it watches", () => page.heard("watching").length === 1);
  await until("it has room", () => hub.wanted("a").size === 1);
  expect(offer(hub)).toEqual(["depth"]);
  expect(offer(hub)).toEqual([]);
  expect(offer(hub)).toEqual([]);
  await until("a frame came", () => page.frames.length === 1);
  expect([...page.frames[0]!]).toEqual([1, 2, 3]);
  page.say({ type: "next" });
  await until("it has room again", () => hub.wanted("a").size === 1);
  offer(hub);
  await until("another frame came", () => page.frames.length === 2);
  expect(page.heard("frames").map(({ count }) => count)).toEqual([1, 1]);
  expect(page.heard("frames")[1]?.skipped).toBeGreaterThanOrEqual(2);
});

test("credits beyond two are not kept", async () => {
  const { hub, join } = await opened();
  const page = await join();
  for (let i = 0; i < 50; i++) page.say({ type: "next" });
  page.say({ type: "watch", device: "a", streams: ["depth", "left"] });
  await until("it watches", () => page.heard("watching").length === 1);
  expect([offer(hub).length, offer(hub).length, offer(hub).length]).toEqual([2, 2, 0]);
  await until("both sets came", () => page.frames.length === 4);
});

test("memory is given back once, whether one page took it, two or none", async () => {
  const { hub, join } = await opened();
  const settled: string[] = [];
  hub.send("a", FRAME, () => settled.push("nobody"));
  expect(settled).toEqual(["nobody"]);
  const pages = [await join(), await join()];
  for (const page of pages) {
    page.say({ type: "watch", device: "a", streams: ["depth", "left"] });
    page.say({ type: "next" });
  }
  await until("both have room", () => pages.every((page) => page.heard("watching").length === 1));
  hub.send("a", FRAME, () => settled.push("two"));
  await until("it settled", () => settled.length === 2);
  pages[0]?.say({ type: "next" });
  await until("one has room", () => hub.wanted("a").size > 0);
  pages[0]?.socket.terminate();
  hub.send("a", FRAME, () => settled.push("gone"));
  await until("it settled though its page went", () => settled.length === 3);
});

test("a newcomer hears the newest of everything, in an order that makes sense", async () => {
  const { hub, join } = await opened();
  hub.document("a", "state", { state: "degraded", reason: "first" });
  hub.document("a", "state", { state: "online", reason: "second" });
  hub.document("b", "metrics", { fps: 3 });
  hub.log("warn", "a line");
  const page = await join();
  await until("the log came", () => page.heard("log").length === 1);
  expect(page.said.map(({ type }) => type)).toEqual([
    "hello",
    "source",
    "devices",
    "state",
    "metrics",
    "log",
  ]);
  expect(page.heard("devices")[0]?.devices).toEqual([
    { name: "a", state: "online", reason: "second" },
    { name: "b", state: "unknown", reason: "" },
  ]);
});

test("a newcomer is sent the newest hundred lines of the log", async () => {
  const { hub, join } = await opened();
  for (let line = 0; line < 250; line++) hub.log("info", `line ${line}`);
  const page = await join();
  await until("the log came", () => page.heard("log").length === 1);
  const lines = page.heard("log")[0]!.lines.map(({ text }) => text);
  expect(lines).toEqual(Array.from({ length: 100 }, (_, i) => `line ${150 + i}`));
});

test("a page that answers no ping is dropped, and one that answers stays", async () => {
  const intervals = vi.spyOn(globalThis, "setInterval");
  cleanups.push(() => intervals.mockRestore());
  const { hub, join } = await opened();
  const alive = await join();
  const beat = intervals.mock.calls.find(([, ms]) => ms === BEAT_MS)![0] as () => void;
  const dead = await join();
  dead.socket.removeAllListeners("ping");
  dead.socket.pong = () => {};
  await until("both are there", () => hub.pages === 2);
  let pings = 0;
  alive.socket.on("ping", () => pings++);
  for (let beats = 1; beats <= 8; beats++) {
    beat();
    await until(`beat ${beats} arrived`, () => pings === beats);
    // The answer is on its way back behind the ping.
    await until(`beat ${beats} was answered`, () => alive.heard("beat").length === beats);
  }
  await until("the dead page is gone", () => hub.pages === 1);
  expect(alive.socket.readyState).toBe(WebSocket.OPEN);
});

test("a device that sends metrics takes the place of a name that sends nothing, and not that of one that does", async () => {
  const { hub, join } = await opened({ kind: "view" });
  const names = (page: Awaited<ReturnType<typeof join>>) =>
    page
      .heard("devices")
      .at(-1)!
      .devices.map(({ name }) => name);
  for (let name = 0; name < 300; name++)
    hub.document(`junk${name}`, "state", { state: "online", reason: "" });
  hub.document("real", "state", { state: "online", reason: "" });
  const page = await join();
  await until("the log came", () => page.heard("log").length === 1);
  expect(names(page)).toHaveLength(256);
  expect(names(page)).not.toContain("real");
  expect(page.heard("log")[0]!.lines).toMatchObject([
    { level: "warn", text: expect.stringMatching(/^more than 256 devices/) },
  ]);
  hub.document("real", "metrics", { fps: 3 });
  for (let name = 0; name < 300; name++) hub.document(`flood${name}`, "metrics", {});
  await until("the metrics came", () => page.heard("metrics").length >= 256);
  expect(names(page)).toHaveLength(256);
  expect(names(page)).toContain("real");
});

test("before the password a page hears nothing and is sent nothing", async () => {
  const { hub, join } = await opened({ gate: new PasswordGate("correct horse") });
  const page = await join();
  page.say({ type: "watch", device: "a", streams: ["depth"] });
  page.say({ type: "next" });
  page.say({ type: "login", password: "wrong" });
  hub.document("a", "metrics", { fps: 3 });
  await until("it is refused", () => page.heard("password").length >= 4);
  expect(page.said.map(({ type }) => type)).not.toContain("metrics");
  expect(hub.watched("a")).toBe(false);
  page.say({ type: "login", password: "correct horse" });
  await until("it is let in", () => page.heard("metrics").length === 1);
});

test("pages without a password give way to others, and first those of the address that has most", async () => {
  const password = "correct horse";
  const { hub, join } = await opened({ gate: new PasswordGate(password) });
  const enter = async (page: Awaited<ReturnType<typeof join>>) => {
    page.say({ type: "login", password });
    await until("it is let in", () => page.heard("source").length === 1);
  };
  const people = [];
  for (let i = 0; i < 63; i++) {
    people.push(await join());
    await enter(people.at(-1)!);
  }
  const typing = await join("somebody");
  const strangers: { socket: WebSocket }[] = [];
  for (let i = 0; i < 100; i++) strangers.push(await join("a stranger"));
  const isOpen = ({ socket }: { socket: WebSocket }) => socket.readyState === WebSocket.OPEN;
  await until("the older ones are cut off", () => strangers.filter(isOpen).length === 15);
  expect(strangers.slice(-15).every(isOpen)).toBe(true);
  await enter(typing);
  expect(people.every(isOpen)).toBe(true);
  expect(hub.pages).toBe(79);
});

test.each([
  ["no JSON", "{"],
  ["an unknown type", JSON.stringify({ type: "shutdown" })],
  ["a stream that is none", JSON.stringify({ type: "watch", streams: ["../../etc"] })],
  ["a request that is no text", JSON.stringify({ type: "ask", id: 1, command: "set", payload: {} })],
])("a message that is %s closes its own socket only", async (_what, text) => {
  const { hub, join } = await opened();
  const [bad, good] = [await join(), await join()];
  const closed = once(bad.socket, "close");
  bad.socket.send(text);
  expect((await closed)[0]).toBe(1008);
  hub.log("info", "still here");
  await until("the other page hears it", () => good.heard("log").length > 0);
});

test("a message larger than any of a page's is refused by its size", async () => {
  const { join } = await opened();
  const page = await join();
  const closed = once(page.socket, "close");
  page.socket.send("x".repeat(1 << 20));
  expect((await closed)[0]).toBe(1009);
});

test("without control a change is answered, and nothing else happens", async () => {
  const { join } = await opened();
  const page = await join();
  page.say({ type: "ask", id: 5, command: "set", payload: "{}" });
  await until("it is answered", () => page.heard("answer").length === 1);
  expect(page.heard("answer")[0]).toMatchObject({ id: 5, answer: { ok: false } });
});

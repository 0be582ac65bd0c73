// SPDX-License-Identifier: Apache-2.0
// Sends hostile bytes to the page's HTTP server and its WebSocket in a real run: it continues to serve, keeps its
// memory bounded, computes its frames, and ends on request, with connections still open. DEPTHWATT_HOSTILE_COUNT: tries
// of each kind. DEPTHWATT_SEED repeats a failure.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { RunFigures } from "../../edge/run/figures.js";
import { sleep } from "../doubles/frames.js";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { freePort } from "../doubles/mosquitto.js";
import { lastJson, type Running, startProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 150);
const random = new Random();
const counts: Record<string, number> = {};
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};
const pick = <T>(from: readonly T[]): T => from[random.whole(0, from.length - 1)]!;
const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random.whole(0, 255)));

let run: Running;
let port: number;
let megabytesBefore: number;
const held: Socket[] = [];

const memoryMegabytes = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${run.child.pid}/status`, "utf8"))![1]) / 1000;

beforeEach(async () => {
  port = await freePort();
  const size = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
  const settings = [...size, `http.port=${port}`, "outputs.viewer.enabled=true"];
  const words = ["run", "--broker", "none", "--json", ...settings.flatMap((one) => ["--set", one])];
  run = startProgram(words);
  const served = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      (got) => got.ok,
      () => false,
    );
  while (!(await served())) await sleep(100);
  megabytesBefore = memoryMegabytes();
});

/** After each attack it still serves, computes frames, has not grown, and ends on request. */
afterEach(async () => {
  try {
    const page = await fetch(`http://127.0.0.1:${port}/`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("<html");
    await sleep(500);
    expect(memoryMegabytes() - megabytesBefore).toBeLessThan(100);
    run.child.kill("SIGINT");
    const ran = await Promise.race([run.ended, sleep(15_000).then(() => undefined)]);
    expect(ran, "the run ends").toBeDefined();
    expect(ran!.code, ran!.stderr).toBe(0);
    expect(ran!.stderr).not.toMatch(/bug in depthwatt|\n {4}at /);
    const { frames, fps } = lastJson<RunFigures>(ran!);
    expect(frames).toBeGreaterThan(10);
    expect(fps).toBeGreaterThan(5);
  } finally {
    for (const socket of held.splice(0)) socket.destroy();
    run.child.kill("SIGKILL");
  }
}, 60_000);
afterAll(() => reportFuzz("HTTP doors", { seed: random.seed, counts }));

const text = (length: number) => "x".repeat(length);
const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "OPTIONS",
  "CONNECT",
  "TRACE",
  "get",
  "G\u0000T",
  text(9000),
  "",
];
const PATHS = [
  "/",
  "/live",
  "/../package.json",
  "/%2e%2e/etc/passwd",
  "//",
  "/live/",
  "/\u0000",
  "*",
  "http://evil/",
  "",
  "?",
  "/?a=b",
  "/__proto__",
  "/constructor",
  `/${text(70_000)}`,
  "/index.html",
  "/assets/",
  "/%ff",
  "/a b",
  "\\",
];
const HEADERS = [
  "Host: 127.0.0.1",
  "Host: evil.example",
  "Host: ",
  "Host: localhost\r\nHost: localhost",
  `Host: ${text(9000)}`,
  "Origin: http://evil.example",
  "Origin: null",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Version: 99999999999",
  "Sec-WebSocket-Key: AAAA",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Content-Length: -1",
  "Content-Length: 99999999999999999999",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip",
  "Range: bytes=0-99999999999",
  "Expect: 100-continue",
  "Accept-Encoding: \u00ff",
  "If-None-Match: *",
  `Cookie: ${text(20_000)}`,
  "X:",
  ": x",
  " folded",
  "\u0000: \u0001",
];

/** Sends it all and waits for the end, or for a moment. */
const sent = (what: string, payload: Buffer | string, keep = false) =>
  new Promise<void>((resolve) => {
    count(what);
    const socket = connect(port, "127.0.0.1", () => socket.write(payload));
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.once("close", () => resolve());
    if (keep) held.push(socket);
    setTimeout(
      () => {
        if (!keep) socket.destroy();
        resolve();
      },
      random.whole(1, 30),
    );
  });

test("requests of every shape", async () => {
  for (let i = 0; i < COUNT; i++) {
    const headers = Array.from({ length: random.whole(0, 8) }, () => pick(HEADERS)).join("\r\n");
    const body = pick(["", "x", "0\r\n\r\n", "ffffffffffffffff\r\n"]);
    const version = pick(["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", ""]);
    const request = `${pick(METHODS)} ${pick(PATHS)} ${version}\r\n${headers}\r\n\r\n${body}`;
    await sent("requests", random.whole(0, 9) === 0 ? bytes(random.whole(1, 3000)) : request);
  }
  // Nothing but the page's own paths is ever answered.
  for (const path of ["/package.json", "/%2e%2e/package.json", "/..%2fpackage.json", "/.git/config"])
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(404);
}, 60_000);

const MESSAGES: readonly (() => string | Buffer)[] = [
  () => bytes(random.whole(0, 2000)),
  () => "",
  () => "null",
  () => "[".repeat(60_000),
  () => text(70_000),
  () => '{"type":"next"}',
  () => '{"type":"watch","streams":["depth","left"]}',
  () => `{"type":"watch","device":${JSON.stringify(text(random.whole(0, 400)))},"streams":["depth"]}`,
  () => '{"type":"watch","device":"__proto__","streams":["constructor"]}',
  () => '{"type":"watch","streams":["depth","depth","depth","depth"]}',
  () => '{"type":"login","password":"x"}',
  () => '{"type":"ask","id":1e999,"command":"set","payload":""}',
  () => '{"type":"ask","id":1,"command":"__proto__","payload":"{}"}',
  () =>
    `{"type":"ask","id":-1,"command":"set","payload":${JSON.stringify(`{"id":"1","body":${"[".repeat(9999)}`)}}`,
  () => '{"type":"ask","id":9007199254740993,"command":"snapshot","payload":"null"}',
  () => '{"__proto__":{"type":"next"}}',
  () => '{"type":"beat"}',
];

test("WebSockets: messages of every shape, pages that never read, frames that are none", async () => {
  for (let i = 0; i < COUNT; i++) {
    await new Promise<void>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, { perMessageDeflate: false });
      count("sockets");
      socket.on("error", () => {});
      socket.once("close", () => resolve());
      socket.once("open", () => {
        for (let n = random.whole(1, 6); n > 0; n--) {
          count("messages");
          const message = pick(MESSAGES)();
          if (random.whole(0, 5) === 0) (socket as unknown as { _socket: Socket })._socket.write(bytes(40));
          else socket.send(message, { binary: random.whole(0, 4) === 0 });
        }
        setTimeout(() => socket.terminate(), random.whole(1, 20));
      });
    });
  }
}, 60_000);

test("connections that are held open", async () => {
  const upgrade = (path: string, more = "") =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\n`;
  const good = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  for (let i = 0; i < 20; i++) {
    await sent("held connections", "", true);
    await sent("held connections", "GET / HT", true);
    await sent("held connections", upgrade("/nowhere"), true);
    await sent("held connections", upgrade("/live", "Origin: http://evil.example\r\n"), true);
    await sent("held connections", upgrade("/live"), true);
    await sent("held connections", upgrade("/live", good), true);
  }
}, 60_000);

// SPDX-License-Identifier: Apache-2.0
// Tests what a worker and its queue send each other: a scripted JetStream server next to real images and results.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { encodePng } from "../../../../../camera/index.js";
import { DepthwattError } from "../../../../../core/index.js";
import {
  enqueue,
  mayBeThisMachine,
  type QueueOptions,
  workQueue,
} from "../../../../../edge/commands/batch/queue.js";
import { hashParts } from "../../../../../edge/commands/batch/results.js";
import { loadConfig } from "../../../../../edge/config/index.js";

interface Message {
  body: string;
  delivery: number;
  answers: unknown[][];
}
const server = {
  exists: false,
  calls: [] as unknown[][],
  published: [] as { subject: string; body: string; msgID: string }[],
  messages: [] as Message[],
  /** num_pending and num_ack_pending of one answer after the other. */
  pending: [] as [number, number][],
  failure: undefined as Error | undefined,
  closed: 0,
};
const note =
  (name: string) =>
  async (...words: unknown[]) =>
    void server.calls.push([name, ...words]);
const info =
  (name: string) =>
  async (...words: unknown[]) => {
    server.calls.push([name, ...words]);
    if (!server.exists) throw new Error("not found");
  };
const connection = {
  jetstreamManager: async () => ({
    streams: { info: info("streams.info"), add: note("streams.add") },
    consumers: { info: info("consumers.info"), add: note("consumers.add") },
  }),
  jetstream: () => ({
    publish: async (subject: string, data: Uint8Array, { msgID }: { msgID: string }) => {
      if (server.failure !== undefined) throw server.failure;
      const duplicate = server.published.some((one) => one.msgID === msgID);
      server.published.push({ subject, body: new TextDecoder().decode(data), msgID });
      return { duplicate };
    },
    consumers: {
      get: async (stream: string, name: string) => {
        server.calls.push(["consumers.get", stream, name]);
        return {
          next: async (options: unknown) => {
            server.calls.push(["next", options]);
            if (server.failure !== undefined) throw server.failure;
            const message = server.messages.shift();
            if (message === undefined) return null;
            const answer =
              (verb: string) =>
              (...words: unknown[]) =>
                void message.answers.push([verb, ...words]);
            return {
              seq: 7,
              info: { deliveryCount: message.delivery },
              string: () => message.body,
              term: answer("term"),
              nak: answer("nak"),
              working: answer("working"),
              ackAck: async () => {
                message.answers.push(["ack"]);
                throw new Error("the server is away");
              },
            };
          },
          info: async () => {
            server.calls.push(["info"]);
            const [num_pending, num_ack_pending] = server.pending.shift() ?? [0, 0];
            return { num_pending, num_ack_pending };
          },
        };
      },
    },
  }),
  close: async () => void server.closed++,
};

const folder = mkdtempSync(join(tmpdir(), "depthwatt-queue-"));
const [input, output] = [join(folder, "in"), join(folder, "out")];
const said: string[] = [];
const options: QueueOptions = {
  config: loadConfig({ environment: {}, set: ["board=none", "match.numDisparities=16", "engine.threads=1"] })
    .config,
  input,
  output,
  format: "pfm",
  ahead: 1,
  key: "k",
  ackWaitSeconds: 30.5,
  url: "nats://host:4222/NIGHT",
  onProgress: ({ pairs }) => said.push(`progress ${pairs}`),
  onSkip: (text) => said.push(`skip ${text}`),
  onReturn: (text) => said.push(`return ${text}`),
  note: (text) => said.push(text),
};
const image = Uint8Array.from({ length: 64 * 48 }, (_, i) => (i * 37) % 251);
let png: Uint8Array;
beforeAll(async () => {
  vi.doMock("nats", async (importActual) => ({
    ...(await importActual<typeof import("nats")>()),
    connect: async (options: unknown) => {
      server.calls.push(["connect", options]);
      return connection;
    },
  }));
  mkdirSync(input);
  png = await encodePng({ data: image, width: 64, height: 48 });
  writeFileSync(join(input, "left.png"), png);
  writeFileSync(join(input, "right.png"), png);
});
afterAll(() => {
  vi.doUnmock("nats");
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output);
  said.length = 0;
  Object.assign(server, {
    exists: true,
    calls: [],
    published: [],
    messages: [],
    pending: [],
    failure: undefined,
    closed: 0,
  });
});
const calls = (name: string) => server.calls.filter(([called]) => called === name);
const send = (body: unknown, delivery = 1): Message => {
  const message = { body: typeof body === "string" ? body : JSON.stringify(body), delivery, answers: [] };
  server.messages.push(message);
  return message;
};

test.each([
  ["nats://host:4222/NIGHT", { servers: "nats://host:4222" }, "NIGHT"],
  ["tls://host:4222", { servers: "tls://host:4222" }, "DEPTHWATT"],
  [
    `nats://a%40b:c%3Ad@host/${"S".repeat(64)}`,
    { servers: "nats://host", user: "a@b", pass: "c:d" },
    "S".repeat(64),
  ],
])("%s is opened as it says", async (url, access, stream) => {
  expect(await enqueue([], { ...options, url }, false)).toBe(0);
  expect(server.calls).toEqual([
    ["connect", { ...access, timeout: 5000, maxReconnectAttempts: -1, name: "depthwatt batch" }],
    ["streams.info", stream],
    ["consumers.info", stream, "depthwatt-workers"],
  ]);
  expect(server.closed).toBe(1);
});

test.each([
  "http://host/S",
  "host",
  "nats://host/two words",
  `nats://host/${"S".repeat(65)}`,
  "nats://host/a/b",
])("%s names no queue", async (url) => {
  await expect(enqueue([], { ...options, url }, false)).rejects.toMatchObject({ code: "USAGE" });
  expect(server.calls).toEqual([]);
});

test("a stream and its consumer are made where they are missing", async () => {
  server.exists = false;
  await enqueue([], options, false);
  expect(calls("streams.add")[0]![1]).toEqual({
    name: "NIGHT",
    subjects: ["NIGHT.pairs"],
    retention: "workqueue",
    storage: "file",
    duplicate_window: 24 * 3600 * 1e9,
  });
  expect(calls("consumers.add")[0]!.slice(1)).toEqual([
    "NIGHT",
    { durable_name: "depthwatt-workers", ack_policy: "explicit", max_deliver: 5, ack_wait: 30.5e9 },
  ]);
});

const pair = (name: string) => ({ name, left: "left.png", right: "right.png" });

test("each pair is queued once; with again all without a result, also those that were in it", async () => {
  const pairs = [pair("a"), pair("b/./c"), pair("d")];
  expect(await enqueue([...pairs, pair("a")], options, false)).toBe(3);
  expect(server.published[0]).toMatchObject({ subject: "NIGHT.pairs", body: JSON.stringify(pairs[0]) });
  mkdirSync(join(output, "b"));
  const results = [`b/c-${"0".repeat(16)}.pfm`, `d-${"0".repeat(15)}.pfm`, `d-${"0".repeat(16)}.png`];
  for (const name of results) writeFileSync(join(output, name), "");
  expect(await enqueue(pairs, options, true)).toBe(2);
  expect(server.published.slice(4).map(({ body }) => JSON.parse(body).name)).toEqual(["a", "d"]);
  expect(await enqueue(pairs, options, true)).toBe(2);
});

test("an error of the queue names it without its password, and the connection is closed", async () => {
  server.failure = new Error("no space");
  const url = "nats://user:secret@host:4222/NIGHT";
  const failed = enqueue([pair("a")], { ...options, url }, false);
  await expect(failed).rejects.toMatchObject({
    code: "QUEUE_FAILED",
    message: expect.stringMatching(/host:4222\/NIGHT: no space$/),
  });
  await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("secret") });
  expect(server.closed).toBe(1);
  await expect(workQueue(options)).rejects.toMatchObject({ code: "QUEUE_FAILED" });
  expect([server.closed, calls("next").length]).toEqual([2, 1]);
});

const NO_COUNTS = { pairs: 0, written: 0, kept: 0, doubled: 0, returned: 0, skipped: {} };

test("a worker waits until nothing is queued or in work, and writes each result once", async () => {
  server.pending = [
    [1, 0],
    [0, 1],
  ];
  const messages = [send(pair("a")), send(pair("a")), send(pair("sub/b"))];
  const { counts, occupancy } = await workQueue(options);
  expect(counts).toEqual({ ...NO_COUNTS, pairs: 3, written: 2, kept: 1 });
  expect(messages.map(({ answers }) => answers)).toEqual([[["ack"]], [["ack"]], [["ack"]]]);
  expect(calls("info")).toHaveLength(3);
  expect(calls("next")[0]).toEqual(["next", { expires: 1000 }]);
  expect(calls("consumers.get")).toEqual([["consumers.get", "NIGHT", "depthwatt-workers"]]);
  const hash = hashParts("k", String(png.length), png, png).slice(0, 16);
  expect(readdirSync(output, { recursive: true }).sort()).toEqual([
    `a-${hash}.pfm`,
    "sub",
    `sub/b-${hash}.pfm`,
  ]);
  expect(said).toEqual(["progress 1", "progress 2", "progress 3"]);
  expect(Object.keys(occupancy)).toEqual(["decode", "open", "match", "write"]);
});

test("as many workers as pairs in work", async () => {
  await workQueue({ ...options, ahead: 3 });
  expect(calls("next")).toHaveLength(3);
});

test.each([
  ["not JSON", /message 7 of the queue: expected JSON/],
  [{ name: "a", left: "left.png" }, /expected \{name, left, right\}/],
  [{ ...pair("a"), more: 1 }, /expected \{name, left, right\}/],
  [pair(""), /expected \{name, left, right\}/],
  [pair("a\0"), /expected \{name, left, right\}/],
  [pair("/a"), /expected paths below the archive, found "\/a"/],
  [{ ...pair("a"), right: "b/../../c.png" }, /expected paths below the archive/],
])("a message %j is given up at once", async (body, why) => {
  const messages = [send(body), send(body)];
  const { counts } = await workQueue(options);
  expect(messages.map(({ answers }) => answers)).toEqual([[["term"]], [["term"]]]);
  expect(counts).toEqual({ ...NO_COUNTS, pairs: 2, skipped: { SOURCE_UNREADABLE: 2 } });
  expect(said).toEqual([1, 2].flatMap((pairs) => [expect.stringMatching(why), `progress ${pairs}`]));
});

test("a result whose folder is a file is the fault of the message", async () => {
  writeFileSync(join(output, "file"), "");
  const message = send(pair("file/a"));
  await workQueue(options);
  expect(message.answers).toEqual([["term"]]);
  expect(said[0]).toMatch(
    /^skip message 7 of the queue: expected a name for a result in .*, found (ENOTDIR|EEXIST)$/,
  );
});

test.each([
  [1, ["nak", 1000]],
  [2, ["nak", 5000]],
  [3, ["nak", 15_000]],
  [4, ["nak", 30_000]],
  [5, ["term"]],
])("an image that is missing here, at delivery %i", async (delivery, answer) => {
  const message = send({ ...pair("a"), left: "none.png" }, delivery);
  const { counts } = await workQueue(options);
  expect(message.answers).toEqual([answer]);
  const isLast = delivery === 5;
  expect(counts).toEqual({
    ...NO_COUNTS,
    pairs: 1,
    returned: isLast ? 0 : 1,
    skipped: isLast ? { SOURCE_UNREADABLE: 1 } : {},
  });
  expect(said[0]).toMatch(isLast ? /^skip cannot read a pair/ : /^return cannot read a pair/);
});

test("three pairs in a row that cannot be read end a worker; a result between them starts the count again", async () => {
  const missing = { ...pair("a"), left: "none.png" };
  for (const body of [missing, missing, pair("c"), missing, missing]) send(body);
  expect((await workQueue(options)).counts).toMatchObject({ pairs: 5, returned: 4 });
  for (const body of [missing, missing, missing, pair("d")]) send(body);
  await expect(workQueue(options)).rejects.toMatchObject({
    code: "SOURCE_UNREADABLE",
    message: expect.stringContaining("found 3 in a row that cannot be read"),
  });
  expect(server.messages).toHaveLength(1);
});

test("an error that is not of the pair returns it and ends the worker", async () => {
  const message = send(pair("e"), 2);
  const broken = {
    ...options,
    config: {
      ...options.config,
      calibration: { ...options.config.calibration, file: join(folder, "none.json") },
    },
  };
  await expect(workQueue(broken)).rejects.toBeInstanceOf(DepthwattError);
  expect(message.answers).toEqual([["nak", 5000]]);
});

test.each([
  ["ENGINE_FAILED", undefined, true],
  ["SOURCE_UNREADABLE", undefined, false],
  ["SOURCE_UNREADABLE", { syscall: "open", code: "ENOENT" }, true],
  ["SOURCE_UNREADABLE", { syscall: "open", code: "ENAMETOOLONG" }, false],
  ["SOURCE_UNREADABLE", { syscall: "open", code: "ENOTDIR" }, false],
  ["SOURCE_UNREADABLE", { code: "ENOENT" }, false],
] as const)("%s caused by %j may be a fault of this machine: %s", (code, cause, expected) => {
  expect(mayBeThisMachine(new DepthwattError(code, "x", { cause }))).toBe(expected);
});

test("a message in work is kept from other workers three times in each wait", async () => {
  const set = vi.spyOn(globalThis, "setInterval");
  const clear = vi.spyOn(globalThis, "clearInterval");
  const message = send({ ...pair("a"), left: "none.png" });
  await workQueue(options);
  const at = set.mock.calls.findIndex(([, ms]) => ms === 30_500 / 3);
  const beat = set.mock.results[at]?.value;
  expect(at).toBeGreaterThanOrEqual(0);
  (set.mock.calls[at]![0] as () => void)();
  expect(message.answers).toEqual([["nak", 1000], ["working"]]);
  expect(clear).toHaveBeenCalledWith(beat);
  vi.restoreAllMocks();
});

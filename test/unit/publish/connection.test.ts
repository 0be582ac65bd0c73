// SPDX-License-Identifier: Apache-2.0
// Fall-back and back-off against a broker made by hand, which answers each CONNECT as the test says.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { generate, type IConnectPacket, parser } from "mqtt-packet";
import { afterEach, expect, test, vi } from "vitest";
import {
  BrokerConnection,
  type BrokerStatus,
  type ConnectionOptions,
} from "../../../core/mqtt/connection.js";
import { sleep, until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const refuse = (socket: Socket, returnCode: number) => {
  socket.end(generate({ cmd: "connack", returnCode, sessionPresent: false } as never));
};

async function setUp(
  answer: (socket: Socket, version: number, attempt: number) => void,
  options: Partial<ConnectionOptions> = {},
) {
  const attempts: { version: number }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    const reader = parser({ protocolVersion: 5 });
    socket.on("data", (chunk) => reader.parse(chunk));
    reader.on("packet", (packet) => {
      if (packet.cmd !== "connect") return;
      const version = (packet as IConnectPacket).protocolVersion ?? 0;
      attempts.push({ version });
      answer(socket, version, attempts.length);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const statuses: BrokerStatus[] = [];
  const connection = new BrokerConnection(
    {
      url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
      protocolVersion: "auto",
      clientId: "test",
      firstPauseMs: 40,
      longestPauseMs: 320,
      ...options,
    },
    { onUp: () => {}, onDown: () => {}, onStatus: (status) => statuses.push(status) },
  );
  cleanups.push(async () => {
    await connection.end(100);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { attempts, statuses, connection, sockets };
}

const accept = (socket: Socket) => {
  socket.write(generate({ cmd: "connack", returnCode: 0, sessionPresent: false }));
};

test.each([
  ["refuses MQTT 5 by code", (socket: Socket) => refuse(socket, 1)],
  ["hangs up on MQTT 5", (socket: Socket) => void socket.end()],
])("a broker that %s gets 3.1.1 within the first attempt, and again after a loss", async (_, reject) => {
  const { attempts, connection, sockets } = await setUp((socket, version) => {
    if (version === 5) reject(socket);
    else accept(socket);
  });
  expect(await connection.firstAttempt).toMatchObject({ connected: true });
  expect(attempts.map(({ version }) => version)).toEqual([5, 4]);
  for (const socket of sockets) socket.destroy();
  await until("it is back", () => attempts.length === 3);
  expect(attempts.at(-1)?.version).toBe(4);
});

test("an explicit version is never changed", async () => {
  const { attempts, statuses } = await setUp((socket) => refuse(socket, 1), { protocolVersion: 5 });
  await until("three attempts", () => attempts.length >= 3);
  expect(new Set(attempts.map(({ version }) => version))).toEqual(new Set([5]));
  expect(statuses.at(-1)?.error).toMatchObject({ code: "BROKER_REFUSED" });
});

test("pauses grow from attempt to attempt up to the longest, and restart after a connection", async () => {
  // The requested delay, not the real one: a busy machine makes every pause longer.
  const timers = vi.spyOn(globalThis, "setTimeout");
  cleanups.push(() => timers.mockRestore());
  const { attempts, statuses, sockets } = await setUp(
    (socket, _version, attempt) => (attempt === 6 ? accept(socket) : refuse(socket, 3)),
    { protocolVersion: 4, steadyMs: 0 },
  );
  // `until` looks every few milliseconds, and mqtt and the limit on silence wait for seconds.
  const pauses = () => timers.mock.calls.map(([, ms]) => Number(ms)).filter((ms) => ms > 30 && ms < 400);
  await until("the sixth attempt succeeds", () => statuses.at(-1)?.connected === true);
  expect(statuses[0]?.error?.message).toMatch(/is not ready to take connections/);
  for (const socket of sockets) socket.destroy();
  await until("the next attempt", () => attempts.length === 7);
  for (const [index, expected] of [40, 80, 160, 320, 320, 40].entries()) {
    expect(pauses()[index], `pause ${index}`).toBeGreaterThanOrEqual(0.9 * expected);
    expect(pauses()[index], `pause ${index}`).toBeLessThanOrEqual(1.1 * expected);
  }
});

test("a connection that is cut at once, again and again, is no new beginning", async () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  cleanups.push(() => timers.mockRestore());
  const { attempts, sockets } = await setUp((socket) => accept(socket), { protocolVersion: 4 });
  for (let cut = 1; cut <= 4; cut++) {
    await until(`attempt ${cut} is up`, () => attempts.length >= cut);
    await sleep(30);
    for (const socket of sockets) socket.destroy();
  }
  await until("the fifth attempt", () => attempts.length >= 5);
  const pauses = timers.mock.calls.map(([, ms]) => Number(ms)).filter((ms) => ms > 35 && ms < 400);
  expect(pauses.some((ms) => ms > 250)).toBe(true);
});

test("a broker that takes the connection and stays silent is reported as that, with a hint, and tried again", async () => {
  const { attempts, statuses, connection } = await setUp(() => {}, { answerMs: 60 });
  expect(await connection.firstAttempt).toMatchObject({
    connected: false,
    error: { code: "BROKER_UNREACHABLE" },
  });
  // On a busy machine one attempt may end before even its own connection was noticed.
  const reported = () => statuses.find(({ reason }) => /takes connections and does not answer$/.test(reason));
  await until("it is reported", () => reported() !== undefined && attempts.length >= 2);
  expect(reported()?.error?.hint).toMatch(/port speaks MQTT.*the broker hangs/);
  expect(new Set(attempts.map(({ version }) => version))).toEqual(new Set([5]));
  expect(statuses.every(({ connected }) => !connected)).toBe(true);
});

test("a broker that answered is not taken for a silent one later", async () => {
  const { attempts, statuses } = await setUp((socket) => accept(socket), {
    answerMs: 300,
    protocolVersion: 5,
  });
  await until("connected", () => statuses.at(-1)?.connected === true);
  const count = attempts.length;
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(attempts).toHaveLength(count);
  expect(statuses.at(-1)?.connected).toBe(true);
});

test("the clock of an attempt that was refused at once is stopped", async () => {
  const [timers, stopped] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
  cleanups.push(() => [timers, stopped].map((spy) => spy.mockRestore()));
  const { connection } = await setUp((socket) => refuse(socket, 3), { protocolVersion: 4, answerMs: 7777 });
  await connection.firstAttempt;
  const clock = timers.mock.results[timers.mock.calls.findIndex(([, ms]) => ms === 7777)]!.value;
  expect(stopped.mock.calls.flat()).toContain(clock);
});

test("nothing is tried after the end, and the end is announced", async () => {
  const { attempts, statuses, connection } = await setUp((socket) => refuse(socket, 3), {
    protocolVersion: 4,
  });
  await until("an attempt", () => attempts.length >= 1);
  await connection.end(100);
  const count = attempts.length;
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(attempts.length).toBe(count);
  expect(statuses.at(-1)).toEqual({ connected: false, reason: "closed" });
});

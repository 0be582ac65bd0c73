// SPDX-License-Identifier: Apache-2.0
// Tests how requests of the page that shows a broker's devices are passed on, and how many at a time.
import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { brokerControl } from "../../../edge/outputs/viewer/broker-control.js";
import { until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A broker that takes connections, and answers nothing. */
async function startSilentBroker() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    sockets.push(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  cleanups.push(
    () => server.close(),
    () => sockets.map((socket) => socket.destroy()),
  );
  return { url: `mqtt://127.0.0.1:${port}`, sockets };
}

const VISITOR = { who: "10.0.0.1", local: false };
const signed = JSON.stringify({ signed: JSON.stringify({ id: "7" }), signature: "00" });

function asker(broker: string) {
  const door = brokerControl({ broker, base: "depthwatt", timeoutMs: 60_000 });
  return async (payload = signed, command = "set") =>
    (await door.ask({ type: "ask", id: 1, device: "robot", command, payload }, VISITOR)).answer as {
      code?: string;
    };
}

test("the ninth request at a time is refused; once they have ended, as many are passed again", async () => {
  const broker = await startSilentBroker();
  const ask = asker(broker.url);
  const waiting = Array.from({ length: 8 }, () => ask());
  expect(await ask()).toMatchObject({
    code: "CONTROL_BUSY",
    message: expect.stringContaining("expected at most 8 requests at a time"),
  });
  await until("eight connections", () => broker.sockets.length >= 8, 10_000);
  cleanups.shift()!();
  for (const socket of broker.sockets) socket.destroy();
  const codes = (await Promise.all(waiting)).map(({ code }) => code);
  expect(codes).toEqual(codes.map(() => "BROKER_UNREACHABLE"));
  for (let i = 0; i < 9; i++) expect(await ask()).toMatchObject({ code: "BROKER_UNREACHABLE" });
});

test.each<[string, string, string, string]>([
  ["no JSON", "{", "set", "CONTROL_INVALID"],
  ["unsigned", JSON.stringify({ id: "7", values: {} }), "set", "CONTROL_SECRET"],
  ["without an id", JSON.stringify({ signed: "{}", signature: "00" }), "set", "CONTROL_INVALID"],
  ["to another topic", signed, "set/+", "CONTROL_INVALID"],
])("a request that is %s goes to no broker", async (_, payload, command, code) => {
  const broker = await startSilentBroker();
  expect(await asker(broker.url)(payload, command)).toMatchObject({ code });
  expect(broker.sockets).toEqual([]);
});

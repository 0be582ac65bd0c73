// SPDX-License-Identifier: Apache-2.0
// Tests bytes on the connection next to that of the frames: each call learns its result once, with the reason.
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { type DropCause, SideTopics } from "../../../edge/mqtt/side-topics.js";
import { CONNECT, connack, SUBSCRIBE, startScriptedBroker } from "../../doubles/scripted-broker.js";

test("what was on its way when the connection broke is lost, what comes then is offline", async () => {
  let peer: Socket | undefined;
  const server = createServer((socket) => {
    peer = socket;
    socket.on("error", () => {});
    socket.once("data", () => {
      // CONNACK of MQTT 5, and then nothing is read any more.
      socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      socket.pause();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const broker = { url: `mqtt://127.0.0.1:${port}`, embedded: false, protocolVersion: 5 as const };
  const side = new SideTopics({ broker, name: "test", notice: () => {} });
  try {
    await side.ready;
    const outcome = (bytes: number) =>
      new Promise<DropCause | undefined>((resolve) => side.sendBytes("t", new Uint8Array(bytes), resolve));
    // More than sockets of both ends hold.
    const first = outcome(64 << 20);
    expect(await outcome(2 << 20)).toBe("backpressure");
    peer!.resetAndDestroy();
    expect(await first).toBe("lost");
    expect(await outcome(10)).toBe("offline");
    expect({ sent: side.sent, drops: side.drops }).toEqual({
      sent: 0,
      drops: { backpressure: 1, lost: 1, offline: 1 },
    });
  } finally {
    await side.close();
    peer?.destroy();
    server.close();
  }
});

test("a broker that keeps no retained messages is sent none, and the drop is counted", async () => {
  const heard: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => heard.push(bytes));
    // CONNACK of MQTT 5 with the property Retain Available = 0 (section 3.2.2.3.5).
    socket.once("data", () => socket.write(Buffer.from([0x20, 5, 0, 0, 2, 0x25, 0])));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const notices: string[] = [];
  const broker = { url: `mqtt://127.0.0.1:${port}`, embedded: false, protocolVersion: 5 as const };
  const side = new SideTopics({ broker, name: "test", notice: (text) => notices.push(text) });
  try {
    await side.ready;
    side.keep("kept/topic", "x");
    expect(side.drops).toEqual({ retainRefused: 1 });
    expect(notices).toEqual(["the broker keeps no retained messages, so kept/topic is not published"]);
  } finally {
    await side.close();
    server.close();
  }
  expect(Buffer.concat(heard).includes("kept/topic")).toBe(false);
});

test("messages larger than the broker takes are dropped, and each topic is named once", async () => {
  // CONNACK of MQTT 5 with the property Maximum Packet Size = 2000 (section 3.2.2.3.6).
  const broker = await startScriptedBroker((packet, session) =>
    packet.type === CONNECT ? session.send(connack(0, [0x27, 0, 0, 7, 0xd0])) : session.answer(packet),
  );
  const notices: string[] = [];
  const access = { url: broker.url, embedded: false, protocolVersion: 5 as const };
  const side = new SideTopics({ broker: access, name: "test", notice: (text) => notices.push(text) });
  try {
    await side.ready;
    const outcome = (bytes: number) =>
      new Promise<DropCause | undefined>((resolve) => side.sendBytes("b", new Uint8Array(bytes), resolve));
    // 1024 bytes are kept for the topic and properties.
    expect([await outcome(976), await outcome(977)]).toEqual([undefined, "oversize"]);
    for (const length of [1900, 2000, 2000]) side.send("s", "x".repeat(length));
    side.keep("k", "x".repeat(2000));
    await vi.waitFor(() => expect(side.sent).toBe(2));
    expect([side.bytes, side.drops]).toEqual([976 + 1900, { oversize: 4 }]);
    expect(notices).toEqual(
      ["s", "k"].map(
        (topic) => `the broker takes packets of at most 2000 bytes, so ${topic} is not published`,
      ),
    );
  } finally {
    await side.close();
    await broker.close();
  }
});

test("a text as large as may wait is sent, a larger one is dropped; a refused subscription is noticed once", async () => {
  const broker = await startScriptedBroker((packet, session) => {
    // SUBACK: not authorized (MQTT 5 section 3.9.3), for each of the two subscriptions.
    if (packet.type === SUBSCRIBE)
      session.send(Buffer.from([0x90, 4, packet.messageId >> 8, packet.messageId & 255, 0, 135]));
    else session.answer(packet);
  });
  const notices: string[] = [];
  const heard: unknown[] = [];
  const access = { url: broker.url, embedded: false, protocolVersion: 5 as const };
  const side = new SideTopics({
    broker: access,
    name: "test",
    notice: (text) => notices.push(text),
    subscriptions: ["a", "b", "a"],
    onMessage: (...message) => heard.push(message),
  });
  try {
    side.send("early", "x");
    side.sendBytes("early", new Uint8Array(1), (dropped) => heard.push(dropped));
    await side.ready;
    await vi.waitFor(() => expect(notices).toHaveLength(2));
    expect(notices).toEqual(
      ["a", "b"].map((topic) => `this device may not subscribe to ${topic} at the broker`),
    );
    side.send("t", "x".repeat((1 << 20) + 1));
    expect([heard, side.drops]).toEqual([["offline"], { offline: 2, backpressure: 1 }]);
    side.send("t", "x".repeat(1 << 20));
    await vi.waitFor(() => expect([side.sent, side.bytes]).toEqual([1, 1 << 20]));
    // Binary messages expire after a second (property 2) and have a content type.
    const sent = new Promise((resolve) => side.sendBytes("b", Uint8Array.of(7, 8), resolve));
    expect(await sent).toBeUndefined();
    await vi.waitFor(() => expect(broker.packets.at(-1)?.topic).toBe("b"));
    const { bytes, payloadBytes } = broker.packets.at(-1)!;
    const type = "application/octet-stream";
    expect(bytes.toString("latin1")).toBe(
      `\u0030${String.fromCharCode(bytes.length - 2)}\0\u0001b${String.fromCharCode(8 + type.length)}` +
        `\u0002\0\0\0\u0001\u0003\0${String.fromCharCode(type.length)}${type}\u0007\u0008`,
    );
    expect([payloadBytes, side.sent, side.bytes]).toEqual([2, 2, (1 << 20) + 2]);
  } finally {
    await side.close();
    await broker.close();
  }
});

test("a topic that is removed while the broker is away is removed after the reconnect", async () => {
  /** PUBLISH, QoS 1, retained, of the topic "t" (MQTT 3.1.1 section 3.3): one with "x", one with nothing. */
  const [kept, empty] = [
    [0x33, 6, 0, 1, 0x74],
    [0x33, 5, 0, 1, 0x74],
  ].map((bytes) => Buffer.from(bytes));
  const heard: Buffer[] = [];
  const waiting: { wanted: Buffer; there: () => void }[] = [];
  let peer: Socket | undefined;
  let open = Promise.resolve();
  const server = createServer((socket) => {
    peer = socket;
    socket.on("error", () => {});
    socket.once("data", () => open.then(() => socket.write(Buffer.from([0x20, 2, 0, 0]))));
    socket.on("data", (bytes) => {
      heard.push(bytes);
      for (const { wanted, there } of waiting) if (Buffer.concat(heard).includes(wanted)) there();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const until = (wanted: Buffer) => new Promise<void>((there) => void waiting.push({ wanted, there }));
  const { port } = server.address() as { port: number };
  const broker = { url: `mqtt://127.0.0.1:${port}`, embedded: false, protocolVersion: 4 as const };
  const side = new SideTopics({ broker, name: "test", notice: () => {} });
  try {
    await side.ready;
    const came = until(kept!);
    side.keep("t", "x");
    await came;
    let admit = () => {};
    open = new Promise((resolve) => {
      admit = resolve;
    });
    peer!.resetAndDestroy();
    await vi.waitFor(() => expect(side.connected).toBe(false), 5000);
    const removed = until(empty!);
    side.keep("t", "");
    admit();
    await removed;
  } finally {
    const closed = side.close();
    peer?.destroy();
    await closed;
    server.close();
  }
}, 20_000);

// SPDX-License-Identifier: Apache-2.0
// The publisher at brokers that use the rarer parts of MQTT 5, or break it: every frame is released and counted, the error names the
// cause, and close() ends within its grace.
import { afterEach, expect, test } from "vitest";
import { FRAME_HEADER_BYTES } from "../../core/frame/frame-format.js";
import { askDevice } from "../../edge/control/client.js";
import { FRAME_HEADROOM_BYTES } from "../../edge/outputs/mqtt/index.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import {
  CONNECT,
  connack,
  PUBLISH,
  type Received,
  type Script,
  type Session,
  SUBSCRIBE,
  startScriptedBroker,
} from "../doubles/scripted-broker.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const FRAMES = 8;

async function run(script: Script) {
  const broker = await startScriptedBroker(script);
  cleanups.push(() => broker.close());
  const made = createPublisher({ broker: broker.url, base: "depthwatt", device: "test" });
  await made.firstAttempt;
  made.info({ text: "x".repeat(300) });
  made.cameraInfo({ text: "y".repeat(300) });
  made.state("online", "running");
  let released = 0;
  for (let seed = 0; seed < FRAMES; seed++) {
    const { buffer, bodyBytes, frame } = makeFrame(seed);
    made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {
      released++;
    });
    await sleep(20);
  }
  const { failure } = made;
  await made.close();
  expect(released).toBe(FRAMES);
  const { published, drops } = made.counters();
  const dropped = Object.values(drops).reduce((sum, count) => sum + count, 0);
  expect(published + dropped).toBe(FRAMES);
  const states = broker.packets.filter(({ topic }) => topic.endsWith("/state"));
  return { broker, failure, published, states };
}

test.each<[string, (session: Session) => unknown]>([
  ["closed", ({ socket }) => socket.end()],
  ["reset", ({ socket }) => socket.resetAndDestroy()],
  ["closed with a DISCONNECT", ({ socket }) => socket.end(Buffer.of(0xe0, 1, 0x8b))],
])("a connection that is %s inside each frame: every frame is accounted for", async (_, cut) => {
  let cuts = 0;
  const broker = await startScriptedBroker(
    (packet, session) => session.answer(packet),
    (bytes, session) => {
      if (bytes.length < 1 << 16 || session.socket.isPaused()) return;
      cuts++;
      session.socket.pause();
      cut(session);
    },
  );
  cleanups.push(() => broker.close());
  const made = createPublisher({ broker: broker.url, base: "depthwatt", device: "test", longestPauseMs: 20 });
  await made.firstAttempt;
  made.state("online", "running");
  // Larger than the buffers of both sockets.
  const large = { ...makeFrame(0).frame, encoding: "raw", width: 4096, height: 2048 } as const;
  const bodyBytes = 2 * large.width * large.height;
  const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + bodyBytes);
  let released = 0;
  for (let frame = 1; frame <= 3; frame++) {
    made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, large, () => released++);
    await until("the cut frame is released", () => released === frame);
    await until("it is back", () => made.counters().connections === frame + 1);
  }
  await made.close();
  expect(cuts).toBe(3);
  expect(made.counters()).toMatchObject({ published: 0, drops: { lost: 3 } });
  // Published again at each connection.
  const states = broker.packets.filter(({ topic }) => topic.endsWith("/state"));
  expect(states.length).toBeGreaterThanOrEqual(4);
});

const isFrame = ({ type, topic }: Received) => type === PUBLISH && topic.endsWith("/depth");

test("receive maximum 1: one message waits for its acknowledgement, and the last state leaves", async () => {
  let inFlight = 0;
  let max = 0;
  const { published, states, failure } = await run((packet, session) => {
    if (packet.type === CONNECT) session.send(connack(0, [0x21, 0, 1]));
    else if (packet.qos === 1) {
      max = Math.max(max, ++inFlight);
      setTimeout(() => {
        inFlight--;
        session.answer(packet);
      }, 30);
    } else session.answer(packet);
  });
  expect(max).toBe(1);
  expect(published).toBe(FRAMES);
  expect(states).toHaveLength(2);
  expect(failure).toBeUndefined();
});

test.each<[string, Script]>([
  [
    "late acknowledgements",
    (packet, session) => void setTimeout(() => session.answer(packet), packet.type === PUBLISH ? 500 : 0),
  ],
  ["no acknowledgements", (packet, session) => packet.type !== PUBLISH && session.answer(packet)],
  [
    "topic aliases",
    (packet, session) =>
      packet.type === CONNECT ? session.send(connack(0, [0x22, 0, 10])) : session.answer(packet),
  ],
  [
    "CONNACK in single bytes",
    (packet, session) => {
      if (packet.type !== CONNECT) session.answer(packet);
      else for (const [index, byte] of connack().entries()) setTimeout(() => session.send(byte), 10 * index);
    },
  ],
  [
    "acknowledgements twice, and of unknown messages",
    (packet, session) => {
      session.answer(packet);
      session.answer(packet.qos === 1 ? packet : { ...packet, type: 0 });
      session.send(Buffer.of(0x40, 2, 0xab, 0xcd));
    },
  ],
])("%s: every frame is published", async (_, script) => {
  const { published, failure } = await run(script);
  expect(published).toBe(FRAMES);
  expect(failure).toBeUndefined();
});

test.each([1, 100, 1000])("a maximum packet size of %i: nothing larger is sent", async (limit) => {
  const properties = [0x27, 0, 0, limit >> 8, limit & 255];
  const { broker, failure } = await run((packet, session) =>
    packet.type === CONNECT ? session.send(connack(0, properties)) : session.answer(packet),
  );
  const sizes = broker.packets.filter(({ type }) => type === PUBLISH).map(({ bytes }) => bytes.length);
  expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(limit);
  expect(failure?.message).toContain(`takes packets of at most ${limit} bytes`);
});

test("frames that fit only without the packet's head are dropped as too large", async () => {
  const limit = 20_000;
  const broker = await startScriptedBroker((packet, session) =>
    packet.type === CONNECT
      ? session.send(connack(0, [0x27, 0, 0, limit >> 8, limit & 255]))
      : session.answer(packet),
  );
  cleanups.push(() => broker.close());
  const made = createPublisher({ broker: broker.url, base: "depthwatt", device: "test" });
  cleanups.push(() => made.close());
  await made.firstAttempt;
  let sent = 0;
  const under = [0, 2, 10, 100, 400];
  for (const bytes of [...under, 2000]) {
    const bodyBytes = limit - FRAME_HEADER_BYTES - bytes;
    const { frame } = makeFrame(0, { encoding: "raw" }, [bodyBytes / 2, 1]);
    let released = false;
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + bodyBytes);
    made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, (wasSent) => {
      released = true;
      if (wasSent) sent++;
    });
    await until("the frame is released", () => released);
  }
  expect(made.counters()).toMatchObject({ published: 1, drops: { oversize: under.length } });
  await until("the small one arrived", () => broker.packets.some(isFrame));
  const sizes = broker.packets.map(({ bytes }) => bytes.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(limit);
  expect(sent).toBe(1);
});

test("a preview behind frames that the broker does not read is dropped, and counted by its caller", async () => {
  const broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type === SUBSCRIBE) session.socket.pause();
  });
  cleanups.push(() => broker.close());
  const maxPendingBytes = 1 << 20;
  const made = createPublisher({ broker: broker.url, base: "depthwatt", device: "test", maxPendingBytes });
  cleanups.push(() => made.close());
  await made.firstAttempt;
  await until("the broker stopped reading", () => broker.packets.some(({ type }) => type === SUBSCRIBE));
  const picture = new Uint8Array(maxPendingBytes / 4);
  let dropped: string | undefined;
  // Sockets of both ends hold some; memory of this process never holds more than it may.
  for (let previews = 0; previews < 400 && dropped === undefined; previews++) {
    dropped = made.preview(picture, "image/jpeg");
    expect(made.counters().pendingBytes).toBeLessThanOrEqual(maxPendingBytes + 1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(dropped).toBe("backpressure");
});

test.each([
  ["control is off", '{"control":{"available":false,"reason":"off"}}', "CONTROL_UNSUPPORTED"],
  ["nothing", "{", "CONTROL_UNANSWERED"],
])(
  "a request ends in time where the device says again and again: %s",
  async (_, info, code) => {
    const topic = "depthwatt/test/info";
    const message = Buffer.concat([
      Buffer.of(0x30, topic.length + 3 + info.length, 0, topic.length),
      Buffer.from(topic),
      Buffer.of(0),
      Buffer.from(info),
    ]);
    const broker = await startScriptedBroker((packet, session) => {
      session.answer(packet);
      if (packet.type !== CONNECT) return;
      const timer = setInterval(() => session.send(message), 20);
      session.socket.once("close", () => clearInterval(timer));
    });
    cleanups.push(() => broker.close());
    const options = {
      broker: broker.url,
      base: "depthwatt",
      device: "test",
      timeoutMs: 300,
      client: "x",
      credentials: {},
      secret: undefined,
    };
    await expect(askDevice(options, "get", {})).rejects.toMatchObject({ code });
  },
  3000,
);

test.each<[string, string, Script]>([
  [
    "a DISCONNECT without closing",
    "keeps no retained messages",
    (packet, session) =>
      packet.type === PUBLISH ? session.send(Buffer.of(0xe0, 1, 0x9a)) : session.answer(packet),
  ],
  [
    "a reason code without a sentence",
    "ended the connection with reason code 147",
    (packet, session) =>
      packet.type === PUBLISH ? session.send(Buffer.of(0xe0, 1, 0x93)) : session.answer(packet),
  ],
  [
    "an unknown CONNACK code",
    "refused the connection with reason code 254",
    (_, session) => session.send(connack(0xfe)),
  ],
  [
    "bytes that are no MQTT",
    "does not speak MQTT at this port",
    (packet, session) =>
      packet.type === CONNECT
        ? session.send(connack(), Buffer.of(0xf5, 0))
        : packet.type === SUBSCRIBE && session.answer(packet),
  ],
  [
    "a packet of 256 MB is announced",
    "sends a packet that is larger than this client allows",
    (packet, session) =>
      isFrame(packet) ? session.send(Buffer.of(0x30, 0xff, 0xff, 0xff, 0x7f)) : session.answer(packet),
  ],
  [
    "a length that MQTT does not know",
    "sends a packet that is larger than this client allows",
    (packet, session) => (isFrame(packet) ? session.send(Buffer.alloc(6, 0xff)) : session.answer(packet)),
  ],
  [
    "SSH at the port",
    "does not speak MQTT at this port",
    (_, session) => session.send(Buffer.from("SSH-2.0-OpenSSH_9.6\r\n")),
  ],
  [
    "another protocol at the port",
    "does not speak MQTT at this port",
    (_, session) => session.send(Buffer.alloc(6, 0xff)),
  ],
  [
    "the connection cut at each frame",
    "closed the connection",
    (packet, session) => (isFrame(packet) ? session.socket.destroy() : session.answer(packet)),
  ],
])("%s: the error says %s", async (_, message, script) => {
  const { failure } = await run(script);
  expect(failure?.message).toContain(message);
});

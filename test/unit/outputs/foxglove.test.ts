// SPDX-License-Identifier: Apache-2.0
// The output "foxglove" over real sockets, read by the protocol's own client: channels by demand, who may connect, slow clients.
import { EventEmitter, once } from "node:events";
import { type Channel, FoxgloveClient } from "@foxglove/ws-protocol";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { rectify, sceneCalibration } from "../../../camera/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { FrameLease, Output, OutputContext } from "../../../edge/contracts/output.js";
import { HttpServer, PasswordGate } from "../../../edge/http/index.js";
import { FoxgloveClient as ServedClient } from "../../../edge/outputs/foxglove/client.js";
import { openFoxgloveOutput } from "../../../edge/outputs/foxglove/foxglove-output.js";
import type { FoxgloveSettings } from "../../../edge/outputs/foxglove/settings.js";
import { until } from "../../doubles/frames.js";
import { readRosImage } from "../../doubles/ros-reader.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const PROTOCOL = FoxgloveClient.SUPPORTED_SUBPROTOCOL;
const SETTINGS: FoxgloveSettings = {
  enabled: true,
  origins: "https://app.foxglove.dev,http://viewer.local:3000",
  points: false,
  leftColours: false,
  right: false,
  registered: false,
  rateHz: "max",
};
const picture = (width: number, height: number) => ({
  width,
  height,
  hasDepth: false,
  rig: undefined,
  input: {
    width,
    height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: width,
    rightStrideBytes: width,
  } as const,
  rateHz: 30,
});

async function serve(width = 4, height = 2, gate?: PasswordGate, changes: object = {}) {
  const server = new HttpServer({ address: "127.0.0.1", port: 0, gate });
  cleanups.push(() => server.close());
  await server.listen();
  const output = await openFoxgloveOutput({
    settings: SETTINGS,
    ...picture(width, height),
    ...changes,
    base: "depthwatt",
    device: "rig",
    http: async () => ({ server, gate }),
    notice: () => {},
  } as unknown as OutputContext<FoxgloveSettings>);
  cleanups.push(() => output.close());
  const url = `${server.url!.replace("http", "ws")}/foxglove`;
  return { output, url, offer: (frame: ComputedFrame) => offer(output, frame) };
}

/** Lends a frame as an outlet does. */
function offer(output: Output, frame: ComputedFrame) {
  const lease = { frame, number: 1, wasSent: false, released: false };
  output.frame({
    ...lease,
    sent: () => {
      lease.wasSent = true;
    },
    release: () => {
      lease.released = true;
    },
  } as unknown as FrameLease);
  return lease;
}

function makeFrame(width: number, height: number, number = 1): ComputedFrame {
  const pixels = width * height;
  return {
    slot: {
      left: new Uint8Array(pixels).fill(number),
      disparityQ4: new Int16Array(pixels).fill(16 * number),
      confidence: new Uint8Array(pixels).fill(200),
    },
    result: {},
    encodings: {},
    width,
    height,
    clock: "realtime",
    leftTimestampNs: 1_700_000_000_000_000_000n + BigInt(number),
    rightTimestampNs: 1_700_000_000_000_000_500n,
    leftSequence: number,
    rightSequence: number,
  } as unknown as ComputedFrame;
}

interface Received {
  subscriptionId: number;
  timestamp: bigint;
  data: Uint8Array;
}

async function join(url: string, options: object = {}) {
  const socket = new WebSocket(url, [PROTOCOL], options);
  cleanups.push(() => socket.terminate());
  const client = new FoxgloveClient({ ws: socket as never });
  const channels = new Map<string, Channel>();
  const messages: Received[] = [];
  client.on("advertise", (added) => {
    for (const channel of added ?? []) channels.set(channel.topic, channel);
  });
  client.on("unadvertise", (removed) => {
    for (const [topic, { id }] of channels) if (removed.includes(id)) channels.delete(topic);
  });
  client.on("message", ({ subscriptionId, timestamp, data }) =>
    messages.push({
      subscriptionId,
      timestamp,
      data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    }),
  );
  await once(socket, "open");
  await until("the channels", () => channels.size > 0);
  const subscribe = (name: string) => client.subscribe(channels.get(`/depthwatt/rig/${name}`)!.id);
  return { socket, client, channels, messages, subscribe };
}

test("computes the subscribed channels, each message as in a recording, and nothing before and after", async () => {
  const { output, url, offer } = await serve();
  const { client, channels, messages, subscribe } = await join(url);
  await until("all channels", () => channels.has("/depthwatt/rig/energy"));
  expect([...channels.keys()].map((topic) => topic.slice("/depthwatt/rig/".length))).toEqual([
    ...["metrics", "state", "info", "settings", "notice"],
    ...["left/image_raw", "right/image_raw", "left/image_rect"],
    ...["disparity/image_rect", "confidence/image_rect", "energy"],
  ]);
  expect(channels.get("/depthwatt/rig/left/image_rect")).toMatchObject({
    encoding: "cdr",
    schemaName: "sensor_msgs/msg/Image",
    schemaEncoding: "ros2msg",
    schema: expect.stringContaining("uint32 step"),
  });
  expect(output.streams).toEqual([]);

  const left = subscribe("left/image_rect");
  await until("the subscription", () => output.streams.length > 0);
  expect(output.streams).toEqual(["/depthwatt/rig/left/image_rect"]);
  const lease = offer(makeFrame(4, 2, 7));
  expect(lease.released).toBe(true);
  await until("the message", () => messages.length > 0);
  const [{ subscriptionId, timestamp, data }] = messages as [Received];
  expect([subscriptionId, timestamp]).toEqual([left, 1_700_000_000_000_000_007n]);
  expect(readRosImage(data)).toMatchObject({
    stampNs: timestamp,
    width: 4,
    height: 2,
    encoding: "mono8",
    data: new Uint8Array(8).fill(7),
  });
  await until("the memory is free", () => lease.wasSent);
  expect(output.counters()).toMatchObject({ sent: 1, bytes: data.length, details: { clients: 1 } });

  client.unsubscribe(left);
  await until("the end of the subscription", () => output.streams.length === 0);
});

test("depth in another camera's image is a channel, and its pixels arrive", async () => {
  const calibration = sceneCalibration({ width: 4, height: 2, view: "rectified" });
  const rig = { calibration, rectification: rectify(calibration) };
  const { output, url, offer } = await serve(4, 2, undefined, {
    settings: { ...SETTINGS, registered: true },
    hasDepth: true,
    rig,
    camera: "right",
  });
  const { channels, messages, subscribe } = await join(url);
  const names = ["image", "confidence", "camera_info"].map(
    (name) => `/depthwatt/rig/registered/right/${name}`,
  );
  expect([...channels.keys()].filter((topic) => topic.includes("registered"))).toEqual(names);
  subscribe("registered/right/image");
  const frame = makeFrame(4, 2);
  const registered = new Uint16Array(8).fill(1234);
  Object.assign(frame.slot, { registered });
  Object.assign(frame.encodings, { registration: { camera: "right" } });
  await until("the subscription", () => output.streams.length > 0);
  offer(frame);
  await until("the image", () => messages.length > 0);
  const image = readRosImage(messages[0]!.data);
  expect(image).toMatchObject({ encoding: "16UC1", width: 4, height: 2, frameId: "right_rectified" });
  expect(new Uint16Array(image.data.slice().buffer)).toEqual(registered);
});

test("documents: new ones at once, the state and the settings again with the metrics, no passwords", async () => {
  const { output, url } = await serve();
  output.state!("online", "first");
  output.settings!({ "outputs.mqtt.broker": "mqtt://anna:secret@broker" }, "start");
  const { channels, messages, subscribe } = await join(url);
  await until("all channels", () => channels.size === 11);
  const names = new Map(["state", "settings", "metrics"].map((name) => [subscribe(name), name]));
  const read = () =>
    messages.map(({ subscriptionId, data }) => [
      names.get(subscriptionId),
      JSON.parse(Buffer.from(data).toString()),
    ]);
  await until("the subscriptions", () => {
    output.metrics!({ fps: 30 });
    return messages.length >= 3;
  });
  expect(read().slice(0, 3)).toEqual([
    ["metrics", { fps: 30 }],
    ["state", { state: "online", reason: "first" }],
    ["settings", { from: "start", values: { "outputs.mqtt.broker": expect.not.stringContaining("secret") } }],
  ]);
});

test("another source: its channels take the place of the old ones", async () => {
  const { output, url, offer } = await serve();
  const { channels, messages, subscribe } = await join(url);
  await until("all channels", () => channels.size === 11);
  const before = channels.get("/depthwatt/rig/left/image_rect")!.id;
  subscribe("left/image_rect");
  await until("the subscription", () => output.streams.length > 0);
  output.configure!(SETTINGS as never, picture(8, 2));
  expect(output.streams).toEqual([]);
  await until("the new channels", () => {
    const id = channels.get("/depthwatt/rig/left/image_rect")?.id;
    return id !== undefined && id !== before;
  });
  subscribe("left/image_rect");
  await until("the new subscription", () => output.streams.length > 0);
  offer(makeFrame(8, 2));
  await until("the message", () => messages.length > 0);
  expect(readRosImage(messages[0]!.data)).toMatchObject({ width: 8, step: 8 });
});

test("a small message behind one that is larger than all that may wait arrives", async () => {
  const [width, height] = [900, 700];
  const { output, url, offer } = await serve(width, height);
  const { messages, channels, subscribe } = await join(url);
  await until("all channels", () => channels.size === 11);
  subscribe("disparity/image_rect");
  subscribe("confidence/image_rect");
  await until("the subscriptions", () => output.streams.length === 2);
  offer(makeFrame(width, height));
  await until("both messages", () => messages.length === 2);
  expect(output.counters().drops).toEqual({});
});

test("stamps are capture times since 1970, those of a recording as they are", async () => {
  const { output, url, offer } = await serve();
  const { messages, subscribe } = await join(url);
  subscribe("right/image_raw");
  subscribe("left/image_rect");
  await until("the subscriptions", () => output.streams.length === 2);
  const image = { data: new Uint8Array(8), sequence: 3 };
  const stamps = async (clock: string, leftTimestampNs: bigint) => {
    const times = { clock, leftTimestampNs, rightTimestampNs: leftTimestampNs + 500n };
    const images = { left: image, right: image };
    offer({ ...makeFrame(4, 2), ...times, images } as unknown as ComputedFrame);
    await until("both images", () => messages.length === 2);
    const [right, left] = messages.splice(0) as [Received, Received];
    for (const { data, timestamp } of [left, right]) expect(readRosImage(data).stampNs).toBe(timestamp);
    expect(right.timestamp - left.timestamp).toBe(500n);
    return left.timestamp;
  };
  expect(await stamps("file", 12_345n)).toBe(12_345n);
  expect(await stamps("realtime", 1_700_000_000_000_000_007n)).toBe(1_700_000_000_000_000_007n);
  const nowMs = Number((await stamps("monotonic", process.hrtime.bigint())) / 1_000_000n);
  expect(Math.abs(nowMs - Date.now())).toBeLessThan(60_000);
});

test("a stream is computed until its last client has left", async () => {
  const { output, url, offer } = await serve();
  const [first, second] = [await join(url), await join(url)];
  for (const { subscribe } of [first, second]) subscribe("left/image_rect");
  const clients = () => output.counters().details!.clients;
  await until("both subscriptions", () => {
    offer(makeFrame(4, 2));
    return first.messages.length > 0 && second.messages.length > 0;
  });
  await until("all are counted", () => (output.counters().sent as number) > 0);
  expect(clients()).toBe(2);
  first.socket.terminate();
  await until("one has left", () => clients() === 1);
  expect(output.streams).toEqual(["/depthwatt/rig/left/image_rect"]);
  second.socket.terminate();
  await until("both have left", () => clients() === 0);
  expect(output.streams).toEqual([]);
  const lease = offer(makeFrame(4, 2));
  expect([lease.released, lease.wasSent]).toEqual([true, false]);
});

test("the layout names topics that are offered", async () => {
  const { url } = await serve();
  const { channels } = await join(url);
  await until("all channels", () => channels.size === 11);
  const answer = await fetch(`${url.replace("ws:", "http:")}/layout.json`);
  const { configById, layout } = (await answer.json()) as { configById: object; layout: object };
  const topics = JSON.stringify(configById).match(/\/depthwatt\/rig[\w/]+/g)!;
  // Points need a calibration, which this scene has not.
  expect(topics.filter((topic) => !channels.has(topic))).toEqual(["/depthwatt/rig/points"]);
  for (const panel of Object.keys(configById)) expect(JSON.stringify(layout)).toContain(`"${panel}"`);
});

test("a client that does not read misses messages, which are counted; another one gets every frame", async () => {
  const [width, height] = [640, 480];
  const { output, url, offer } = await serve(width, height);
  const slow = await join(url);
  const fast = await join(url);
  for (const { channels, subscribe } of [slow, fast]) {
    await until("all channels", () => channels.size === 11);
    subscribe("disparity/image_rect");
  }
  await until("the subscription", () => output.streams.length > 0);
  // Both are subscribed once both have an answer.
  await until("both read", () => {
    offer(makeFrame(width, height));
    return slow.messages.length > 0 && fast.messages.length > 0;
  });
  slow.socket.pause();
  const dropped = () => output.counters().drops.clientBusy ?? 0;
  const first = fast.messages.length;
  let sent = 0;
  for (; sent < 200 && dropped() < 5; sent++) {
    const seen = fast.messages.length;
    offer(makeFrame(width, height, 1 + sent));
    await until("the fast client has it", () => fast.messages.length > seen);
  }
  expect(dropped()).toBe(5);
  expect(fast.messages.length - first).toBeGreaterThanOrEqual(sent);
  slow.socket.terminate();
  await until("it is gone", () => output.counters().details!.clients === 1);
});

test("a client that asks without reading is disconnected", async () => {
  const { output, url } = await serve();
  const { socket } = await join(url);
  socket.pause();
  // Each answer repeats the name of a channel that is not there.
  const subscriptions = Array.from({ length: 7 }, (_, id) => ({ id, channelId: "x".repeat(8000) }));
  const request = JSON.stringify({ op: "subscribe", subscriptions });
  const closed = once(socket, "close");
  socket.on("error", () => {});
  const timer = setInterval(() => {
    for (let i = 0; i < 20; i++) socket.send(request, () => {});
  }, 1);
  await until("it is gone", () => output.counters().details!.clients === 0);
  clearInterval(timer);
  socket.resume();
  await closed;
});

/** A WebSocket that keeps what it was given. */
function makeSocket() {
  const sent: unknown[] = [];
  const ended: unknown[] = [];
  return Object.assign(new EventEmitter(), {
    protocol: PROTOCOL,
    bufferedAmount: 0,
    sent,
    ended,
    send: (data: unknown, options?: object) => sent.push(options === undefined ? data : [data, options]),
    terminate: () => ended.push("terminated"),
    close: (...words: unknown[]) => ended.push(words),
  });
}

test("a client gets no frame with more than 1 MiB unread, and no answer with more than 4 MiB", () => {
  const socket = makeSocket();
  const events = { onDrop: vi.fn(), onPayload: vi.fn(() => () => {}) };
  const client = new ServedClient(socket as unknown as WebSocket, events);
  expect([client.protocol, client.send.length]).toEqual([PROTOCOL, 2]);
  const [head, payload] = [Uint8Array.of(1), Uint8Array.of(2)];
  const sendFrame = () => {
    client.send(head, { fin: false });
    client.send(payload, { fin: true });
    return socket.sent.splice(0);
  };
  const both = [
    [head, { binary: true, fin: false }],
    [payload, { binary: true, fin: true }],
  ];
  expect(sendFrame()).toEqual(both);
  for (const [unread, isSent] of [
    [1 << 20, true],
    [(1 << 20) + 1, false],
  ] as const) {
    socket.bufferedAmount = unread;
    client.beginFrame();
    // It is decided once for all messages of a frame.
    socket.bufferedAmount = isSent ? 2 << 20 : 0;
    expect(sendFrame()).toEqual(isSent ? both : []);
  }
  expect([events.onDrop.mock.calls.length, events.onPayload.mock.calls.length]).toEqual([1, 2]);
  socket.bufferedAmount = 4 << 20;
  client.send("an answer");
  expect([socket.sent.splice(0), socket.ended]).toEqual([["an answer"], []]);
  socket.bufferedAmount++;
  client.send("an answer");
  expect([socket.sent, socket.ended.splice(0)]).toEqual([[], ["terminated"]]);
  client.close();
  expect(socket.ended).toEqual([[1001, "depthwatt was stopped"]]);
});

test("messages of a client and its end reach the library", () => {
  const socket = makeSocket();
  const client = new ServedClient(socket as unknown as WebSocket, {
    onDrop: () => {},
    onPayload: () => () => {},
  });
  // There is no listener yet.
  socket.emit("message", Buffer.from("early"), false);
  const seen: unknown[] = [];
  client.onmessage = (event) => seen.push(event);
  client.onclose = (event) => seen.push(event);
  socket.emit("message", Buffer.from("text"), false);
  socket.emit("message", Buffer.from([1]), true);
  socket.emit("close", 1000, Buffer.from("done"));
  socket.emit("close", 1006, Buffer.from(""));
  expect(seen).toEqual([
    { data: "text" },
    { data: Buffer.from([1]) },
    { code: 1000, reason: "done", wasClean: true },
    { code: 1006, reason: "", wasClean: false },
  ]);
});

test("documents go to their subscribers alone, and clients learn that the output closes", async () => {
  const { output, url, offer } = await serve();
  const { channels, messages, subscribe, socket } = await join(url);
  await until("all channels", () => channels.size === 11);
  subscribe("notice");
  subscribe("info");
  // The server takes the subscriptions in order: once it computes the last one, it has the others.
  subscribe("left/image_rect");
  await until("the subscriptions", () => output.streams.length === 1);
  output.info!({ board: "none", bytes: 3n });
  output.state!("online", "without a subscriber");
  output.notice!("a notice");
  // The same picture keeps the channels.
  output.configure!(SETTINGS as never, picture(4, 2) as never);
  expect(output.streams).toHaveLength(1);
  offer(makeFrame(4, 2));
  await until("the messages", () => messages.length === 3);
  const texts = messages.slice(0, 2).map(({ data }) => JSON.parse(Buffer.from(data).toString()));
  expect(texts).toEqual([{ board: "none", bytes: "3" }, { text: "a notice" }]);
  for (const { timestamp } of messages.slice(0, 2))
    expect(Math.abs(Number(timestamp / 1_000_000n) - Date.now())).toBeLessThan(600_000);
  const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
  await until("all are counted", () => output.counters().sent === 3);
  expect(output.counters()).toEqual({ sent: 3, bytes, drops: {}, details: { url, clients: 1 } });
  expect(output.greeting!()).toEqual([["foxglove", url]]);
  const closed = once(socket, "close");
  await output.close();
  expect((await closed)[0]).toBe(1001);
});

test("who may connect: programs and named pages, with the password where there is one", async () => {
  const { url } = await serve(4, 2, new PasswordGate("correct horse"));
  const basic = (password: string) => `Basic ${Buffer.from(`any:${password}`).toString("base64")}`;
  const right = { headers: { Authorization: basic("correct horse") } };
  await join(url, right);
  await join(url, { ...right, origin: "https://app.foxglove.dev" });
  const refusal = async (protocols: string[], options: object) => {
    const [error] = await once(new WebSocket(url, protocols, options), "error");
    return (error as Error).message.match(/\d{3}/)![0];
  };
  expect(await refusal([PROTOCOL], {})).toBe("401");
  expect(await refusal([PROTOCOL], { headers: { Authorization: basic("battery staple") } })).toBe("401");
  expect(await refusal([PROTOCOL], { ...right, origin: "https://attacker.example" })).toBe("403");
  expect(await refusal(["foxglove.sdk.v9"], right)).toBe("400");
  expect(await refusal([], right)).toBe("400");
});

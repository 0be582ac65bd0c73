// SPDX-License-Identifier: Apache-2.0
// Tests what Mosquitto refuses: access lists, message sizes, packet sizes, passwords. Each refusal must be reported,
// counted and end a run with an exit code.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate, parser } from "mqtt-packet";
import { afterEach, expect, test } from "vitest";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import type { BrokerStatus } from "../../core/mqtt/connection.js";
import { SideTopics } from "../../edge/mqtt/side-topics.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import type { PublisherOptions } from "../../edge/outputs/mqtt/publisher-types.js";
import { runInProcess } from "../doubles/command-line.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { runProgram } from "../doubles/program.js";
import { startTcpProxy } from "../doubles/tcp-proxy.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function broker(settings: string[]) {
  const mosquitto = await startMosquitto({ settings: ["allow_anonymous true", ...settings] });
  cleanups.push(() => mosquitto.stop());
  return mosquitto.url;
}

function file(text: string, mode = 0o644): string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-refusals-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  // mosquitto started by root drops to its own user, who must be able to read these.
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "file"), text, { mode });
  return join(folder, "file");
}

function publisher(url: string, options: Partial<PublisherOptions> = {}) {
  const notices: string[] = [];
  const onNotice = (notice: string) => notices.push(notice);
  const made = createPublisher({ broker: url, base: "depthwatt", device: "test", onNotice, ...options });
  cleanups.push(() => made.close());
  return { made, notices };
}

async function sendSome(
  made: ReturnType<typeof publisher>["made"],
  count: number,
  size: [number, number] = [64, 48],
) {
  for (let i = 0; i < count; i++) {
    const { buffer, bodyBytes, frame } = makeFrame(i, { encoding: "raw" }, size);
    await new Promise((resolve) => made.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, resolve));
    await sleep(10);
  }
}

needs("mosquitto").suite("a broker that refuses", () => {
  test("an access list against writing: reported, counted as refused, a failure", async () => {
    const acl = file("topic read #\ntopic write depthwatt/test/state\ntopic write depthwatt/test/info\n");
    const { made, notices } = publisher(await broker([`acl_file ${acl}`]));
    await made.firstAttempt;
    made.state("online", "x");
    // The first frame asks whether it is taken; how soon the answer is here is the machine's affair.
    await sendSome(made, 1);
    await until("the refusal", () => made.failure !== undefined);
    await sendSome(made, 29);
    expect(made.failure).toMatchObject({
      code: "BROKER_REFUSED",
      message: expect.stringMatching(/refuses a message \(reason code 135\): depthwatt\/test\/depth$/),
    });
    const { published, drops } = made.counters();
    expect(drops.refused).toBeGreaterThan(20);
    expect(published + (drops.refused ?? 0)).toBe(30);
    expect(notices.filter((notice) => notice.includes("access list"))).toHaveLength(1);
  });

  test("a refusal is over when its stream is switched off", async () => {
    const acl = file("topic read #\n");
    const { made } = publisher(await broker([`acl_file ${acl}`]));
    await made.firstAttempt;
    await sendSome(made, 1);
    await until("the refusal", () => made.failure !== undefined);
    made.expect(["depth", "left"], 100);
    expect(made.failure).toMatchObject({ code: "BROKER_REFUSED" });
    made.expect(["left"], 100);
    expect(made.failure).toBeUndefined();
  });

  test("message_size_limit: a larger message is reported as too large", async () => {
    const { made } = publisher(await broker(["message_size_limit 5000"]));
    await made.firstAttempt;
    await sendSome(made, 1);
    await until("the refusal", () => made.failure !== undefined);
    await sendSome(made, 9);
    expect(made.failure).toMatchObject({
      code: "BROKER_REFUSED",
      hint: expect.stringContaining("message_size_limit"),
    });
    expect(made.counters().drops.refused).toBeGreaterThan(0);
  });

  test("message_size_limit below the documents: a failure, and frames are not counted as published", async () => {
    const { made, notices } = publisher(await broker(["message_size_limit 100"]));
    await made.firstAttempt;
    made.info({ text: "x".repeat(1000) });
    made.state("online", "x");
    await until("the refusal", () => made.failure !== undefined);
    await sendSome(made, 10);
    expect(made.failure).toMatchObject({
      code: "BROKER_REFUSED",
      hint: expect.stringContaining("message_size_limit"),
    });
    // The first one asks.
    expect(made.counters()).toMatchObject({ published: 1, drops: { refused: 9 } });
    expect(notices.join()).toContain("message_size_limit");
  });

  test("max_qos 0 is named, with what to change", async () => {
    const mosquitto = await startMosquitto({ listenerSettings: ["max_qos 0"] });
    cleanups.push(() => mosquitto.stop());
    const { made } = publisher(mosquitto.url);
    expect((await made.firstAttempt).error).toMatchObject({
      code: "BROKER_REFUSED",
      message: expect.stringContaining("takes no messages with QoS 1"),
      hint: expect.stringContaining("max_qos 1"),
    });
  });

  test("a connection that is reset before the broker answers is no refusal", async () => {
    const mosquitto = await startMosquitto({ settings: ["allow_anonymous true"] });
    cleanups.push(() => mosquitto.stop());
    const link = await startTcpProxy(mosquitto.port);
    cleanups.push(() => link.close());
    const reported: boolean[] = [];
    const onStatus = ({ connected }: BrokerStatus) => reported.push(connected);
    const { made, notices } = publisher(`mqtt://127.0.0.1:${link.port}`, { onStatus });
    await made.firstAttempt;
    mosquitto.freeze();
    cleanups.push(() => mosquitto.thaw());
    // The first frame asks whether it is taken.
    await sendSome(made, 1);
    link.cut();
    await until("the lost connection is reported", () => reported.includes(false));
    mosquitto.thaw();
    expect(notices.join("\n")).not.toContain("a code that MQTT 5 does not know");
    expect(made.failure?.code).not.toBe("BROKER_REFUSED");
  });

  test("a Maximum Packet Size that no frame fits is named as it is", async () => {
    const { made, notices } = publisher(await broker(["max_packet_size 400"]));
    await made.firstAttempt;
    await sendSome(made, 2);
    expect(made.counters().drops).toEqual({ oversize: 2 });
    expect(notices.join("\n")).toMatch(/takes packets of at most \d+ bytes; depth frames of 6240 bytes/);
    expect(notices.join("\n")).toContain("at most 400 bytes");
    expect(made.failure).toMatchObject({ code: "BROKER_REFUSED" });
    // The settings were changed: whether it helped the next frame reports.
    made.expect(["depth"], 100);
    expect(made.failure).toBeUndefined();
    await sendSome(made, 1);
    expect(made.failure).toMatchObject({ code: "BROKER_REFUSED" });
  });

  test("documents beyond the Maximum Packet Size are dropped, counted and named; the connection stays", async () => {
    const url = await broker(["max_packet_size 2000"]);
    const { made, notices } = publisher(url);
    await made.firstAttempt;
    const infos: unknown[] = [];
    const consumer = connectConsumer(url, { device: "test", streams: [] });
    cleanups.push(() => consumer.close());
    consumer.on("info", ({ info }) => infos.push(info));
    await consumer.firstAttempt;
    made.info({ note: "x".repeat(3000) });
    made.metrics({ note: "x".repeat(3000) });
    expect(made.failure).toMatchObject({
      code: "BROKER_REFUSED",
      message: expect.stringMatching(/takes packets of at most 2000 bytes; info of 30\d\d bytes is dropped$/),
    });
    expect(made.counters().oversizeDocuments).toEqual({ info: 1, metrics: 1 });
    expect(notices.filter((notice) => notice.includes("at most 2000 bytes"))).toHaveLength(2);
    made.metrics({ fps: 1 });
    made.info({ note: "small" });
    expect(made.failure).toBeUndefined();
    await until("what fits arrives", () => infos.length > 0);
    expect(infos).toEqual([{ note: "small" }]);
    expect(made.counters()).toMatchObject({ connected: true, connections: 1 });
  });

  test("messages to Home Assistant and others are checked against it too", async () => {
    const notices: string[] = [];
    const access = { url: await broker(["max_packet_size 500"]), embedded: false };
    const side = new SideTopics({
      broker: { ...access, protocolVersion: 5 },
      name: "test",
      notice: (text) => notices.push(text),
    });
    cleanups.push(() => side.close());
    await side.ready;
    side.keep("a/kept", "x".repeat(500));
    side.send("a/sent", "x".repeat(500));
    side.keep("a/small", "x".repeat(400));
    await until("what fits is taken", () => side.sent === 1);
    expect(side.drops).toEqual({ oversize: 2 });
    expect(notices).toEqual([
      "the broker takes packets of at most 500 bytes, so a/kept is not published",
      "the broker takes packets of at most 500 bytes, so a/sent is not published",
    ]);
    expect(side.connected).toBe(true);
  });

  test("two publishers under one device name detect each other; the remaining one keeps its state", async () => {
    const url = await broker([]);
    const first = publisher(url, { clientId: "first" });
    await first.made.firstAttempt;
    first.made.state("online", "first");
    await sleep(200);
    const second = publisher(url, { clientId: "second" });
    await second.made.firstAttempt;
    second.made.state("online", "second");
    await until("both know", () => first.notices.length > 0 && second.notices.length > 0);
    expect(first.notices[0]).toMatch(
      /another depthwatt publishes as depthwatt\/test: give each its own device name/,
    );
    const states: unknown[] = [];
    const consumer = connectConsumer(url, { device: "test" });
    cleanups.push(() => consumer.close());
    consumer.on("state", (state) => states.push(state));
    await second.made.close();
    await until("the first has said again that it is online", () =>
      states.some((state) => JSON.stringify(state).includes('"reason":"first"')),
    );
    expect(states.at(-1)).toMatchObject({ state: "online", reason: "first", runId: expect.any(Number) });
  });

  test("run ends with 5 and the hint where a password is refused or a topic is", async () => {
    const small = ["--set", "source.synthetic.width=96", "--set", "source.synthetic.height=64"];
    const words = ["run", ...small, "--set", "match.numDisparities=16", "--frames", "5"];
    const acl = file("topic read #\n");
    const listed = await broker([`acl_file ${acl}`]);
    const refused = await runProgram([...words, "--broker", listed]);
    expect(refused.code, refused.stderr).toBe(5);
    expect(refused.stderr).toMatch(/error: the broker .* refuses a message/);
    const users = file("anna:$7$101$MDAwMDAwMDA=$AAAA\n");
    const secret = await startMosquitto({ settings: ["allow_anonymous false", `password_file ${users}`] });
    cleanups.push(() => secret.stop());
    const password = file("wrong\n", 0o600);
    const access = ["--set", "outputs.mqtt.username=anna", "--set", `outputs.mqtt.passwordFile=${password}`];
    const wrong = await runProgram([...words, "--broker", secret.url, ...access]);
    expect(wrong.code, wrong.stderr).toBe(5);
    expect(wrong.stderr).toMatch(/hint: .*outputs\.mqtt\.passwordFile/);
    const userless = await runInProcess([...words, "--broker", secret.url, ...access.slice(2)]);
    expect(userless.code).toBe(2);
    expect(userless.stderr).toMatch(/outputs\.mqtt\.passwordFile.*expected outputs\.mqtt\.username with it/);
  });
});

/** A broker that grants no subscription, as access lists of some brokers do; Mosquitto grants all and sends nothing. */
async function deafBroker(version: 4 | 5): Promise<string> {
  const server = createServer((socket) => {
    const reader = parser({ protocolVersion: version });
    socket.on("data", (bytes) => reader.parse(bytes));
    socket.on("error", () => {});
    reader.on("packet", (packet) => {
      const answer = (reply: object) => socket.write(generate(reply as never, { protocolVersion: version }));
      if (packet.cmd === "connect")
        answer({ cmd: "connack", returnCode: 0, reasonCode: 0, sessionPresent: false });
      if (packet.cmd !== "subscribe") return;
      const code = version === 5 ? 0x87 : 0x80;
      answer({ cmd: "suback", messageId: packet.messageId, granted: packet.subscriptions.map(() => code) });
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  cleanups.push(() => server.close());
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([4, 5] as const)(
  "a subscription that is not granted is reported at once, MQTT %i",
  async (version) => {
    const url = await deafBroker(version);
    const consumer = connectConsumer(url, { device: "test", protocolVersion: version });
    cleanups.push(() => consumer.close());
    const statuses: BrokerStatus[] = [];
    consumer.on("status", (status) => statuses.push(status));
    await until("the refusal", () => statuses.some(({ error }) => error !== undefined));
    expect(statuses.at(-1)?.error).toMatchObject({
      code: "BROKER_REFUSED",
      message: expect.stringMatching(/does not let this client read depthwatt\/test\/depth/),
      context: { found: version === 5 ? 0x87 : 0x80 },
    });
  },
);

test("consume ends with 5 where its subscription is not granted", async () => {
  const ran = await runProgram(["consume", await deafBroker(5), "--frames", "1"]);
  expect(ran.code).toBe(5);
  expect(ran.stderr).toMatch(/error: the broker .* does not let this client read depthwatt\/\+\/depth/);
});

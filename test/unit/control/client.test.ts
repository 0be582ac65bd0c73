// SPDX-License-Identifier: Apache-2.0
// One request over MQTT at a scripted broker: its packets byte by byte, which answer counts, and what each silence means.
import { afterEach, expect, test } from "vitest";
import {
  askDevice,
  type ControlClientOptions,
  requestPayload,
  sendRequest,
} from "../../../edge/control/client.js";
import {
  CONNECT,
  connack,
  PUBLISH,
  puback,
  publication,
  type Received,
  type Script,
  type Session,
  SUBSCRIBE,
  startScriptedBroker,
} from "../../doubles/scripted-broker.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const INFO = "depthwatt/robot/info";
const ANSWER = "depthwatt/robot/response/get/x";
const BODY = { keys: ["fps"] };
const REQUEST = { id: "7", payload: '{"id":"7"}' };

async function opened(script: Script, options: Partial<ControlClientOptions> = {}) {
  const broker = await startScriptedBroker((packet, session) => {
    // A second short packet would else wait 40 ms for the acknowledgement of the first one.
    session.socket.setNoDelay(true);
    script(packet, session);
  });
  cleanups.push(() => broker.close());
  const target = {
    broker: broker.url,
    base: "depthwatt",
    device: "robot",
    client: "a test",
    protocolVersion: 5,
    ...options,
  } as const;
  return { broker, target };
}

/** Sends the request of id 7 to a broker whose device does this when the request arrives. */
async function send(onRequest: (session: Session) => unknown, options: Partial<ControlClientOptions> = {}) {
  const { target } = await opened((packet, session) => {
    session.answer(packet);
    if (packet.type === PUBLISH) onRequest(session);
  }, options);
  return sendRequest(target, "get", REQUEST);
}

/** A PUBLISH whose only property is Correlation Data (MQTT 5 section 3.3.2.3.6). */
function correlated(topic: string, text: string, correlation: string): Buffer {
  const [name, data] = [Buffer.from(topic), Buffer.from(correlation)];
  const properties = Buffer.concat([Buffer.of(9, 0, data.length), data]);
  const body = Buffer.concat([
    Buffer.of(0, name.length),
    name,
    Buffer.of(properties.length),
    properties,
    Buffer.from(text),
  ]);
  return Buffer.concat([Buffer.of(0x30, body.length), body]);
}

/** A UTF-8 string of MQTT: two bytes of length before it. */
const mqttText = (text: string) => Buffer.from(`\0${String.fromCharCode(text.length)}${text}`, "latin1");

test("MQTT 5: the request names where its answer goes, and which one it is", async () => {
  let request: Received | undefined;
  const { broker, target } = await opened((packet, session) => {
    session.answer(packet);
    if (packet.type !== PUBLISH) return;
    request = packet;
    session.send(publication(ANSWER, '{"id":"7","ok":true,"values":{"fps":30}}'));
  });
  expect(await sendRequest(target, "get", REQUEST)).toEqual({ id: "7", ok: true, values: { fps: 30 } });
  const { bytes } = request!;
  const connect = broker.packets[0]!.bytes.toString("latin1");
  const [clientId] = /depthwatt-control-?\w+/.exec(connect)!;
  const properties = Buffer.concat([
    Buffer.of(8),
    mqttText(`depthwatt/robot/response/get/${clientId}`),
    Buffer.of(9),
    mqttText("7"),
  ]);
  const expected = Buffer.concat([
    mqttText("depthwatt/robot/request/get"),
    Buffer.of(request!.messageId >> 8, request!.messageId & 255, properties.length),
    properties,
    Buffer.from(REQUEST.payload),
  ]);
  expect(bytes[0]).toBe(0x32);
  expect(bytes.subarray(2).toString("latin1")).toBe(expected.toString("latin1"));
  const filters = broker.packets.filter(({ type }) => type === SUBSCRIBE).map((packet) => packet.bytes);
  expect(filters.map((filter) => filter.subarray(5).toString("latin1"))).toEqual([
    `${mqttText(INFO)}\x01`,
    `${mqttText("depthwatt/robot/response/get/#")}\x01`,
  ]);
});

test("MQTT 3.1.1 has no properties: the same request without them", async () => {
  let request: Received | undefined;
  const { target } = await opened(
    (packet, session) => {
      const { type, messageId } = packet;
      if (type === CONNECT) session.send(0x20, 2, 0, 0);
      if (type === SUBSCRIBE) session.send(0x90, 3, messageId >> 8, messageId & 255, 1);
      if (type !== PUBLISH) return;
      request = packet;
      const text = '{"id":"7","ok":true}';
      session.send(
        puback(packet),
        0x30,
        2 + ANSWER.length + text.length,
        mqttText(ANSWER),
        Buffer.from(text),
      );
    },
    { protocolVersion: 4 },
  );
  expect(await sendRequest(target, "get", REQUEST)).toEqual({ id: "7", ok: true });
  const { messageId, bytes } = request!;
  const id = Buffer.of(messageId >> 8, messageId & 255);
  expect(bytes.subarray(2)).toEqual(
    Buffer.concat([mqttText("depthwatt/robot/request/get"), id, Buffer.from(REQUEST.payload)]),
  );
});

test("only the answer with its id or correlation data counts", async () => {
  const refusal = { ok: false, code: "CONTROL_SECRET", message: "m", hint: "h" };
  const answer = await send((session) =>
    session.send(
      publication(ANSWER, '{"id":"8","ok":true}'),
      publication(ANSWER, '{"ok":true}'),
      publication(ANSWER, "7"),
      publication(ANSWER, "null"),
      publication(ANSWER, "{"),
      correlated(ANSWER, '{"id":"8","ok":true}', "8"),
      // No object: no answer.
      correlated(ANSWER, "null", "7"),
      correlated(ANSWER, JSON.stringify(refusal), "7"),
    ),
  );
  expect(answer).toEqual(refusal);
});

test("a request without a secret holds its id, client and body; one with a secret is signed for its device", async () => {
  const target = { base: "depthwatt", device: "robot", client: "a test" };
  const plain = requestPayload({ ...target, secret: undefined }, "get", BODY, "7");
  expect(JSON.parse(plain)).toEqual({ id: "7", client: "a test", body: BODY });
  const ids = new Set<string>();
  const { target: served } = await opened((packet, session) => {
    session.answer(packet);
    if (packet.type !== PUBLISH) return;
    const { id, ...rest } = JSON.parse(
      packet.bytes.toString("utf8", packet.bytes.length - packet.payloadBytes),
    );
    expect(rest).toEqual({ client: "a test", body: BODY });
    ids.add(id);
    session.send(publication(ANSWER, JSON.stringify({ id, ok: true })));
  });
  for (let i = 0; i < 2; i++) expect(await askDevice(served, "get", BODY)).toMatchObject({ ok: true });
  expect([...ids]).toEqual([expect.stringMatching(/^[\da-f]{16}$/), expect.stringMatching(/^[\da-f]{16}$/)]);
});

test("no answer in time is an error that names the device, the command and the time", async () => {
  await expect(send(() => {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "CONTROL_UNANSWERED",
    message: 'depthwatt/robot did not answer "get" within 0.05 s',
  });
});

const infoWith = (control: unknown) => publication(INFO, JSON.stringify({ control }));

test.each<[string, Buffer[], string, string]>([
  [
    "that control is off",
    [infoWith({ available: false, reason: "control.enabled is false" })],
    "CONTROL_UNSUPPORTED",
    "expected depthwatt/robot to take requests, but its info says: control.enabled is false",
  ],
  [
    "so at length",
    [infoWith({ available: false, reason: "x".repeat(201) })],
    "CONTROL_UNSUPPORTED",
    `expected depthwatt/robot to take requests, but its info says: ${"x".repeat(200)}`,
  ],
  ...[
    [infoWith({ available: true })],
    [infoWith(null)],
    [publication(INFO, "{}")],
    [publication(INFO, "null")],
    [publication(INFO, "no JSON")],
    // The newer one counts.
    [infoWith({ available: false, reason: "an old one" }), infoWith({ available: true })],
  ].map((infos): [string, Buffer[], string, string] => [
    `otherwise: ${infos.map((info) => info.subarray(25).toString()).join(", ")}`,
    infos,
    "CONTROL_UNANSWERED",
    'depthwatt/robot did not answer "get" within 0.05 s',
  ]),
])("without an answer, where the device's info says %s", async (_, infos, code, message) => {
  await expect(send((session) => session.send(...infos), { timeoutMs: 50 })).rejects.toMatchObject({
    code,
    message,
  });
});

test("an answer counts even if the device's info says that control is off", async () => {
  const answer = await send((session) =>
    session.send(
      infoWith({ available: false, reason: "an old one" }),
      publication(ANSWER, '{"id":"7","ok":true}'),
    ),
  );
  expect(answer).toEqual({ id: "7", ok: true });
});

/** SUBACK with this reason code. */
const suback = ({ messageId }: Received, code: number) =>
  Buffer.of(0x90, 4, messageId >> 8, messageId & 255, 0, code);
const isInfo = ({ bytes }: Received) => bytes.includes(INFO);

test.each<[string, Script, object]>([
  [
    "subscribe to the answers",
    (packet, session) =>
      packet.type === SUBSCRIBE && !isInfo(packet)
        ? session.send(suback(packet, 0x87))
        : session.answer(packet),
    {
      code: "BROKER_REFUSED",
      message: "the broker does not let this client subscribe to depthwatt/robot/response/get/#",
    },
  ],
  [
    "publish the request",
    (packet, session) =>
      packet.type === PUBLISH ? session.send(puback(packet, 0x87)) : session.answer(packet),
    {
      code: "BROKER_REFUSED",
      message: "the broker does not let this client publish below depthwatt/robot/request/",
    },
  ],
  [
    "connect",
    (packet, session) => (packet.type === CONNECT ? session.send(connack(0x87)) : session.answer(packet)),
    { code: "BROKER_REFUSED" },
  ],
])("a broker that does not let it %s is the error", async (_, script, error) => {
  const { target } = await opened(script);
  await expect(sendRequest(target, "get", REQUEST)).rejects.toMatchObject(error);
});

test("a broker that refuses only the device's info is no error", async () => {
  const { target } = await opened((packet, session) => {
    if (packet.type === SUBSCRIBE && isInfo(packet)) session.send(suback(packet, 0x87));
    else session.answer(packet);
    if (packet.type === PUBLISH) session.send(publication(ANSWER, '{"id":"7","ok":true}'));
  });
  expect(await sendRequest(target, "get", REQUEST)).toEqual({ id: "7", ok: true });
});

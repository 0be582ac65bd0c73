// SPDX-License-Identifier: Apache-2.0
// A broker of MQTT 5 that does what a test says: each packet of a client goes to the script, which answers with bytes. Knows just
// enough of the protocol to distinguish packets (MQTT 5 sections 2 and 3.3).
import { once } from "node:events";
import { createServer, type Socket } from "node:net";

export const CONNECT = 1;
export const PUBLISH = 3;
export const SUBSCRIBE = 8;
export const PINGREQ = 12;

export interface Received {
  type: number;
  bytes: Buffer;
  /** Parses a PUBLISH. */
  topic: string;
  qos: number;
  payloadBytes: number;
  /** Packet identifier of a PUBLISH with QoS 1, or of a SUBSCRIBE. */
  messageId: number;
  /** Number of topic filters of a SUBSCRIBE. */
  filters: number;
}

export interface Session {
  readonly socket: Socket;
  /** Counted from 0. */
  readonly index: number;
  send(...bytes: (number | Buffer)[]): void;
  /** Answers a packet as a broker does that takes everything. */
  answer(packet: Received): void;
}

export type Script = (packet: Received, session: Session) => unknown;

function readLength(bytes: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let shift = 0; at < bytes.length; shift += 7) {
    const byte = bytes[at++]!;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, end: at };
  }
  return undefined;
}

function parse(bytes: Buffer, bodyAt: number): Received {
  const type = bytes[0]! >> 4;
  const qos = type === PUBLISH ? (bytes[0]! >> 1) & 3 : 0;
  const packet = { type, bytes, topic: "", qos, payloadBytes: 0, messageId: 0, filters: 0 };
  if (type === SUBSCRIBE) {
    packet.messageId = bytes.readUInt16BE(bodyAt);
    const { value, end } = readLength(bytes, bodyAt + 2)!;
    for (let at = end + value; at < bytes.length; at += bytes.readUInt16BE(at) + 3) packet.filters++;
  }
  if (type !== PUBLISH) return packet;
  const topicEnd = bodyAt + 2 + bytes.readUInt16BE(bodyAt);
  packet.topic = bytes.toString("utf8", bodyAt + 2, topicEnd);
  if (qos > 0) packet.messageId = bytes.readUInt16BE(topicEnd);
  const properties = readLength(bytes, topicEnd + (qos > 0 ? 2 : 0))!;
  packet.payloadBytes = bytes.length - properties.end - properties.value;
  return packet;
}

/** CONNACK with this reason code and these properties. */
export const connack = (code = 0, properties: readonly number[] = []): Buffer =>
  Buffer.from([0x20, 3 + properties.length, 0, code, properties.length, ...properties]);

export const puback = ({ messageId }: Received, code = 0): Buffer =>
  Buffer.from([0x40, code === 0 ? 2 : 3, messageId >> 8, messageId & 255, ...(code === 0 ? [] : [code])]);

/** PUBLISH with QoS 0 as MQTT 5 has it, without properties. */
export function publication(topic: string, payload: Uint8Array | string): Buffer {
  const name = Buffer.from(topic);
  const body = Buffer.concat([
    Buffer.of(name.length >> 8, name.length & 255),
    name,
    Buffer.of(0),
    Buffer.from(payload),
  ]);
  const length: number[] = [];
  for (let rest = body.length; rest > 0 || length.length === 0; rest = Math.floor(rest / 128))
    length.push((rest % 128) + (rest >= 128 ? 128 : 0));
  return Buffer.concat([Buffer.of(0x30, ...length), body]);
}

function answerTo(packet: Received): Buffer {
  const { type, qos, messageId, filters } = packet;
  if (type === CONNECT) return connack();
  if (type === SUBSCRIBE)
    return Buffer.from([
      0x90,
      3 + filters,
      messageId >> 8,
      messageId & 255,
      0,
      ...Array<number>(filters).fill(1),
    ]);
  if (type === PINGREQ) return Buffer.from([0xd0, 0]);
  return type === PUBLISH && qos === 1 ? puback(packet) : Buffer.alloc(0);
}

export interface ScriptedBroker {
  readonly url: string;
  /** Every packet of every client, in order. */
  readonly packets: readonly Received[];
  readonly connections: number;
  close(): Promise<void>;
}

/** @param onPart called with what has arrived of a packet that is not whole yet */
export async function startScriptedBroker(
  script: Script,
  onPart?: (bytes: Buffer, session: Session) => unknown,
): Promise<ScriptedBroker> {
  const packets: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    const session: Session = {
      socket,
      index: connections++,
      send: (...bytes) =>
        void socket.write(
          Buffer.concat(bytes.map((one) => (typeof one === "number" ? Buffer.of(one) : one))),
        ),
      answer: (packet) => void socket.write(answerTo(packet)),
    };
    sockets.add(socket);
    let rest = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let length = readLength(rest, 1); length !== undefined; length = readLength(rest, 1)) {
        const end = length.end + length.value;
        if (rest.length < end) return void onPart?.(rest, session);
        const packet = parse(rest.subarray(0, end), length.end);
        rest = rest.subarray(end);
        packets.push(packet);
        script(packet, session);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as { port: number };
  return {
    url: `mqtt://127.0.0.1:${address.port}`,
    packets,
    get connections() {
      return connections;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

// SPDX-License-Identifier: Apache-2.0
// A scripted broker that keeps what a client publishes, and sends it what other clients would publish.
import { PUBLISH, type Session, SUBSCRIBE, startScriptedBroker } from "./scripted-broker.js";

export interface HeardMessage {
  topic: string;
  text: string;
  retained: boolean;
}

/** A PUBLISH of MQTT 5 with QoS 0 and no properties. */
function publishPacket(topic: string, text: string, retained: boolean): Buffer {
  const [name, payload] = [Buffer.from(topic), Buffer.from(text)];
  const length = 2 + name.length + 1 + payload.length;
  const digits: number[] = [];
  for (let left = length; digits.length === 0 || left > 0; left >>= 7)
    digits.push((left & 127) | (left > 127 ? 128 : 0));
  const head = [retained ? 0x31 : 0x30, ...digits, name.length >> 8, name.length & 255];
  return Buffer.concat([Buffer.from(head), name, Buffer.of(0), payload]);
}

export async function startSideListener() {
  const heard: HeardMessage[] = [];
  const subscribed: Session[] = [];
  const broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type === SUBSCRIBE) subscribed.push(session);
    if (packet.type !== PUBLISH) return;
    const text = packet.bytes.subarray(packet.bytes.length - packet.payloadBytes).toString();
    heard.push({ topic: packet.topic, text, retained: (packet.bytes[0]! & 1) === 1 });
  });
  return {
    /** Every message, in order. */
    heard,
    /** As an output finds the broker of outputs.mqtt. */
    access: { url: broker.url, embedded: false, protocolVersion: 5 as const },
    packets: broker.packets,
    get subscriptions() {
      return subscribed.length;
    },
    /** Takes the messages that were heard, each as topic, JSON, and whether it is retained. */
    take: () =>
      heard
        .splice(0)
        .map(({ topic, text, retained }) => [topic, text === "" ? "" : JSON.parse(text), retained] as const),
    /** Sends the newest subscriber a message. */
    say: (topic: string, text: string, retained = false) =>
      subscribed.at(-1)!.send(publishPacket(topic, text, retained)),
    close: () => broker.close(),
  };
}

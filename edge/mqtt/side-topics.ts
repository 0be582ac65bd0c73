// SPDX-License-Identifier: Apache-2.0
// A connection next to that of the frames, for small messages: they do not wait behind pictures, and pictures not behind them.
// Retained messages are published again on every connect; of others the newest wins where the broker does not read.
import type { MqttClient } from "mqtt";
import { DepthwattError } from "../../core/index.js";
import { BrokerConnection, uniqueClientId } from "../../core/mqtt/connection.js";
import type { BrokerAccess, OutputContext } from "../contracts/output.js";
import { MAX_REMAINING_LENGTH, plainPacketBytes, publishPacketHead } from "./publish-packet.js";

export interface SideTopicsOptions {
  broker: BrokerAccess;
  /** Begins the client id. */
  name: string;
  notice(text: string): void;
  /** The broker publishes it, retained, if the connection is lost. */
  will?: { topic: string; payload: string };
  /** Topics to be subscribed to, and who hears of them. */
  subscriptions?: readonly string[];
  onMessage?(topic: string, text: string, retained: boolean): void;
  /** The largest packet that the broker may send over MQTT 5; default 64 KiB. It drops larger ones. */
  maximumPacketBytes?: number;
}

/** Why a message was not sent; lost: the connection broke while it was on its way. */
export type DropCause = "offline" | "backpressure" | "oversize" | "lost";

/** Largest number of bytes that may wait in front of the socket. */
const MAX_PENDING_BYTES = 1 << 20;
/** Most messages that are read here are small. */
const MAX_PACKET_BYTES = 64 << 10;
/** Topic and properties next to the payload. */
const HEAD_ALLOWANCE = 1024;
/** MQTT 5 properties of binary messages: consumers do not want old ones. */
const BINARY = { contentType: "application/octet-stream", expirySeconds: 1, user: [] };
const CLOSE_GRACE_MS = 500;

/**
 * Returns the broker of outputs.mqtt.
 * @param output its name in the settings
 * @throws DepthwattError CONFIG_INVALID if there is none
 */
export function requireBroker<T>({ broker }: OutputContext<T>, output: string, hint: string): BrokerAccess {
  const found = broker?.();
  if (found !== undefined) return found;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `outputs.${output}.enabled: expected a broker in outputs.mqtt.broker with it, got none`,
    { hint },
  );
}

export class SideTopics {
  readonly ready: Promise<unknown>;
  readonly #options: SideTopicsOptions;
  readonly #connection: BrokerConnection;
  readonly #retained = new Map<string, { text: string; expirySeconds: number | undefined }>();
  #client: MqttClient | undefined;
  #keeps = true;
  #version: 4 | 5 = 5;
  #maxPacketBytes = Number.POSITIVE_INFINITY;
  #reported = new Set<string>();
  sent = 0;
  bytes = 0;
  /** Messages that were not sent, by cause. */
  readonly drops: Record<string, number> = {};

  constructor(options: SideTopicsOptions) {
    this.#options = options;
    const clientId = uniqueClientId(`depthwatt-${options.name}`);
    const { maximumPacketBytes = MAX_PACKET_BYTES, will } = options;
    const connection = { ...options.broker, clientId, maximumPacketBytes, ...(will && { will }) };
    this.#connection = new BrokerConnection(connection, {
      onUp: (client, version, connack) => {
        this.#client = client;
        this.#version = version;
        this.#maxPacketBytes = connack.properties?.maximumPacketSize ?? MAX_REMAINING_LENGTH;
        this.#keeps = connack.properties?.retainAvailable !== false;
        client.on("message", (topic, payload, { retain }) => {
          options.onMessage?.(topic, payload.toString(), retain);
        });
        for (const topic of options.subscriptions ?? []) this.#subscribe(client, topic);
        for (const topic of this.#retained.keys()) this.#keep(client, topic);
      },
      onDown: () => {
        this.#client = undefined;
      },
      // The frame publisher reports broker outages.
      onStatus: () => {},
    });
    this.ready = this.#connection.firstAttempt;
  }

  get connected(): boolean {
    return this.#client !== undefined;
  }

  #subscribe(client: MqttClient, topic: string): void {
    client.subscribe(topic, { qos: 1 }, (error, granted) => {
      if (error || granted?.some(({ qos }) => qos >= 128))
        this.#once(`this device may not subscribe to ${topic} at the broker`);
    });
  }

  #once(text: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#options.notice(text);
  }

  /**
   * The newest value of a topic stays at the broker; an empty text makes it forget the topic.
   *
   * @param expirySeconds after which an MQTT 5 broker forgets it
   */
  keep(topic: string, text: string, expirySeconds?: number): void {
    // An empty one too: a broker that is away now would continue to keep what was there.
    this.#retained.set(topic, { text, expirySeconds });
    if (this.#client !== undefined) this.#keep(this.#client, topic);
  }

  #keep(client: MqttClient, topic: string): void {
    const { text, expirySeconds } = this.#retained.get(topic)!;
    if (!this.#keeps) {
      this.#drop("retainRefused");
      this.#once(`the broker keeps no retained messages, so ${topic} is not published`);
      return;
    }
    if (!this.#fits(topic, text)) return;
    const properties =
      this.#version === 5 && expirySeconds !== undefined
        ? { messageExpiryInterval: expirySeconds }
        : undefined;
    client.publish(topic, text, { qos: 1, retain: true, ...(properties && { properties }) }, (error) =>
      this.#count(error, text),
    );
  }

  /** Most brokers close the connection of a client that exceeds their packet limit. */
  #fits(topic: string, text: string): boolean {
    const bytes = plainPacketBytes(topic, text);
    if (bytes <= this.#maxPacketBytes) return true;
    this.#drop("oversize");
    this.#once(
      `the broker takes packets of at most ${this.#maxPacketBytes} bytes, so ${topic} is not published`,
    );
    return false;
  }

  /** Sent once, or dropped and counted. */
  send(topic: string, text: string): void {
    const client = this.#client;
    if (client === undefined) this.#drop("offline");
    else if (client.stream.writableLength + text.length > MAX_PENDING_BYTES) this.#drop("backpressure");
    else if (this.#fits(topic, text))
      client.publish(topic, text, { qos: 0 }, (error) => this.#count(error, text));
  }

  /** Sends bytes that are not copied; `done` is called once, when they are no longer needed: with why they were not sent. */
  sendBytes(topic: string, message: Uint8Array, done: (dropped: DropCause | undefined) => void): void {
    const client = this.#client;
    const pending = client?.stream.writableLength ?? 0;
    // An idle socket takes a message of any size.
    const full = pending > 0 && pending + message.length > MAX_PENDING_BYTES;
    const oversize = message.length + HEAD_ALLOWANCE > this.#maxPacketBytes;
    if (client === undefined || client.stream.destroyed || full || oversize) {
      const cause = oversize ? "oversize" : full ? "backpressure" : "offline";
      this.#drop(cause);
      done(cause);
      return;
    }
    const { stream } = client;
    stream.cork();
    stream.write(publishPacketHead(topic, message.length, this.#version === 5 ? BINARY : undefined));
    stream.write(Buffer.from(message.buffer, message.byteOffset, message.length), (error) => {
      const lost = error || stream.destroyed;
      if (lost) this.#drop("lost");
      else {
        this.sent++;
        this.bytes += message.length;
      }
      done(lost ? "lost" : undefined);
    });
    stream.uncork();
  }

  #count(error: unknown, text: string): void {
    if (error) {
      this.#drop("refused");
      return;
    }
    this.sent++;
    this.bytes += Buffer.byteLength(text);
  }

  #drop(cause: string): void {
    this.drops[cause] = (this.drops[cause] ?? 0) + 1;
  }

  close(): Promise<void> {
    return this.#connection.end(CLOSE_GRACE_MS);
  }
}

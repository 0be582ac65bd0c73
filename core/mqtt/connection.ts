// SPDX-License-Identifier: Apache-2.0
// One lasting connection to a broker: MQTT 5 with fall-back to 3.1.1, growing pauses between attempts, every failure as a
// sentence. Shared by the publisher and the consumer; runs in Node and in a browser.
import mqtt, { type IClientOptions, type IConnackPacket, type MqttClient } from "mqtt";
import type { DepthwattError } from "../errors.js";
import {
  brokerName,
  NO_CONNACK,
  NO_MQTT,
  PACKET_TOO_LARGE,
  refusedProtocol,
  translateBrokerError,
} from "./broker-errors.js";
import { LARGEST_PACKET_BYTES, PacketMeter } from "./packet-meter.js";

export interface ConnectionOptions {
  url: string;
  protocolVersion: "auto" | 4 | 5;
  clientId: string;
  username?: string;
  password?: string;
  ca?: Uint8Array;
  cert?: Uint8Array;
  key?: Uint8Array;
  will?: { topic: string; payload: string };
  /** Pause before the second attempt, doubled up to `longestPauseMs`; each with a random tenth more or less. */
  firstPauseMs?: number;
  longestPauseMs?: number;
  /** A connection that held so long was a good one: the pause after it is the first one again. Default 10 s. */
  steadyMs?: number;
  /** How long a broker may take to answer an attempt; default 10 s. */
  answerMs?: number;
  /** MQTT 5: the largest packet that the broker may send; default 1 MiB. MQTT 3.1.1 has no such limit. */
  maximumPacketBytes?: number;
}

export interface BrokerStatus {
  connected: boolean;
  /** Where to, in which protocol, or why not: one sentence. */
  reason: string;
  /** The newest failure while not connected. */
  error?: DepthwattError;
}

export interface ConnectionEvents {
  /** `client.stream` is open and the broker said yes. Called again after every reconnect, with a new client. */
  onUp(client: MqttClient, version: 4 | 5, connack: IConnackPacket): void;
  /** The connection of the last onUp is gone and its socket closed. */
  onDown(): void;
  onStatus(status: BrokerStatus): void;
}

const KEEPALIVE_SECONDS = 15;
const ANSWER_MS = 10_000;
const STEADY_MS = 10_000;
const MAXIMUM_PACKET_BYTES = 1 << 20;

export class BrokerConnection {
  /** Outcome of the first attempt, counting a fall-back as the same one. */
  readonly firstAttempt: Promise<BrokerStatus>;
  #resolveFirst: (status: BrokerStatus) => void = () => {};
  #client: MqttClient | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pauseMs: number;
  #version: 4 | 5;
  #ended = false;
  #ending: Promise<void> | undefined;
  #afterClose: (() => void) | undefined;
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#version = options.protocolVersion === 4 ? 4 : 5;
    this.#pauseMs = options.firstPauseMs ?? 1000;
    this.firstAttempt = new Promise((resolve) => {
      this.#resolveFirst = resolve;
    });
    this.#attempt();
  }

  #attempt(): void {
    const version = this.#version;
    const client = mqtt.connect(this.#options.url, this.#clientOptions(version));
    this.#client = client;
    let up = false;
    let upMs = 0;
    let closed = false;
    let error: unknown;
    client.on("connect", (connack) => {
      up = true;
      upMs = performance.now();
      clearTimeout(silence);
      this.#announce({
        connected: true,
        reason: `connected to ${brokerName(this.#options.url)}, MQTT ${version === 5 ? "5" : "3.1.1"}`,
      });
      this.#events.onUp(client, version, connack);
    });
    const note = (cause: unknown) => {
      error ??= cause;
    };
    // The package's own time limit ends in an error without a code.
    const silence = setTimeout(() => {
      const { connecting } = client.stream as { connecting?: boolean };
      note({ code: connecting === true ? "ETIMEDOUT" : NO_CONNACK });
      client.stream.destroy();
    }, this.#options.answerMs ?? ANSWER_MS);
    client.on("error", (cause) => {
      // Before the broker has answered, an error without a code is one of the parser.
      note(up || "code" in cause ? cause : { code: NO_MQTT });
      // The client misreads everything that follows a packet that it could not read.
      if (!up) client.stream.destroy();
    });
    // MQTT 5: why the broker ends the connection; some brokers leave it to the client to close it.
    client.on("disconnect", ({ reasonCode }) => {
      if (reasonCode !== undefined && reasonCode >= 128) note({ code: reasonCode });
      client.stream.destroy();
    });
    // mqtt passes on only those socket errors that carry a code.
    client.stream?.on("error", note);
    // A broker that has closed its side reads nothing more; the socket would stay open until everything is written.
    client.stream?.on("end", () => client.stream.destroy());
    // Without this check, the client waits in vain for the rest of the packet, and reads nothing else, until the keepalive ends.
    const meter = new PacketMeter(version === 5 ? this.#maximumPacketBytes : LARGEST_PACKET_BYTES);
    client.stream?.prependListener("data", (bytes: Uint8Array) => {
      if (meter.take(bytes)) return;
      note({ code: up ? PACKET_TOO_LARGE : NO_MQTT });
      client.stream.destroy();
    });
    client.on("close", () => {
      if (closed) return;
      closed = true;
      clearTimeout(silence);
      this.#client = undefined;
      if (up) this.#events.onDown();
      // A connection that is repeatedly closed because of what we send does not reset the back-off.
      if (up && performance.now() - upMs >= (this.#options.steadyMs ?? STEADY_MS))
        this.#pauseMs = this.#options.firstPauseMs ?? 1000;
      if (this.#ended) this.#afterClose?.();
      else this.#recover(up, version, error);
    });
  }

  get #maximumPacketBytes(): number {
    return this.#options.maximumPacketBytes ?? MAXIMUM_PACKET_BYTES;
  }

  #clientOptions(version: 4 | 5): IClientOptions {
    const { username, password, ca, cert, key, will, clientId } = this.#options;
    const options: IClientOptions = {
      protocolVersion: version,
      clientId,
      clean: true,
      keepalive: KEEPALIVE_SECONDS,
      connectTimeout: 2 * (this.#options.answerMs ?? ANSWER_MS),
      // The package's own reconnect keeps the protocol version and the pause; this class changes both.
      reconnectPeriod: 0,
      queueQoSZero: false,
      resubscribe: false,
      // Depth is compressed already; deflate would only cost time and copies.
      wsOptions: { perMessageDeflate: false },
    };
    if (will !== undefined) options.will = { ...will, payload: will.payload, qos: 1, retain: true } as never;
    if (version === 5) options.properties = { maximumPacketSize: this.#maximumPacketBytes };
    return Object.assign(options, definedOnly({ username, password, ca, cert, key }));
  }

  #recover(wasUp: boolean, version: 4 | 5, cause: unknown): void {
    const error = translateBrokerError(cause, this.#options.url, wasUp);
    if (!wasUp && this.#options.protocolVersion === "auto") {
      // Some brokers hang up on a version that they do not know instead of saying so.
      if (version === 5 && (refusedProtocol(cause) || cause === undefined)) {
        this.#version = 4;
        this.#attempt();
        return;
      }
      // It was not the version: begin with the newer one again.
      this.#version = 5;
    }
    this.#announce({ connected: false, reason: error.message, error });
    const jitter = 0.9 + 0.2 * Math.random();
    this.#timer = setTimeout(() => this.#attempt(), this.#pauseMs * jitter);
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#options.longestPauseMs ?? 30_000);
  }

  #announce(status: BrokerStatus): void {
    this.#resolveFirst(status);
    this.#events.onStatus(status);
  }

  /** Says goodbye (DISCONNECT, so that no will is sent) and closes; after `graceMs` of the first call the socket is cut. */
  end(graceMs: number): Promise<void> {
    this.#ending ??= this.#close(graceMs);
    return this.#ending;
  }

  #close(graceMs: number): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    const status: BrokerStatus = { connected: false, reason: "closed" };
    if (client === undefined) {
      this.#announce(status);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const cut = setTimeout(() => client.stream.destroy(), graceMs);
      this.#afterClose = () => {
        clearTimeout(cut);
        this.#announce(status);
        resolve();
      };
      client.end(!client.connected);
    });
  }
}

function definedOnly<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(
    Object.entries(value).filter(([, entry]) => entry !== undefined),
  ) as Partial<Value>;
}

/** Twenty-odd characters that no other client has. */
export function uniqueClientId(prefix: string): string {
  return `${prefix}-${Math.random().toString(36).slice(2, 10)}`;
}

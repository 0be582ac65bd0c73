// SPDX-License-Identifier: Apache-2.0
// Requests over MQTT: BASE/DEVICE/request/COMMAND in, BASE/DEVICE/response/... out. Its own connection, so that an answer
// does not wait behind frames and a flood of requests does not stop them.
import type { IPublishPacket, MqttClient } from "mqtt";
import { DepthwattError } from "../../core/index.js";
import { BrokerConnection, type ConnectionOptions } from "../../core/mqtt/connection.js";
import type { RunControl } from "../contracts/control.js";
import { type GateCounters, RequestGate, type WireAnswer } from "./gate.js";

export interface DoorOptions {
  /** URL, credentials, version, client id. */
  connection: ConnectionOptions;
  base: string;
  device: string;
  control: RunControl;
  notice(text: string): void;
}

export interface DoorCounters extends GateCounters {
  /** Requests that the broker had kept: they would be carried out at every start. */
  retained: number;
  /** Answers that could not be sent. */
  lost: number;
}

/** How long requests in work are waited for at the end. */
const CLOSE_LIMIT_MS = 1500;
const CLOSE_GRACE_MS = 500;
/** MQTT 5 brokers drop larger messages; up to this size the answer names the limit. */
const MAX_PACKET_BYTES = 4 << 20;
/** Topic and properties of an answer. */
const HEAD_ALLOWANCE = 1024;

export class MqttDoor {
  /** Resolves when the first attempt to connect and subscribe is over; never rejects. */
  readonly ready: Promise<unknown>;
  readonly #options: DoorOptions;
  readonly #prefix: string;
  readonly #gate: RequestGate;
  readonly #connection: BrokerConnection;
  readonly #working = new Set<Promise<void>>();
  #client: MqttClient | undefined;
  #version: 4 | 5 = 5;
  #maxBytes = Number.POSITIVE_INFINITY;
  #retained = 0;
  #lost = 0;
  #refused: string | undefined;
  #subscribed: () => void = () => {};

  constructor(options: DoorOptions) {
    const { base, device, control } = options;
    this.#options = options;
    this.#prefix = `${base}/${device}`;
    const secret = control.brokerAuthenticates ? undefined : control.secret;
    if (secret === undefined && !control.brokerAuthenticates)
      throw new DepthwattError("INTERNAL", "requests would need no proof");
    this.#gate = new RequestGate({
      device: this.#prefix,
      secret,
      perform: (command, body, from) => control.perform(command, body, from),
    });
    const subscribed = new Promise<void>((resolve) => {
      this.#subscribed = resolve;
    });
    const connection = { ...options.connection, maximumPacketBytes: MAX_PACKET_BYTES };
    this.#connection = new BrokerConnection(connection, {
      onUp: (client, version, connack) => {
        this.#client = client;
        this.#version = version;
        this.#maxBytes = connack.properties?.maximumPacketSize ?? Number.POSITIVE_INFINITY;
        client.on("message", (topic, payload, packet) => this.#take(topic, payload, packet));
        this.#subscribe(client);
      },
      onDown: () => {
        this.#client = undefined;
      },
      // The frame publisher reports broker outages.
      onStatus: () => {},
    });
    this.ready = this.#connection.firstAttempt.then(({ connected }) => (connected ? subscribed : undefined));
  }

  counters(): DoorCounters {
    return { ...this.#gate.counters(), retained: this.#retained, lost: this.#lost };
  }

  #subscribe(client: MqttClient): void {
    const topic = `${this.#prefix}/request/+`;
    client.subscribe(topic, { qos: 1 }, (error, granted) => {
      const why = error?.message ?? (granted?.some(({ qos }) => qos >= 128) ? "refused" : undefined);
      if (why !== undefined && why !== this.#refused && this.#client === client)
        this.#options.notice(`control: this device may not subscribe to ${topic} at the broker (${why})`);
      this.#refused = why;
      this.#subscribed();
    });
  }

  #take(topic: string, payload: Buffer, packet: IPublishPacket): void {
    const command = topic.slice(`${this.#prefix}/request/`.length);
    if (packet.retain) {
      this.#retained++;
      return;
    }
    const working = this.#serve(command, payload, packet).finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  async #serve(command: string, payload: Buffer, packet: IPublishPacket): Promise<void> {
    const { responseTopic, correlationData } = packet.properties ?? {};
    const below = `${this.#prefix}/response/`;
    // This device may publish where the sender may not.
    const elsewhere = responseTopic !== undefined && !isBelow(below, responseTopic);
    const fault = elsewhere
      ? new DepthwattError("CONTROL_INVALID", `expected a response topic below ${below}, got another one`)
      : undefined;
    const answer = await this.#gate.answer(command, payload, { fault });
    if (answer === undefined) return;
    const usual = below + (/^[a-z]{1,32}$/.test(command) ? command : "unknown");
    this.#send(elsewhere || responseTopic === undefined ? usual : responseTopic, answer, correlationData);
  }

  #send(topic: string, answer: WireAnswer, correlationData: Buffer | undefined): void {
    const client = this.#client;
    if (client === undefined) {
      this.#lost++;
      return;
    }
    let text = JSON.stringify(answer);
    if (text.length + HEAD_ALLOWANCE > this.#maxBytes) {
      const { id } = answer;
      const message = `the answer of ${text.length} bytes exceeds the broker's limit of ${this.#maxBytes}`;
      const hint = "Raise the broker's limit of a packet, or choose a smaller picture.";
      text = JSON.stringify({ id, ok: false, code: "CONTROL_UNSUPPORTED", message, hint });
    }
    const properties = {
      contentType: "application/json",
      ...(correlationData !== undefined && { correlationData }),
    };
    client.publish(topic, text, { qos: 1, ...(this.#version === 5 && { properties }) }, (error) => {
      if (error) this.#lost++;
    });
  }

  /**
   * Answers the requests in work and, with RUN_ENDED, all others that the broker had accepted for this device: a broker
   * acknowledges a request to its sender before it passes it on, and sends what it has before it confirms the end of a
   * subscription.
   */
  async close(): Promise<void> {
    this.#gate.close();
    const answered = this.#unsubscribe().then(() => Promise.all(this.#working));
    const late = new Promise((resolve) => setTimeout(resolve, CLOSE_LIMIT_MS).unref());
    await Promise.race([answered, late]);
    await this.#connection.end(CLOSE_GRACE_MS);
  }

  #unsubscribe(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return Promise.resolve();
    // A refusal or a connection that breaks ends the wait as well.
    return new Promise((resolve) => client.unsubscribe(`${this.#prefix}/request/+`, () => resolve()));
  }
}

/** A topic below the prefix, without wildcards. */
function isBelow(prefix: string, topic: string): boolean {
  return topic.startsWith(prefix) && topic.length > prefix.length && !/[+#\p{Cc}]/u.test(topic);
}

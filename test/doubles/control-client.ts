// SPDX-License-Identifier: Apache-2.0
// Implements a client of control that can also send invalid requests: raw payloads, one answer for each.
import mqtt, { type IClientPublishOptions, type IPublishPacket, type MqttClient } from "mqtt";
import { requestPayload } from "../../edge/control/client.js";
import type { WireAnswer } from "../../edge/control/gate.js";
import { until } from "./frames.js";

export const SECRET = "the secret of the tests";

export interface Received {
  topic: string;
  answer: WireAnswer & Record<string, unknown>;
  packet: IPublishPacket;
}

export class TestClient {
  readonly received: Received[] = [];
  readonly info: Record<string, unknown>[] = [];
  #asked = 0;

  private constructor(
    readonly client: MqttClient,
    readonly base: string,
    readonly device: string,
  ) {}

  static async connect(
    url: string,
    device: string,
    protocolVersion: 4 | 5,
    base = "depthwatt",
  ): Promise<TestClient> {
    const client = await mqtt.connectAsync(url, { protocolVersion });
    const test = new TestClient(client, base, device);
    client.on("message", (topic, payload, packet) => {
      if (!topic.endsWith("/info") && !topic.includes("/response/")) return; // what a test subscribes to itself
      const value = JSON.parse(payload.toString());
      if (topic.endsWith("/info")) test.info.push(value);
      else test.received.push({ topic, answer: value, packet });
    });
    await client.subscribeAsync([`${base}/${device}/response/#`, `${base}/${device}/info`], { qos: 1 });
    return test;
  }

  payload(command: string, body: unknown, id: string, secret: string | undefined = SECRET): string {
    return requestPayload(
      { base: this.base, device: this.device, secret, client: "test" },
      command,
      body,
      id,
    );
  }

  /** Publishes as it stands. */
  async send(command: string, payload: string | Buffer, options: IClientPublishOptions = {}): Promise<void> {
    await this.client.publishAsync(`${this.base}/${this.device}/request/${command}`, payload, {
      qos: 1,
      ...options,
    });
  }

  /** Returns the next answer that was not read yet. */
  async next(timeoutMs = 15_000): Promise<Received> {
    await until("an answer comes", () => this.received.length > 0, timeoutMs);
    return this.received.shift()!;
  }

  /** Returns the answer with this id, after any other answers. */
  async ask(command: string, body: unknown, id = `ask ${this.#asked++}`): Promise<Received["answer"]> {
    await this.send(command, this.payload(command, body, id));
    const ours = ({ answer }: Received) => answer.id === id;
    await until(`an answer to ${command}`, () => this.received.some(ours), 15_000);
    return this.received.splice(this.received.findIndex(ours), 1)[0]!.answer;
  }

  close(): Promise<void> {
    return this.client.endAsync(true);
  }
}

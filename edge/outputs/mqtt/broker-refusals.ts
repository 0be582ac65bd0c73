// SPDX-License-Identifier: Apache-2.0
// Detects that the broker refuses messages. QoS 0 gets no answer; over MQTT 5 a frame of each stream is sent with QoS 1
// now and then, and its PUBACK reports an access list or a limit that refuses it. Frames of a refused stream are not
// sent but counted, and one tries again every TRY_AGAIN_MS. MQTT 3.1.1 cannot express a refusal.
import { DepthwattError } from "../../../core/index.js";
import { brokerName } from "../../../core/mqtt/broker-errors.js";

const ASK_AGAIN_MS = 10_000;
/** MQTT 5 section 3.4.2.1: from here on a reason code is a refusal. */
const FIRST_REFUSAL = 128;
const PACKET_TOO_LARGE = 149;
/** Our own: the broker answered with a code that a PUBACK may not have, and the client could not read it. */
const UNREADABLE = 255;

interface Asked {
  atMs: number;
  code: number;
}

export class BrokerRefusals {
  readonly #topics = new Map<string, Asked>();
  readonly #underway = new Map<number, string>();
  #unused: ReadonlySet<string> = new Set();
  /** The client misreads everything that follows a packet that it could not read. */
  #isDeaf = false;
  readonly #brokerUrl: string;
  readonly #onRefused: (error: DepthwattError) => void;
  readonly #now: () => number;

  constructor(
    brokerUrl: string,
    onRefused: (error: DepthwattError) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#brokerUrl = brokerUrl;
    this.#onRefused = onRefused;
    this.#now = now;
  }

  /** A new connection, perhaps to another broker. */
  forget(): void {
    this.#topics.clear();
    this.#underway.clear();
    this.#isDeaf = false;
  }

  /** Forgets the refusals of topics that are no longer used, including answers that are underway. */
  leave(topics: readonly string[]): void {
    // Earlier ones too: a topic that is used again is asked for again.
    for (const topic of [...this.#unused, ...topics]) this.#topics.delete(topic);
    this.#unused = new Set(topics);
  }

  /** Returns whether the next frame of a topic should ask. */
  isDue(topic: string): boolean {
    const asked = this.#topics.get(topic);
    return asked === undefined || this.#now() - asked.atMs >= ASK_AGAIN_MS;
  }

  /** Frames that asked and have no answer. */
  get inFlight(): number {
    return this.#underway.size;
  }

  isRefused(topic: string): boolean {
    return (this.#topics.get(topic)?.code ?? 0) >= FIRST_REFUSAL && !this.isDue(topic);
  }

  ask(topic: string, messageId: number): void {
    this.#topics.set(topic, { atMs: this.#now(), code: this.#topics.get(topic)?.code ?? 0 });
    this.#underway.set(messageId, topic);
    if (this.#isDeaf) this.answer(messageId, UNREADABLE);
  }

  /** @returns whether the message was one that asked */
  answer(messageId: number, code: number): boolean {
    const topic = this.#underway.get(messageId);
    if (topic === undefined) return false;
    this.#underway.delete(messageId);
    this.recordAnswer(topic, code);
    return true;
  }

  /**
   * Handles a packet that the client could not read; it reads none until it connects again. Mosquitto 2.0 refuses
   * messages above its message_size_limit with a code that MQTT 5 does not allow there.
   * @param document a topic whose newest value the broker has not acknowledged
   */
  unreadable(document: string | undefined): void {
    this.#isDeaf = true;
    const messageIds = [...this.#underway.keys()];
    for (const messageId of messageIds) this.answer(messageId, UNREADABLE);
    if (messageIds.length === 0 && document !== undefined) this.recordAnswer(document, UNREADABLE);
  }

  recordAnswer(topic: string, code: number): void {
    if (this.#unused.has(topic)) return;
    const before = this.#topics.get(topic);
    this.#topics.set(topic, { atMs: before?.atMs ?? this.#now(), code });
    if (code >= FIRST_REFUSAL && code !== before?.code) this.#onRefused(this.#refusedError(topic, code));
  }

  /** The first refusal that holds. */
  get refusal(): DepthwattError | undefined {
    for (const [topic, { code }] of this.#topics)
      if (code >= FIRST_REFUSAL) return this.#refusedError(topic, code);
    return undefined;
  }

  #refusedError(topic: string, code: number): DepthwattError {
    const broker = brokerName(this.#brokerUrl);
    const context = { broker, topic, found: code };
    if (code === UNREADABLE) {
      return new DepthwattError(
        "BROKER_REFUSED",
        `the broker ${broker} answers a message to ${topic} with a code that MQTT 5 does not define`,
        {
          hint: "Look into the broker's log; one cause is its limit of message sizes (Mosquitto: message_size_limit).",
          context,
        },
      );
    }
    const tooLarge = code === PACKET_TOO_LARGE;
    const what = tooLarge ? "refuses a message that is too large" : `refuses a message (reason code ${code})`;
    return new DepthwattError("BROKER_REFUSED", `the broker ${broker} ${what}: ${topic}`, {
      hint: tooLarge
        ? "Raise the broker's limit of message sizes, or publish smaller pictures, such as encoding rvl."
        : "Let this client write to the topic in the broker's access list, or set outputs.mqtt.username.",
      context,
    });
  }
}

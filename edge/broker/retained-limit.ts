// SPDX-License-Identifier: Apache-2.0
// Keeps count of what the trial broker retains, which aedes does without an end.

export class RetainedLimit {
  readonly #retainedBytes = new Map<string, number>();
  #bytes = 0;
  readonly #maxMessages: number;
  readonly #maxBytes: number;

  constructor(maxMessages: number, maxBytes: number) {
    this.#maxMessages = maxMessages;
    this.#maxBytes = maxBytes;
  }

  /** Before a retained message is kept; an empty one clears its topic. @returns false where there is no room */
  take(topic: string, payloadBytes: number): boolean {
    const before = this.#retainedBytes.get(topic);
    const bytes = payloadBytes === 0 ? 0 : payloadBytes + topic.length;
    const after = this.#bytes - (before ?? 0) + bytes;
    const isNew = before === undefined && bytes > 0;
    if (after > this.#maxBytes || (isNew && this.#retainedBytes.size >= this.#maxMessages)) return false;
    this.#bytes = after;
    if (bytes === 0) this.#retainedBytes.delete(topic);
    else this.#retainedBytes.set(topic, bytes);
    return true;
  }
}

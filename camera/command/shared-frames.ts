// SPDX-License-Identifier: Apache-2.0
// Reads a helper's frames from its memory, whose slots are those of docs/reference/shared-memory.md. It reads with pread and maps
// nothing, so memory that the helper shrinks is an error and cannot end this process.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { DepthwattError } from "../../core/index.js";

const RING_BYTES = 4096;
const MAX_SLOTS = 64;
const SLOT_HEADER_BYTES = 24;
/** Larger than any frame: the number of bytes is exact in a double. */
const MAX_SLOT_BYTES = 2n ** 40n;

const failed = (text: string, cause?: unknown) =>
  new DepthwattError("COMMAND_FAILED", text, {
    hint: "docs/guides/commands-as-cameras.md describes frames in shared memory.",
    cause,
  });

export class SharedFrames {
  readonly #path: string;
  readonly #file: number;
  readonly #frameBytes: number;
  #slots = 0;
  #slotBytes = 0;
  readonly #head = Buffer.alloc(SLOT_HEADER_BYTES);

  /**
   * @param path of memory or of a file, such as /proc/PID/fd/NUMBER or /dev/shm/NAME
   * @param frameBytes size of every frame
   * @throws DepthwattError COMMAND_FAILED
   */
  constructor(path: string, frameBytes: number) {
    this.#path = path;
    this.#frameBytes = frameBytes;
    try {
      // O_NONBLOCK: a pipe without a writer would block this process.
      this.#file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (cause) {
      throw failed(`expected the helper's memory at ${path}: ${(cause as Error).message}`, cause);
    }
    try {
      this.#readHeader();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Copies the first bytes of frame `number` into `target`.
   * @returns false if the helper has overwritten the frame
   * @throws DepthwattError COMMAND_FAILED if the frame is not complete, has another size, or the memory ends before it
   */
  read(number: number, target: Uint8Array): boolean {
    const slotAt = RING_BYTES + ((number - 1) % this.#slots) * this.#slotBytes;
    const complete = 2n * BigInt(number);
    this.#readAt(slotAt, this.#head);
    const sequence = this.#head.readBigUInt64LE(0);
    if (sequence > complete) return false;
    if (sequence < complete) {
      throw failed(
        `expected frame ${number} to be complete before its FRAME line (sequence ${complete} in its slot), found ${sequence}`,
      );
    }
    const [offset, bytes] = [this.#head.readUInt32LE(16), this.#head.readUInt32LE(20)];
    const isInside = offset >= SLOT_HEADER_BYTES && offset + bytes <= this.#slotBytes;
    if (isInside && bytes === this.#frameBytes) {
      this.#readAt(slotAt + offset, target);
      this.#readAt(slotAt, this.#head.subarray(0, 8));
      return this.#head.readBigUInt64LE(0) === complete;
    }
    // A slot that is being written has any values.
    this.#readAt(slotAt, this.#head.subarray(0, 8));
    if (this.#head.readBigUInt64LE(0) !== complete) return false;
    throw failed(
      `expected ${this.#frameBytes} bytes within a slot of ${this.#slotBytes}, found ${bytes} bytes at ${offset}`,
    );
  }

  close(): void {
    closeSync(this.#file);
  }

  #readHeader(): void {
    const stats = fstatSync(this.#file);
    if (!stats.isFile()) throw failed(`expected memory or a file at ${this.#path}, found another kind`);
    const header = Buffer.alloc(SLOT_HEADER_BYTES);
    this.#readAt(0, header);
    if (header.toString("latin1", 0, 4) !== "DWRG" || header.readUInt16LE(4) !== 1)
      throw failed(`expected a ring of frames of version 1 at ${this.#path}`);
    const [slots, slotBytes] = [header.readUInt32LE(8), header.readBigUInt64LE(16)];
    const least = SLOT_HEADER_BYTES + this.#frameBytes;
    const isPossible =
      slots >= 2 &&
      slots <= MAX_SLOTS &&
      slotBytes >= least &&
      slotBytes < MAX_SLOT_BYTES &&
      slotBytes % 8n === 0n;
    if (!isPossible || BigInt(RING_BYTES) + BigInt(slots) * slotBytes > BigInt(stats.size)) {
      throw failed(
        `expected 2 to ${MAX_SLOTS} slots of at least ${least} bytes, a multiple of 8, found ${slots} of ${slotBytes} in ${stats.size} bytes`,
      );
    }
    this.#slots = slots;
    this.#slotBytes = Number(slotBytes);
  }

  #readAt(position: number, target: Uint8Array): void {
    let done = 0;
    while (done < target.length) {
      const read = readSync(this.#file, target, done, target.length - done, position + done);
      if (read === 0) throw failed(`the helper's memory ${this.#path} has become smaller`);
      done += read;
    }
  }
}

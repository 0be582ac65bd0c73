// SPDX-License-Identifier: Apache-2.0
// Numbers as RVL writes them: groups of 3 bits, lowest first, each group a nibble whose top bit says "more follows". Nibbles fill
// 32-bit little-endian words from the top.
import { DepthwattError } from "../errors.js";

/** Reads numbers out of the words; a class, so that one call site serves every kind of number. */
export class NibbleReader {
  #word = 0;
  #nibbles = 0;
  /** Bytes read so far. */
  offset = 0;
  readonly #name: string;
  readonly #view: DataView;
  readonly #bytes: number;

  /** @param name the encoding, for errors */
  constructor(body: Uint8Array, name: string) {
    this.#name = name;
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.#bytes = body.byteLength;
  }

  /**
   * Unsigned, at most 2^30 - 1: larger than any picture's pixel count.
   * @throws DepthwattError PAYLOAD_INVALID at the end of the body, or for a longer number
   */
  read(): number {
    let value = 0;
    for (let shift = 0; shift < 30; shift += 3) {
      if (this.#nibbles === 0) {
        if (this.offset + 4 > this.#bytes) this.refuse("another word", "the end of the body");
        this.#word = this.#view.getInt32(this.offset, true);
        this.offset += 4;
        this.#nibbles = 8;
      }
      const nibble = this.#word >>> 28;
      this.#word <<= 4;
      this.#nibbles--;
      value |= (nibble & 7) << shift;
      if (nibble < 8) return value;
    }
    return this.refuse("a number of at most 10 nibbles", "a longer one");
  }

  /** @throws DepthwattError PAYLOAD_INVALID */
  refuse(expected: string, found: string | number): never {
    throw new DepthwattError(
      "PAYLOAD_INVALID",
      `${this.#name} body, byte ${this.offset}: expected ${expected}, found ${found}`,
      { context: { field: this.#name.toLowerCase(), offset: this.offset, expected, found } },
    );
  }

  /** Checks that nothing follows. @throws DepthwattError PAYLOAD_INVALID */
  end(): void {
    if (this.offset !== this.#bytes)
      this.refuse("the end of the body", `${this.#bytes - this.offset} more bytes`);
  }
}

/** Writes numbers into memory that is large enough. */
export class NibbleWriter {
  #word = 0;
  #nibbles = 0;
  #bytes = 0;
  readonly #view: DataView;

  constructor(output: Uint8Array, offset: number) {
    this.#view = new DataView(output.buffer, output.byteOffset + offset, output.length - offset);
  }

  /** @param value unsigned, below 2^30 */
  write(value: number): void {
    let rest = value;
    do {
      this.#word = (this.#word << 4) | (rest & 7) | (rest > 7 ? 8 : 0);
      rest >>>= 3;
      if (++this.#nibbles === 8) {
        this.#view.setInt32(this.#bytes, this.#word, true);
        this.#bytes += 4;
        this.#nibbles = 0;
      }
    } while (rest > 0);
  }

  /** Fills the last word. @returns the bytes written, a multiple of 4 */
  end(): number {
    if (this.#nibbles === 0) return this.#bytes;
    this.#view.setInt32(this.#bytes, this.#word << (4 * (8 - this.#nibbles)), true);
    return this.#bytes + 4;
  }
}

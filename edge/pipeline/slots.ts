// SPDX-License-Identifier: Apache-2.0
// Counts the holders of each result slot: the engine and each published stream are one holder each.

export class SlotPool {
  readonly #holders: Uint8Array;
  readonly #onFree: () => void;

  /** @param onFree called whenever a slot became free */
  constructor(slots: number, onFree: () => void) {
    this.#holders = new Uint8Array(slots);
    this.#onFree = onFree;
  }

  /** A free slot, now held once; -1 where there is none. */
  acquire(): number {
    const slot = this.#holders.indexOf(0);
    if (slot >= 0) this.#holders[slot] = 1;
    return slot;
  }

  hold(slot: number): void {
    this.#holders[slot]! += 1;
  }

  release(slot: number): void {
    this.#holders[slot]! -= 1;
    if (this.#holders[slot] === 0) this.#onFree();
  }

  get allFree(): boolean {
    return this.#holders.every((holders) => holders === 0);
  }
}

// SPDX-License-Identifier: Apache-2.0
// The place between a camera and a loop that reads it: holds the newest item, and gives back what nobody took in time.

interface Releasable {
  release(): void;
  releaseUnlessKept(): void;
}

export class Newest<T extends Releasable> {
  readonly #onReplaced: () => void;
  #item: T | undefined;
  #end: { error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @param onReplaced called for each item that a newer one took the place of */
  constructor(onReplaced: () => void) {
    this.#onReplaced = onReplaced;
  }

  put(item: T): void {
    if (this.#end) {
      item.release();
      return;
    }
    if (this.#item !== undefined) {
      this.#item.release();
      this.#onReplaced();
    }
    this.#item = item;
    this.#wake?.();
  }

  /** Drops what waits, as when its camera went away. */
  clear(): void {
    this.#item?.release();
    this.#item = undefined;
  }

  /** Nothing more comes; with an error, reading throws it. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = error === undefined ? {} : { error };
    this.clear();
    this.#wake?.();
  }

  /** Item after item, each released when the next is asked for unless it was kept; ends with end(). */
  async *read(onReturn: () => void): AsyncGenerator<T, void, undefined> {
    let given: T | undefined;
    try {
      for (;;) {
        while (this.#item === undefined && this.#end === undefined)
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        this.#wake = undefined;
        if (this.#end) {
          if ("error" in this.#end) throw this.#end.error;
          return;
        }
        given = this.#item!;
        this.#item = undefined;
        yield given;
        given.releaseUnlessKept();
        given = undefined;
      }
    } finally {
      given?.releaseUnlessKept();
      this.end();
      onReturn();
    }
  }
}

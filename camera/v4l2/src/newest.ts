// SPDX-License-Identifier: Apache-2.0
// Connects a camera to a loop that reads it: holds the newest item and releases items that were not read in time.

interface Releasable {
  release(): void;
  releaseUnlessKept(): void;
}

type Turn<T> = IteratorResult<T, undefined>;

interface Waiting<T> {
  resolve(turn: Turn<T>): void;
  reject(error: unknown): void;
}

/**
 * Its own iterator, made by hand: an asynchronous generator makes three times the garbage of a turn. A turn here costs one
 * promise and one result.
 */
export class Newest<T extends Releasable> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #onReplaced: () => void;
  readonly #onReturn: () => void;
  #item: T | undefined;
  /** The item that the reader has now. */
  #given: T | undefined;
  #end: { error?: unknown } | undefined;
  /** Turns that nothing came for yet: one, unless somebody calls next() by hand. */
  readonly #waiting: Waiting<T>[] = [];

  /**
   * @param onReplaced called for each item that a newer one took the place of
   * @param onReturn called when nothing more is read
   */
  constructor(onReplaced: () => void, onReturn: () => void) {
    this.#onReplaced = onReplaced;
    this.#onReturn = onReturn;
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
  }

  /** Gives the newest item to a waiting reader. Called after all items that arrived together were put. */
  flush(): void {
    while (this.#item !== undefined && this.#waiting.length > 0) this.#waiting.shift()!.resolve(this.#take());
  }

  /** Drops what waits, as when its camera went away. */
  clear(): void {
    this.#item?.release();
    this.#item = undefined;
  }

  /** Nothing more comes; with an error, reading throws it once. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = error === undefined ? {} : { error };
    this.clear();
    for (const { resolve, reject } of this.#waiting.splice(0)) this.#last(resolve, reject);
    this.#onReturn();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The item before is released unless it was kept. */
  next(): Promise<Turn<T>> {
    this.#given?.releaseUnlessKept();
    this.#given = undefined;
    return new Promise(this.#begin);
  }

  return(): Promise<Turn<T>> {
    this.#given?.releaseUnlessKept();
    this.#given = undefined;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Made once: a new function for each turn would be garbage. */
  readonly #begin = (resolve: Waiting<T>["resolve"], reject: Waiting<T>["reject"]) => {
    if (this.#end) this.#last(resolve, reject);
    else if (this.#item !== undefined && this.#waiting.length === 0) resolve(this.#take());
    else this.#waiting.push({ resolve, reject });
  };

  #take(): Turn<T> {
    const value = this.#item!;
    this.#item = undefined;
    this.#given = value;
    return { done: false, value };
  }

  #last(resolve: Waiting<T>["resolve"], reject: Waiting<T>["reject"]): void {
    const end = this.#end!;
    this.#end = {};
    if ("error" in end) reject(end.error);
    else resolve({ done: true, value: undefined });
  }
}

// SPDX-License-Identifier: Apache-2.0
// Typed events without node:events, which a browser does not have.

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>();

  /** @returns a function that takes the listener away again */
  on<Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void): () => void {
    const known = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, known);
    known.add(listener);
    return () => void known.delete(listener);
  }

  protected emit<Name extends keyof Events>(name: Name, value: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? [])
      (listener as (value: Events[Name]) => void)(value);
  }
}

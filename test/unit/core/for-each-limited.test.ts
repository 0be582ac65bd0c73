// SPDX-License-Identifier: Apache-2.0
// Work of which a limited number is under way.
import { describe, expect, test } from "vitest";
import { forEachLimited } from "../../../core/for-each-limited.js";

describe("work with a limit", () => {
  const ended = () => new Promise<void>((resolve) => setImmediate(resolve));

  async function* items(count: number, taken: number[] = []) {
    for (let i = 0; i < count; i++) {
      taken.push(i);
      yield i;
    }
  }

  test.each([1, 2, 3])("has %i items under way, never more, and leaves none out", async (limit) => {
    const [done, running] = [[] as number[], { now: 0, max: 0 }];
    await forEachLimited(limit, items(7), async (item) => {
      running.max = Math.max(running.max, ++running.now);
      await ended();
      running.now--;
      done.push(item);
    });
    expect(done.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(running).toEqual({ now: 0, max: limit });
  });

  test("begins nothing after the first failure, waits for the rest and reports the first", async () => {
    const [taken, done] = [[] as number[], [] as number[]];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const all = forEachLimited(3, items(9, taken), async (item) => {
      if (item === 0) await slow;
      else if (item === 1) throw new Error("first");
      else await ended();
      if (item === 2) throw new Error("second");
      done.push(item);
    });
    const outcome = all.catch((error: Error) => error.message);
    await ended();
    await ended();
    expect(done).toEqual([]);
    finish();
    expect(await outcome).toBe("first");
    expect(done).toEqual([0]);
    expect(taken).toEqual([0, 1, 2]);
  });
});

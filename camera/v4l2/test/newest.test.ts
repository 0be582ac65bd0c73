// SPDX-License-Identifier: Apache-2.0
// The newest item of a camera and its reader: each item is released once.
import { expect, test } from "vitest";
import { Newest } from "../src/newest.js";

function counted() {
  let released = 0;
  const release = () => void released++;
  return { release, releaseUnlessKept: release, released: () => released };
}

test("a reader releases what it was given when it asks again or leaves, and never twice", async () => {
  const newest = new Newest<ReturnType<typeof counted>>(
    () => {},
    () => {},
  );
  const [first, second, late] = [counted(), counted(), counted()];
  newest.put(first);
  expect(await newest.next()).toEqual({ done: false, value: first });
  expect(first.released()).toBe(0);
  const turn = newest.next();
  expect(first.released()).toBe(1);
  newest.put(second);
  newest.flush();
  expect(await turn).toEqual({ done: false, value: second });
  expect(await newest.return()).toEqual({ done: true, value: undefined });
  newest.put(late);
  expect(await newest.next()).toEqual({ done: true, value: undefined });
  expect(await newest.return()).toEqual({ done: true, value: undefined });
  expect([first, second, late].map((item) => item.released())).toEqual([1, 1, 1]);
});

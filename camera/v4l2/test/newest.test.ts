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

/** Items that were put, and calls of onReplaced and onReturn. */
function bench() {
  const calls: string[] = [];
  const newest = new Newest<ReturnType<typeof counted>>(
    () => void calls.push("replaced"),
    () => void calls.push("returned"),
  );
  const put = () => {
    const item = counted();
    newest.put(item);
    return item;
  };
  return { newest, put, calls };
}

const turn = (value: unknown) => ({ done: false, value });
const LAST = { done: true, value: undefined };

test("an item that is not read in time is released and reported; a cleared one is released only", async () => {
  const { newest, put, calls } = bench();
  const first = put();
  newest.flush();
  const second = put();
  expect([first.released(), second.released(), calls]).toEqual([1, 0, ["replaced"]]);
  expect(await newest.next()).toEqual(turn(second));
  const cleared = put();
  newest.clear();
  newest.clear();
  const next = newest.next();
  expect([cleared.released(), second.released()]).toEqual([1, 1]);
  const third = put();
  newest.flush();
  expect(await next).toEqual(turn(third));
  expect(calls).toEqual(["replaced"]);
});

test("turns that are asked for in advance get items in order, one for each flush", async () => {
  const { newest, put, calls } = bench();
  const turns = [newest.next(), newest.next()];
  const first = put();
  turns.push(newest.next());
  newest.flush();
  expect(await turns[0]).toEqual(turn(first));
  const replaced = put();
  const second = put();
  newest.flush();
  expect(await turns[1]).toEqual(turn(second));
  expect([replaced.released(), calls]).toEqual([1, ["replaced"]]);
  newest.end();
  expect(await turns[2]).toEqual(LAST);
  expect(calls).toEqual(["replaced", "returned"]);
});

test("an error reaches the first of the waiting turns, or the next one, once", async () => {
  const error = new Error("unplugged");
  const waiting = bench();
  const turns = [waiting.newest.next(), waiting.newest.next()];
  waiting.newest.end(error);
  waiting.newest.end(new Error("later"));
  await expect(turns[0]).rejects.toBe(error);
  expect(await turns[1]).toEqual(LAST);
  expect(await waiting.newest.next()).toEqual(LAST);
  const { newest, put, calls } = bench();
  const item = put();
  newest.end(error);
  expect(item.released()).toBe(1);
  await expect(newest.next()).rejects.toBe(error);
  expect(await newest.next()).toEqual(LAST);
  expect(put().released()).toBe(1);
  expect(calls).toEqual(["returned"]);
});

test("a loop reads every item, and its end is reported", async () => {
  const { newest, put, calls } = bench();
  const items = [put()];
  const read: unknown[] = [];
  for await (const item of newest) {
    read.push(item);
    if (read.length === 3) break;
    items.push(put());
  }
  expect(read).toEqual(items);
  expect(items.map((item) => item.released())).toEqual([1, 1, 1]);
  expect(calls).toEqual(["returned"]);
});

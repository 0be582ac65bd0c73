// SPDX-License-Identifier: Apache-2.0
// Two cameras that are read as one: pairing, frames without a partner, start and end.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Camera, type FramePair, open, pair } from "../src/index.js";
import { type FakeVideo, fakeVideo } from "./fake-video/fake-video.js";
import { counted, now, readCounter, rest, until } from "./fake-video/helpers.js";

const [LEFT, RIGHT] = ["/dev/fake0", "/dev/fake1"] as const;
let fake: FakeVideo;
let left: Camera;
let right: Camera;
/** Near the present when a test begins: a stamp of long ago would be taken for another clock's. */
let base = 0n;

beforeEach(async () => {
  fake = fakeVideo();
  for (const path of [LEFT, RIGHT]) fake.plugIn({ path });
  const around = { system: fake.system, folders: { sysfs: "/nowhere" } };
  left = await open(LEFT, {}, around);
  right = await open(RIGHT, {}, around);
  base = now();
});
afterEach(async () => {
  await Promise.all([left.close(), right.close()]);
  for (const path of [LEFT, RIGHT]) expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
});

const streaming = () => until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "streams on");
const deliver = (path: string, sequence: number, ms: number) =>
  expect(
    fake.deliver(path, {
      timestampNs: base + BigInt(Math.round(ms * 1e6)),
      sequence,
      bytes: counted(sequence),
    }),
  ).toBe(true);

describe("pairs", () => {
  test("are frames of one moment, by time and not by number or order", async () => {
    const stereo = pair(left, right);
    const seen: [number, number, number][] = [];
    const reading = (async () => {
      for await (const { left, right, skewNs } of stereo)
        seen.push([readCounter(left.data), readCounter(right.data), skewNs / 1e6]);
    })();
    await streaming();
    for (let i = 0; i < 6; i++) {
      const before = seen.length;
      // The right camera lost its third image, and its numbers begin elsewhere.
      if (i !== 2) deliver(RIGHT, 100 + i, 33.333 * i + 4);
      deliver(LEFT, i, 33.333 * i);
      if (i !== 2) await until(() => seen.length === before + 1, `pair ${i}`);
    }
    expect(seen.map(([one, other]) => [one, other])).toEqual([0, 1, 3, 4, 5].map((i) => [i, 100 + i]));
    for (const [, , skewMs] of seen) expect(skewMs).toBeCloseTo(4, 2);
    await rest(1);
    expect(stereo.statistics()).toMatchObject({
      pairs: 5,
      unpaired: { left: { unmatched: 1, alone: 0 }, right: { unmatched: 0, alone: 0 } },
    });
    expect(stereo.statistics().skewMsMean).toBeCloseTo(4, 2);
    expect(stereo.statistics().skewMsP99).toBeCloseTo(4, 2);
    expect([fake.state(LEFT).queued, fake.state(RIGHT).queued]).toEqual([8, 8]);
    await left.close();
    await reading;
  });

  test("the strict window drops frames that are too far apart", async () => {
    const stereo = pair(left, right, { maxSkewMs: 2 });
    const pairs: FramePair[] = [];
    const stop = stereo.start((one) => pairs.push(one));
    await streaming();
    deliver(LEFT, 0, 0);
    deliver(RIGHT, 0, 3);
    deliver(LEFT, 1, 33);
    deliver(RIGHT, 1, 34);
    await until(() => pairs.length === 1, "the near ones");
    expect(pairs[0]!.left.sequence).toBe(1);
    expect(stereo.statistics().unpaired).toEqual({
      left: { unmatched: 1, alone: 0 },
      right: { unmatched: 1, alone: 0 },
    });
    pairs[0]!.release();
    pairs[0]!.release();
    stop();
  });

  test("a slow reader gets the newest pair; what gave way is counted, and kept ones stay", async () => {
    const stereo = pair(left, right);
    let go = () => {};
    const kept: FramePair[] = [];
    const reading = (async () => {
      for await (const one of stereo) {
        kept.push(one.keep());
        await new Promise<void>((resolve) => {
          go = resolve;
        });
      }
    })();
    await streaming();
    for (let i = 0; i < 4; i++) {
      deliver(LEFT, i, 33.333 * i);
      deliver(RIGHT, i, 33.333 * i);
      await until(() => stereo.statistics().pairs === i + 1, `pair ${i}`);
      await rest(2);
    }
    go();
    await until(() => kept.length === 2, "the newest");
    expect(kept.map(({ left }) => left.sequence)).toEqual([0, 3]);
    expect(stereo.statistics().replaced).toBe(2);
    expect(fake.state(LEFT).queued).toBe(6);
    for (const one of kept) one.release();
    expect([fake.state(LEFT).queued, fake.state(RIGHT).queued]).toEqual([8, 8]);
    const ended = Promise.all([left.close(), right.close()]);
    go();
    await Promise.all([ended, reading]);
  });

  test("a camera that goes away leaves nothing waiting, and pairs continue when it is back", async () => {
    const stereo = pair(left, right);
    const pairs: number[] = [];
    stereo.start((one) => {
      pairs.push(one.left.sequence);
      one.release();
    });
    await streaming();
    deliver(LEFT, 0, 0);
    await until(() => left.statistics().frames === 1, "the left frame waits");
    fake.unplug(RIGHT);
    await until(() => stereo.statistics().unpaired.left.alone === 1, "the waiting one is given back");
    expect(fake.state(LEFT).queued).toBe(8);
    fake.plug(RIGHT);
    await streaming();
    deliver(LEFT, 5, 200);
    deliver(RIGHT, 0, 201);
    await until(() => pairs.length === 1, "a pair again");
    expect(pairs).toEqual([5]);
  });

  test("free-running cameras are brought into phase by a restart of the right one", async () => {
    const stereo = pair(left, right, { rephase: true });
    stereo.start((one) => one.release());
    await streaming();
    const begin = now();
    // 30 Hz, the right camera 12 ms late; images come a little before their time so that the test need not wait for it.
    for (let i = 0; i < 400 && stereo.statistics().restarts === 0; i++) {
      for (const [path, offset] of [
        [LEFT, 0],
        [RIGHT, 12],
      ] as const) {
        const timestampNs = begin + BigInt(Math.round((33.333 * i + offset) * 1e6));
        fake.deliver(path, { timestampNs, sequence: i, bytes: counted(i) });
      }
      await rest(3);
    }
    expect(stereo.statistics().restarts).toBe(1);
    await until(() => fake.state(RIGHT).streamOns === 2, "the right stream started again");
    expect(fake.state(LEFT).streamOns).toBe(1);
  });
});

describe("refused", () => {
  test("one camera twice, a limit that is none, a camera that is read already", () => {
    const code = (expected: string) => expect.objectContaining({ code: expected });
    expect(() => pair(left, left)).toThrow(code("INVALID_ARGUMENT"));
    for (const maxSkewMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => pair(left, right, { maxSkewMs })).toThrow(code("INVALID_ARGUMENT"));
    const stop = right.start((frame) => frame.release());
    expect(() => pair(left, right).start(() => {})).toThrow(code("INVALID_STATE"));
    stop();
    // The left camera was let go again.
    pair(left, right).start((one) => one.release());
  });
});

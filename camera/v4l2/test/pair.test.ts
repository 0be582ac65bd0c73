// SPDX-License-Identifier: Apache-2.0
// Pairing, frame period, drift and restart into phase, on made-up times.
import { describe, expect, test } from "vitest";
import { Random } from "../../../test/doubles/random.js";
import { DeviceClock } from "../src/pair/device-clock.js";
import { driftPpm, FramePeriod } from "../src/pair/frame-period.js";
import { Pairer, pairWindowNs, type Side, type UnpairedCause } from "../src/pair/pair.js";
import { Rephaser, wrapPhase } from "../src/pair/rephase.js";
import { SkewStatistics } from "../src/pair/skew.js";

interface Item {
  timestampNs: bigint;
  name: string;
}

function recorder(windowNs: number) {
  const pairs: [string, string][] = [];
  const unpaired: [Side, string, UnpairedCause][] = [];
  const skews: number[] = [];
  const pairer = new Pairer<Item>(windowNs, {
    onPair: (left, right) => {
      pairs.push([left.name, right.name]);
      skews.push(Number(right.timestampNs - left.timestampNs));
    },
    onUnpaired: (side, item, cause) => unpaired.push([side, item.name, cause]),
  });
  const push = (side: Side, name: string, ms: number) =>
    pairer.push(side, { name, timestampNs: BigInt(Math.round(ms * 1e6)) });
  return { pairer, pairs, unpaired, skews, push };
}

describe("pairing by time", () => {
  test("pairs in either order of arrival, and the window includes its edge", () => {
    const { pairs, unpaired, push } = recorder(20e6);
    push("left", "l0", 0);
    push("right", "r0", 3);
    push("right", "r1", 60);
    push("left", "l1", 40);
    expect(pairs).toEqual([
      ["l0", "r0"],
      ["l1", "r1"],
    ]);
    push("left", "l2", 80);
    push("right", "r2", 100.001);
    push("left", "l3", 120);
    expect(unpaired).toEqual([["left", "l2", "unmatched"]]);
    expect(pairs.at(-1)).toEqual(["l3", "r2"]);
  });

  test("a lost image costs its partner and nothing else", () => {
    const { pairs, unpaired, push } = recorder(20e6);
    for (let i = 0; i < 6; i++) {
      push("left", `l${i}`, 40 * i);
      if (i !== 2) push("right", `r${i}`, 40 * i + 5);
    }
    expect(pairs.map(([left]) => left)).toEqual(["l0", "l1", "l3", "l4", "l5"]);
    expect(unpaired).toEqual([["left", "l2", "unmatched"]]);
  });

  test("the nearer of two waiting images wins", () => {
    const { pairs, unpaired, push } = recorder(20e6);
    push("left", "l0", 0);
    push("left", "l1", 30);
    push("right", "r0", 18);
    expect(pairs).toEqual([["l1", "r0"]]);
    expect(unpaired).toEqual([["left", "l0", "unmatched"]]);
  });

  test("an camera without the other waits with two images at most, and clear() gives all back", () => {
    const { pairer, pairs, unpaired, push } = recorder(20e6);
    for (let i = 0; i < 5; i++) push("right", `r${i}`, 40 * i);
    expect(unpaired.map(([, name, cause]) => `${name} ${cause}`)).toEqual([
      "r0 alone",
      "r1 alone",
      "r2 alone",
    ]);
    pairer.clear();
    expect(unpaired).toHaveLength(5);
    push("left", "l", 160);
    expect(pairs).toEqual([]);
  });

  test("the window is half the shorter period, or the strict limit where that is less", () => {
    expect(pairWindowNs(40e6, 20e6, undefined)).toBe(10e6);
    expect(pairWindowNs(40e6, 40e6, 1e6)).toBe(1e6);
    expect(pairWindowNs(40e6, 40e6, 90e6)).toBe(20e6);
    expect(pairWindowNs(undefined, undefined, undefined)).toBeCloseTo(1e9 / 60);
  });

  test("random streams: no image twice, order kept, no pair beyond the window, every image accounted for", () => {
    const random = new Random();
    for (let round = 0; round < 60; round++) {
      const { pairs, unpaired, skews, push } = recorder(16.6e6);
      const offset = random.whole(-16, 16);
      const events: [Side, string, number, number][] = [];
      for (const side of ["left", "right"] as const) {
        for (let i = 0; i < 50; i++) {
          if (random.whole(0, 9) < 3) continue;
          const ms = 33.3 * i + (side === "right" ? offset : 0) + random.whole(-100, 100) / 100;
          // Arrival differs from capture: a loaded bus delivers late, but in order.
          events.push([side, `${i}`, ms, ms + random.whole(0, 20)]);
        }
      }
      events.sort((one, other) => one[3] - other[3]);
      const at: Record<Side, number> = { left: -1, right: -1 };
      const inOrder = events.filter(([side, name]) => {
        const next = Number(name) > at[side];
        if (next) at[side] = Number(name);
        return next;
      });
      for (const [side, name, ms] of inOrder) push(side, name, ms);
      const label = `seed ${random.seed} round ${round}`;
      expect(Math.max(0, ...skews.map(Math.abs)), label).toBeLessThanOrEqual(16.6e6);
      const lefts = pairs.map(([left]) => Number(left));
      const rights = pairs.map(([, right]) => Number(right));
      expect(lefts, label).toEqual([...new Set(lefts)].sort((a, b) => a - b));
      expect(rights, label).toEqual([...new Set(rights)].sort((a, b) => a - b));
      expect(inOrder.length - 2 * pairs.length - unpaired.length, label).toBeLessThanOrEqual(2);
    }
  });
});

describe("a left camera whose time stamps lie", () => {
  const MS = 1_000_000n;
  const [PERIOD, START] = [33n * MS, 500n * 1000n * MS];
  const LIE = { from: 20, to: 30 };
  const COUNT = 60;
  /** The stamp of an image that was captured at this time. */
  const LIES: readonly [string, (ns: bigint, image: number) => bigint][] = [
    ["0", () => 0n],
    ["one value", () => START],
    ["the largest", () => 2n ** 63n - 1n],
    ["negative", () => -5n * MS],
    ["half a second later", (ns) => ns + 500n * MS],
    ["half a second earlier", (ns) => ns - 500n * MS],
    ["five seconds later", (ns) => ns + 5000n * MS],
    ["five seconds earlier", (ns) => ns - 5000n * MS],
    ["an hour later", (ns) => ns + 3_600_000n * MS],
    ["an hour earlier", (ns) => ns - 3_600_000n * MS],
    ["backwards", (_, image) => START + BigInt(40 - image) * 2000n * MS],
    ["by 32 bits of nanoseconds", (ns) => BigInt.asUintN(32, ns)],
    ["any", (_, image) => BigInt.asIntN(64, BigInt(image) * 0x9e3779b97f4a7c15n)],
  ];

  test.each(LIES)(
    "%s, for a while: no wrong pair, each image accounted for, pairs again behind it",
    (_, lie) => {
      const clocks = () => ({ monotonicNs: START, realtimeNs: 1_790_000_000_000n * MS });
      const [left, right] = [new DeviceClock(clocks), new DeviceClock(clocks)];
      const random = new Random();
      const { pairs, unpaired, pairer } = recorder(16.5e6);
      const deliver = (side: Side, clock: DeviceClock, image: number, lies: boolean) => {
        const takenNs = START + BigInt(image) * PERIOD + (side === "right" ? 2n * MS : 0n);
        const arrivalNs = takenNs + 8n * MS + BigInt(random.whole(0, 3000)) * 1000n;
        const stampNs = lies ? lie(takenNs, image) : takenNs;
        pairer.push(side, { name: String(image), timestampNs: clock.toMonotonic(stampNs, arrivalNs, true) });
      };
      for (let image = 0; image < COUNT; image++) {
        deliver("left", left, image, image >= LIE.from && image < LIE.to);
        deliver("right", right, image, false);
      }
      for (const [one, other] of pairs) expect(one, `seed ${random.seed}`).toBe(other);
      pairer.clear();
      expect(2 * pairs.length + unpaired.length).toBe(2 * COUNT);
      const honest = pairs.filter(([image]) => Number(image) < LIE.from || Number(image) >= LIE.to + 3);
      expect(honest).toHaveLength(COUNT - (LIE.to - LIE.from) - 3);
    },
  );
});

describe("frame period and drift", () => {
  const feed = (period: FramePeriod, periodNs: number, count: number, random: Random, lost = 0) => {
    for (let i = 0; i < count; i++) {
      if (random.whole(0, 99) < lost) continue;
      period.add(BigInt(Math.round(i * periodNs + random.whole(-200_000, 200_000))));
    }
  };

  test("a nominal rate is believed, unless the camera is faster", () => {
    const random = new Random(1);
    const slow = new FramePeriod(33.3e6);
    feed(slow, 66.6e6, 30, random);
    expect(slow.periodNs).toBe(33.3e6);
    const fast = new FramePeriod(33.3e6);
    feed(fast, 16.6e6, 30, random);
    expect(fast.periodNs! / 16.6e6).toBeCloseTo(1, 1);
    const unknown = new FramePeriod(undefined);
    expect(unknown.periodNs).toBeUndefined();
    feed(unknown, 40e6, 30, random);
    expect(unknown.periodNs! / 40e6).toBeCloseTo(1, 1);
  });

  test.each([0, 30])(
    "drift of 150 ppm is found with %i %% of the images lost and 0.2 ms of jitter",
    (lost) => {
      const random = new Random(2);
      const left = new FramePeriod(1e9 / 30);
      const right = new FramePeriod(1e9 / 30);
      feed(left, 1e9 / 30, 3000, random, lost);
      feed(right, (1e9 / 30) * 1.00015, 3000, random, lost);
      expect(driftPpm(left, right)).toBeGreaterThan(148);
      expect(driftPpm(left, right)).toBeLessThan(152);
    },
  );

  test("nothing is reported of too few images, nor of cameras with different rates", () => {
    const random = new Random(3);
    const one = new FramePeriod(1e9 / 30);
    const other = new FramePeriod(1e9 / 15);
    feed(one, 1e9 / 30, 20, random);
    feed(other, 1e9 / 15, 20, random);
    expect(driftPpm(one, other)).toBeUndefined();
    feed(one, 1e9 / 30, 200, random);
    feed(other, 1e9 / 15, 200, random);
    expect(driftPpm(one, other)).toBeUndefined();
  });

  test("nothing is reported while the times jitter too much to know, and something once there are enough", () => {
    const period = new FramePeriod(1e9 / 30);
    const random = new Random(4);
    const add = (from: number, to: number) => {
      for (let i = from; i < to; i++) {
        period.add(BigInt(Math.round((i * 1e9) / 30 + random.whole(-8_000_000, 8_000_000))));
      }
    };
    add(0, 100);
    expect(period.fittedNs).toBeUndefined();
    add(100, 4000);
    expect(period.fittedNs! / (1e9 / 30)).toBeCloseTo(1, 4);
  });

  test("a restart of the stream begins a new fit instead of bending the old one", () => {
    const period = new FramePeriod(1e9 / 30);
    for (let i = 0; i < 500; i++) period.add(BigInt(Math.round((i * 1e9) / 30)));
    for (let i = 0; i < 500; i++) period.add(BigInt(Math.round(60e9 + (i * 1e9) / 30)));
    expect(period.fittedNs! / (1e9 / 30)).toBeCloseTo(1, 7);
  });
});

describe("limits of the frame period", () => {
  const T = 40e6;
  /** A camera of 25 fps with these steps after its first image. */
  const camera = (steps: number[], nominalNs: number | undefined = T) => {
    const period = new FramePeriod(nominalNs);
    for (const step of [0, ...steps]) period.addStep(step);
    return period;
  };
  const steady = (count: number) => new Array<number>(count).fill(T);

  test("a nominal period is believed down to 0.8 of it", () => {
    expect(camera(new Array<number>(9).fill(0.8 * T)).periodNs).toBe(T);
    expect(camera(new Array<number>(9).fill(0.8 * T - 1)).periodNs).toBe(0.8 * T - 1);
  });

  test("the period is the median of the last nine steps", () => {
    expect(camera([5, 1, 4, 2, 3], undefined).periodNs).toBe(3);
    // The last nine are 4 to 12; all of them would have 6 or 7 in the middle.
    expect(camera([1, 2, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8], undefined).periodNs).toBe(8);
  });

  test.each([
    ["a pause of 50 periods", 50 * T, T],
    ["a longer pause", 50 * T + 1, undefined],
    ["a time that repeats", 0, undefined],
    ["a time that falls", -T, undefined],
  ])("the fit after %s", (_, step, fittedNs) => {
    expect(camera(steady(59)).fittedNs).toBe(T);
    expect(camera(steady(58)).fittedNs).toBeUndefined();
    const after = camera([...steady(59), step, ...steady(30)]).fittedNs;
    expect(after && Math.round(after)).toBe(fittedNs);
    expect(camera([...steady(59), step, ...steady(59)]).fittedNs).toBeCloseTo(T, 3);
  });

  test("the fit's standard error is at most 50 ppm", () => {
    // Times that alternate by a to both sides: of n = 60, the squares about the line sum to 60 a^2 - 900 a^2 / 17995, where
    // 17995 = n (n^2 - 1) / 12. Over n - 2 and 17995, the error is 0.0075788 a, and 50 ppm of 40 ms for a = 263.9 us.
    const fitted = (a: number) =>
      camera(Array.from({ length: 59 }, (_, i) => T + (i % 2 ? 2 : -2) * a)).fittedNs;
    expect(fitted(263e3)).toBeCloseTo(T + (30 / 17995) * -263e3, 3);
    expect(fitted(264.5e3)).toBeUndefined();
  });

  test("a drift needs both fits", () => {
    const [known, unknown] = [camera(steady(100)), camera(steady(10))];
    expect([driftPpm(known, unknown), driftPpm(unknown, known), driftPpm(known, known)]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });
});

test.each([
  [
    "a nominal rate, losses and pauses",
    1e9 / 30,
    33_400_000,
    "33333333  33333333  33333333  33333333  33333333 33400501.94 33333333 33400506.01 33333333 33399923.29 33333333 33399951.11 33333333 33400005.41 33333333  33333333 33399555.14 33333333 33399804.22 33333333 33400366.06",
  ],
  [
    "no nominal rate",
    undefined,
    40_000_000,
    "  39635263  39966270  39950620  39950620 40000501.94 39950620 40000506.01 40008822 39999923.29 40089070 39999951.11 40094572 40000005.41 39907972  39907972 39999555.14 39921964 39999804.22 40051292 40000366.06",
  ],
  [
    "a camera that is faster than it says",
    50_000_000,
    33_300_000,
    "50000000  32935263  33266270  33250620  33250620 33300501.94 33250620 33300506.01 33308822 33299923.29 33389070 33299951.11 33394572 33300005.41 33207972  33207972 33299555.14 33221964 33299804.22 33351292 33300366.06",
  ],
])("periods and fits are reproduced: %s", (_, nominalNs, periodNs, expected) => {
  const random = new Random(12);
  const period = new FramePeriod(nominalNs);
  const figures: unknown[] = [];
  for (let i = 0, ns = 0; i < 900; i++) {
    ns += periodNs * (i % 97 === 96 ? 3 : i === 500 ? 49 : i === 700 ? 60 : 1);
    period.add(BigInt(ns + random.whole(-300_000, 300_000)));
    if ([0, 1, 9, 58, 59, 60, 400, 501, 699, 758, 759, 760, 899].includes(i))
      figures.push(period.periodNs?.toFixed(0), period.fittedNs?.toFixed(2));
  }
  expect(figures.join(" ")).toBe(expected);
});

describe("restart into phase", () => {
  test("the phase wraps at half a period", () => {
    expect(wrapPhase(30e6, 40e6)).toBe(-10e6);
    expect(wrapPhase(20e6, 40e6)).toBe(20e6);
    expect(wrapPhase(-20e6, 40e6)).toBe(20e6);
    expect(wrapPhase(41e6, 40e6)).toBeCloseTo(1e6);
  });

  /** A camera that starts some time after STREAMON, and a little differently every time. */
  function simulate(latencyNs: number, wobbleNs: number, seed: number) {
    const random = new Random(seed);
    const periodNs = 40e6;
    let rightStart = random.whole(0, 39) * 1e6;
    let latency = latencyNs;
    let now = 1e9;
    const rephaser = new Rephaser();
    let restarts = 0;
    for (let i = 0; i < 600; i++) {
      now += periodNs;
      const left = Math.floor(now / periodNs) * periodNs;
      const skew = wrapPhase(rightStart - left, periodNs);
      const decision = rephaser.add(skew, left, now, periodNs, latency);
      if (decision.kind === "good" || decision.kind === "givenUp") return { decision, restarts, skew };
      if (decision.kind !== "restart") continue;
      expect(decision.atNs).toBeGreaterThan(now);
      expect(decision.atNs).toBeLessThan(now + 2 * periodNs + 30e6);
      restarts++;
      latency = latencyNs + random.whole(-wobbleNs, wobbleNs);
      rightStart = decision.atNs + latency;
      now = decision.atNs;
    }
    return { decision: undefined, restarts, skew: 0 };
  }

  test("one or two restarts bring a steady camera into phase", () => {
    for (let seed = 1; seed < 30; seed++) {
      const { decision, restarts, skew } = simulate(87e6, 500_000, seed);
      expect(decision?.kind, `seed ${seed}`).toBe("good");
      expect(restarts).toBeLessThanOrEqual(2);
      expect(Math.abs(skew)).toBeLessThan(3.2e6);
    }
  });

  test("a camera that starts at any moment is given up after four attempts", () => {
    const outcomes = Array.from({ length: 20 }, (_, seed) => simulate(87e6, 20_000_000, seed + 100));
    expect(outcomes.every(({ restarts }) => restarts <= 4)).toBe(true);
    expect(outcomes.some(({ decision }) => decision?.kind === "givenUp")).toBe(true);
  });
});

describe("skew figures", () => {
  test("the mean of the distances whichever camera is first, and the 99th percentile of the newest", () => {
    const skew = new SkewStatistics();
    expect([skew.meanMs, skew.p99Ms]).toEqual([undefined, undefined]);
    for (let ms = 1; ms <= 100; ms++)
      skew.add(10n ** 12n, 10n ** 12n + BigInt(ms % 2 ? ms : -ms) * 1_000_000n);
    expect(skew.meanMs).toBeCloseTo(50.5, 9);
    expect(skew.p99Ms).toBe(99);
    for (let i = 0; i < 1024; i++) skew.add(0n, 2_000_000n);
    expect(skew.p99Ms).toBe(2);
    expect(skew.meanMs).toBeCloseTo((5050 + 2048) / 1124, 9);
  });
});

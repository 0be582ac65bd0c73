// SPDX-License-Identifier: Apache-2.0
// Exchanges a source under a run: the first pair, those passed over, warnings, ends, and counts over all sources.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ExchangeableSource } from "../../../edge/sources/exchangeable-source.js";
import { ScriptedSource } from "../../doubles/run-script.js";

const SIZE = { width: 8, height: 4 };
const image = new Uint8Array(32);
const scripted = (number: number, description: object = {}) =>
  new ScriptedSource(number, SIZE, () => ({ left: image, right: image }), description);

/** A source in use, and all that its consumer received. */
function bench(started = true) {
  const log: string[] = [];
  const first = scripted(1);
  const source = new ExchangeableSource(first, {
    onDropped: (pairs, cause) => log.push(`${pairs} ${cause}`),
  });
  const start = () =>
    source.start({
      onPair: (pair) => {
        log.push(`pair ${pair.left.sequence}`);
        pair.release();
      },
      onDegraded: (reason, code) => log.push(`degraded ${reason} ${code}`),
      onWarning: (message) => log.push(`warning ${message}`),
      onEnd: () => log.push("end"),
      onError: (error) => log.push(`error ${error.message}`),
    });
  if (started) start();
  const taken = () => log.splice(0);
  return { source, first, start, taken };
}

const never = new AbortController().signal;
/** Lets promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a successor", () => {
  test("delivers first its newest pair, and reports the older ones as dropped", async () => {
    const { source, first, taken } = bench();
    first.deliver();
    const next = scripted(2, { rateHz: 15 });
    const prepared = source.prepare(next, never);
    next.events!.onWarning!("dark");
    next.events!.onDegraded("left is away", "DEVICE_UNAVAILABLE");
    next.deliver();
    next.deliver();
    next.deliver();
    expect(next.released).toBe(2);
    const successor = await prepared;
    expect([successor.source, vi.getTimerCount()]).toEqual([next, 0]);
    expect(source.description).toBe(first.description);
    expect(taken()).toEqual(["pair 0"]);
    successor.takeOver();
    expect(source.description).toBe(next.description);
    expect(taken()).toEqual([
      "2 sourceChanged",
      "warning dark",
      "degraded left is away DEVICE_UNAVAILABLE",
      "pair 2",
    ]);
    await settle();
    expect([first.stopped, next.stopped]).toEqual([true, false]);
    // The source before delivers once more: that pair is dropped and given back.
    first.deliver();
    expect([taken(), first.released]).toEqual([["1 sourceChanged"], 2]);
    next.events!.onWarning!("still dark");
    next.events!.onDegraded(undefined);
    next.deliver();
    expect(taken()).toEqual(["warning still dark", "degraded undefined undefined", "pair 3"]);
    next.events!.onEnd();
    expect(taken()).toEqual(["end"]);
    await source.stop();
    expect(next.stopped).toBe(true);
  });

  test("ends the reason of a source that was degraded; a reason without a code has none", async () => {
    const { source, first, taken } = bench();
    first.events!.onDegraded("dark");
    const next = scripted(2);
    const prepared = source.prepare(next, never);
    next.deliver();
    next.events!.onDegraded("cold");
    next.events!.onDegraded(undefined);
    (await prepared).takeOver();
    expect(taken()).toEqual(["degraded dark undefined", "degraded undefined undefined", "pair 0"]);
    await source.stop();
  });

  test("that is not used is stopped, and its pair is given back", async () => {
    const { source, taken } = bench();
    const next = scripted(2);
    const prepared = source.prepare(next, never);
    next.deliver();
    await (await prepared).discard();
    expect([next.stopped, next.released, taken()]).toEqual([true, 1, []]);
    await source.stop();
  });

  test.each([
    ["10 s", 30, 9999, undefined],
    ["15 s", 0.2, 14_999, "cold"],
    ["10 s", undefined, 9999, undefined],
  ])("without a pair for %s at %s Hz is refused", async (limit, rateHz, patienceMs, degraded) => {
    const { source } = bench();
    const next = scripted(2, { rateHz });
    const outcome = vi.fn();
    const prepared = source.prepare(next, never).catch(outcome);
    if (degraded !== undefined) next.events!.onDegraded(degraded);
    vi.advanceTimersByTime(patienceMs);
    await settle();
    expect(outcome).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    await prepared;
    const why = degraded === undefined ? "" : `: ${degraded}`;
    expect(outcome.mock.calls[0]![0]).toMatchObject({
      code: "DEVICE_UNAVAILABLE",
      message: `expected a pair of the new source within ${limit}, got none${why}`,
    });
    expect(next.stopped).toBe(true);
    await source.stop();
  });

  test("that ends or fails before its first pair is refused, and so is one after the run's end", async () => {
    const { source } = bench();
    const [empty, broken, late, later] = [2, 3, 4, 5].map((number) => scripted(number));
    const refused = source.prepare(empty!, never);
    empty!.events!.onEnd();
    await expect(refused).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
    broken!.failure = new Error("no cable");
    await expect(source.prepare(broken!, never)).rejects.toThrow("no cable");
    const stop = new AbortController();
    const aborted = source.prepare(late!, stop.signal);
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ code: "RUN_ENDED" });
    await expect(source.prepare(later!, stop.signal)).rejects.toMatchObject({ code: "RUN_ENDED" });
    expect([empty, broken, late, later].map((one) => one!.stopped)).toEqual([true, true, true, true]);
    expect(vi.getTimerCount()).toBe(0);
    await source.stop();
  });

  test("that ended or failed after its first pair reports it once it is in use", async () => {
    for (const error of [undefined, new Error("no cable")]) {
      const { source, taken } = bench();
      const next = scripted(2);
      const prepared = source.prepare(next, never);
      next.deliver();
      const successor = await prepared;
      if (error === undefined) next.events!.onEnd();
      else next.events!.onError(error);
      successor.takeOver();
      expect(taken()).toEqual(["pair 0", error === undefined ? "end" : "error no cable"]);
      await source.stop();
    }
  });

  test("takes over before the run has begun, and after its end not at all", async () => {
    const { source, first, start, taken } = bench(false);
    const next = scripted(2);
    const prepared = source.prepare(next, never);
    next.deliver();
    (await prepared).takeOver();
    await settle();
    expect([first.stopped, taken()]).toEqual([true, []]);
    start();
    expect(taken()).toEqual(["pair 0"]);
    const last = scripted(3);
    const tooLate = source.prepare(last, never);
    last.deliver();
    const successor = await tooLate;
    await source.stop();
    successor.takeOver();
    await settle();
    expect([last.stopped, last.released, source.description]).toEqual([true, 1, next.description]);
  });
});

describe("a source that sleeps", () => {
  test("is closed, its pairs are dropped, and another one continues", async () => {
    const { source, first, taken } = bench();
    const memory = [image];
    Object.assign(first, { inputMemory: memory, isAway: () => true });
    first.events!.onDegraded("dark");
    expect([source.inputMemory, source.isAway(), source.suspended]).toEqual([memory, true, false]);
    taken();
    await source.suspend();
    expect([source.inputMemory, source.isAway(), source.suspended]).toEqual([undefined, false, true]);
    expect([first.stopped, taken()]).toEqual([true, ["degraded undefined undefined"]]);
    first.deliver();
    expect(taken()).toEqual(["1 dutyCycle"]);
    await source.suspend();
    const next = scripted(2);
    source.resume(next);
    next.deliver();
    expect([source.suspended, taken()]).toEqual([false, ["pair 0"]]);
    await source.stop();
    await source.suspend();
    expect(source.suspended).toBe(false);
    const last = scripted(3);
    source.resume(last);
    await settle();
    expect([last.events, last.stopped]).toEqual([undefined, true]);
  });

  test("which does not stop in order is a warning", async () => {
    const { source, first, taken } = bench();
    first.stop = () => Promise.reject(new Error("stuck"));
    await source.suspend();
    expect(taken()).toEqual(["warning the source before did not stop: stuck"]);
    await source.stop().catch(() => {});
  });
});

test("counts are of all sources, each once; skew, clocks and memory are of the one in use", async () => {
  const { source, first } = bench();
  first.delivered = 10;
  first.counted = {
    dropsLeft: { driver: 1, late: 2 },
    dropsRight: { driver: 3 },
    skewMsMean: 1,
    skewMsP99: 2,
    driftPpm: 3,
    other: { pairs: 4, missed: { late: 5 }, drops: { driver: 6 }, offsetNs: 7, problem: undefined },
  };
  expect(source.counters()).toEqual({ pairs: 10, ...first.counted });
  const next = scripted(2);
  next.counted = { ...next.counted, dropsLeft: { driver: 20 }, skewMsMean: 9 };
  Object.assign(next, {
    captureMemory: () => ({ left: "dmaBuffer" }),
    captureClocks: () => ({ left: { origin: "tsc" } }),
  });
  expect([source.captureMemory(), source.captureClocks(), source.isAway()]).toEqual([{}, {}, false]);
  let stopped = () => {};
  first.stop = () =>
    new Promise((resolve) => {
      stopped = resolve;
    });
  const prepared = source.prepare(next, never);
  next.deliver();
  (await prepared).takeOver();
  const expected = {
    pairs: 11,
    dropsLeft: { driver: 21, late: 2 },
    dropsRight: { driver: 3 },
    skewMsMean: 9,
    skewMsP99: undefined,
    driftPpm: undefined,
  };
  // On its way out, and once it has stopped.
  expect(source.counters()).toEqual(expected);
  stopped();
  await settle();
  expect(source.counters()).toEqual(expected);
  expect([source.captureMemory(), source.captureClocks()]).toEqual([
    { left: "dmaBuffer" },
    { left: { origin: "tsc" } },
  ]);
  next.counted = {
    ...next.counted,
    other: { pairs: 1, missed: { late: 1, gone: 1 }, drops: {}, offsetNs: 8, problem: undefined },
  };
  expect(source.counters().other).toEqual({
    pairs: 5,
    missed: { late: 6, gone: 1 },
    drops: { driver: 6 },
    offsetNs: 8,
  });
  await source.suspend();
  expect(source.counters()).toMatchObject({ pairs: 11, dropsLeft: { driver: 21 }, other: { pairs: 5 } });
  await source.stop();
});

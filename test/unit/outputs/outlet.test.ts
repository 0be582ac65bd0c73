// SPDX-License-Identifier: Apache-2.0
// Tests the outlet between an output's errors and the run: each error is counted, reported once, and costs no other
// output a frame.
import { expect, test, vi } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { FrameLease, Output, OutputCounters } from "../../../edge/contracts/output.js";
import { Outlet } from "../../../edge/outputs/outlet.js";
import { Pipeline } from "../../../edge/pipeline/pipeline.js";
import { HandEngine, HandSource } from "../../doubles/pipeline.js";

const counted = () => ({ sent: 0, bytes: 0, drops: {} });

function fakeOutput(frame: (lease: FrameLease) => void, more: Partial<Output> = {}): Output {
  return { streams: ["depth"], frame, counters: counted, close: async () => {}, ...more };
}

/** A pipeline with these outputs, each of which may hold two frames. */
function start(...outputs: Output[]) {
  const problems: (string | undefined)[] = [];
  const outlets = outputs.map(
    (output, i) => new Outlet(`o${i}`, output, 2, { onProblem: (problem) => problems.push(problem) }),
  );
  const source = new HandSource();
  const engine = new HandEngine(2 + 3 * outputs.length);
  const sinks = outlets.map(({ sink }) => sink);
  const pipeline = new Pipeline({ source, engine, width: 4, height: 2, sinks });
  const ended = pipeline.run();
  const compute = (frames: number) => {
    for (let i = 0; i < frames; i++) {
      source.deliver();
      engine.finish();
    }
  };
  return { outlets, pipeline, problems, compute, ended };
}

test("an output that throws is counted and reported once; the others get every frame", () => {
  let good = 0;
  const bad = fakeOutput(() => {
    throw new Error("no room");
  });
  const fine = fakeOutput((lease) => {
    good++;
    lease.sent();
    lease.release();
  });
  const { outlets, pipeline, problems, compute } = start(bad, fine);
  compute(5);
  expect(pipeline.frames).toBe(5);
  expect(good).toBe(5);
  expect(outlets[0]!.counters().drops).toEqual({ failed: 5 });
  expect(outlets[1]!.counters().drops).toEqual({});
  expect(outlets[1]!.latency.count).toBe(5);
  expect(problems).toEqual(["frame failed: no room"]);
  expect(outlets[0]!.problem).toBe("frame failed: no room");
});

test("an asynchronous frame() that rejects is counted too, and its frame comes back", async () => {
  const { outlets, compute, problems, pipeline, ended } = start(
    fakeOutput((async () => {
      throw new Error("later");
    }) as () => void),
  );
  compute(1);
  await vi.waitFor(() => expect(problems).toEqual(["frame failed: later"]), 10_000);
  expect(outlets[0]!.counters().drops).toEqual({ failed: 1 });
  pipeline.stop();
  await ended; // at once, since no slot is held
});

test("an output that never releases loses frames by name, and neither the run nor its neighbour stalls", () => {
  const kept: FrameLease[] = [];
  let good = 0;
  const { outlets, pipeline, problems, compute } = start(
    fakeOutput((lease) => kept.push(lease)),
    fakeOutput((lease) => {
      good++;
      lease.release();
    }),
  );
  compute(20);
  expect(pipeline.frames).toBe(20);
  expect(good).toBe(20);
  expect(pipeline.drops.snapshot()).toEqual({});
  expect(kept).toHaveLength(3);
  expect(outlets[0]!.counters().drops).toEqual({ held: 17 });
  expect(problems).toEqual(["it holds 3 frames and releases none"]);
  // It comes back as soon as it lets go.
  for (const lease of kept.splice(0)) lease.release();
  compute(1);
  expect(kept).toHaveLength(1);
  expect(problems).toEqual(["it holds 3 frames and releases none", undefined]);
});

test("a lease counts once, also if the output calls twice", () => {
  const { outlets, pipeline, compute } = start(
    fakeOutput((lease) => {
      lease.sent();
      lease.sent();
      lease.release();
      lease.release();
    }),
  );
  compute(12); // more often than there are slots
  expect(pipeline.frames).toBe(12);
  expect(outlets[0]!.latency.count).toBe(12);
});

test("two frames at rest and a third while it is offered are what newest-wins takes", () => {
  const waiting: FrameLease[] = [];
  const { outlets, compute } = start(
    fakeOutput((lease) => {
      waiting.push(lease);
      if (waiting.length > 2) waiting.splice(1, 1)[0]!.release();
    }),
  );
  compute(6);
  expect(outlets[0]!.counters().drops).toEqual({});
  expect(waiting.map(({ frame }) => frame.leftSequence)).toEqual([0, 5]);
});

test("a rate limit leaves frames out and counts them; no streams, no frames", () => {
  let offered = 0;
  const output = fakeOutput((lease) => {
    offered++;
    lease.release();
  });
  const none = fakeOutput(() => expect.unreachable(), { streams: [] });
  const { outlets, compute } = start(output, none);
  outlets[0]!.limit(0.01);
  compute(4);
  expect(offered).toBe(1);
  expect(outlets[0]!.counters().drops).toEqual({ rateLimit: 3 });
  expect(outlets[1]!.counters().drops).toEqual({});
  outlets[0]!.limit("max");
  compute(4);
  expect(offered).toBe(5);
});

test("what state() or metrics() throws is reported, and forgotten when they work again", () => {
  let broken = true;
  const { outlets, problems } = start(
    fakeOutput((lease) => lease.release(), {
      metrics: () => {
        if (broken) throw new Error("disk full");
      },
    }),
  );
  outlets[0]!.notify("metrics", (output) => output.metrics?.({}));
  outlets[0]!.notify("metrics", (output) => output.metrics?.({}));
  broken = false;
  outlets[0]!.notify("metrics", (output) => output.metrics?.({}));
  expect(problems).toEqual(["metrics failed: disk full", undefined]);
});

test("an output that does not close is not waited for longer than the limit", async () => {
  vi.useFakeTimers();
  try {
    const { outlets } = start(fakeOutput(() => {}, { close: () => new Promise(() => {}) }));
    const closed = outlets[0]!.close();
    await vi.advanceTimersByTimeAsync(3000);
    expect(await closed).toBe("it did not close within 3000 ms");
  } finally {
    vi.useRealTimers();
  }
  const { outlets } = start(fakeOutput(() => {}, { close: () => Promise.reject(new Error("EIO")) }));
  expect(await outlets[0]!.close()).toBe("it did not close: EIO");
});

test("an output is closed once, and what went wrong is reported once, however often its end is asked for", async () => {
  const close = vi.fn(() => Promise.reject(new Error("EIO")));
  const { outlets } = start(fakeOutput(() => {}, { close }));
  const both = await Promise.all([outlets[0]!.close(), outlets[0]!.close()]);
  expect([...both, await outlets[0]!.close()]).toEqual(["it did not close: EIO", undefined, undefined]);
  expect(close).toHaveBeenCalledTimes(1);
});

test("a frame that an output cannot be lent takes its number; one that its rate leaves out does not", async () => {
  const numbers: number[] = [];
  const kept: FrameLease[] = [];
  const output = fakeOutput((lease) => {
    numbers.push(lease.number);
    kept.push(lease);
  });
  const { outlets, compute } = start(output);
  // Three are held, which is one more than it may: the fourth is not offered.
  compute(4);
  for (const lease of kept.splice(0)) lease.release();
  compute(1);
  expect(numbers).toEqual([1, 2, 3, 5]);
  expect(outlets[0]!.counters().drops).toEqual({ held: 1 });
  const before = outlets[0]!.counters().sent;
  await outlets[0]!.close();
  expect(outlets[0]!.counters().drops).toEqual({ held: 1, notReleased: 1 });
  expect(before).toBe(0);
});

test("figures are the output's with the outlet's own drops; they stay when it fails to count and when it is closed", async () => {
  let counters: () => OutputCounters = () => ({
    sent: 3,
    bytes: 30,
    drops: { own: 1, rateLimit: 5 },
    details: { connected: true },
  });
  let failure: DepthwattError | undefined;
  const problems: (string | undefined)[] = [];
  const kept: FrameLease[] = [];
  const output = {
    ...fakeOutput((lease) => kept.push(lease)),
    counters: () => counters(),
    get failure() {
      return failure;
    },
  };
  const outlet = new Outlet("o", output, 0, { onProblem: (problem) => problems.push(problem) });
  expect(outlet.name).toBe("o");
  let released = 0;
  const offer = () =>
    outlet.sink({ clock: "file", arrivedNs: 0n } as unknown as ComputedFrame, () => released++);
  outlet.limit(0.01);
  offer();
  offer();
  const figures = { sent: 3, bytes: 30, drops: { own: 1, rateLimit: 1 }, details: { connected: true } };
  expect([outlet.counters(), kept.length, released]).toEqual([figures, 1, 1]);
  counters = () => {
    throw new Error("no idea");
  };
  expect([outlet.counters(), outlet.problem]).toEqual([figures, "counters failed: no idea"]);
  counters = () => ({ sent: 4, bytes: 40, drops: {}, details: { connected: false } });
  expect([outlet.counters().sent, outlet.problem]).toEqual([4, undefined]);
  // A lost connection is made again automatically; a full disk needs a person.
  failure = new DepthwattError("BROKER_UNREACHABLE", "away");
  outlet.counters();
  expect([outlet.problem, outlet.failure]).toEqual([undefined, failure]);
  failure = new DepthwattError("DISK_FULL", "full");
  outlet.counters();
  expect(outlet.problem).toBe("full");
  failure = undefined;
  outlet.counters();
  expect(problems).toEqual(["counters failed: no idea", undefined, "full", undefined]);
  counters = () => ({ sent: 5, bytes: 50, drops: {}, details: { connected: true } });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    expect([await outlet.close(), vi.getTimerCount()]).toEqual([undefined, 0]);
  } finally {
    vi.useRealTimers();
  }
  // It is not asked again, and gets nothing more.
  counters = () => expect.unreachable();
  offer();
  outlet.notify("state", () => expect.unreachable());
  expect([released, kept.length]).toEqual([2, 1]);
  const ended = { sent: 5, bytes: 50, drops: { rateLimit: 1, notReleased: 1 }, details: { connected: true } };
  expect(outlet.counters()).toEqual(ended);
});

test("an output that is closed is asked for its last figures, and its details are those of before", async () => {
  let isOpen = true;
  const output = fakeOutput((lease) => lease.release(), {
    counters: () => ({ sent: isOpen ? 1 : 2, bytes: 0, drops: {}, details: { connected: isOpen } }),
    close: async () => {
      isOpen = false;
    },
  });
  const outlet = new Outlet("o", output, 0, { onProblem: () => {} });
  outlet.sink({ clock: "file", arrivedNs: 0n } as unknown as ComputedFrame, () => {});
  await outlet.close();
  expect(outlet.counters()).toEqual({ sent: 2, bytes: 0, drops: {}, details: { connected: true } });
});

test("an asynchronous method that rejects is a problem until it works", async () => {
  let broken = true;
  const problems: (string | undefined)[] = [];
  const outlet = new Outlet(
    "o",
    fakeOutput(() => {}),
    0,
    { onProblem: (problem) => problems.push(problem) },
  );
  const call = () =>
    outlet.notify("info", async () => (broken ? Promise.reject(new Error("later")) : undefined));
  call();
  await vi.waitFor(() => expect(problems).toEqual(["info failed: later"]));
  broken = false;
  call();
  expect(problems).toEqual(["info failed: later", undefined]);
});

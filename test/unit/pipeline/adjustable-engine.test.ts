// SPDX-License-Identifier: Apache-2.0
// The description of a replaced engine, and the options that it is opened with.
import { expect, test } from "vitest";
import type { EngineOptions } from "../../../cuda/index.js";
import { AdjustableEngine } from "../../../edge/pipeline/adjustable-engine.js";
import { engineOptions } from "../../doubles/engine-call.js";
import { changedMatch } from "../../doubles/match-change.js";
import { layeredPair } from "../../doubles/stereo-pair.js";

const pair = layeredPair(64, 48, 4);

test.each(["auto", "cpu"] as const)(
  "backend %s: the reason of what computes survives a change of settings",
  async (backend) => {
    const options = engineOptions(pair, { backend });
    const engine = new AdjustableEngine(options, {
      onProblem: (problem) => expect.unreachable(problem.message),
    });
    try {
      const before = engine.info;
      if (backend === "cpu") expect(before.backendReason).toBe("backend is set to cpu");
      else expect(before.backendReason).not.toBe("backend is set to cpu");
      for (const paths of [8, 4, 2]) {
        await engine.change({ ...options, match: changedMatch(options.match, { paths }) }, false, () => {});
        expect(engine.match.parameters.paths).toBe(paths);
        expect(engine.info).toMatchObject({ backend: before.backend, backendReason: before.backendReason });
      }
    } finally {
      engine.close();
    }
  },
);

/** An engine whose openings are noted. */
function noted() {
  const opened: EngineOptions[] = [];
  const options = engineOptions(pair, { inputMemory: [pair.left, pair.right] });
  const open = (asked: EngineOptions) => {
    opened.push(asked);
    return { info: {}, slots: [], framesInFlight: 1, setRightMap: () => {}, close: () => {} } as never;
  };
  const onProblem = (problem: Error) => expect.unreachable(problem.message);
  return { opened, options, engine: new AdjustableEngine(options, { onProblem }, open) };
}

test("options that are equal open no other engine; other memory does", async () => {
  const { opened, options, engine } = noted();
  await engine.change({ ...options, match: structuredClone(options.match) }, false, () => {});
  expect(opened).toHaveLength(1);
  await engine.change({ ...options, inputMemory: [pair.left.slice(), pair.right.slice()] }, false, () => {});
  expect(opened).toHaveLength(2);
  engine.close();
});

test("an adjustment after a correction keeps the corrected right map", async () => {
  const { opened, engine } = noted();
  const map = new Int32Array(2 * 64 * 48);
  engine.setRightMap(map);
  engine.adjust({ numDisparities: 24 });
  await expect.poll(() => opened.length).toBe(2);
  expect(opened[1]!.rightMap).toBe(map);
  engine.close();
});

// SPDX-License-Identifier: Apache-2.0
// The description of a replaced engine.
import { expect, test } from "vitest";
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

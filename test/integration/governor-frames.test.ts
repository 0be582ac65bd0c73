// SPDX-License-Identifier: Apache-2.0
// The governor's changes in a running pipeline: engines are replaced between frames, half resolution and back; every pair that
// was delivered is a frame or a counted drop, every result has its whole size and is what an engine of that level computes.
import { describe, expect, test } from "vitest";
import type { MatchParameters } from "../../cuda/index.js";
import { qualityLadder } from "../../edge/governor/ladder.js";
import { AdjustableEngine } from "../../edge/pipeline/adjustable-engine.js";
import { Pipeline } from "../../edge/pipeline/pipeline.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { changedMatch } from "../doubles/match-change.js";
import { PacedSource } from "../doubles/paced-source.js";
import { expectSameImage } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

/** Frames of one level before the next one is asked for. */
const FRAMES_A_LEVEL = 4;
const ROUNDS = 2;

const pair = layeredPair(181, 95, 4);
const base = engineOptions(pair);
const options = { ...base, slots: 4, match: changedMatch(base.match, { paths: 8, numDisparities: 64 }) };

describe("levels change while frames flow", () => {
  test("nothing is lost uncounted, nothing changes its size, each level computes what it says", async () => {
    const levels = qualityLadder({ match: options.match, sourceHz: undefined, half: true }).filter(
      (level) => level.rateHz === undefined,
    );
    expect(levels.some((level) => level.halfResolution)).toBe(true);
    const changed: MatchParameters[] = [];
    let framesAtChange = 0;
    let asked = false;
    const problems: Error[] = [];
    const engine = new AdjustableEngine(options, {
      onProblem: (problem) => problems.push(problem),
      onChange: ({ match }) => {
        changed.push(match);
        framesAtChange = pipeline.frames;
        asked = false;
      },
    });
    const source = new PacedSource(pair);
    const seen: { match: MatchParameters; disparityQ4: Int16Array; sequence: number }[] = [];
    const held: (() => void)[] = [];
    const pipeline = new Pipeline({
      source,
      engine,
      width: pair.width,
      height: pair.height,
      sinks: [
        (frame, release) => {
          expect([frame.width, frame.height]).toEqual([pair.width, pair.height]);
          // A slow consumer: the frame is looked at after the next ones, and after its engine was closed.
          const { disparityQ4 } = frame.slot;
          const { match } = engine;
          held.push(() => {
            seen.push({ match, disparityQ4: disparityQ4.slice(), sequence: frame.leftSequence });
            release();
          });
          if (held.length > 2) held.shift()!();
        },
      ],
      onFrame: () => {
        // However slow the machine: a level is left only after frames of it, so each one is seen.
        if (asked || pipeline.frames < framesAtChange + FRAMES_A_LEVEL) return;
        if (changed.length === ROUNDS * levels.length) return source.end();
        const { parameters, numDisparities, halfResolution } = levels[(changed.length + 1) % levels.length]!;
        asked = true;
        engine.adjust({ parameters, numDisparities, halfResolution });
      },
    });
    const running = pipeline.run();
    const lookAtRest = setInterval(() => {
      if (source.ended) for (const look of held.splice(0)) look();
    }, 20);
    await running;
    clearInterval(lookAtRest);
    engine.close();

    expect(problems).toEqual([]);
    expect(changed).toHaveLength(ROUNDS * levels.length);
    const dropped = Object.values(pipeline.drops.snapshot()).reduce((sum, count) => sum + count, 0);
    expect(pipeline.frames + dropped).toBe(source.delivered);
    expect(source.released).toBe(source.delivered);
    expect(seen).toHaveLength(pipeline.frames);
    const sequences = seen.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));

    for (const level of levels) {
      const frames = seen.filter(
        ({ match }) =>
          match.parameters.paths === level.parameters.paths &&
          match.numDisparities === level.numDisparities &&
          match.halfResolution === level.halfResolution,
      );
      expect(frames.length, level.name).toBeGreaterThan(0);
      const { parameters, numDisparities, halfResolution } = level;
      const match = changedMatch(options.match, { ...parameters, numDisparities, halfResolution });
      const expected = await computeFrame(pair, { ...options, match });
      for (const frame of frames)
        expectSameImage(frame.disparityQ4, expected.disparityQ4, pair.width, level.name);
    }
  });
});

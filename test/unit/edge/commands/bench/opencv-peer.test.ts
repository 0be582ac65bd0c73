// SPDX-License-Identifier: Apache-2.0
// Tests OpenCV as a peer of depthwatt bench: it computes in turn with the engine, and errors are reported.
import { describe, expect, test } from "vitest";
import { compareWithOpencv } from "../../../../../edge/commands/bench/compare.js";
import { timeMatcher } from "../../../../../edge/commands/bench/index.js";
import { type OpencvMode, openOpencvPeer } from "../../../../../edge/commands/bench/opencv-peer.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { needs, PYTHON } from "../../../../doubles/needs.js";

const grey = (width: number, height: number) => new Uint8Array(width * height).map((_, i) => (i * 37) % 251);
const pair = {
  width: 96,
  height: 64,
  numDisparities: 32,
  threads: 1,
  left: grey(96, 64),
  right: grey(96, 64),
};

describe("the comparison", () => {
  test("takes turns, and the ratio is the peer's median over the engine's", async () => {
    const turns: string[] = [];
    const milliseconds: Record<OpencvMode, number> = { "3WAY": 10, HH4: 20, HH: 40 };
    const peer = {
      version: "0",
      threads: 2,
      close: () => {},
      run: async (mode: OpencvMode) => {
        turns.push(mode);
        return [milliseconds[mode], milliseconds[mode]];
      },
    };
    const engine = async () => {
      if (turns.at(-1) !== "engine") turns.push("engine");
      return 5;
    };
    const figures = await compareWithOpencv(engine, peer, { rounds: 2, seconds: 0 });
    const round = ["engine", "3WAY", "HH4", "HH"];
    expect(turns).toEqual([...round, ...round]);
    expect(figures.map(({ mode, paths, ratio }) => [mode, paths, ratio])).toEqual([
      ["3WAY", 3, 2],
      ["HH4", 4, 4],
      ["HH", 8, 8],
    ]);
    expect(figures[0]).toMatchObject({ medianMs: 10, engineMedianMs: 5, threads: 2 });
  });
});

describe("faults", () => {
  test("disparities that OpenCV cannot search", async () => {
    await expect(openOpencvPeer({ ...pair, numDisparities: 24 })).rejects.toMatchObject({ code: "USAGE" });
  });

  test("no Python with OpenCV", async () => {
    await expect(openOpencvPeer(pair, ["/nonexistent/python"])).rejects.toMatchObject({
      code: "PEER_UNAVAILABLE",
      message: expect.stringContaining("/nonexistent/python cannot import cv2"),
    });
  });

  test("a Python that dies is reported with its last line", async () => {
    // It imports anything and can run nothing.
    await expect(openOpencvPeer(pair, ["/bin/true"])).rejects.toMatchObject({
      code: "PEER_UNAVAILABLE",
      message: expect.stringContaining("/bin/true ended"),
    });
  });
});

needs("opencv").suite("OpenCV itself", () => {
  test("computes each mode and says its version", async () => {
    const peer = await openOpencvPeer(pair, [PYTHON]);
    try {
      expect(peer.version).toMatch(/^\d+\.\d+/);
      expect(peer.threads).toBe(1);
      for (const mode of ["3WAY", "HH4", "HH"] as const) {
        const times = await peer.run(mode, 0.01);
        expect(times.length).toBeGreaterThan(0);
        expect(Math.min(...times)).toBeGreaterThan(0);
      }
    } finally {
      peer.close();
    }
  });

  test("stands next to the figures of the engine", async () => {
    const config = loadConfig({ set: ["engine.backend=cpu", "match.numDisparities=32"] }).config;
    const { peers, changedSettings } = await timeMatcher({
      config,
      width: 96,
      height: 64,
      frames: 3,
      peer: "opencv",
    });
    expect(changedSettings).toEqual({ "engine.backend": "cpu", "match.numDisparities": 32 });
    expect(peers.map(({ mode }) => mode)).toEqual(["3WAY", "HH4", "HH"]);
    for (const { medianMs, engineMedianMs, ratio } of peers) expect(ratio).toBe(medianMs / engineMedianMs);
  });
});

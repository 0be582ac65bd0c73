// SPDX-License-Identifier: Apache-2.0
// argus-pair against headers that replace libargus: the source "command" reads its pairs with the sensors' times.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCommandSource } from "../../camera/index.js";
import { needs } from "../doubles/needs.js";

const [WIDTH, HEIGHT] = [64, 48];
const STAND_INS = "test/doubles/native/argus";

needs("toolchain").suite("argus-pair", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-argus-"));
  const program = join(folder, "argus-pair");
  const words = ["0", "2", String(WIDTH), String(HEIGHT), "30"];
  beforeAll(() => {
    const flags = ["-std=c++14", "-Wall", "-Wextra", "-Werror", `-I${STAND_INS}`];
    execFileSync("g++", [...flags, "camera/argus/argus_pair_main.cc", "-o", program]);
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  test("pairs of one capture with the left sensor's time; a capture that one sensor lost is counted", async () => {
    const before = process.hrtime.bigint();
    const source = await openCommandSource({
      sideBySide: `env STAND_IN_FRAMES=5 ${program} ${words.join(" ")}`,
      format: "y4m",
      live: false,
      timeoutMs: 60_000,
    });
    const pairs: { sequence: number; point: string | undefined; grey: (number | undefined)[] }[] = [];
    const times: bigint[] = [before - 10_000_000n];
    const error = await new Promise<Error>((resolve) => {
      source.start({
        onPair: (pair) => {
          const { left, right, timestampPoint: point } = pair;
          const at = 3 * left.strideBytes + 4;
          times.push(left.timestampNs);
          pairs.push({ sequence: left.sequence, point, grey: [left.data[at], right.data[at]] });
          pair.release();
        },
        onDegraded: () => {},
        onEnd: () => resolve(new Error("it ended without an error")),
        onError: resolve,
      });
    });
    await source.stop();
    // Sensor 0 and sensor 2 in row 3, column 4.
    const expected = [1, 2, 4, 5].map((capture) => ({
      sequence: capture,
      point: "startOfExposure",
      grey: [10 * capture + 7, 107 + 10 * capture],
    }));
    expect(pairs).toEqual(expected);
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    expect(times.at(-1)).toBeLessThan(process.hrtime.bigint());
    expect(source.counters()).toMatchObject({ pairs: 4, dropsLeft: { driver: 1 } });
    expect(error.message).toContain("The sensors send nothing: look at nvargus-daemon's log and at dmesg.");
  });

  test.each<[string, Record<string, string>, string[], RegExp]>([
    [
      "no daemon",
      { STAND_IN_NO_DAEMON: "1" },
      words,
      /a camera provider from Argus, got none. Is nvargus-daemon running/,
    ],
    ["a sensor that is not there", {}, ["0", "5", ...words.slice(2)], /Expected sensor 5, Argus lists 3/],
    ["a rate that is no number", {}, [...words.slice(0, 4), "x"], /Expected a rate of 1 to 1000, got x/],
    ["too few words", {}, words.slice(1), /Usage: argus-pair LEFT RIGHT WIDTH HEIGHT RATE/],
    ["sensors that fall silent", { STAND_IN_FRAMES: "2" }, words, /The sensors send nothing/],
    ["another clock", { STAND_IN_CLOCK: "9000000000" }, words, /time stamps are not CLOCK_MONOTONIC/],
  ])("%s: an error or a note on standard error", (_, environment, given, text) => {
    const { status, stdout, stderr } = spawnSync(program, given, { env: { ...process.env, ...environment } });
    expect(status).toBe(1);
    expect(stderr.toString()).toMatch(text);
    expect(stdout.toString("latin1").includes("XTIME")).toBe("STAND_IN_FRAMES" in environment);
  });
});

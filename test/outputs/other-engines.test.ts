// SPDX-License-Identifier: Apache-2.0
// The helper of docs/guides/other-engines.md: OpenCV's matcher scored, measured and run like depthwatt's own.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { needs, PYTHON } from "../doubles/needs.js";
import { lastJson, type Ran, runProgram } from "../doubles/program.js";

const SIZE = ["--width", "320", "--height", "240"];

needs("opencv").suite("a helper with OpenCV", () => {
  let folder: string;
  let command: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-other-"));
    const page = readFileSync("docs/guides/other-engines.md", "utf8");
    const code = /```python\n([\s\S]*?)```/.exec(page)![1]!;
    writeFileSync(join(folder, "sgbm.py"), code);
    command = `${PYTHON} ${join(folder, "sgbm.py")}`;
    expect((await runProgram(["scene", "--frames", "1", "--out", join(folder, "scene"), ...SIZE])).code).toBe(
      0,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const ok = (ran: Ran) => {
    expect(ran.code, ran.stderr).toBe(0);
    return ran;
  };
  const foreign = (words: string) => [
    ...["--set", "source.kind=foreign"],
    ...["--set", `source.foreign.command=${command} ${words}`],
  ];

  test("eval scores it, and it is another matcher than the default", async () => {
    const evaluate = async (more: string[]) =>
      lastJson<{ mean: { masks: Record<string, { badPercent: number }> } }>(
        ok(await runProgram(["eval", join(folder, "scene"), "--frames", "1", "--json", ...more])),
      );
    const own = await evaluate([]);
    const other = await evaluate(foreign("{left} {right} {disparities}"));
    const bad = ({ mean }: typeof own) => mean.masks.nonocc!.badPercent;
    expect(bad(other)).toBeGreaterThan(bad(own));
    expect(bad(other)).toBeLessThan(10);
  });

  test("compare shows it next to a preset", async () => {
    const [left, right] = ["left", "right"].map((side) => join(folder, `scene/${side}/000000.png`));
    const words = ["--a", "sgm-2016", "--b", "foreign", "--num-disparities", "64", "--json"];
    const helper = ["--foreign", `${command} {left} {right} {disparities}`];
    const output = ["-o", join(folder, "both.png"), "--set", "board=none"];
    const ran = ok(await runProgram(["compare", left!, right!, ...words, ...helper, ...output]));
    const { b } = lastJson<{ b: { preset: string; validPercent: number } }>(ran);
    expect(b.preset).toBe("foreign");
    expect(b.validPercent).toBeGreaterThan(50);
  });

  test("profile measures its frames next to the default matcher's", async () => {
    const points = ["--sizes", "320x240", "--disparities", "64", "--paths", "4", "--sensor", "none"];
    const times = ["--seconds", "2", "--warm-up", "0.5", "--idle", "2", "--backend", "cpu", "--json"];
    const helper = ["--foreign", `${command} {left} {right} {disparities}`];
    const ran = ok(
      await runProgram(["profile", "-o", join(folder, "profile"), ...points, ...times, ...helper]),
    );
    const { results } = JSON.parse(ran.stdout) as {
      results: { id: string; frames: number; validPercent: number }[];
    };
    expect(results.map(({ id }) => id)).toEqual(["sgm-320x240-d64-p4-max", "foreign-320x240-d64-p4-max"]);
    for (const { frames, validPercent } of results) {
      expect(frames).toBeGreaterThan(5);
      expect(validPercent).toBeGreaterThan(50);
    }
  });

  test("run publishes its depth with the calibration of the rectified images", async () => {
    const [left, right] = ["left", "right"].map((side) => join(folder, "scene", side, "000000.png"));
    const calibration = ["--calibration", join(folder, "scene", "calibration.json")];
    const words = ["run", "--broker", "none", "--frames", "3", "--json", ...calibration];
    const figures = lastJson(ok(await runProgram([...words, ...foreign(`${left} ${right} 64`)])));
    expect(figures).toMatchObject({ frames: 3, stages: { match: {}, depth: {} } });
  });
});

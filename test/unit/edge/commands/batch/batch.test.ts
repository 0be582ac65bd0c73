// SPDX-License-Identifier: Apache-2.0
// Tests depthwatt batch over a small archive: pairs that are matched, kept and skipped, the texts, and refused command lines.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { encodePng } from "../../../../../camera/index.js";
import { runCommandLine } from "../../../../../edge/cli/program.js";
import { Turns } from "../../../../../edge/commands/batch/batch.js";
import {
  checkFree,
  claimFolder,
  hashParts,
  resultSettings,
  writeOnce,
  writeResult,
} from "../../../../../edge/commands/batch/results.js";
import { Occupancy } from "../../../../../edge/commands/batch/stages.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { VERSION } from "../../../../../edge/contracts/version.js";
import { createTexture } from "../../../../doubles/texture.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-batch-"));
afterAll(() => rmSync(folder, { recursive: true }));
const place = (...names: string[]) => join(folder, ...names);

async function run(...words: string[]) {
  let [out, err] = ["", ""];
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      out += text;
      return true;
    }),
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      err += text;
      return true;
    }),
  ];
  const { exitCode } = process;
  try {
    process.exitCode = undefined;
    const code = await runCommandLine(words);
    // Node's own warnings come once for a process, in any of its tests.
    const notes = err.split("\n").filter((line) => line !== "" && !/^\((node:|Use `node)/.test(line));
    return { code, out: out.split("\n").slice(0, -1), err: notes };
  } finally {
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Twice the same grey picture, shifted by `shift` pixels. */
async function writePair(archive: string, name: string, shift: number, rightHeight = 24): Promise<void> {
  const texture = createTexture(64, 24);
  for (const side of ["left", "right"] as const) {
    mkdirSync(place(archive, side), { recursive: true });
    const height = side === "left" ? 24 : rightHeight;
    const from = side === "left" ? 0 : shift;
    const data = Uint8Array.from({ length: 48 * height }, (_, i) =>
      texture((i % 48) + from, Math.floor(i / 48)),
    );
    writeFileSync(place(archive, side, `${name}.png`), await encodePng({ data, width: 48, height }));
  }
}
const SMALL = ["--num-disparities", "16", "--backend", "cpu", "--set", "board=none"];
/** Times and how busy the stages were differ from run to run. */
const steady = (lines: readonly string[]) =>
  lines.map((line) => line.replace(/in [\d.]+ s/, "in T s").replaceAll(/\d+ %/g, "N %"));
const BUSY = "busy: decode N %, open N %, match N %, write N %";

describe("an archive of five pairs, one of them cut off and one of two sizes, and an image alone", () => {
  const archive = place("archive");
  beforeAll(async () => {
    for (const [i, name] of ["000001", "000002", "000003", "000004"].entries())
      await writePair("archive", name, 2 + i);
    await writePair("archive", "000005", 3, 20);
    const cut = place("archive", "right", "000003.png");
    writeFileSync(cut, readFileSync(cut).subarray(0, 90));
    writeFileSync(
      place("archive", "left", "000009.png"),
      readFileSync(place("archive", "left", "000001.png")),
    );
  });

  test("a part of it, then the rest: text, results, and the exit code of skipped pairs", async () => {
    const out = mkdtempSync(place("maps-"));
    // The first part of two: pairs 1, 3 and 5.
    const first = await run("batch", archive, out, "--shard", "1/2", "--json", ...SMALL);
    expect(first.code).toBe(6);
    expect(JSON.parse(first.out[0]!)).toEqual({
      pairs: 3,
      written: 1,
      kept: 0,
      skipped: { SOURCE_UNREADABLE: 1, IMAGE_SIZE_MISMATCH: 1 },
      shard: "1/2",
      unmatched: 1,
      seconds: expect.any(Number),
      occupancy: Object.fromEntries(
        ["decode", "open", "match", "write"].map((stage) => [stage, expect.any(Number)]),
      ),
    });
    expect(first.err.sort()).toEqual([
      expect.stringMatching(/^skipped: 000003: .*000003\.png/),
      `skipped: 000005: Expected two images of one size, got 48x24 in ${place("archive/left/000005.png")} and 48x20 in ${place("archive/right/000005.png")}.`,
    ]);
    const all = await run("batch", archive, out, ...SMALL);
    expect(all.code).toBe(6);
    const text = steady(all.out);
    expect([
      "5 pairs in T s: 2 written, 1 there already, skipped: 1 SOURCE_UNREADABLE, 1 IMAGE_SIZE_MISMATCH, 1 images without a partner",
      "5 pairs in T s: 2 written, 1 there already, skipped: 1 IMAGE_SIZE_MISMATCH, 1 SOURCE_UNREADABLE, 1 images without a partner",
    ]).toContain(text[0]);
    expect(text.slice(1)).toEqual([BUSY]);
    expect(readdirSync(out).sort()).toEqual(["000001.pfm", "000002.pfm", "000004.pfm", "batch.json"]);
    // match computes the same bytes.
    const one = place("000004.pfm");
    const [left, right] = ["left", "right"].map((side) => place("archive", side, "000004.png"));
    expect((await run("match", left!, right!, "-o", one, ...SMALL)).code).toBe(0);
    expect(readFileSync(join(out, "000004.pfm")).equals(readFileSync(one))).toBe(true);
  });

  test("other settings and another format ask for another folder", async () => {
    const out = place("other-maps");
    expect((await run("batch", archive, out, "--shard", "2/5", ...SMALL)).code).toBe(0);
    for (const words of [
      ["--num-disparities", "32"],
      ["--format", "png"],
    ]) {
      const { code, err } = await run("batch", archive, out, ...SMALL, ...words);
      expect([code, err]).toEqual([
        2,
        [
          `error: ${out}: expected a new folder or one with results of these settings, found results of other settings or another version`,
          "hint: Give another folder. Its batch.json has the settings of its results.",
        ],
      ]);
    }
  });

  test("a folder with files like results and no batch.json is left alone", async () => {
    mkdirSync(place("images"), { recursive: true });
    rmSync(place("images", "batch.json"), { force: true });
    writeFileSync(place("images", "000002.pfm"), "mine");
    const { code, err } = await run("batch", archive, place("images"), ...SMALL);
    expect(code).toBe(2);
    expect(err[0]).toBe(
      `error: ${place("images")}: expected a new folder or one with results of these settings, found 000002.pfm without batch.json`,
    );
    expect(readdirSync(place("images"))).toEqual(["000002.pfm"]);
    expect(() => checkFree(place("images"), ["000001.pfm"])).not.toThrow();
    writeFileSync(place("images", "batch.json"), "{}");
    expect(() => checkFree(place("images"), ["000002.pfm"])).not.toThrow();
    expect(() => checkFree(place("nowhere"), ["000002.pfm"])).not.toThrow();
  });

  test("the archive itself, also by another name, holds no results", async () => {
    if (!existsSync(place("same"))) symlinkSync(archive, place("same"));
    for (const name of ["archive", "same"])
      expect((await run("batch", archive, place(name), ...SMALL)).err[0]).toBe(
        `error: expected another folder than the archive for the results, got ${place(name)}`,
      );
    expect(existsSync(place("archive", "batch.json"))).toBe(false);
  });

  test.each([
    [["--ahead", "0"], 'expected --ahead to be a number from 1 to 64, got "0"'],
    [["--ahead", "65"], 'expected --ahead to be a number from 1 to 64, got "65"'],
    [
      ["--queue", "nats://127.0.0.1:1/Q", "--ack-wait", "0.9"],
      'expected --ack-wait to be a number from 1 to 86400, got "0.9"',
    ],
    [
      ["--queue", "nats://127.0.0.1:1/Q", "--ack-wait", "86401"],
      'expected --ack-wait to be a number from 1 to 86400, got "86401"',
    ],
    [["--ack-wait", "5"], "expected --queue with --ack-wait, got nothing"],
    [["--enqueue"], "expected --queue with --enqueue, got nothing"],
    [["--queue", "nats://127.0.0.1:1/Q", "--again"], "expected --enqueue with --again, got nothing"],
  ])("%j is refused", async (words, message) => {
    const { code, err } = await run("batch", archive, place("refused"), ...SMALL, ...words);
    expect([code, err[0]]).toEqual([2, `error: ${message}`]);
  });
});

test("an archive without faults: no exit code, and a notice that holds for all pairs once", async () => {
  for (const name of ["a", "b"]) await writePair("good", name, 3);
  const out = mkdtempSync(place("good-maps-"));
  const words = ["batch", place("good"), out, "--format", "png", "--algorithm", "esaw"];
  const ran = await run(...words, "--ahead", "1", ...SMALL);
  expect(ran).toEqual({
    code: 0,
    out: expect.anything(),
    err: ["esaw reads colours, the pictures have no colours: red, green and blue are the grey value"],
  });
  expect(steady(ran.out)).toEqual([
    "2 pairs in T s: 2 written, 0 there already, none skipped, 0 images without a partner",
    BUSY,
  ]);
  expect(readdirSync(out).sort()).toEqual(["a.png", "b.png", "batch.json"]);
  const [one, other] = [place("one.png"), join(out, "a.png")];
  const [left, right] = ["left", "right"].map((side) => place("good", side, "a.png"));
  await run("match", left!, right!, "-o", one, "--algorithm", "esaw", ...SMALL);
  expect(readFileSync(other).equals(readFileSync(one))).toBe(true);
  expect(steady((await run(...words, ...SMALL)).out)[0]).toBe(
    "2 pairs in T s: 0 written, 2 there already, none skipped, 0 images without a partner",
  );
});

describe("results", () => {
  test("depend on the content of calibration files; one that cannot be read counts by its name", () => {
    writeFileSync(place("a.yaml"), "of a");
    const settings = (file: string) =>
      resultSettings(
        loadConfig({ environment: {}, set: ["board=none", `calibration.file=${file}`] }).config,
        "png",
      ) as {
        calibration: { files?: string[]; file?: string };
      };
    const found = settings(`${place("a.yaml")}, ${place("none.yaml")}`);
    expect(found).toMatchObject({ version: VERSION, format: "png" });
    expect(found.calibration.files).toEqual(["of a", place("none.yaml")]);
    expect(found.calibration.file).toBeUndefined();
  });

  test("a hash of parts is that of all bytes in a row", () => {
    // SHA-256 of "ab".
    const hash = "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603";
    expect([hashParts("ab"), hashParts("a", Uint8Array.of(98))]).toEqual([hash, hash]);
  });

  test("the note of a folder: the choice and its hash", async () => {
    const choice = { a: 1 };
    rmSync(place("claimed"), { recursive: true, force: true });
    const key = await claimFolder(place("claimed", "below"), choice);
    expect(key).toBe(hashParts('{"a":1}'));
    expect(readdirSync(place("claimed", "below"))).toEqual(["batch.json"]);
    expect(JSON.parse(readFileSync(place("claimed", "below", "batch.json"), "utf8"))).toEqual({
      key,
      choice,
    });
    writeFileSync(place("claimed", "batch.json"), "no JSON");
    await expect(claimFolder(place("claimed"), choice)).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("found a batch.json of another program"),
    });
    writeFileSync(place("file"), "");
    await expect(claimFolder(place("file"), choice)).rejects.toMatchObject({
      code: "OUTPUT_UNWRITABLE",
      message: expect.stringContaining(`cannot write to ${place("file")}: `),
    });
  });

  test("a file is written once, and a result again; nothing else is left", async () => {
    rmSync(place("once"), { recursive: true, force: true });
    const file = place("once", "below", "x");
    expect([await writeOnce(file, "first"), await writeOnce(file, "second")]).toEqual([true, false]);
    expect(readFileSync(file, "utf8")).toBe("first");
    await writeResult(file, Uint8Array.of(65));
    expect(readFileSync(file, "utf8")).toBe("A");
    expect(readdirSync(place("once", "below"))).toEqual(["x"]);
    writeFileSync(place("file"), "");
    await expect(writeOnce(place("file", "x"), "")).rejects.toMatchObject({
      code: expect.stringMatching(/^ENOTDIR|EEXIST$/),
    });
  });
});

test("turns: one at a time in their order, also after a failure", async () => {
  const turns = new Turns();
  const events: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string, fails = false) =>
    turns.take(async () => {
      events.push(`${name} begins`);
      await new Promise<void>((resolve) => ends.push(resolve));
      events.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const all = Promise.allSettled([work("a", true), work("b"), work("c")]);
  for (let i = 0; i < 3; i++) {
    await settle();
    ends[i]!();
  }
  expect((await all).map((one) => (one.status === "fulfilled" ? one.value : one.reason.message))).toEqual([
    "a",
    "b",
    "c",
  ]);
  expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("work that has not ended counts as busy, to a tenth of a percent", async () => {
  let now = 100;
  const occupancy = new Occupancy(() => now);
  let end = () => {};
  const work = () =>
    new Promise<void>((resolve) => {
      end = resolve;
    });
  now = 120;
  const running = occupancy.during("open", work);
  now = 130;
  expect(occupancy.percent).toEqual({ decode: 0, open: 33.3, match: 0, write: 0 });
  end();
  await running;
  now = 140;
  const again = occupancy.during("open", work);
  now = 150;
  expect(occupancy.percent.open).toBe(40);
  end();
  await again;
  await expect(
    occupancy.during("write", async () => {
      now = 200;
      throw new Error("x");
    }),
  ).rejects.toThrow("x");
  now = 300;
  expect(occupancy.percent).toEqual({ decode: 0, open: 10, match: 0, write: 25 });
});

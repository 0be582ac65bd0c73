// SPDX-License-Identifier: Apache-2.0
// Every failure that docs/guides/failures.md lists has a test, and that test exists.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The page's first column, the test's file, and words of the test's name. */
const TESTS: [failure: string, file: string, name: string][] = [
  [
    "the broker refuses connections",
    "test/bad-days/running.test.ts",
    "the broker's port refuses connections for two seconds",
  ],
  [
    "the connection breaks in the middle of a frame",
    "test/bad-days/running.test.ts",
    "the connection is cut in the middle of frames, three times",
  ],
  [
    "the broker accepts and is silent",
    "test/bad-days/again.test.ts",
    "a broker that takes the connection and stays silent",
  ],
  ["the broker stops reading", "test/bad-days/running.test.ts", "the broker takes nothing for some seconds"],
  [
    "wrong password",
    "test/bad-days/starting.test.ts",
    "a wrong password: exit 5, and the password is in no line",
  ],
  ["expired certificate", "test/bad-days/starting.test.ts", "an expired certificate"],
  [
    "certificate of another authority",
    "test/bad-days/starting.test.ts",
    "a certificate of another authority",
  ],
  [
    "the broker's name does not resolve",
    "test/bad-days/starting.test.ts",
    "a name that does not resolve, and a port where nothing listens: exit 5 and a hint",
  ],
  ["topic not authorised", "test/bad-days/again.test.ts", "a topic that is not authorised for a while"],
  [
    "disk full while recording",
    "test/bad-days/running.test.ts",
    "the disk of the recording fills, and is emptied again",
  ],
  [
    "disk full while saving",
    "test/bad-days/starting.test.ts",
    "a disk without room, when results are saved: exit 3, the cause, and no half of a file",
  ],
  [
    "disk full while saving",
    "test/bad-days/saving.test.ts",
    "consume --save on a disk that fills: exit 3, the cause, and no half of a picture",
  ],
  [
    "disk full while settings are saved",
    "test/bad-days/saving.test.ts",
    "settings that are saved on a full disk: the file stays as it was, and the error names it",
  ],
  [
    "disk full while settings are saved",
    "test/bad-days/saving.test.ts",
    "on a full disk: the answer names it, the run continues, and saves when there is room",
  ],
  ["the clock jumps an hour forward", "test/bad-days/running.test.ts", "an hour forward"],
  ["the clock jumps an hour back", "test/bad-days/running.test.ts", "an hour back"],
  ["no memory when it opens", "test/hostile/little-memory.test.ts", "%d MB for pictures of %d pixels a side"],
  [
    "the GPU is lost",
    "test/integration/cuda-engine.test.ts",
    "in `run --backend auto`: all frames, the lost ones counted, the reason in the figures, a warning",
  ],
  [
    "the GPU is lost",
    "test/integration/cuda-engine.test.ts",
    "a run that has lost it holds what a run on the CPU holds, and one sleeping thread",
  ],
  [
    "a plugin of another version or architecture",
    "test/integration/plugin-refusals.test.ts",
    "is of another ABI version: nothing else of it is called",
  ],
  [
    "a plugin of another version or architecture",
    "test/bad-days/again.test.ts",
    "it holds what a run holds that never saw one",
  ],
  [
    "a plugin of another version or architecture",
    "test/integration/plugin-refusals.test.ts",
    "is for another architecture: `cuda` is refused with that sentence, `auto` computes",
  ],
  [
    "settings that a new version does not know",
    "test/packages/life.ts",
    "settings that do not fit the new version: installed, the key named, the way back named and gone",
  ],
  [
    "disk full while a package is installed",
    "test/packages/life.ts",
    "a disk that is full at an upgrade: the version before stays and runs",
  ],
  [
    "no camera when the board starts",
    "test/systemd-vm/guest/waiting-cases.mjs",
    "no camera at boot: the boot ends, the service waits and reports it",
  ],
  [
    "the live page's port is in use when the board starts",
    "test/systemd-vm/guest/waiting-cases.mjs",
    "a port in use at boot: named with its port, waited for as well",
  ],
  [
    "a power rail disappears",
    "test/bad-days/again.test.ts",
    "the rail is gone for a while, with its reason, and is read again",
  ],
  [
    "thermal throttling",
    "test/unit/governor/governor.test.ts",
    "throttling: down at once, and tries come further and further apart",
  ],
  [
    "thermal throttling",
    "test/bad-days/again.test.ts",
    "the GPU is held back for a while: the governor goes down, and nothing of the level before stays",
  ],
  [
    "wrong settings in a running service",
    "test/bad-days/running.test.ts",
    "settings that are wrong, while it runs: the running ones stay",
  ],
  [
    "the calibration is replaced",
    "test/bad-days/running.test.ts",
    "the calibration is replaced, first by one of another size, then by one that fits",
  ],
  ["two programs with one client id", "test/bad-days/again.test.ts", "somebody else takes its client id"],
  [
    "two programs with one device name",
    "test/bad-days/running.test.ts",
    "somebody else runs under the same device name, and ends",
  ],
  [
    "a camera is unplugged",
    "camera/v4l2/test/unplug-cycles.test.ts",
    "20 times unplugged: always back, no descriptor, mapping or thread left",
  ],
  [
    "SIGTERM while it starts",
    "test/bad-days/starting.test.ts",
    "it is over at once, in order or by the signal; nothing stays: no file, no retained `online`",
  ],
  [
    "the reader of its output ends",
    "test/integration/orderly-end.test.ts",
    "a pipe that no consumer reads any more ends it in order",
  ],
  ["its terminal is closed", "test/integration/reload.test.ts", "a closed terminal ends the run in order"],
];

const page = readFileSync("docs/guides/failures.md", "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2)
  .map((line) =>
    line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim()),
  );

test("every failure has a test, in the order of the page", () => {
  expect(rows.length).toBeGreaterThan(20);
  expect([...new Set(TESTS.map(([failure]) => failure))]).toEqual(rows.map(([failure]) => failure));
  for (const cells of rows) expect(cells.length, cells[0]).toBe(4);
});

test.each(TESTS)("%s: %s has the test", (_, file, name) => {
  expect(readFileSync(file, "utf8")).toContain(name);
});

// SPDX-License-Identifier: Apache-2.0
// Which part of an archive a process works on, the flags that name it, and how busy a stage is.
import { expect, test, vi } from "vitest";
import { runCommandLine } from "../../../../../edge/cli/program.js";
import { parseShard, shardItems } from "../../../../../edge/commands/batch/shard.js";
import { Occupancy } from "../../../../../edge/commands/batch/stages.js";

test.each<[string | undefined, NodeJS.ProcessEnv, unknown]>([
  [undefined, {}, undefined],
  ["2/8", {}, { index: 2, of: 8 }],
  ["1/1", { JOB_COMPLETION_INDEX: "3" }, { index: 1, of: 1 }],
  ["8", { JOB_COMPLETION_INDEX: "0" }, { index: 1, of: 8 }],
  ["8", { JOB_COMPLETION_INDEX: "7" }, { index: 8, of: 8 }],
  ["4", { SLURM_ARRAY_TASK_ID: "2" }, { index: 3, of: 4 }],
  [
    undefined,
    { SLURM_ARRAY_TASK_ID: "12", SLURM_ARRAY_TASK_MIN: "10", SLURM_ARRAY_TASK_COUNT: "5" },
    { index: 3, of: 5 },
  ],
])("--shard %s with %j is %j", (flag, environment, expected) => {
  expect(parseShard(flag, environment)).toEqual(expected);
});

test.each<[string | undefined, NodeJS.ProcessEnv, RegExp]>([
  ["0/8", {}, /i\/n with 1 <= i <= n, got "0\/8"/],
  ["9/8", {}, /1 <= i <= n/],
  ["1/2/3", {}, /1 <= i <= n/],
  ["a/b", {}, /1 <= i <= n/],
  ["8", {}, /no scheduler says which one/],
  [
    undefined,
    { JOB_COMPLETION_INDEX: "3" },
    /how many there are, since JOB_COMPLETION_INDEX says only which/,
  ],
  ["3", { JOB_COMPLETION_INDEX: "3" }, /more than JOB_COMPLETION_INDEX \(3, counted from 0\), got 3/],
  ["3", { SLURM_ARRAY_TASK_ID: "x" }, /a numeric SLURM_ARRAY_TASK_ID/],
])("--shard %s with %j is refused", (flag, environment, message) => {
  expect(() => parseShard(flag, environment)).toThrow(message);
});

test("the parts of an archive are all of it, and nothing twice", () => {
  const items = Array.from({ length: 101 }, (_, i) => i);
  const parts = [1, 2, 3, 4, 5, 6, 7].flatMap((index) => shardItems(items, { index, of: 7 }));
  expect(parts.sort((a, b) => a - b)).toEqual(items);
  expect(shardItems(items, undefined)).toEqual(items);
});

test("a stage is as busy as the time in which something is in work, however much at once", async () => {
  let now = 0;
  const occupancy = new Occupancy(() => now);
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => ends.push(resolve));
  const first = occupancy.during("match", work);
  now = 10;
  const second = occupancy.during("match", work);
  now = 30;
  ends[0]!();
  await first;
  now = 40;
  ends[1]!();
  await second;
  now = 80;
  expect(occupancy.percent).toEqual({ decode: 0, open: 0, match: 50, write: 0 });
});

test.each([
  [["--shard", "1/2"], false],
  [["--queue", "nats://127.0.0.1:1", "--shard", "1/2"], true],
])("a batch with %j is refused for both: %s", async (flags, expected) => {
  let errors = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    errors += text;
    return true;
  });
  // The archive does not exist.
  const code = await runCommandLine(["batch", "/none/archive", "/none/results", ...flags]);
  write.mockRestore();
  expect(code).not.toBe(0);
  expect(errors.includes("expected --shard or --queue, got both"), errors).toBe(expected);
});

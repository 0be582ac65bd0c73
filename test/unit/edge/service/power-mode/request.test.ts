// SPDX-License-Identifier: Apache-2.0
// Tests the root helper's answers, and that it calls nvpmodel only with -q or a number of the board's own list.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answerTo,
  answerToClocks,
  clockRequest,
  MAX_REQUEST_BYTES,
  parseClocks,
} from "../../../../../edge/service/power-mode/request.js";

const CONF = `# comment
< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=1 NAME=15W >
< POWER_MODEL ID=12 NAME=MODE_30W >
`;
const ASKER = { uid: 997, allowed: [997] };

/** A board in mode 0 that records what nvpmodel was called with. */
function board(status = 0) {
  const calls: string[][] = [];
  const names = new Map([
    ["0", "MAXN"],
    ["1", "15W"],
    ["12", "MODE_30W"],
  ]);
  let mode = "0";
  const nvpmodel = (words: readonly string[]) => {
    calls.push([...words]);
    if (words[0] !== "-m") return { status: 0, stdout: `NV Power Mode: ${names.get(mode)}\n${mode}\n` };
    if (status === 0) mode = words[1]!;
    return { status, stdout: "" };
  };
  return { calls, conf: CONF, nvpmodel };
}

test("a query names the mode and changes nothing", () => {
  const machine = board();
  expect(answerTo("query\n", ASKER, machine)).toBe("ok MAXN\n");
  expect(machine.calls).toEqual([["-q"]]);
});

test("a mode of the board is set, and what it is afterwards is reported", () => {
  const machine = board();
  expect(answerTo("set 12\n", ASKER, machine)).toBe("ok MODE_30W\n");
  expect(machine.calls).toEqual([["-m", "12"], ["-q"]]);
});

describe("nvpmodel is not called", () => {
  test.each([
    ["for a mode that the board does not have", "set 2\n"],
    ["for a number in another spelling", "set 01\n"],
    ["for a negative one", "set -1\n"],
    ["for more words", "set 1 --force\n"],
    ["for a second line", "set 1\nset 0\n"],
    ["for a name", "set MAXN\n"],
    ["for another file of modes", "set 1 -f /tmp/nvpmodel.conf\n"],
    ["for a command", "set 1;reboot\n"],
    ["without an end of the line", "set 1"],
    ["for nothing", ""],
    ["for digits of another script", "set ١\n"],
  ])("%s", (_, request) => {
    const machine = board();
    expect(answerTo(request, ASKER, machine)).toMatch(/^refused [^\n]+\n$/);
    expect(machine.calls).toEqual([]);
  });

  test("for another user, every request", () => {
    for (const request of ["query\n", "set 1\n", "x"]) {
      const machine = board();
      expect(answerTo(request, { uid: 1000, allowed: [997] }, machine)).toBe(
        "refused user 1000 may not ask\n",
      );
      expect(answerTo(request, { uid: 1000, allowed: [] }, machine)).toMatch(/^refused/);
      expect(machine.calls).toEqual([]);
    }
  });

  test("for random bytes: at most with a number of the list", () => {
    const part = fc.constantFrom("set ", "query", "1", "12", "0", "\n", " ", "-m", "\0", "é", "9");
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
        (request) => {
          const machine = board();
          answerTo(request, ASKER, machine);
          for (const call of machine.calls)
            expect([["-q"], ["-m", "0"], ["-m", "1"], ["-m", "12"]]).toContainEqual(call);
        },
      ),
      { numRuns: 2000, seed: 23 },
    );
  });
});

test("root may ask, and a refusal of nvpmodel is reported", () => {
  expect(answerTo("query\n", { uid: 0, allowed: [] }, board())).toBe("ok MAXN\n");
  expect(answerTo("set 1\n", ASKER, board(255))).toBe("refused nvpmodel -m 1 ended with 255\n");
});

test.each<[{ status: number | null; stdout: string }, string]>([
  [{ status: 0, stdout: "NV Power Mode:   MODE_15W \n2\n" }, "ok MODE_15W\n"],
  [{ status: 0, stdout: "15W\n" }, "refused nvpmodel -q did not name the power mode\n"],
  [{ status: 1, stdout: "NV Power Mode: MAXN\n0\n" }, "refused nvpmodel -q did not name the power mode\n"],
  [{ status: null, stdout: "" }, "refused nvpmodel -q did not name the power mode\n"],
])("nvpmodel's answer %j becomes %j", (said, answer) => {
  expect(answerTo("query\n", ASKER, { conf: CONF, nvpmodel: () => said })).toBe(answer);
});

test("a refused request names what it lacks", () => {
  expect(answerTo("set 2\n", ASKER, board())).toBe("refused this board has no mode 2\n");
  expect(answerTo("set x\n", ASKER, board())).toBe(
    "refused expected query, or set and the number of a mode\n",
  );
});

describe("clock limits", () => {
  /** Processes 5 (user 997), 6 (user 1000) and 4294967295 (user 997); the GPU reaches 1 MHz less than asked. */
  function clockBoard() {
    const calls: unknown[][] = [];
    const processes = new Map([
      [5, { name: "5-100", uid: 997 }],
      [6, { name: "6-200", uid: 1000 }],
      [9_999_999_999, { name: "last", uid: 997 }],
    ]);
    const clocks = {
      process: (pid: number) => processes.get(pid),
      limit: (owner: string, targets: object) => {
        calls.push(["limit", owner, targets]);
        const { gpu } = targets as { gpu?: number };
        return { ...targets, ...(gpu !== undefined && { gpu: gpu - 1e6 }) };
      },
      restore: (owner?: string) => void calls.push(["restore", owner]),
    };
    return { calls, clocks };
  }
  const ROOT = { uid: 0, allowed: [] };

  test.each<[string, { uid: number; allowed: number[] }, string, unknown[][]]>([
    [
      "clocks 5 612000000 2133000000\n",
      ASKER,
      "ok 611000000 2133000000\n",
      [["limit", "5-100", { gpu: 612e6, emc: 2133e6 }]],
    ],
    ["clocks 5 612000000 -\n", ASKER, "ok 611000000 -\n", [["limit", "5-100", { gpu: 612e6 }]]],
    ["clocks 5 - 2133000000\n", ASKER, "ok - 2133000000\n", [["limit", "5-100", { emc: 2133e6 }]]],
    ["clocks 5 - -\n", ASKER, "ok - -\n", [["restore", "5-100"]]],
    // These processes have ended: the helper restores everything that no living process holds.
    ["clocks 7 - -\n", ASKER, "ok - -\n", [["restore", undefined]]],
    ["clocks 7 612000000 -\n", ASKER, "refused there is no process 7\n", []],
    ["clocks 6 - -\n", ASKER, "refused process 6 is another user's\n", []],
    ["clocks 6 612000000 -\n", ASKER, "refused process 6 is another user's\n", []],
    ["clocks 6 612000000 -\n", ROOT, "ok 611000000 -\n", [["limit", "6-200", { gpu: 612e6 }]]],
    ["clocks 5 - -\n", { uid: 1000, allowed: [997] }, "refused user 1000 may not ask\n", []],
    [
      "clocks 5 999999999999 -\n",
      ASKER,
      "ok 999998999999 -\n",
      [["limit", "5-100", { gpu: 999_999_999_999 }]],
    ],
    ["clocks 9999999999 - -\n", ASKER, "ok - -\n", [["restore", "last"]]],
    ...[
      "clocks 5 9999999999999 -\n",
      "clocks 99999999999 - -\n",
      "clocks 05 - -\n",
      "clocks 5 0 -\n",
      "clocks 5 - 01\n",
      "clocks 5 -\n",
      "clocks 5 - - -\n",
      "clocks 5 - -",
      " clocks 5 - -\n",
    ].map((request): [string, typeof ASKER, string, unknown[][]] => [
      request,
      ASKER,
      "refused expected clocks, a process and two limits\n",
      [],
    ]),
  ])("%j of %j: %j", (request, asker, answer, calls) => {
    const { clocks, calls: made } = clockBoard();
    expect(answerToClocks(request, asker, clocks)).toBe(answer);
    expect(made).toEqual(calls);
  });

  test.each([
    [{}, "clocks 42 - -\n"],
    [{ gpu: 306e6 }, "clocks 42 306000000 -\n"],
    [{ emc: 2133e6 }, "clocks 42 - 2133000000\n"],
    [{ gpu: 306e6, emc: 2133e6 }, "clocks 42 306000000 2133000000\n"],
  ])("%j is asked for and read back as %j", (targets, request) => {
    expect(clockRequest(42, targets)).toBe(request);
    expect(parseClocks(request.trim().split(" ").slice(2))).toEqual(targets);
  });

  test("the longest request is not longer than the helper reads", () => {
    expect("clocks 9999999999 999999999999 999999999999\n".length).toBeLessThanOrEqual(MAX_REQUEST_BYTES);
  });
});

// SPDX-License-Identifier: Apache-2.0
// Tests the root helper's answers, and that it calls nvpmodel only with -q or a number of the board's own list.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerTo } from "../../../../../edge/service/power-mode/request.js";

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

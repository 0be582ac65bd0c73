// SPDX-License-Identifier: Apache-2.0
// Clock limits on constructed boards: found, lowered, restored, refused by the kernel, and after a killed process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ClockLimits, clockWords } from "../../../edge/profile/clock-limits.js";
import { answerToClocks, clockRequest } from "../../../edge/service/power-mode/request.js";
import { coolingDevice, findClocks } from "../../../power/clocks/domains.js";
import {
  CLOCK_STATE,
  type ClockFiles,
  clockOwner,
  limitClocks,
  ownClocks,
  processName,
  restoreClocks,
} from "../../../power/index.js";
import { readValueFile } from "../../../power/sysfs.js";
import { SysfsTree } from "../../doubles/sysfs-tree.js";

const GPU = "sys/devices/platform/17000000.gpu/devfreq_dev";
const EMC = "sys/kernel/nvpmodel_clk_cap/emc";
const STEPS = [306, 408, 510, 612, 714, 816, 918].map((megahertz) => megahertz * 1e6);
const MODES = [2133, 3199].map(
  (megahertz) => `< PARAM TYPE=CLOCK NAME=EMC >\n EMC MAX_FREQ ${megahertz}000000\n`,
);

let tree: SysfsTree;
let files: ClockFiles;
const me = processName(process.pid)!;
const value = (path: string) => Number(readFileSync(tree.path(path), "utf8"));
const shown = () => [value(`${GPU}/min_freq`), value(`${GPU}/max_freq`), value(EMC)];

beforeEach(() => {
  tree = new SysfsTree().write({
    [`${GPU}/max_freq`]: 918e6,
    [`${GPU}/min_freq`]: 306e6,
    [`${GPU}/available_frequencies`]: `${STEPS.join(" ")}\n`,
    [EMC]: 0,
    "etc/nvpmodel.conf": MODES.join(""),
  });
  files = { root: tree.root };
});
afterEach(() => rmSync(tree.root, { recursive: true, force: true }));

describe("limits", () => {
  test("are at most the highest clock, also where the driver reports more", () => {
    tree.write({ [`${GPU}/max_freq`]: 2e9 });
    expect(ownClocks(files)).toMatchObject({ gpu: { choices: STEPS, limit: 918e6 } });
  });

  test("are lowered, changed and restored, with no cap of the memory as no cap", () => {
    expect(ownClocks(files)).toMatchObject({
      gpu: { choices: STEPS, limit: 918e6 },
      emc: { choices: [2133e6, 3199e6], limit: 3199e6 },
    });
    expect(limitClocks(me, { gpu: 612e6, emc: 2133e6 }, files)).toEqual({ gpu: 612e6, emc: 2133e6 });
    expect(shown()).toEqual([306e6, 612e6, 2133e6]);
    // The limit from before is the machine's own, also while it is lowered.
    expect(ownClocks(files)).toMatchObject({ gpu: { limit: 918e6 }, emc: { limit: 3199e6 } });
    expect(limitClocks(me, { gpu: 816e6 }, files)).toEqual({ gpu: 816e6 });
    expect(shown()).toEqual([306e6, 816e6, 0]);
    restoreClocks(me, files);
    restoreClocks(me, files);
    expect(shown()).toEqual([306e6, 918e6, 0]);
    expect(existsSync(tree.path(CLOCK_STATE))).toBe(false);
  });

  test("lower a minimum that jetson_clocks has raised, and raise it again after the maximum", () => {
    tree.write({ [`${GPU}/min_freq`]: 918e6 });
    const written: string[] = [];
    const write = (path: string, text: string) => {
      written.push(`${path.slice(tree.path(GPU).length + 1)} ${Number(text) / 1e6}`);
      writeFileSync(path, text);
    };
    limitClocks(me, { gpu: 510e6 }, { ...files, write });
    restoreClocks(me, { ...files, write });
    expect(written).toEqual(["min_freq 510", "max_freq 510", "max_freq 918", "min_freq 918"]);
  });

  test("that nvpmodel has raised meanwhile stay", () => {
    limitClocks(me, { gpu: 510e6 }, files);
    tree.write({ [`${GPU}/max_freq`]: 714e6 });
    restoreClocks(me, files);
    expect(value(`${GPU}/max_freq`)).toBe(714e6);
  });

  test("that heat lowers further are reported, and restored to the value from before", () => {
    const write = (path: string, text: string) =>
      writeFileSync(path, path.endsWith("max_freq") ? String(Math.min(Number(text), 408e6)) : text);
    expect(limitClocks(me, { gpu: 612e6 }, { ...files, write })).toEqual({ gpu: 408e6 });
    restoreClocks(me, files);
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });
});

describe("nothing is changed", () => {
  const unchanged = (targets: { gpu?: number; emc?: number }, use: ClockFiles, words: RegExp) => {
    expect(() => limitClocks(me, targets, use)).toThrow(
      expect.objectContaining({ code: "DEVICE_UNAVAILABLE", message: expect.stringMatching(words) }),
    );
    expect(existsSync(tree.path(CLOCK_STATE))).toBe(false);
  };

  test("where the kernel refuses a limit or keeps its own; the other clock is restored", () => {
    const keeps = (path: string, text: string) => path.endsWith("emc") || writeFileSync(path, text);
    tree.write({ [EMC]: 3199e6 });
    unchanged(
      { gpu: 612e6, emc: 2133e6 },
      { ...files, write: keeps },
      /emc: asked for 2133000000, the kernel kept 3199000000/,
    );
    const refuses = (path: string, text: string) => {
      if (path.endsWith("emc")) throw new Error("EINVAL: invalid argument, write");
      writeFileSync(path, text);
    };
    unchanged({ gpu: 612e6, emc: 2133e6 }, { ...files, write: refuses }, /refused 2133000000: EINVAL/);
    expect(shown()).toEqual([306e6, 918e6, 3199e6]);
  });

  test("for a step that the board does not have, above its limit, or while heat hides the limit", () => {
    unchanged({ gpu: 600e6 }, files, /no step of 600000000 Hz; it has 306000000/);
    tree.write({ [`${GPU}/max_freq`]: 612e6 });
    unchanged({ gpu: 714e6 }, files, /expected at most its limit, 612000000/);
    tree.write({
      "sys/class/thermal/cooling_device3/type": "devfreq-17000000.gpu\n",
      "sys/class/thermal/cooling_device3/cur_state": 2,
    });
    unchanged({ gpu: 408e6 }, files, /Heat limits the GPU's clock/);
    expect(value(`${GPU}/max_freq`)).toBe(612e6);
  });

  test("where the process that has lowered them lives; a dead one's limits are restored first", () => {
    limitClocks(processName(process.ppid)!, { gpu: 612e6 }, files);
    expect(() => limitClocks(me, { gpu: 408e6 }, files)).toThrow(
      `Process ${process.ppid} limits the clocks already.`,
    );
    restoreClocks(me, files);
    expect(value(`${GPU}/max_freq`)).toBe(612e6);
    const state = readFileSync(tree.path(CLOCK_STATE), "utf8");
    writeFileSync(tree.path(CLOCK_STATE), state.replace(/"owner":"\d+ \d+"/, `"owner":"${process.ppid} 1"`));
    limitClocks(me, { gpu: 408e6 }, files);
    restoreClocks(me, files);
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });

  test("where no record can be kept", () => {
    tree.write({ run: "a file, no folder\n" });
    expect(() => limitClocks(me, { gpu: 612e6 }, files)).toThrow(/limits\.json/);
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });

  test("on a machine without these files: the reason names the missing files", () => {
    rmSync(tree.path("sys"), { recursive: true });
    expect(ClockLimits.open({ ...files, isRoot: true })).toMatchObject({
      available: false,
      reason: expect.stringContaining("NVIDIA cards are not changed"),
    });
    expect(() => ClockLimits.require({ ...files, isRoot: true })).toThrow(
      expect.objectContaining({ code: "DEVICE_UNAVAILABLE" }),
    );
  });

  test("without the rights", () => {
    expect(() => ClockLimits.require({ ...files, isRoot: false })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("depthwatt power-modes --allow") }),
    );
  });
});

test("a clock that vanishes is an error, and the other clock is restored", () => {
  limitClocks(me, { gpu: 612e6, emc: 2133e6 }, files);
  rmSync(tree.path(GPU), { recursive: true });
  expect(() => limitClocks(me, { gpu: 408e6, emc: 2133e6 }, files)).toThrow(/gpu clock cannot be limited/);
  expect(value(EMC)).toBe(0);
  expect(existsSync(tree.path(CLOCK_STATE))).toBe(false);
});

test("a killed process leaves no limit behind", async () => {
  const module = join(import.meta.dirname, "../../../dist/edge/profile/clock-limits.js");
  const script = `const { ClockLimits } = await import(${JSON.stringify(module)});
    const limits = ClockLimits.require({ root: ${JSON.stringify(tree.root)}, isRoot: true });
    await limits.change({ gpu: 408e6, emc: 2133e6 });
    console.log("lowered"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  expect(shown()).toEqual([306e6, 408e6, 2133e6]);
  child.kill("SIGKILL");
  await vi.waitFor(() => expect(shown()).toEqual([306e6, 918e6, 0]), { timeout: 10_000, interval: 20 });
});

describe("the root helper", () => {
  const asker = { uid: 997, allowed: [997] };
  const board = (uid: number) => ({
    process: (pid: number) => (pid === 9 ? undefined : { name: me, uid }),
    limit: (owner: string, targets: object) => limitClocks(owner, targets, files),
    restore: (owner?: string) => restoreClocks(owner, files),
  });

  test("limits clocks for a process of its asker, and restores those of a dead one", () => {
    expect(answerToClocks(clockRequest(5, { gpu: 612e6 }), asker, board(997))).toBe("ok 612000000 -\n");
    expect(answerToClocks(clockRequest(9, {}), asker, board(997))).toBe("ok - -\n");
    expect(value(`${GPU}/max_freq`)).toBe(612e6);
    expect(answerToClocks(clockRequest(5, {}), asker, board(997))).toBe("ok - -\n");
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });

  test.each([
    ["another user", clockRequest(5, { gpu: 612e6 }), { uid: 1000, allowed: [997] }, 1000],
    ["another user's process", clockRequest(5, { gpu: 612e6 }), asker, 0],
    ["a process that has ended", clockRequest(9, { gpu: 612e6 }), asker, 997],
    ["a path", "clocks 5 ../x -\n", asker, 997],
    ["a second line", "clocks 5 - -\nset 1\n", asker, 997],
    ["a limit of 0", "clocks 5 0 -\n", asker, 997],
  ])("refuses %s", (_, request, who, uid) => {
    expect(answerToClocks(request, who, board(uid))).toMatch(/^refused [^\n]+\n$/);
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });
});

describe("the clocks of a board", () => {
  const found = (paths: Record<string, string | number>, remove: string[] = []) => {
    for (const path of remove) rmSync(tree.path(path), { recursive: true });
    tree.write(paths);
    return findClocks(tree.root);
  };

  test("are these files, with the limits that the board accepts in order", () => {
    const gpu = { [`${GPU}/available_frequencies`]: " 918000000 306000000\t612000000 0 x \n" };
    const emc =
      "EMC MAX_FREQ 3199000000\n EMC MAX_FREQ 2133000000\n EMC MAX_FREQ 0\nEMC MAX_FREQ 3199000000\n";
    expect(found({ ...gpu, "etc/nvpmodel.conf": `${emc}GPU MAX_FREQ 9\nEMC MIN_FREQ 8\n` })).toEqual({
      gpu: {
        maxFile: tree.path(`${GPU}/max_freq`),
        minFile: tree.path(`${GPU}/min_freq`),
        choices: [306e6, 612e6, 918e6],
        limit: 918e6,
      },
      emc: { maxFile: tree.path(EMC), minFile: undefined, choices: [2133e6, 3199e6], limit: 3199e6 },
    });
  });

  test("have the limit of now, and a minimum where there is a file", () => {
    const cap = "sys/kernel/nvpmodel_emc_cap/emc_iso_cap";
    const { gpu, emc } = found({ [`${GPU}/max_freq`]: 510e6, [cap]: 2133e6 }, [`${GPU}/min_freq`, EMC]);
    expect(gpu).toMatchObject({ minFile: undefined, limit: 510e6, choices: STEPS });
    expect(emc).toEqual({
      maxFile: tree.path(cap),
      minFile: undefined,
      choices: [2133e6, 3199e6],
      limit: 2133e6,
    });
  });

  test("without steps are the limit itself, and without a list another folder is tried", () => {
    const other = "sys/class/devfreq/gpu-gpc-0";
    const { gpu } = found({ [`${other}/max_freq`]: 5e8, [`${other}/available_frequencies`]: "\n" }, [
      `${GPU}/available_frequencies`,
    ]);
    expect(gpu).toMatchObject({ maxFile: tree.path(`${other}/max_freq`), choices: [], limit: 5e8 });
  });

  test("of the memory need modes with a memory clock", () => {
    expect(found({ "etc/nvpmodel.conf": "EMC MAX_FREQ 0\n" }).emc).toMatchObject({ available: false });
    expect(found({}, ["etc"]).emc).toMatchObject({ available: false });
  });

  test.each([
    ["devfreq-gpu", 1, true],
    ["GPU-cooling", 2, true],
    ["gpu", 0, false],
    ["cpufreq-cpu0", 3, false],
  ])("are limited by heat where %s is in state %i: %s", (type, state, hot) => {
    const zone = "sys/class/thermal/thermal_zone0";
    const device = "sys/class/thermal/cooling_device7";
    tree.write({ [`${zone}/type`]: "gpu", [`${zone}/cur_state`]: 4 });
    tree.write({ [`${device}/type`]: type, [`${device}/cur_state`]: state });
    expect(coolingDevice(tree.root)).toBe(hot ? tree.path(`${device}/cur_state`) : undefined);
  });
});

describe("records of lowered limits", () => {
  test("keep what could not be restored, so that a later try can", () => {
    limitClocks(me, { gpu: 612e6, emc: 2133e6 }, files);
    const refuses = (path: string, text: string) => {
      if (path.endsWith("max_freq")) throw new Error("EBUSY");
      writeFileSync(path, text);
    };
    expect(() => restoreClocks(me, { ...files, write: refuses })).toThrow(
      /918000000 could not be restored: EBUSY/,
    );
    expect(shown()).toEqual([306e6, 612e6, 0]);
    expect(clockOwner(files)).toBe(me);
    restoreClocks(me, files);
    expect([shown(), clockOwner(files)]).toEqual([[306e6, 918e6, 0], undefined]);
  });

  const record = () => JSON.parse(readFileSync(tree.path(CLOCK_STATE), "utf8"));

  test("are written before the limit is lowered, and have no entry of one that was restored", () => {
    const before: unknown[] = [];
    const write = (path: string, text: string) => {
      before.push(record());
      writeFileSync(path, text);
    };
    const gpu = { path: tree.path(`${GPU}/max_freq`), before: 918e6, written: 612e6 };
    const emc = { path: tree.path(EMC), before: 0, written: 2133e6 };
    limitClocks(me, { gpu: 612e6, emc: 2133e6 }, { ...files, write });
    expect(before).toEqual([
      { owner: me, changes: [gpu] },
      { owner: me, changes: [gpu, emc] },
    ]);
    limitClocks(me, { gpu: 816e6 }, { ...files, write });
    expect(before[2]).toEqual({ owner: me, changes: [{ ...gpu, written: 816e6 }, emc] });
    expect(record()).toEqual({ owner: me, changes: [{ ...gpu, written: 816e6 }] });
  });

  test("of a process that claims the clocks at the same time stay as they are", () => {
    const other = { owner: "1 2", changes: [] };
    const paths = [CLOCK_STATE.slice(1), `${CLOCK_STATE.slice(1)}.part`];
    const read = (path: string) => {
      for (const name of paths) tree.write({ [name]: JSON.stringify(other) });
      return readValueFile(path);
    };
    expect(() => limitClocks(me, { gpu: 612e6 }, { ...files, read })).toThrow(/EEXIST/);
    expect([record(), shown()]).toEqual([other, [306e6, 918e6, 0]]);
    expect(existsSync(tree.path(paths[1]!))).toBe(true);
  });

  test("have no entry for a minimum that is not above the limit", () => {
    tree.write({ [`${GPU}/min_freq`]: 408e6 });
    limitClocks(me, { gpu: 408e6 }, files);
    const { owner, changes } = JSON.parse(readFileSync(tree.path(CLOCK_STATE), "utf8"));
    expect([owner, changes]).toEqual([
      me,
      [{ path: tree.path(`${GPU}/max_freq`), before: 918e6, written: 408e6 }],
    ]);
    limitClocks(me, { gpu: 918e6 }, files);
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
    limitClocks(me, {}, files);
    expect(existsSync(tree.path(CLOCK_STATE))).toBe(false);
  });

  test("a memory clock that stays without a cap was not limited", () => {
    const ignores = (path: string, text: string) => path.endsWith("emc") || writeFileSync(path, text);
    expect(() => limitClocks(me, { emc: 2133e6 }, { ...files, write: ignores })).toThrow(/the kernel kept 0/);
  });

  test("that are damaged are an error with their file, and a reason for ClockLimits", () => {
    tree.write({ [CLOCK_STATE.slice(1)]: "{" });
    expect(() => ownClocks(files)).toThrow(tree.path(CLOCK_STATE));
    expect(ClockLimits.open({ ...files, isRoot: false })).toMatchObject({ available: false });
  });

  test("name no process that has ended", () => {
    expect(processName(2 ** 22 + 1)).toBeUndefined();
    expect(me).toMatch(new RegExp(`^${process.pid} \\d+$`));
  });
});

describe("limits of a run", () => {
  const open = () => ClockLimits.require({ ...files, isRoot: true });

  test.each([
    [{}, true],
    [{ gpu: 612e6, emc: 2133e6 }, true],
    [{ gpu: 714e6 }, true],
    [{ gpu: 816e6 }, false],
    [{ gpu: 600e6 }, false],
    [{ emc: 2e9 }, false],
  ])("take %j: %s", (targets, taken) => {
    tree.write({ [`${GPU}/max_freq`]: 714e6 });
    expect(open().accepts(targets)).toBe(taken);
  });

  test("are steps up to the limit now; a clock that is missing has none", () => {
    tree.write({ [`${GPU}/max_freq`]: 510e6, [EMC]: 2133e6 });
    const limits = open();
    expect([limits.steps("gpu"), limits.steps("emc")]).toEqual([[306, 408, 510], [2133]]);
    expect(limits.limits).toEqual({ gpu: 510e6, emc: 2133e6 });
    rmSync(tree.path(EMC));
    const alone = open();
    expect([alone.steps("emc"), alone.limits]).toEqual([[], { gpu: 510e6 }]);
    expect([alone.accepts({ emc: 2133e6 }), alone.accepts({ gpu: 306e6 })]).toEqual([false, true]);
  });

  test("need one of the two clocks, and say what to do without", () => {
    rmSync(tree.path(GPU), { recursive: true });
    expect(open().limits).toEqual({ emc: 3199e6 });
    rmSync(tree.path(EMC));
    expect(open).toThrow(expect.objectContaining({ hint: expect.stringContaining("power.clocks: off") }));
  });

  test("that a killed run left behind are restored when they are opened", () => {
    limitClocks(`${process.ppid} 1`, { gpu: 612e6 }, files);
    ClockLimits.open({ ...files, isRoot: false });
    expect(value(`${GPU}/max_freq`)).toBe(612e6);
    open();
    expect(value(`${GPU}/max_freq`)).toBe(918e6);
  });

  test("change one after the other, and are as before after a failure and at the end", async () => {
    const limits = open();
    expect(await limits.change({})).toEqual({});
    expect(existsSync(tree.path(CLOCK_STATE))).toBe(false);
    const changes = [
      limits.change({ gpu: 612e6 }),
      limits.change({ gpu: 600e6 }),
      limits.change({ gpu: 408e6 }),
    ];
    const outcomes = await Promise.allSettled(changes);
    expect(outcomes[1]).toMatchObject({
      reason: { code: "DEVICE_UNAVAILABLE", hint: expect.stringContaining("needs root") },
    });
    expect([outcomes[0], outcomes[2]]).toMatchObject([{ value: { gpu: 612e6 } }, { value: { gpu: 408e6 } }]);
    await limits.settled();
    expect(value(`${GPU}/max_freq`)).toBe(408e6);
    await limits.restore();
    expect(shown()).toEqual([306e6, 918e6, 0]);
    tree.write({ [`${GPU}/max_freq`]: 714e6 });
    await limits.restore();
    expect(value(`${GPU}/max_freq`)).toBe(714e6);
  });
});

test("limits are named for people", () => {
  expect(clockWords({ gpu: 624.75e6, emc: 2133e6 })).toBe("gpu 624.75 MHz, emc 2133 MHz");
  expect([clockWords({ emc: 1e6 }), clockWords({})]).toEqual(["emc 1 MHz", ""]);
});

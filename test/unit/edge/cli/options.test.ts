// SPDX-License-Identifier: Apache-2.0
// Options that commands share: which source the places mean, files that would overwrite each other, hints, steps, the progress bar.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { withFlagsInHint } from "../../../../edge/cli/broker-flags.js";
import { checkOutputs, kindFlag } from "../../../../edge/cli/options.js";
import { Progress } from "../../../../edge/cli/progress.js";
import { performSteps } from "../../../../edge/cli/service-steps.js";
import { settingFlags } from "../../../../edge/cli/setting-flags.js";
import type { Step } from "../../../../edge/service/steps.js";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test.each([
  [{}, { flag: "--source", value: undefined }],
  [
    { source: "synthetic", left: "/dev/video0" },
    { flag: "--source", value: "synthetic" },
  ],
  [{ left: "/dev/video0" }, { flag: "--left", value: "v4l2" }],
  [
    { right: "images", sideBySide: "/dev/video2" },
    { flag: "--right", value: "replay" },
  ],
  [{ sideBySide: "/dev/video2" }, { flag: "--side-by-side", value: "v4l2" }],
])("%j means a kind of source", (options, expected) => {
  expect(kindFlag(options)).toEqual(expected);
});

test("each flag by the setting that it sets", () => {
  expect(settingFlags({ numDisparities: "64", broker: "none" })).toEqual({
    "calibration.file": { flag: "--calibration", value: undefined },
    "match.algorithm": { flag: "--algorithm", value: undefined },
    "match.numDisparities": { flag: "--num-disparities", value: "64" },
    "match.minDisparity": { flag: "--min-disparity", value: undefined },
    "engine.backend": { flag: "--backend", value: undefined },
    "engine.threads": { flag: "--threads", value: undefined },
    "outputs.mqtt.broker": { flag: "--broker", value: "none" },
    base: { flag: "--base", value: undefined },
    device: { flag: "--device", value: undefined },
  });
});

test("a result takes the place of no input and of no other result", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-outputs-"));
  try {
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    writeFileSync(a, "");
    symlinkSync(a, b);
    const refusal = (
      read: Record<string, string | undefined>,
      written: Record<string, string | undefined>,
    ) => {
      try {
        checkOutputs(read, written);
        return undefined;
      } catch (error) {
        return (error as DepthwattError).message;
      }
    };
    expect(
      refusal({ LEFT: a, RIGHT: undefined }, { "-o": undefined, "--color": join(folder, "c") }),
    ).toBeUndefined();
    expect(refusal({ LEFT: a, RIGHT: a }, {})).toBeUndefined();
    expect(refusal({ LEFT: "x", RIGHT: a }, { "-o": b })).toBe(
      `expected -o and RIGHT to be two files, both are ${b}`,
    );
    expect(refusal({}, { "-o": a, "--plot": undefined, "--color": a })).toBe(
      `expected --color and -o to be two files, both are ${a}`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("hints name the flags of a command in place of the settings of a run", () => {
  const cause = new Error("x");
  const settings = ["username", "passwordFile", "caFile", "certFile", "keyFile"].map(
    (name) => `outputs.mqtt.${name}`,
  );
  const error = new DepthwattError("BROKER_REFUSED", "m", {
    hint: `Check ${settings.join(", ")} and outputs.mqtt.broker.`,
    context: { a: 1 },
    cause,
  });
  expect(withFlagsInHint(error)).toMatchObject({
    code: "BROKER_REFUSED",
    message: "m",
    hint: "Check --username, --password-file, --ca-file, --cert-file, --key-file and outputs.mqtt.broker.",
    context: { a: 1 },
    cause,
  });
});

describe("steps that change the machine", () => {
  const steps = (path: string): Step[] => [
    { kind: "remove", title: "old file", path },
    {
      kind: "run",
      title: "reload",
      words: ["/none/program", "x"],
      unlessMissing: "there is nothing to reload",
    },
  ];
  function perform(uid: number, isDry: boolean, path = "/none/file"): string {
    let out = "";
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      out += text;
      return true;
    });
    vi.spyOn(process, "getuid").mockReturnValue(uid);
    performSteps(steps(path), "install-service", isDry);
    return out;
  }

  test("are printed, with their number, and done by root alone", () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-steps-"));
    try {
      const path = join(folder, "file");
      mkdirSync(path);
      expect(perform(1000, true, path)).toBe(
        `  1/2  would remove ${path}\n  2/2  would run /none/program x\nNothing was changed.\n`,
      );
      expect(existsSync(path)).toBe(true);
      expect(perform(0, false, path)).toBe(
        `  1/2  remove ${path}\n  2/2  run /none/program x\n       left out: there is no /none/program; there is nothing to reload\n`,
      );
      expect(existsSync(path)).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(() => perform(1000, false)).toThrow(
      expect.objectContaining({
        code: "SERVICE_FAILED",
        message: "changing the services of a machine needs root",
        hint: "Run 'sudo depthwatt install-service', or add --dry-run to see each step.",
      }),
    );
  });
});

test("the bar is drawn ten times a second at most, and always at its end", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const written: string[] = [];
  const stream = { isTTY: true, columns: 200, write: (text: string) => written.push(text) };
  const progress = new Progress(stream as never);
  const at = (ms: number, done: number) => {
    vi.advanceTimersByTime(ms);
    progress.show(done, 40, "x");
  };
  at(2000, 10);
  at(99, 11);
  at(1, 12);
  at(0, 40);
  at(50, 13);
  const bar = (full: number) => `[${"#".repeat(full)}${"-".repeat(24 - full)}]`;
  // 10 in 2 s are 5 a second: 6 s for the other 30.
  expect(written.map((text) => text.replace("\r\u001b[K", ""))).toEqual([
    `${bar(6)} 25 % 10/40, 5.0/s, 0:06 left, x`,
    `${bar(7)} 30 % 12/40, 5.7/s, 0:04 left, x`,
    `${bar(24)} 100 % 40/40, 19.0/s, x`,
  ]);
  expect(written.every((text) => text.startsWith("\r\u001b[K"))).toBe(true);
});

// SPDX-License-Identifier: Apache-2.0
// Which source is meant, and where the flags go that several sources share.
import { describe, expect, test } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import { type ConfigRequest, loadConfig } from "../../../edge/config/index.js";
import { SETTING_BY_KEY } from "../../../edge/config/schema.js";
import { either } from "../../../edge/config/words.js";
import { kindOfPath, SOURCE_KINDS } from "../../../edge/sources/section.js";

const load = ({ environment, ...request }: ConfigRequest) =>
  loadConfig({ environment: { DEPTHWATT_BOARD: "none", ...environment }, ...request }).config.source;

function refusal(request: ConfigRequest): DepthwattError {
  try {
    load(request);
  } catch (error) {
    if (error instanceof DepthwattError) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}

/** The sources that have this setting. */
const kindsWith = (name: string) =>
  SOURCE_KINDS.filter((kind) => SETTING_BY_KEY.has(`source.${kind}.${name}`));
const inWords = (kinds: readonly string[]) => either(kinds.map((kind) => JSON.stringify(kind)));

const sides = {
  left: { flag: "--left", value: "l" },
  right: { flag: "--right", value: "r" },
  sideBySide: { flag: "--side-by-side", value: undefined },
};
const rate = (value: string) => ({ rateHz: { flag: "--rate", value } });

describe("shared flags go to the chosen source", () => {
  test.each(["replay", "v4l2"] as const)("%s, chosen by a flag", (kind) => {
    const flags = { "source.kind": { flag: "--source", value: kind } };
    const source = load({ flags, sourceFlags: { ...sides, ...rate("12") } });
    expect(source[kind]).toMatchObject({ left: "l", right: "r", rateHz: 12 });
    expect(source.synthetic.rateHz).toBe(30);
  });

  test("chosen by a variable, or by --set, which comes last", () => {
    const environment = { DEPTHWATT_SOURCE_KIND: "v4l2" };
    expect(load({ environment, sourceFlags: sides }).v4l2.left).toBe("l");
    const set = ["source.kind=replay"];
    expect(load({ environment, set, sourceFlags: sides })).toMatchObject({
      kind: "replay",
      replay: { left: "l" },
    });
  });

  test("below --set of the same setting", () => {
    expect(load({ sourceFlags: rate("12"), set: ["source.synthetic.rateHz=7"] }).synthetic.rateHz).toBe(7);
  });

  test("a source that has no such setting refuses the flag and names those that have", () => {
    const error = refusal({ sourceFlags: { left: sides.left } });
    expect([error.code, error.message]).toEqual([
      "CONFIG_INVALID",
      `source.kind (from --left): expected ${inWords(kindsWith("left"))} with --left, got "synthetic"`,
    ]);
  });
});

describe("the kind", () => {
  test.each([
    ["sinthetic", "synthetic"],
    ["v4l", "v4l2"],
    ["Replay", "replay"],
  ])("%s is refused and %s is named", (value, near) => {
    const error = refusal({ flags: { "source.kind": { flag: "--source", value } }, sourceFlags: sides });
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain(`source.kind (from --source): expected ${inWords(SOURCE_KINDS)}, got `);
    expect(error.message).toContain(`got "${value}"; did you mean "${near}"?`);
  });

  test("one that is like nothing gets no guess", () => {
    expect(refusal({ set: ["source.kind=lidar"] }).message).toMatch(/got "lidar"$/);
  });

  test("settings of a source that is not chosen are not ignored", () => {
    const error = refusal({ set: ["source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"] });
    expect(error.message).toBe(
      'source.kind (from --set): expected to be set with source.v4l2.left, got nothing, which is "synthetic"',
    );
    const both = load({ set: ["source.kind=synthetic", "source.v4l2.left=/dev/video0"] });
    expect(both.v4l2.left).toBe("/dev/video0");
  });

  test("images that are missing are reported with their keys", () => {
    expect(refusal({ set: ["source.kind=replay", "source.replay.left=a"] }).message).toContain(
      '"replay": expected source.replay.left and source.replay.right, or source.replay.sideBySide alone, ' +
        "got source.replay.left",
    );
  });

  test("a path names its source: devices are cameras, all else is a recording", () => {
    expect(kindOfPath("/dev/video0")).toBe("v4l2");
    expect(kindOfPath("recording/left")).toBe("replay");
  });
});

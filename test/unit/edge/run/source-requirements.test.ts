// SPDX-License-Identifier: Apache-2.0
// Images that a run requires of its source.
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../../edge/config/index.js";
import { colourNote, sourceRequirements } from "../../../../edge/run/source-requirements.js";

const configWith = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;

describe("images that a run requires", () => {
  const colours = (...set: string[]) => sourceRequirements(configWith(...set)).colours;

  test("have colours if the matcher, an output or points need them", () => {
    expect(colours()).toBe(false);
    expect(colours("match.algorithm=esaw")).toBe(true);
    expect(colours("points.colour=rgb")).toBe(true);
    expect(colours("outputs.mcap.file=a.mcap", "outputs.mcap.leftColours=true")).toBe(true);
  });

  test("are noted where the matcher reads colours and there are none", () => {
    const esaw = configWith("match.algorithm=esaw");
    expect(colourNote(esaw, { leftFormat: "GREY" })).toContain("the source's images (GREY) have");
    expect(colourNote(esaw, { leftFormat: "RGB8" })).toBeUndefined();
    expect(colourNote(configWith(), { leftFormat: "GREY" })).toBeUndefined();
  });
});

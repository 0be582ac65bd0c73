// SPDX-License-Identifier: Apache-2.0
// Tests which settings each source refuses, with the keys that it names, and which paths it claims.
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import {
  brokenSource,
  kindOfPath,
  SOURCE_KINDS,
  type SourceKind,
  sourceDefinition,
} from "../../../edge/sources/section.js";

const { source: DEFAULTS } = loadConfig({ environment: {}, set: ["board=none"] }).config;

function broken(kind: SourceKind, settings: object) {
  const section = { ...DEFAULTS[kind], ...settings };
  return brokenSource({ ...DEFAULTS, kind, [kind]: section } as never);
}
const images = { left: "a", right: "b" };
const raw = { ...images, format: "GREY" };

describe("command", () => {
  test.each<[object, string[] | undefined, string]>([
    [images, undefined, ""],
    [{ sideBySide: "a" }, undefined, ""],
    [
      { ...images, width: 640 },
      ["width"],
      "expected no source.command.width with y4m, which brings its own, got 640",
    ],
    [
      { ...images, height: 48, rateHz: 30 },
      ["height", "rateHz"],
      "expected no source.command.height with y4m, which brings its own, got 48",
    ],
    [{ ...raw, width: 640, height: 480 }, undefined, ""],
    [{ ...raw, width: 640, height: 480, rateHz: 30 }, undefined, ""],
    [raw, ["format"], "expected source.command.width and source.command.height with GREY, got neither"],
    [
      { ...raw, width: 640 },
      ["format"],
      "expected source.command.width and source.command.height with GREY, got source.command.width",
    ],
    [
      { ...raw, height: 480, rateHz: 5 },
      ["format"],
      "expected source.command.width and source.command.height with GREY, got source.command.height and source.command.rateHz",
    ],
    [{ ...images, right: "cat 'a" }, ["right"], "source.command.right: "],
    [{ ...images, left: "cat 'a" }, ["left"], "source.command.left: "],
    [{ sideBySide: 'cat "a' }, ["sideBySide"], "source.command.sideBySide: "],
    // With a shell, depthwatt does not split the command.
    [{ ...images, right: "cat 'a", shell: true }, undefined, ""],
  ])("%j breaks %j", (settings, keys, text) => {
    const found = broken("command", settings);
    expect(found?.keys).toEqual(keys?.map((key) => `source.command.${key}`));
    if (text.endsWith(": ")) expect(found!.text.startsWith(text)).toBe(true);
    else expect(found?.text ?? "").toBe(text);
  });
});

test.each<[object, object | undefined]>([
  [{}, { keys: ["source.foreign.command"], text: "expected source.foreign.command, got none" }],
  [{ command: "python3 a.py 'b c'" }, undefined],
  [
    { command: "cat 'a" },
    { keys: ["source.foreign.command"], text: expect.stringMatching(/^source\.foreign\.command: /) },
  ],
  [{ command: "cat 'a", shell: true }, undefined],
])("foreign: %j", (settings, expected) => expect(broken("foreign", settings)).toEqual(expected));

test("mcap needs a file, the built-in scene nothing", () => {
  expect(broken("mcap", {})).toEqual({
    keys: ["source.mcap.file"],
    text: "expected source.mcap.file to name a recording, got nothing",
  });
  expect(broken("mcap", { file: "a.mcap" })).toBeUndefined();
  expect(broken("synthetic", {})).toBeUndefined();
});

test.each<[object, object | undefined]>([
  [{ left: "/dev/video0", right: "/dev/video2" }, undefined],
  [{ sideBySide: "/dev/video0" }, undefined],
  [{ left: "/dev/video0", right: "/dev/video2", other: { device: "/dev/video4" } }, undefined],
  ...(["left", "right"] as const).map((side): [object, object] => [
    {
      left: "/dev/video0",
      right: "/dev/video2",
      other: { device: side === "left" ? "/dev/video0" : "/dev/video2" },
    },
    {
      keys: ["source.v4l2.other.device", `source.v4l2.${side}`],
      text: `expected another device than source.v4l2.${side}, got ${side === "left" ? "/dev/video0" : "/dev/video2"}`,
    },
  ]),
  [
    { sideBySide: "/dev/video0", other: { device: "/dev/video0" } },
    {
      keys: ["source.v4l2.other.device", "source.v4l2.sideBySide"],
      text: "expected another device than source.v4l2.sideBySide, got /dev/video0",
    },
  ],
  // Without a device there is none that could be the same.
  [{ sideBySide: "/dev/video0", other: {} }, undefined],
])("v4l2: %j", (settings, expected) => expect(broken("v4l2", settings)).toEqual(expected));

test("recordings are those that begin again, and devices are cameras", () => {
  expect(SOURCE_KINDS.filter((kind) => sourceDefinition(kind).isRecording)).toEqual(["mcap", "replay"]);
  expect(["/dev/video0", "dev/video0", "a.mcap", "folder/*.png"].map(kindOfPath)).toEqual([
    "v4l2",
    "replay",
    "replay",
    "replay",
  ]);
});

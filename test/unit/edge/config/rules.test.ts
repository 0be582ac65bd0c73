// SPDX-License-Identifier: Apache-2.0
// Every rule between settings on both sides of its border: which keys it names and what it says.
import { expect, test } from "vitest";
import { loadConfig, type Origin } from "../../../../edge/config/index.js";
import { brokenRules } from "../../../../edge/config/rules.js";
import type { Config } from "../../../../edge/config/schema.js";

const { config: DEFAULTS, origins: ORIGINS } = loadConfig({ environment: {}, set: ["board=none"] });

/** The rules that a configuration breaks which differs from the defaults by these groups. */
function broken(changes: object, origins: ReadonlyMap<string, Origin> = ORIGINS) {
  const merge = (into: Record<string, unknown>, from: object) => {
    for (const [key, value] of Object.entries(from)) {
      const isGroup = typeof value === "object" && value !== null;
      into[key] = isGroup ? merge({ ...(into[key] as object) }, value) : value;
    }
    return into;
  };
  return brokenRules(merge(structuredClone(DEFAULTS) as never, changes) as unknown as Config, origins);
}

const search = (minDisparity: number) => ({ match: { minDisparity, numDisparities: 512 } });
const depth = (minMetres: number, maxMetres: number) => ({ depth: { minMetres, maxMetres } });
const images = { left: "l", right: "r" };
const asleep = (kind: string) => ({ source: { kind, replay: images }, power: { dutyCycle: { frames: 5 } } });
const power = (clocks: string, modes?: string) => ({ power: { clocks, modes } });
const millimetres = { element: "int16" };
const mcap = (points: boolean, file?: string, element = "int16") => ({
  points: { element },
  outputs: { mcap: { points, file } },
});
const ros = (enabled: boolean, points: boolean, element = "int16") => ({
  points: { element },
  outputs: { ros: { enabled, points } },
});
const colour = (name: string, camera?: string) => ({ points: { colour: name }, registration: { camera } });

const LONG = "b".repeat(201);

test.each<[object, [keys: string[], text: string] | undefined]>([
  [{}, undefined],
  [search(1535), undefined],
  [
    search(1536),
    [
      ["match.numDisparities", "match.minDisparity"],
      "expected match.minDisparity + match.numDisparities to be at most 2047, got 2048",
    ],
  ],
  [depth(2, 0), undefined],
  [depth(2, 2), undefined],
  [
    depth(2.5, 2),
    [
      ["depth.minMetres", "depth.maxMetres"],
      "expected at most depth.maxMetres, 2, or depth.maxMetres = 0 for no limit, got 2.5",
    ],
  ],
  [asleep("synthetic"), undefined],
  [
    asleep("replay"),
    [
      ["power.dutyCycle.frames", "source.kind"],
      'expected to be unset, because the recording (source.kind "replay") would begin again after each sleep, got 5',
    ],
  ],
  [{ source: { kind: "replay", replay: images } }, undefined],
  [power("auto"), undefined],
  [power("off", "15W"), undefined],
  [
    power("auto", "15W"),
    [
      ["power.clocks", "power.modes"],
      'expected to be "off", because power.modes changes the same clocks, got "auto"',
    ],
  ],
  [{ base: "a/b", device: "c" }, undefined],
  [{ base: LONG }, [["base"], `expected at most 200 bytes of UTF-8, got "${LONG}"`]],
  [{ device: "a/b" }, [["device"], `expected a single topic level, without '/', got "a/b"`]],
  [mcap(true, "a.mcap", "float32"), undefined],
  [mcap(true), undefined],
  [mcap(false, "a.mcap"), undefined],
  [
    mcap(true, "a.mcap"),
    [
      ["points.element", "outputs.mcap.points"],
      "expected float32, because a recording has points in metres, got int16",
    ],
  ],
  [ros(true, true, "float32"), undefined],
  [ros(false, true), undefined],
  [ros(true, false), undefined],
  [
    ros(true, true),
    [
      ["points.element", "outputs.ros.points"],
      "expected float32, because a PointCloud2 has points in metres, got int16",
    ],
  ],
  [{ points: millimetres }, undefined],
  [colour("left"), undefined],
  [colour("registered", "thermal"), undefined],
  [
    colour("registered"),
    [
      ["registration.camera", "points.colour"],
      "expected the name of the camera whose images colour points, got none",
    ],
  ],
  [
    colour("registered", "right"),
    [
      ["registration.camera", "points.colour"],
      "expected the name of the camera whose images colour points, got right",
    ],
  ],
  [
    { source: { kind: "replay" } },
    [
      ["source.kind"],
      '"replay": expected source.replay.left and source.replay.right, or source.replay.sideBySide alone, got none of them',
    ],
  ],
  [{ control: { enabled: false } }, undefined],
  [
    { control: { enabled: true } },
    [
      ["control.secretFile", "control.enabled"],
      "expected to be set with control.enabled, unless http.passwordFile is, or control.authentication is broker; got nothing",
    ],
  ],
  [{ control: { enabled: true, secretFile: "/s" } }, undefined],
  // The page asks for the password, which is the secret then.
  [{ control: { enabled: true }, http: { passwordFile: "/p" } }, undefined],
  [
    { control: { enabled: true, authentication: "broker" } },
    [
      ["control.authentication", "outputs.mqtt.broker"],
      "expected secret, because the embedded broker lets everybody in, got broker",
    ],
  ],
  [
    { control: { enabled: true, authentication: "broker" }, outputs: { mqtt: { broker: "mqtt://h" } } },
    undefined,
  ],
  [
    { http: { address: "0.0.0.0" } },
    [
      ["http.address", "http.passwordFile"],
      "expected http.passwordFile or http.clientCaFile with an address that others reach, got 0.0.0.0 alone",
    ],
  ],
  [{ http: { address: "0.0.0.0", passwordFile: "/p" } }, undefined],
])("a configuration that differs by %j", (changes, expected) => {
  expect(broken(changes)).toEqual(expected === undefined ? [] : [{ keys: expected[0], text: expected[1] }]);
});

test("every rule that is broken is reported", () => {
  const all = broken({ ...search(1536), ...depth(3, 2), ...power("auto", "15W") });
  expect(all.map(({ keys }) => keys[0])).toEqual(["match.numDisparities", "depth.minMetres", "power.clocks"]);
});

test.each<[string, Origin["kind"], Origin["kind"], boolean]>([
  ["source.v4l2.left", "flag", "default", true],
  ["source.v4l2.left", "file", "default", true],
  // A board has settings of all sources, and the chosen source may be the default by name.
  ["source.v4l2.left", "board", "default", false],
  ["source.v4l2.left", "default", "default", false],
  ["source.v4l2.left", "flag", "flag", false],
  ["source.synthetic.width", "flag", "default", false],
  ["match.numDisparities", "flag", "default", false],
])("%s from a %s, with the kind from a %s: refused %s", (key, kind, kindOfKind, isRefused) => {
  const origins = new Map<string, Origin>([
    ["source.kind", { kind: kindOfKind, name: "" }],
    [key, { kind, name: "" }],
  ]);
  const text = `expected to be set with ${key}, got nothing, which is "synthetic"`;
  expect(broken({}, origins)).toEqual(isRefused ? [{ keys: ["source.kind", key], text }] : []);
});

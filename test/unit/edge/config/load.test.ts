// SPDX-License-Identifier: Apache-2.0
// Precedence, origins, refusals: what a configuration is made of and what it never lets pass.
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { changedConfig } from "../../../../edge/config/change.js";
import {
  type ConfigRequest,
  loadConfig,
  nearestName,
  type Problem,
  SETTINGS,
} from "../../../../edge/config/index.js";
import { expectedWords } from "../../../../edge/config/words.js";
import { cpuMsSince } from "../../../doubles/cpu-time.js";

let folder: string;
let boards: { folder: string; root: string };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-config-"));
  boards = { folder: join(folder, "boards"), root: join(folder, "tree") };
  mkdirSync(boards.folder);
  mkdirSync(join(boards.root, "proc/device-tree"), { recursive: true });
  const board = {
    extends: "generic-x86",
    name: "test-board",
    title: "A board of this test",
    compatible: ["vendor,carrier", "vendor,module"],
    settings: { match: { sgm: { paths: 2, p1: 5 } }, engine: { threads: 3 } },
  };
  writeFileSync(join(boards.folder, "test-board.json"), JSON.stringify(board));
  writeFileSync(
    join(boards.root, "proc/device-tree/compatible"),
    "other,carrier\0vendor,module\0vendor,soc\0",
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const load = (request: ConfigRequest = {}) =>
  loadConfig({ environment: {}, boards: { ...boards, root: "/nowhere" }, ...request });

function refusal(request: ConfigRequest): DepthwattError {
  try {
    load(request);
  } catch (error) {
    if (error instanceof DepthwattError) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}
const problems = (error: DepthwattError) => error.context.problems as Problem[];

test("each setting says when it takes effect; a section says it for all in it, and its settings may say otherwise", () => {
  const live = SETTINGS.filter(({ takesEffect }) => takesEffect === "live").map(({ key }) => key);
  const groups = ["match.algorithm", "region.x", "refine.median", "outputs.mqtt.depth.encoding"];
  const single = ["outputs.metricsIntervalMs", "outputs.mqtt.rateHz", "power.minFps", "log.level"];
  expect(live).toEqual(expect.arrayContaining([...groups, ...single]));
  const late = [
    "device",
    "board",
    "source.command.left",
    "engine.threads",
    "outputs.mqtt.broker",
    "power.modes",
  ];
  for (const key of late) expect(live).not.toContain(key);
});

describe("precedence", () => {
  test("with nothing given, every value is a default", () => {
    const { config, origins } = load();
    expect(config.match.sgm.paths).toBe(4);
    expect(config.outputs.mqtt.broker).toBe("embedded");
    expect(config.source.replay.left).toBeUndefined();
    expect(new Set([...origins.values()].map((origin) => origin.kind))).toEqual(new Set(["default"]));
  });

  test("each source overrides those below it, and the origin reports it", () => {
    const path = file(
      "all.yaml",
      "match: {sgm: {p1: 6, p2: 60, uniqueness: 1, adaptiveP2: 1}}\nbase: from-file\n",
    );
    const { config, origins } = load({
      boards,
      file: path,
      environment: { DEPTHWATT_MATCH_SGM_P2: "70", DEPTHWATT_MATCH_SGM_UNIQUENESS: "2" },
      flags: { "match.sgm.uniqueness": { flag: "--uniqueness", value: "3" } },
      set: ["match.sgm.adaptiveP2=4"],
    });
    expect(config.match.sgm).toMatchObject({
      paths: 2,
      p1: 6,
      p2: 70,
      uniqueness: 3,
      adaptiveP2: 4,
      subpixel: true,
    });
    const boardFile = join(boards.folder, "test-board.json");
    expect(origins.get("match.sgm.subpixel")).toEqual({ kind: "default", name: "" });
    expect(origins.get("match.sgm.paths")).toEqual({ kind: "board", name: boardFile });
    expect(origins.get("match.sgm.p1")).toEqual({ kind: "file", name: path });
    expect(origins.get("match.sgm.p2")).toEqual({ kind: "environment", name: "DEPTHWATT_MATCH_SGM_P2" });
    expect(origins.get("match.sgm.uniqueness")).toEqual({ kind: "flag", name: "--uniqueness" });
    expect(origins.get("match.sgm.adaptiveP2")).toEqual({ kind: "flag", name: "--set" });
  });

  test("the last --set wins", () => {
    expect(load({ set: ["match.sgm.paths=2", "match.sgm.paths=8"] }).config.match.sgm.paths).toBe(8);
  });

  test("DEPTHWATT_CONFIG names the file where no flag does", () => {
    const path = file("env.json", '{"base": "by-variable"}');
    expect(load({ environment: { DEPTHWATT_CONFIG: path } }).config.base).toBe("by-variable");
  });
});

describe("text becomes the setting's type", () => {
  test("numbers, switches, unions and names that look like numbers", () => {
    const { config } = load({
      set: [
        "source.replay.rateHz=max",
        "refine.median=false",
        "match.numDisparities=128",
        "device=007",
        "source.kind=replay",
      ],
      flags: {
        "source.replay.left": { flag: "--left", value: "l" },
        "source.replay.right": { flag: "--right", value: "r" },
      },
    });
    expect(config.source.replay.rateHz).toBe("max");
    expect(config.refine.median).toBe(false);
    expect(config.match.numDisparities).toBe(128);
    expect(config.device).toBe("007");
    expect(load({ set: ["source.synthetic.rateHz=12.5"] }).config.source.synthetic.rateHz).toBe(12.5);
  });

  test("an empty text unsets an optional setting", () => {
    const path = file("user.yaml", "outputs: {mqtt: {username: anna}}\n");
    expect(load({ file: path }).config.outputs.mqtt.username).toBe("anna");
    expect(
      load({ file: path, set: ["outputs.mqtt.username="] }).config.outputs.mqtt.username,
    ).toBeUndefined();
  });

  test("an empty path is refused and not taken as the folder", () => {
    const path = file("empty.yaml", "calibration: {file: ''}\n");
    expect(refusal({ file: path })).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("calibration.file"),
    });
    expect(() => changedConfig(load({}).config, { "calibration.file": " " }, "a test")).toThrow(
      /calibration.file/,
    );
  });

  test("paths in a file are relative to that file", () => {
    const path = file("paths.yaml", "calibration: {file: 'left.yaml, ../right.yaml'}\n");
    expect(load({ file: path }).config.calibration.file).toBe(
      `${folder}/left.yaml,${join(folder, "../right.yaml")}`,
    );
  });

  test("every setting that names a file is a path", () => {
    const files = SETTINGS.filter(({ key }) => /file$/i.test(key));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter(({ facts }) => facts.isPath !== true).map(({ key }) => key)).toEqual([]);
  });
});

describe("a configuration of another program", () => {
  test("thousands of unknown keys are reported by their first ones, at once", () => {
    const keys = Array.from({ length: 20_000 }, (_, i) => `"numDisparitees${i}": 1`);
    const path = file("foreign.json", `{${keys.join(",")}}`);
    const before = process.cpuUsage();
    const error = refusal({ file: path });
    expect(cpuMsSince(before)).toBeLessThan(10_000);
    expect(error.code).toBe("CONFIG_UNKNOWN_KEY");
    expect(error.message.split("\n")).toHaveLength(22);
    expect(error.message).toMatch(/^20000 settings are wrong:\n {2}numDisparitees0 /);
    expect(error.message).toMatch(/\n {2}and 19980 more$/);
  });

  test("a key that stands twice is refused with its place", () => {
    const path = file("twice.yaml", "match:\n  p1: 3\n  p2: 9\n  p1: 4\n");
    expect(refusal({ file: path }).message).toBe(
      `${path}:4:3: expected YAML or JSON: Map keys must be unique`,
    );
  });

  test("a key of megabytes is cut, and compared with nothing", () => {
    for (const length of [101, 100_000, 3_000_000]) {
      const path = file("long.json", `{"${"k".repeat(length)}": 1}`);
      const before = process.cpuUsage();
      const { message } = refusal({ file: path });
      // Reading 3 MB of YAML is most of it; the comparison with each name took hours.
      expect(cpuMsSince(before)).toBeLessThan(10_000);
      expect(message).toMatch(/^k{97}\.\.\. \(from .*\): no setting has this name$/);
    }
    const before = process.cpuUsage();
    expect(refusal({ set: [`${"m".repeat(1_000_000)}=1`] }).message.length).toBeLessThan(200);
    expect(refusal({ set: [`publish.broker=${":".repeat(200_000)}`] }).message.length).toBeLessThan(400);
    expect(cpuMsSince(before)).toBeLessThan(2000);
  });
});

describe("refusals", () => {
  test("the name that was meant is looked for in its own section first", () => {
    const known = ["source.replay.path", "match.sgm.paths", "path"];
    expect(nearestName("match.path", known)).toBe("match.sgm.paths");
    expect(nearestName("MATCH.SGM.PATH", known)).toBe("match.sgm.paths");
    expect(nearestName("match.zzzzzz", known)).toBeUndefined();
  });

  test("what run would refuse is refused here: names that are no topics, a broker URL that is none", () => {
    for (const key of ["base", "device"]) {
      expect(loadConfig({ set: [`${key}=${"b".repeat(200)}`], environment: {} }).config).toMatchObject({
        [key]: "b".repeat(200),
      });
      for (const length of [201, 300])
        expect(refusal({ set: [`${key}=${"b".repeat(length)}`] }).message).toMatch(
          new RegExp(`^${key} .*at most 200 bytes of UTF-8`),
        );
    }
    expect(refusal({ set: ["device=a/b"] }).message).toMatch(/^device .*expected one MQTT topic level/);
    expect(refusal({ set: ["outputs.mqtt.broker=mqtt://host:99999"] }).message).toMatch(
      /^outputs\.mqtt\.broker .*with a host name/,
    );
  });

  test("an unknown key names the nearest one", () => {
    const error = refusal({ set: ["match.numDisparity=64"] });
    expect(error.code).toBe("CONFIG_UNKNOWN_KEY");
    expect(error.message).toBe(
      'match.numDisparity (from --set): no setting has this name; did you mean "match.numDisparities"?',
    );
    expect(refusal({ environment: { DEPTHWATT_MATCH_PATH: "4" } }).message).toContain(
      "DEPTHWATT_MATCH_SGM_PATHS",
    );
    expect(refusal({ file: file("top.yaml", "numDisparities: 4\n") }).message).toContain(
      "match.numDisparities",
    );
  });

  test("a name that is like nothing gets no guess", () => {
    expect(refusal({ set: ["zebra=1"] }).message).toBe("zebra (from --set): no setting has this name");
  });

  test("a wrong value says what was expected, what came and where it stood", () => {
    const path = file("wrong.yaml", "match:\n  sgm:\n    paths: 5\n");
    const error = refusal({ file: path });
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.exitCode).toBe(2);
    expect(error.message).toBe(`match.sgm.paths (from ${path}): expected 2, 4 or 8, got 5`);
  });

  test("all problems come at once", () => {
    const error = refusal({
      file: file("many.yaml", "match: {sgm: {p1: 0}, wrong: 1}\nrefine: 7\n"),
      environment: { DEPTHWATT_ENGINE_BACKEND: "gpu" },
      set: ["source.synthetic.rateHz=-1"],
    });
    const keys = problems(error).map((problem) => problem.key);
    expect(keys.sort()).toEqual([
      "engine.backend",
      "match.sgm.p1",
      "match.wrong",
      "refine",
      "source.synthetic.rateHz",
    ]);
    expect(error.message.split("\n")).toHaveLength(6);
  });

  test("a value hidden by a higher source is still checked", () => {
    expect(
      refusal({ environment: { DEPTHWATT_MATCH_SGM_PATHS: "3" }, set: ["match.sgm.paths=4"] }).message,
    ).toContain("3");
  });

  test("a file that is not there, or not YAML, is named with its line", () => {
    expect(refusal({ file: "/no/such.yaml" }).code).toBe("CONFIG_UNREADABLE");
    const error = refusal({ file: file("bad.yaml", "match:\n  paths: [1\nx: {\n") });
    expect(error.code).toBe("CONFIG_UNREADABLE");
    expect(error.message).toMatch(/bad\.yaml:\d+:\d+: expected YAML or JSON/);
  });

  test("aliases that multiply without end are refused", () => {
    const level = (name: string, of: string) => `${name}: &${name} [${Array(9).fill(`*${of}`).join(", ")}]\n`;
    const names = ["b", "c", "d", "e", "f", "g"];
    const text = `a: &a [x]\n${names.map((name, i) => level(name, i === 0 ? "a" : names[i - 1]!)).join("")}`;
    expect(refusal({ file: file("bomb.yaml", text) }).code).toBe("CONFIG_UNREADABLE");
  });

  test.each([
    [
      "deep.yaml",
      "[".repeat(100_000),
      /deep\.yaml:1:101: expected YAML or JSON: nesting of more than 100 levels$/,
    ],
    ["two.yaml", "match: {}\n---\nmatch: {}\n", /two\.yaml:2:1: .*multiple documents$/],
    [
      "twice.yaml",
      "match: {numDisparities: 4}\nmatch: {numDisparities: 8}\n",
      /twice\.yaml:2:1: .*keys must be unique$/,
    ],
  ])("%s is refused in words a user knows", (name, text, message) => {
    const error = refusal({ file: file(name, text) });
    expect(error.code).toBe("CONFIG_UNREADABLE");
    expect(error.message).toMatch(message);
  });

  test("a file that is not UTF-8 is refused, not read with other letters", () => {
    const path = join(folder, "latin.yaml");
    writeFileSync(path, Buffer.from("device: caf\xe9\n", "latin1"));
    const error = refusal({ file: path });
    expect([error.code, error.message]).toEqual([
      "CONFIG_UNREADABLE",
      `${path}: expected text in UTF-8, found other bytes`,
    ]);
    writeFileSync(path, Buffer.from("\ufeffdevice: café\n"));
    expect(load({ file: path }).config.device).toBe("café");
  });

  test("the error about a dotted name in a file explains how files nest", () => {
    const error = refusal({ file: file("dotted.yaml", "outputs.mqtt.depth.enabled: false\n") });
    expect(error.code).toBe("CONFIG_UNKNOWN_KEY");
    expect(error.message).toMatch(
      /inside each other, outputs: \{ mqtt: \{ depth: \{ enabled: \.\.\. \} \} \}, got dots in a name$/,
    );
    expect(error.message).not.toContain("did you mean");
  });

  test("a board config that is not there says why it cannot be read", () => {
    const error = refusal({ set: ["board=./no-such-board.json"] });
    expect(error.code).toBe("CONFIG_UNREADABLE");
    expect(error.message).toMatch(/\.\/no-such-board\.json cannot be read: ENOENT/);
    const list = file("list.json", "[1]");
    expect(refusal({ set: [`board=${list}`] }).message).toContain(`${list}: expected a board config`);
  });

  test("a board config of gigabytes, or a device without end, is not read", () => {
    const huge = file("huge.json", "");
    truncateSync(huge, 2 ** 33);
    for (const path of [huge, "/dev/zero"]) {
      const error = refusal({ set: [`board=${path}`] });
      expect(error.code).toBe("CONFIG_UNREADABLE");
      expect(error.message).toMatch(/cannot be read: (8589934592 bytes|a device), where/);
    }
  });

  test("ranges that are open at one end, or have none, are reported without their missing end", () => {
    const reported = (assignment: string) => refusal({ set: [assignment] }).message;
    expect(reported("calibration.lengthUnitMetres=0")).toMatch(/expected .*a number above 0/);
    for (const setting of SETTINGS)
      expect(expectedWords(setting), setting.key).not.toMatch(/undefined|NaN|9007199254740991|\s$/);
  });

  test("names that every object has are unknown like others", () => {
    const path = file("proto.json", '{"constructor": {"x": 1}, "toString": 2, "__proto__": {"y": 3}}');
    const keys = problems(refusal({ file: path })).map((problem) => problem.key);
    expect(keys.sort()).toEqual(["__proto__", "constructor", "toString"]);
  });

  test.each([
    ["match.sgm.p1=.nan", "got NaN"],
    ["match.sgm.p1=1e999", "got Infinity"],
    ["device=#", 'got "#"'],
    ["device=a\u001bb", 'got "a\\u001bb"'],
    ["base=site/\u0007", 'got "site/\\u0007"'],
  ])("%j is shown as it was typed", (assignment, found) => {
    expect(refusal({ set: [assignment] }).message).toContain(found);
  });

  test("a wrong variable is named", () => {
    expect(refusal({ environment: { DEPTHWATT_MATCH_SGM_PATHS: "3" } }).message).toMatch(
      /^match\.sgm\.paths \(from DEPTHWATT_MATCH_SGM_PATHS\): /,
    );
  });

  test("--set without a value is a usage error", () => {
    expect(refusal({ set: ["match.sgm.paths"] }).code).toBe("USAGE");
  });

  test("--set without a key is a usage error", () => {
    for (const assignment of ["=5", "="]) expect(refusal({ set: [assignment] }).code).toBe("USAGE");
  });

  test("the search may end at 2047 pixels, the last that sixteenths in 16 bits hold", () => {
    const search = (min: number) => ({ set: [`match.minDisparity=${min}`, "match.numDisparities=512"] });
    expect(load(search(2047 - 512)).config.match.minDisparity).toBe(1535);
    expect(refusal(search(2048 - 512)).message).toContain("at most 2047, got 2048");
  });

  test("points in millimetres are refused where ROS or a recording publishes points, and only there", () => {
    const millimetres = "points.element=int16";
    for (const set of [
      ["outputs.ros.enabled=true", "outputs.ros.points=false"],
      ["outputs.ros.enabled=false", "outputs.ros.points=true"],
      ["outputs.mcap.file=a.mcap", "outputs.mcap.points=false"],
      ["outputs.mcap.points=true"],
    ])
      expect(load({ set: [millimetres, ...set] }).config.points.element, set.join()).toBe("int16");
    const ros = ["outputs.ros.enabled=true", "outputs.ros.points=true"];
    expect(refusal({ set: [millimetres, ...ros] }).message).toContain("PointCloud2");
    const recording = ["outputs.mcap.file=a.mcap", "outputs.mcap.points=true"];
    expect(refusal({ set: [millimetres, ...recording] }).message).toContain("recording");
  });
});

describe("rules between settings", () => {
  test.each([
    [["match.sgm.p1=30", "match.sgm.p2=20"], "match.sgm.p1"],
    [["match.algorithm=cbca", "match.cbca.armX=141", "match.cbca.armY=58"], "match.cbca.armX"],
    [["match.algorithm=cbca", "match.cbca.armXRight=135", "match.cbca.armY=61"], "match.cbca.armXRight"],
    [["match.minDisparity=1600", "match.numDisparities=512"], "match.numDisparities"],
    [["match.halfResolution=true", "match.numDisparities=15"], "match.numDisparities"],
    [["source.kind=replay"], "source.kind"],
    [["source.kind=replay", "source.replay.left=a"], "source.kind"],
    [
      ["source.kind=v4l2", "source.v4l2.left=a", "source.v4l2.right=b", "source.v4l2.sideBySide=c"],
      "source.kind",
    ],
    [["source.replay.left=a"], "source.kind"],
    [["outputs.mqtt.broker=mqtts://h", "outputs.mqtt.certFile=a"], "outputs.mqtt.certFile"],
    [["outputs.mqtt.broker=mqtt://h", "outputs.mqtt.caFile=a"], "outputs.mqtt.caFile"],
    [["outputs.mqtt.protocolVersion=5"], "outputs.mqtt.protocolVersion"],
  ])("%j is refused under %s", (set, key) => {
    const error = refusal({ set });
    expect(error.code).toBe("CONFIG_INVALID");
    expect(problems(error).map((problem) => problem.key)).toEqual([key]);
  });

  test("the bounds themselves are allowed", () => {
    expect(load({ set: ["match.sgm.p1=20", "match.sgm.p2=20"] }).config.match.sgm.p1).toBe(20);
    expect(
      load({ set: ["match.minDisparity=1535", "match.numDisparities=512"] }).config.match.minDisparity,
    ).toBe(1535);
    expect(load({ set: ["match.numDisparities=15"] }).config.match.halfResolution).toBe("auto");
    const longest = ["match.algorithm=cbca", "match.cbca.armX=141", "match.cbca.armY=57"];
    expect(load({ set: longest }).config.match.cbca).toMatchObject({ armX: 141, armY: 57 });
    const half = ["match.halfResolution=true", "match.numDisparities=16"];
    expect(load({ set: half }).config.match).toMatchObject({ halfResolution: true, numDisparities: 16 });
    expect(
      load({ set: ["outputs.mqtt.broker=mqtts://h:8883", "outputs.mqtt.caFile=a"] }).config.outputs.mqtt
        .caFile,
    ).toBe("a");
  });

  test("the source that broke the rule is named, not the default", () => {
    expect(refusal({ set: ["match.sgm.p2=5"] }).message).toContain("(from --set)");
  });
});

describe("boards", () => {
  test("the device tree chooses, its most particular entry first", () => {
    const { board } = load({ boards });
    expect(board.name).toBe("test-board");
    expect(board.reason).toBe("the device tree says vendor,module");
  });

  test("none, a name and a file choose; an unknown name is refused with the nearest", () => {
    expect(load({ boards, set: ["board=none"] }).config.match.sgm.paths).toBe(4);
    expect(load({ set: ["board=test-board"] }).config.match.sgm.paths).toBe(2);
    expect(load({ set: [`board=${join(boards.folder, "test-board.json")}`] }).board.reason).toBe(
      "its file was given",
    );
    const error = refusal({ set: ["board=test-bord"] });
    expect(error.hint).toBe('Did you mean "test-board"?');
  });

  test("an unknown board runs on defaults and says what it saw", () => {
    const root = join(folder, "alien");
    mkdirSync(join(root, "proc/device-tree"), { recursive: true });
    writeFileSync(join(root, "proc/device-tree/compatible"), "acme,thing\0");
    const { board, config } = load({ boards: { ...boards, root } });
    expect(board.name).toBeUndefined();
    expect(board.reason).toContain("acme,thing");
    expect(config.match.sgm.paths).toBe(4);
  });

  test("a wrong setting in a board config is refused like any other", () => {
    const path = file(
      "bad-board.json",
      '{"extends":"generic-x86","name":"b","title":"B","settings":{"match":{"sgm":{"paths":3}}}}',
    );
    expect(refusal({ set: [`board=${path}`] }).message).toContain("match.sgm.paths");
  });
});

test("a flag of the source's section comes after the other flags and before --set", () => {
  const rate = (set: string[]) =>
    loadConfig({
      set: ["board=none", ...set],
      flags: { "source.synthetic.rateHz": { flag: "--other", value: "9" } },
      sourceFlags: { rateHz: { flag: "--rate", value: "12" } },
      environment: {},
    }).config.source.synthetic.rateHz;
  expect([rate([]), rate(["source.synthetic.rateHz=5"])]).toEqual([12, 5]);
});

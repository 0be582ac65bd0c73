// SPDX-License-Identifier: Apache-2.0
// Every board config, and every board's constructed tree: found out, its rails read, its total made by its own rule.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { engineAddon } from "../../../cuda/index.js";
import {
  boardTotalRule,
  detectBoard,
  JETPACK_FAMILIES,
  known,
  L4T_RELEASES,
  listBoards,
  loadBoardFile,
  loadBoards,
  PREDICTED_SPEED,
  readL4t,
  SHIPPED_BOARDS,
} from "../../../edge/boards/index.js";
import { loadConfig, matchParameters } from "../../../edge/config/index.js";
import { openBestSensor, readContext } from "../../../power/index.js";
import {
  boardFromConfig,
  buildBoardTree,
  CONSTRUCTED_BOARDS,
  REFERENCE_BOARDS,
} from "../../doubles/board-trees.js";
import { SysfsTree } from "../../doubles/sysfs-tree.js";

const boards = loadBoards();
const NAMES = listBoards();

/** Every object below `node`, with its dotted key. */
function* objectsIn(node: unknown, key = ""): Generator<[string, Record<string, unknown>]> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield [key, node as Record<string, unknown>];
  for (const [name, child] of Object.entries(node))
    yield* objectsIn(child, key === "" ? name : `${key}.${name}`);
}

describe("board configs", () => {
  test.each(NAMES)("%s is valid, its facts have sources, its unknown values say why", (name) => {
    const board = loadBoardFile(join(SHIPPED_BOARDS, `${name}.json`));
    expect(board.name).toBe(name);
    let facts = 0;
    for (const [key, item] of objectsIn(board)) {
      if ("unknown" in item) expect(String(item.unknown).length, key).toBeGreaterThan(10);
      if (!("verified" in item) || key === "identity") continue;
      facts++;
      expect(String(item.source), key).toMatch(/^https:\/\/[a-z]/);
      if (item.evidence === "memory") expect(item.verified, key).toBe(false);
    }
    if (!name.startsWith("generic")) expect(facts).toBeGreaterThan(6);
  });

  test("no two boards claim the same identity string, and every total is made of the board's own rails", () => {
    const strings = boards.flatMap((board) => board.compatible);
    expect(new Set(strings).size).toBe(strings.length);
    const parts = boards.flatMap((board) => board.identity.modules);
    expect(new Set(parts).size).toBe(parts.length);
    for (const { name, power } of boards) {
      if (!("value" in power.total) || !("value" in power.rails)) continue;
      const labels = power.rails.value.map((rail) => rail.label);
      expect(labels, name).toEqual(expect.arrayContaining(power.total.value.rails));
    }
  });

  test("a recommendation is labelled by its kind, and names a mode the board has", () => {
    for (const { name, modes, recommended } of boards) {
      if (!Array.isArray(recommended)) continue;
      for (const item of recommended) {
        expect(item.source.startsWith(item.kind), `${name}: ${item.source}`).toBe(true);
        // Decision 0033: more paths cost more and give less.
        if (item.kind === "predicted" && item.algorithm === "sgm") expect(item.paths, name).toBe(4);
        if ("value" in modes)
          expect(
            modes.value.map((mode) => mode.name),
            name,
          ).toContain(item.mode);
      }
    }
  });
});

describe("the search of a board", () => {
  test.each(Object.keys(PREDICTED_SPEED))("%s takes coarseToFine only where a gain is predicted", (name) => {
    const multiprocessors = known(boards.find((board) => board.name === name)!.gpu.multiprocessors)!;
    const chosen = PREDICTED_SPEED[name]!.filter((frame) => {
      const set = [`board=${name}`, `match.numDisparities=${frame.numDisparities}`];
      const match = matchParameters(loadConfig({ environment: {}, set }).config.match);
      const choice = engineAddon().chooseSearch(match, frame, { instructionSet: "cuda", multiprocessors });
      return choice?.chosen === "coarseToFine";
    });
    expect(chosen.length).toBeGreaterThan(0);
    for (const { full, coarseToFine } of chosen) expect(coarseToFine / full).toBeGreaterThan(1.25);
  });
});

test("the predicted frame rates are those of the page of boards", () => {
  const page = readFileSync("docs/reference/boards.md", "utf8");
  const printed = [...page.matchAll(/^\| ([^|]+) \| (\d+) x (\d+), (\d+) \| ([\d.]+) \| ([\d.]+) \|$/gm)].map(
    ([, title, ...numbers]) => [title!, ...numbers.map(Number)],
  );
  const rows = Object.entries(PREDICTED_SPEED).flatMap(([name, frames]) =>
    frames.map(({ width, height, numDisparities, full, coarseToFine }) => [
      boards.find((board) => board.name === name)!.title,
      ...[width, height, numDisparities, full, coarseToFine],
    ]),
  );
  const sorted = (list: (string | number)[][]) => list.map((row) => row.join()).sort();
  expect(sorted(rows)).toEqual(sorted(printed));
  expect(rows).toHaveLength(39);
});

describe("a board config of one's own", () => {
  test("extends a shipped one and replaces facts whole, never a value without its source", () => {
    using tree = new SysfsTree();
    const total = {
      value: { rails: ["VIN_SYS_5V0"], reason: "my carrier feeds everything through it" },
      source: "https://example.org/carrier",
      evidence: "read",
      verified: true,
    };
    tree.write({
      "mine.json": JSON.stringify({
        extends: "agx-orin-64gb",
        name: "mine",
        title: "Mine",
        power: { total },
      }),
    });
    const own = loadBoardFile(tree.path("mine.json"));
    expect(own.power.total).toEqual(total);
    expect(own.gpu).toEqual(boards.find((board) => board.name === "agx-orin-64gb")!.gpu);
  });

  test("is refused with file and key: wrong type, unknown key, circle, verified without having been read", () => {
    using tree = new SysfsTree();
    const file = tree.path("bad.json");
    const refused = (text: object): string => {
      writeFileSync(file, JSON.stringify(text));
      try {
        loadBoardFile(file);
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused({ extends: "nano", title: 7 })).toMatch(/bad\.json: title/);
    expect(refused({ extends: "nano", colour: "green" })).toMatch(/colour/);
    expect(refused({ extends: "bad.json" })).toMatch(/circle/);
    const claimed = { value: 1, source: "https://example.org", evidence: "memory", verified: true };
    expect(refused({ extends: "nano", gpu: { multiprocessors: claimed } })).toMatch(/gpu\.multiprocessors/);
    expect(refused({ extends: "nowhere" })).toMatch(/cannot be read/);
  });
});

describe("detection on constructed trees", () => {
  test.each(Object.entries(CONSTRUCTED_BOARDS))("%s: identity, rails and total", (name, constructed) => {
    using tree = buildBoardTree(constructed);
    const detection = detectBoard(boards, { root: tree.root });
    expect(detection.board?.name).toBe(name);
    expect(detection.level).toBe("board");
    expect(detection.evidence.model).toBe(constructed.model);
    expect(detection.evidence.l4t?.note).toBe("");
    const totalRule = boardTotalRule(detection)!;
    const sensor = openBestSensor({ root: tree.root, totalRule });
    if (!("rails" in sensor)) throw new Error(sensor.reason);
    const readings = sensor.read();
    const seen = Object.fromEntries(
      sensor.rails.map(({ label }, i) => [
        label,
        (readings[i] as { powerMilliwatts: number }).powerMilliwatts,
      ]),
    );
    expect(seen).toEqual(constructed.rails);
    if (!("rails" in sensor.total)) throw new Error(sensor.total.reason);
    const total = sensor.total.rails.reduce((sum, label) => sum + seen[label]!, 0);
    expect(total).toBeCloseTo(constructed.totalMilliwatts, 6);
    if (constructed.modes.length > 0) {
      expect(readContext({ root: tree.root }).powerMode).toBe(constructed.modes[0]);
    }
  });

  test.each(Object.entries(CONSTRUCTED_BOARDS))(
    "%s: without one rail of the total there is no total",
    (name, constructed) => {
      using tree = buildBoardTree(constructed);
      const { board } = detectBoard(boards, { root: tree.root });
      const rule = board!.power.total;
      if (!("value" in rule)) throw new Error(`${name} has no total`);
      const lost = rule.value.rails.at(-1)!;
      for (const [file, text] of Object.entries(constructed.files)) {
        if (text === `${lost}\n`) tree.write({ [file]: "NC\n" });
      }
      if (lost === "VIN") tree.remove("sys/bus/i2c/devices/2-0044");
      const sensor = openBestSensor({ root: tree.root, choice: "ina3221", totalRule: rule.value });
      if (!("rails" in sensor)) throw new Error(sensor.reason);
      expect(sensor.total).toMatchObject({
        available: false,
        reason: expect.stringContaining(`${lost} was not found`),
      });
    },
  );

  test.each(Object.entries(CONSTRUCTED_BOARDS))(
    "%s: text that is no number, a read that fails midway and a removed monitor cost one rail, and come back",
    (_name, constructed) => {
      using tree = buildBoardTree(constructed);
      const totalRule = boardTotalRule(detectBoard(boards, { root: tree.root }))!;
      const sensor = openBestSensor({ root: tree.root, totalRule });
      if (!("rails" in sensor)) throw new Error(sensor.reason);
      const at = sensor.rails.findIndex(({ label }) => label === totalRule.rails.at(-1));
      const file = sensor.rails[at]!.sourcePath;
      const good = readFileSync(file, "utf8");
      const reasons = (): (string | undefined)[] =>
        sensor.read().map((reading) => (reading.available ? undefined : reading.reason));
      const others = () =>
        reasons().filter((_, i) => i !== at && !sensor.rails[i]!.sourcePath.includes(lost));
      const lost = dirname(file);

      writeFileSync(file, "NaN\n");
      expect(reasons()[at]).toContain('expected a whole number, got "NaN"');
      expect(sensor.read().filter((reading) => !reading.available)).toHaveLength(1);
      // A file that opens and cannot be read, as a bus that does not answer.
      rmSync(file);
      mkdirSync(file);
      expect(reasons()[at]).toContain(file);
      expect(sensor.read().filter((reading) => !reading.available)).toHaveLength(1);
      // The monitor is gone: its rails report it, those of other monitors continue.
      rmSync(file, { recursive: true });
      renameSync(lost, `${lost}.gone`);
      expect(reasons()[at]).toContain("does not exist");
      expect(others().every((reason) => reason === undefined)).toBe(true);
      renameSync(`${lost}.gone`, lost);
      writeFileSync(file, good);
      expect(sensor.read()[at]).toMatchObject({
        available: true,
        powerMilliwatts: constructed.rails[totalRule.rails.at(-1)!],
      });
    },
  );

  test("every tree of the reference tables is of a board with a config", () => {
    expect(NAMES).toEqual(expect.arrayContaining(Object.keys(REFERENCE_BOARDS)));
  });

  const fromConfigs = boards.flatMap((board) => {
    const constructed = boardFromConfig(board);
    return constructed === undefined ? [] : [[board.name, constructed] as const];
  });

  test.each(fromConfigs)("%s: a tree made from its config is detected as this board", (name, constructed) => {
    using tree = buildBoardTree(constructed);
    const detection = detectBoard(boards, { root: tree.root });
    expect(detection).toMatchObject({ level: "board", board: { name } });
    const sensor = openBestSensor({ root: tree.root, totalRule: boardTotalRule(detection)! });
    if (!("rails" in sensor)) throw new Error(sensor.reason);
    expect(sensor.rails.map(({ label }) => label).sort()).toEqual(Object.keys(constructed.rails).sort());
    expect(sensor.total).toHaveProperty("rails");
  });

  const tree = (files: Record<string, string>) => new SysfsTree().write(files);
  const deviceTree = (compatible: string[], model = "Some Carrier") => ({
    "proc/device-tree/compatible": `${compatible.join("\0")}\0`,
    "proc/device-tree/model": `${model}\0`,
  });

  test("a vendor's carrier board is known by its module", () => {
    using carrier = tree(deviceTree(["acme,rugged-box", "acme,carrier+p3767-0000", "nvidia,tegra234"]));
    expect(detectBoard(boards, { root: carrier.root })).toMatchObject({
      level: "module",
      board: { name: "orin-nx-16gb" },
    });
    using family = tree(deviceTree(["acme,thing+p3668-0099", "nvidia,tegra194"]));
    expect(detectBoard(boards, { root: family.root })).toMatchObject({
      level: "module",
      board: { name: "xavier-nx" },
    });
  });

  test("super modes on a carrier are seen by the mode list", () => {
    using carrier = tree({
      ...deviceTree(["acme,box+p3767-0003", "nvidia,tegra234"]),
      "etc/nvpmodel.conf": "< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n",
    });
    expect(detectBoard(boards, { root: carrier.root }).board?.name).toBe("orin-nano-super");
  });

  test("super modes on a carrier are seen by the model's name", () => {
    using carrier = tree(deviceTree(["acme,box+p3767-0003", "nvidia,tegra234"], "Acme Box Orin Nano Super"));
    expect(detectBoard(boards, { root: carrier.root }).board?.name).toBe("orin-nano-super");
    using plain = tree(deviceTree(["acme,box+p3767-0003", "nvidia,tegra234"], "Acme Superbox Orin Nano"));
    expect(detectBoard(boards, { root: plain.root }).board?.name).toBe("orin-nano-8gb");
  });

  test("only the chip: the model's name helps, the smallest board is taken, and no total is claimed", () => {
    using named = tree(deviceTree(["acme,x", "nvidia,tegra234"], "Acme with Jetson Orin NX inside"));
    const byName = detectBoard(boards, { root: named.root });
    expect(byName).toMatchObject({ level: "guess", board: { name: expect.stringMatching(/^orin-nx/) } });
    expect(byName.reason).toContain("would fit too");
    expect(boardTotalRule(byName)).toBeUndefined();
    using nameless = tree(deviceTree(["acme,x", "nvidia,tegra234"]));
    expect(detectBoard(boards, { root: nameless.root }).board?.name).toBe("orin-nano-4gb");
  });

  test("only the chip: the reason names the chip, the model if it counts, and the other boards that would fit", () => {
    const board = (name: string, models: string[], gigabytesPerSecond?: number) =>
      ({
        name,
        compatible: [],
        identity: { modules: [], soc: ["v,other", "v,chip"], models },
        memory: {
          gigabytesPerSecond:
            gigabytesPerSecond === undefined ? { unknown: "" } : { value: gigabytesPerSecond },
        },
      }) as unknown as (typeof boards)[number];
    const [fast, slow, unknown] = [
      board("fast", ["Pro"], 200),
      board("slow", ["Lite"], 50),
      board("unknown", []),
    ];
    using chip = tree(deviceTree(["acme,x", "v,chip"], "Acme Pro"));
    using nameless = tree(deviceTree(["acme,x", "v,chip"], "Acme"));
    const found = (root: string, ...list: (typeof boards)[number][]) => {
      const { board: chosen, level, reason } = detectBoard(list, { root, architecture: "arm64" });
      return [chosen?.name, level, reason];
    };
    expect(found(chip.root, fast, slow, unknown)).toEqual([
      "fast",
      "guess",
      'only the chip v,chip and the model "Acme Pro" is known',
    ]);
    expect(found(nameless.root, fast, unknown, slow)).toEqual([
      "slow",
      "guess",
      "only the chip v,chip is known; fast, unknown would fit too, the smallest is taken",
    ]);
    expect(found(nameless.root, fast)).toEqual(["fast", "guess", "only the chip v,chip is known"]);
    expect(found(nameless.root)).toEqual([undefined, "none", "no board config names acme,x, v,chip"]);
  });

  test("a PC is generic, with or without an NVIDIA driver; anything else is nothing, with the reason", () => {
    using pc = tree({ "etc/hostname": "pc" });
    expect(detectBoard(boards, { root: pc.root, architecture: "x64" }).board?.name).toBe("generic-x86");
    expect(detectBoard(boards, { root: pc.root, architecture: "arm64" })).toMatchObject({
      level: "none",
      board: undefined,
    });
    using gpu = tree({ "proc/driver/nvidia/version": "NVRM version: 570" });
    expect(detectBoard(boards, { root: gpu.root, architecture: "x64" }).board?.name).toBe("generic-nvml");
    using pi = tree(deviceTree(["raspberrypi,5-model-b", "brcm,bcm2712"]));
    expect(detectBoard(boards, { root: pi.root, architecture: "arm64" }).reason).toContain(
      "raspberrypi,5-model-b",
    );
  });
});

describe("L4T", () => {
  const release = (major: number, revision: string) =>
    readL4t(`# R${major} (release), REVISION: ${revision}, GCID: 1`)!;

  test("known lines", () => {
    expect(release(32, "7.4")).toMatchObject({ version: "32.7.4", cuda: "10.2", note: "" });
    expect(release(35, "4.1")).toMatchObject({ jetpack: "5.0.2 to 5.1.6", cuda: "11.4", note: "" });
    expect(release(36, "4.3")).toMatchObject({ jetpack: "6.1 to 6.2.1", cuda: "12.6", note: "" });
    expect(release(39, "2.1")).toMatchObject({ jetpack: "7.2", cuda: "13.2", note: "" });
  });

  // By the tables of NVIDIA's releases: both ends of each line.
  test.each([
    ["32.7.1", "32.7.6", "4.6.1 to 4.6.6", "10.2"],
    ["35.1.0", "35.6.4", "5.0.2 to 5.1.6", "11.4"],
    ["36.2.0", "36.2.9", "6.0 DP", "12.2"],
    ["36.3.0", "36.3.9", "6.0", "12.2"],
    ["36.4.0", "36.4.9", "6.1 to 6.2.1", "12.6"],
    ["36.5.0", "36.5.9", "6.2.2 to 6.2.3", "12.6"],
    ["38.2.0", "38.2.9", "7.0", "13.0"],
    ["38.4.0", "38.4.9", "7.1", "13.0"],
    ["39.0.0", "39.0.9", "7.2 EA", "13.2"],
    ["39.2.0", "39.2.9", "7.2", "13.2"],
  ])("%s to %s are JetPack %s", (first, last, jetpack, cuda) => {
    const read = (version: string) => release(Number(version.slice(0, 2)), version.slice(3));
    for (const version of [first, last])
      expect(read(version)).toEqual({ version, jetpack, cuda, family: `jetpack${jetpack[0]}`, note: "" });
    // A revision without a patch is the first of its line.
    expect(readL4t(`# R${first.slice(0, 2)} (release), REVISION: ${first.slice(3, 4)}`)?.version).toBe(
      first.slice(0, 4),
    );
  });

  test.each([
    ["32.7.0", "32.7.1"],
    ["32.7.7", "32.7.1"],
    ["35.0.9", "35.1"],
    ["35.6.5", "35.1"],
    ["38.3.9", "38.2"],
    ["39.1.0", "39.0"],
  ])("%s is outside of its line, and taken for %s", (version, near) => {
    expect(release(Number(version.slice(0, 2)), version.slice(3)).note).toBe(
      `L4T ${version} is not known; taken for ${near}, the nearest of its major version`,
    );
  });

  test("an unknown release degrades within its major version and never jumps", () => {
    expect(release(36, "9.1")).toMatchObject({
      jetpack: "6.2.2 to 6.2.3",
      note: expect.stringContaining("36.5"),
    });
    expect(release(35, "0.1")).toMatchObject({ cuda: "11.4", note: expect.stringContaining("35.1") });
    expect(release(40, "1.0")).toMatchObject({
      jetpack: undefined,
      cuda: undefined,
      note: expect.stringContaining("40"),
    });
    expect(readL4t("something else")).toBeUndefined();
  });
});

test("the files are formatted as this project's JSON is", () => {
  for (const name of NAMES) {
    const text = readFileSync(join(SHIPPED_BOARDS, `${name}.json`), "utf8");
    expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
  }
});

describe("releases of L4T", () => {
  const at = (release: string) => {
    const [major, ...rest] = release.split(".");
    return readL4t(`# R${major} (release), REVISION: ${rest.join(".")}, GCID: 1, BOARD: generic`);
  };

  test.each([
    ["32.3.1", "jetpack4", "10.2"],
    ["35.9.1", "jetpack5", "11.4"],
    ["36.4.10", "jetpack6", "12.6"],
    ["36.8.0", "jetpack6", "12.6"],
    ["38.7.0", "jetpack7", "13.0"],
    ["39.2.1", "jetpack7", "13.2"],
    ["39.5.0", "jetpack7", "13.2"],
  ])("%s, known or not, is of its major version: %s", (release, family, cuda) => {
    expect(at(release)).toMatchObject({ family, cuda });
  });

  test("an unknown one says which release is assumed; an unknown major version is of no JetPack", () => {
    expect(at("36.8.0")?.note).toBe(
      "L4T 36.8.0 is not known; taken for 36.5, the nearest of its major version",
    );
    expect(at("36.4.10")?.note).toBe("");
    expect(at("41.1.0")).toMatchObject({ family: undefined, jetpack: undefined, cuda: undefined });
  });

  test("every major version is of one JetPack, whose plugin has code for all of its boards", () => {
    for (const { major } of L4T_RELEASES)
      expect(Object.values(JETPACK_FAMILIES).filter(({ l4t }) => l4t.includes(major))).toHaveLength(1);
    for (const [name, { architectures, cuda }] of Object.entries(JETPACK_FAMILIES)) {
      const members = boards.filter((board) =>
        known(board.software.jetpack)?.some((major) => name === `jetpack${major}`),
      );
      const needed = members.flatMap((board) => known(board.gpu.nvccArchitectures) ?? []).map(String);
      expect([...new Set(needed)].sort()).toEqual([...architectures].sort());
      for (const board of members)
        expect(known(board.software.cuda)?.some((version) => Number.parseInt(version, 10) === cuda)).toBe(
          true,
        );
    }
  });

  test("JetPack 7.2 is one release for Orin and Thor", () => {
    const withSeven = boards
      .filter((board) => known(board.software.cuda)?.includes("13.2"))
      .map(({ name }) => name);
    expect(withSeven).toEqual(expect.arrayContaining(["orin-nano-8gb", "agx-orin-64gb", "agx-thor-t5000"]));
  });
});

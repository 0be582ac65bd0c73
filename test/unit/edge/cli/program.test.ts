// SPDX-License-Identifier: Apache-2.0
// The command line as a user meets it: help with examples, one-line errors with a hint, exit codes, clean stdout.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DepthwattError } from "../../../../core/index.js";
import { buildProgram, runCommandLine } from "../../../../edge/cli/program.js";
import { reportError } from "../../../../edge/cli/report-error.js";
import { screenPage } from "../../../../edge/commands/capture/screen-page.js";
import { PRESETS } from "../../../../edge/presets/index.js";

let out = "";
let err = "";
beforeEach(() => {
  out = "";
  err = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(() => void vi.restoreAllMocks());

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

describe("help", async () => {
  const program = await buildProgram();
  const commands = program.commands.flatMap(everyCommand);

  test.each(commands.map((command) => command.name()))("%s --help ends with an example", (name) => {
    const command = commands.find((candidate) => candidate.name() === name)!;
    command.outputHelp();
    const lines = out.trimEnd().split("\n");
    expect(lines.at(-1)).toMatch(/^ {2}\$ ([A-Z_]+=\S+ )?(depthwatt|npm) /);
    expect(command.description()).not.toBe("");
  });

  test.each([60, 80, 109])(
    "in a terminal of %i columns no line is longer but usage and examples",
    (columns) => {
      const { isTTY, columns: before } = process.stdout;
      Object.assign(process.stdout, { isTTY: true, columns });
      try {
        for (const command of [program, ...commands]) command.outputHelp();
      } finally {
        Object.assign(process.stdout, { isTTY, columns: before });
      }
      const lines = out.split("\n").filter((line) => !/^Usage:|^ {2}\$ /.test(line));
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
      expect(out.replace(/\s+/g, " ")).toContain(
        "convert [options] <in> <out> recordings into images, point clouds, tables and previews; folders of images",
      );
    },
  );

  test("the list of commands is the same when no command's own module is loaded", async () => {
    program.outputHelp();
    const whole = out;
    out = "";
    (await buildProgram("")).outputHelp();
    expect(out).toBe(whole);
  });

  test("where it is piped every description stands next to its name", () => {
    program.outputHelp();
    expect(out).toMatch(/^ {2}convert .* recordings into images, .* folders of images into recordings$/m);
    expect(out).toContain("6 done but\nsomething was left out, 70 a bug.\nBegin with: depthwatt run, then");
  });

  test("the example lines are understood by the program itself", () => {
    for (const command of commands) {
      out = "";
      command.outputHelp();
      const examples = out.match(/^ {2}\$ depthwatt .*$/gm) ?? [];
      for (const example of examples) {
        const words = example.trim().slice("$ depthwatt ".length).split(" ");
        const known = program.commands.find((candidate) => candidate.name() === words[0]);
        expect(known, example).toBeDefined();
        const long = words.filter((word) => word.startsWith("--")).map((word) => word.split("=")[0]);
        const options = everyCommand(known!).flatMap((item) => item.options.map((option) => option.long));
        for (const option of long) expect(options, example).toContain(option);
      }
    }
  });

  test("every argument of every command is described", () => {
    for (const command of commands)
      for (const argument of command.registeredArguments)
        expect(argument.description, `${command.name()} ${argument.name()}`).not.toBe("");
  });

  test("nothing given prints help and is a usage error", async () => {
    expect(await runCommandLine([])).toBe(2);
    expect(err).toContain("Usage: depthwatt");
  });

  test.each([
    [["-h"], "depthwatt [options] [command]"],
    [["help"], "depthwatt [options] [command]"],
    [["help", "help"], "depthwatt [options] [command]"],
    [["help", "run"], "depthwatt run [options]"],
    [["run", "-h"], "depthwatt run [options]"],
    [["help", "config", "explain"], "depthwatt config explain [options] <key>"],
  ])("%j prints that command's help", async (words, usage) => {
    expect(await runCommandLine(words)).toBe(0);
    expect(out).toContain(`Usage: ${usage}\n`);
    expect(err).toBe("");
  });

  test.each(["--version", "-V"])("%s prints package.json's version alone", async (word) => {
    expect(await runCommandLine([word])).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("errors", () => {
  test.each([
    [
      ["help", "confg"],
      "error: unknown command 'confg'\nhint: Did you mean config? Run 'depthwatt --help'.\n",
    ],
    [["confg"], "error: unknown command 'confg'\nhint: Did you mean config? Run 'depthwatt --help'.\n"],
    [
      ["config", "--prnt"],
      "error: unknown option '--prnt'\nhint: Did you mean --print? Run 'depthwatt config --help'.\n",
    ],
    [["profile", "compare"], "error: missing required argument 'a'\nhint: Run 'depthwatt profile --help'.\n"],
    [["config", "explain"], "error: missing required argument 'key'\nhint: Run 'depthwatt config --help'.\n"],
    [
      ["config", "explain", "match.sgm.p3"],
      'error: no setting is called "match.sgm.p3"\nhint: Did you mean "match.sgm.p1"?\n',
    ],
  ])("%j", async (words, expected) => {
    expect(await runCommandLine(words)).toBe(2);
    expect(err).toBe(expected);
    expect(out).toBe("");
  });

  test("--json also prints the error as JSON on stdout, also after an earlier result", async () => {
    expect(await runCommandLine(["presets", "--json"])).toBe(0);
    expect(() => JSON.parse(out)).not.toThrow();
    [out, err] = ["", ""];
    expect(await runCommandLine(["config", "explain", "match.sgm.p1", "--json"])).toBe(2);
    const message = "expected config explain with a key alone, got --json with it";
    const hint = "Run the command with --help.";
    expect(err).toBe(`error: ${message}\nhint: ${hint}\n`);
    expect(JSON.parse(out)).toEqual({ error: { code: "USAGE", message, hint } });
  });

  test("an error of the catalogue is one line, its hint and its exit code", () => {
    expect(
      reportError(new DepthwattError("BROKER_UNREACHABLE", "no answer from mqtt://h"), "depthwatt run"),
    ).toBe(5);
    expect(err).toBe(
      "error: no answer from mqtt://h\n" +
        "hint: Check the URL, or use 'depthwatt run --broker embedded', which starts its own broker.\n",
    );
  });

  test("an error of the addon is reported by its code", () => {
    const native = Object.assign(new Error("paths: expected 2, 4 or 8, got 3"), { code: "ENGINE_PARAMETER" });
    expect(reportError(native, "depthwatt run")).toBe(4);
    expect(err).toMatch(/^error: paths: expected 2, 4 or 8, got 3\nhint: /);
  });

  test("what we do not know shows its stack and exits 70", () => {
    expect(reportError(new TypeError("x is undefined"), "depthwatt run")).toBe(70);
    expect(err).toContain("TypeError: x is undefined\n    at ");
    expect(err).toContain("error: this is a bug in depthwatt");
    expect(reportError("a string", "depthwatt run")).toBe(70);
  });
});

describe("a password in a broker's URL", () => {
  const url = "mqtt://anna:s3cret@127.0.0.1:1";
  test.each<string[]>([
    ["run", "--broker", `${url}:x`],
    ["run", "--broker", "amqp://anna:s3cret@h"],
    ["run", "--broker", "mqtt:/anna:s3cret@h"],
    ["run", "--broker", "mqtt://anna:s3cret%zz@h"],
    [
      "run",
      "--broker",
      "none",
      "--set",
      "power.sensor=mqtt",
      "--set",
      "power.supply.broker=mqtt://anna:s3cret@",
    ],
    ["consume", "mqtt://anna:s3cret@ho st"],
    ["consume", "mqtt://anna:s3cret%zz@127.0.0.1:1"],
    ["consume", "anna:s3cret@h:1883"],
  ])("is not printed where the URL is refused: %s %s %s", async (...words) => {
    const small = words[0] === "run" ? ["--frames", "1", "--set", "source.synthetic.width=32"] : [];
    const supply = words.includes("power.sensor=mqtt") ? ["--set", "power.supply.topic=t"] : [];
    expect(await runCommandLine([...words, ...small, ...supply])).toBe(2);
    expect(err).toMatch(/^error: .*\nhint: .*\n$/);
    expect(out + err).not.toContain("s3cret");
  });

  test("is not printed where no broker answers, and hints speak of consume's flags", async () => {
    expect(await runCommandLine(["consume", url, "--timeout", "0.2"])).toBe(5);
    expect(out + err).not.toContain("s3cret");
    expect(err).toContain("mqtt://127.0.0.1:1 does not answer");
  });
});

test.each([["consume"], ["fleet"], ["get", "--device", "x", "--broker"]])(
  "where a broker refuses the password, the hint of %s names its own flags",
  async (...words) => {
    const refuse = (socket: Socket) =>
      socket.on("data", () => socket.write(Buffer.from([0x20, 3, 0, 0x86, 0])));
    const server = createServer((socket) => void refuse(socket).on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    expect(await runCommandLine([...words, `mqtt://anna:s3cret@127.0.0.1:${port}`])).toBe(5);
    server.close();
    expect(err).toContain("hint: Check --username and the first line of --password-file.\n");
    expect(err).not.toContain("outputs.mqtt.");
  },
);

test("fleet reports a broker that closes the connection while it listens", async () => {
  const close = (socket: Socket) => socket.on("data", () => socket.end(Buffer.from([0x20, 3, 0, 0, 0])));
  const server = createServer((socket) => void close(socket).on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await runCommandLine(["fleet", `mqtt://127.0.0.1:${port}`, "--seconds", "0.3"])).toBe(5);
  server.close();
  expect(err).toContain("closed the connection");
});

test("a name from a file cannot command the terminal", () => {
  reportError(new DepthwattError("CONFIG_INVALID", "a\u001b[2J\rb: no setting"), "depthwatt");
  expect(err).toContain("error: a\\u001b[2J\\u000db: no setting\n");
});

describe("files without an end", () => {
  const device = "/dev/zero";
  test.each<[string[], number]>([
    [["match", device, device], 3],
    [["run", "--config", device], 2],
    [["run", "--broker", "none", "--left", device, "--right", device, "--source", "replay"], 3],
    [["consume", "mqtt://127.0.0.1:9", "--username", "u", "--password-file", device], 2],
  ])("are refused before they are read: %j", async (words, code) => {
    expect(await runCommandLine(words)).toBe(code);
    expect(err).toMatch(/\/dev\/zero.*(a device, where a file was expected|ENODEV|read by its owner)/s);
    expect(err).toMatch(/^hint: /m);
  });
});

describe("capture", () => {
  test.each(["-1", "many", "1.5"])(
    "a number of pairs to skip that is none is a usage error: %s",
    async (skip) => {
      const words = ["capture", "--left", "/dev/l", "--right", "/dev/r", "--frames", "1", "--save", "x"];
      expect(await runCommandLine([...words, "--skip", skip])).toBe(2);
      expect(err).toMatch(/--skip.*expected a whole number of 0 or more/);
    },
  );

  test.each([
    [["--save", "x"], /expected --frames with the number of pairs/],
    [["--frames", "3"], /expected one of --save, --sync-test, --screen-page and --find-defects/],
    [["--screen-page", "x.html", "--save", "x"], /expected one of --save/],
    [["--frames", "3", "--sync-test", "tv"], /expected Hz, from 1 to 20000, or screen/],
  ])("%s is a usage error", async (words, message) => {
    expect(await runCommandLine(["capture", ...words])).toBe(2);
    expect(err).toMatch(message);
  });

  test("--screen-page writes the page without a camera", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-screen-page-"));
    try {
      const page = join(folder, "counter.html");
      expect(await runCommandLine(["capture", "--screen-page", page])).toBe(0);
      expect(readFileSync(page, "utf8")).toBe(screenPage());
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("match", () => {
  test.each([
    ["-o", "out.tif", ".pfm, .png or .ply"],
    ["-o", "out", ".pfm, .png or .ply"],
    ["--color", "out.pfm", ".png for a colour picture"],
  ])(
    "an output name that means no format is refused before anything is read: %s %s",
    async (flag, name, endings) => {
      expect(await runCommandLine(["match", "no-left.png", "no-right.png", flag, name])).toBe(2);
      expect(err).toBe(
        `error: expected an output name ending in ${endings}, found "${name}"\nhint: Give the file one of these endings: ${endings}.\n`,
      );
    },
  );
});

describe("eval", () => {
  const twice = ["--sweep", "match.sgm.p1=8:10:1", "--sweep", "refine.rounds=1,2"];
  test.each([
    [["--plot", "x.svg"], "expected --sweep with --plot, got nothing"],
    [["--sweep", "p1=8:10:1", "--heat-map", "x.svg"], "expected --sweep twice with --heat-map, got 1 of it"],
    [[...twice, "--plot", "x.svg", "--heat-map", "x.svg"], "expected --heat-map and --plot to be two files"],
    [
      ["--sweep", "p1=8:10:1", "--sweep", "match.sgm.p1=1,2"],
      "two parameters to sweep, got match.sgm.p1 twice",
    ],
    [
      ["--sweep", "p1=8:10:1", "--set", "match.sgm.p1=9"],
      "expected --sweep or --set of match.sgm.p1, got both",
    ],
    [["--sweep", "p1=8,9000,9"], "match.sgm.p1 (from --sweep): expected a whole number from 1 to 1023"],
    [["--sweep", "p1=8:10:0.5"], "(from --sweep): expected a whole number from 1 to 1023 (cost), got 8.5"],
    [
      [...twice.slice(0, 3), "rounds=1,5,2"],
      "refine.rounds (from --sweep): expected a whole number from 1 to 4",
    ],
  ])("an invalid sweep is reported before a scene is read: %j", async (words, expected) => {
    expect(await runCommandLine(["eval", "no-such-folder", ...words])).toBe(2);
    expect(err).toContain(expected);
    expect(err).not.toContain("no-such-folder");
  });
});

test("install-service prints no unit for an instance that cannot be", async () => {
  expect(await runCommandLine(["install-service", "--print-unit", "--instance", "a/b"])).toBe(2);
  expect(err).toContain("--instance: expected up to 32 letters");
  expect(out).toBe("");
});

describe("config", () => {
  test("--json holds every value with its origin, and no password", async () => {
    await runCommandLine(["config", "--json", "--set", "outputs.mqtt.broker=mqtt://anna:secret@host"]);
    const { settings } = JSON.parse(out);
    expect(settings["match.sgm.paths"]).toEqual({ value: 4, origin: "default", from: null });
    expect(settings["outputs.mqtt.broker"]).toEqual({
      value: "mqtt://anna:(hidden)@host",
      origin: "flag",
      from: "--set",
    });
    expect(settings["source.replay.left"].value).toBeNull();
  });

  test("--print is one line per setting with its origin", async () => {
    await runCommandLine(["config", "--print", "--set", "match.sgm.paths=8"]);
    expect(out).toMatch(/^match\.sgm\.paths +8 +from --set$/m);
    expect(out).toMatch(/^match\.sgm\.p1 +\d+ +default$/m);
  });

  test("--schema is JSON Schema with ranges, units and defaults", async () => {
    await runCommandLine(["config", "--schema"]);
    const schema = JSON.parse(out);
    expect(schema.properties.match.properties.sgm.properties.p1).toMatchObject({
      minimum: 1,
      maximum: 1023,
      unit: "cost",
    });
    expect(schema.additionalProperties).toBe(false);
    expect(schema.required).toBeUndefined();
    expect(schema.properties.match.required).toBeUndefined();
  });

  test("explain says how to set a value in every way", async () => {
    await runCommandLine(["config", "explain", "match.numDisparities"]);
    expect(out).toContain("DEPTHWATT_MATCH_NUM_DISPARITIES");
    expect(out).toContain("--set match.numDisparities=VALUE");
    expect(out).toContain("match: { numDisparities: VALUE }");
  });
});

const main = resolve(import.meta.dirname, "../../../../dist/edge/cli/main.js");

test("a closed pipe ends the program quietly", () => {
  const pipeline = `set -o pipefail; ${process.execPath} ${main} config --schema | true`;
  const result = spawnSync("bash", ["-c", pipeline], { encoding: "utf8" });
  expect(result.stderr).toBe("");
  expect(result.status).toBe(0);
});

test("a long error into a slow pipe keeps its end, the hint", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-program-"));
  const path = join(folder, "long.json");
  const list = Array.from({ length: 20 }, (_, i) => `"${i}": 1`).join(",");
  writeFileSync(path, `{${list}}`);
  // Named in each line: twenty times 4000 letters are more than a pipe holds.
  const config = `${folder}/${"./".repeat(1990)}long.json`;
  const words = `${process.execPath} ${main} config --config ${config}`;
  // The pipe is full long before its reader begins.
  const pipeline = `{ ${words} 2>&1 >/dev/null; echo "exit $?" >&2; } | { sleep 2; cat; }`;
  const { stdout, stderr } = spawnSync("bash", ["-c", pipeline], { encoding: "utf8", maxBuffer: 1 << 22 });
  expect(stderr).toBe("exit 2\n");
  expect(stdout).toMatch(/^error: 20 settings are wrong/);
  expect(stdout.length).toBeGreaterThan(70_000);
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^hint: /);
  rmSync(folder, { recursive: true });
});

test("a full disk behind stdout is an error of one line", () => {
  const command = `${process.execPath} ${main} config --schema > /dev/full`;
  const { status, stderr } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
  expect(stderr).toMatch(/^error: cannot write to stdout: ENOSPC.*\nhint: .*\n$/);
  expect(status).toBe(3);
});

test("an instruction set that is none is refused with those that are there", () => {
  const DEPTHWATT_ISA = "mmx";
  const environment = { ...process.env, DEPTHWATT_ISA };
  const { status, stderr } = spawnSync(process.execPath, [main, "run", "--broker", "none", "--frames", "1"], {
    encoding: "utf8",
    env: environment,
  });
  expect(stderr).toMatch(/^error: DEPTHWATT_ISA: expected an .*scalar.*, got "mmx"\nhint: Unset /m);
  expect(stderr).not.toContain("    at ");
  expect(status).toBe(2);
});

describe("presets", () => {
  test("each with its summary, its source and its figures, ours next to the published", async () => {
    expect(await runCommandLine(["presets"])).toBe(0);
    const text = out.replaceAll(/\n {2}(?=\S)/g, " ");
    for (const [name, { summary, source }] of Object.entries(PRESETS)) {
      expect(out, name).toMatch(new RegExp(`^${name}$`, "m"));
      expect(text, name).toContain(`${summary}. Values: ${source}.`);
    }
    expect(out).toMatch(/^ {2}9\.688 +9\.6 +% +Middlebury v2, /m);
    expect(out).toMatch(/^ {2}- +24\.09 +% +Middlebury v3 training, /m);
    expect(err).toBe("");
  });

  test("--json: settings, and where each figure is from", async () => {
    expect(await runCommandLine(["presets", "--json"])).toBe(0);
    const list = JSON.parse(out);
    expect(list.map(({ name }: { name: string }) => name)).toEqual(Object.keys(PRESETS));
    expect(list).toEqual(Object.entries(PRESETS).map(([name, preset]) => ({ name, ...preset })));
  });
});

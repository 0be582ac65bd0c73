// SPDX-License-Identifier: Apache-2.0
// Fuzzes command lines: every flag that takes a file gets an invalid one, and every command gets random flags. Each
// ends soon, with an error in words or with its work done, and does not touch existing files. DEPTHWATT_HOSTILE_COUNT:
// tries of each kind. DEPTHWATT_SEED repeats a failure.
import { execFileSync, spawn } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { COMMANDS } from "../../edge/commands/list.js";
import { PROGRAM, type Ran, runProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 12);
const random = new Random();
const pick = <T>(from: readonly T[]): T => from[random.whole(0, from.length - 1)]!;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-lines-"));
const counts: Record<string, number> = {};
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};
const root = process.getuid?.() === 0;

let pictures: { folder: string; left: string; right: string };
beforeAll(async () => {
  const scene = join(folder, "scene");
  const size = ["--width", "96", "--height", "64", "--ideal"];
  expect((await runProgram(["scene", "--frames", "2", "--out", scene, ...size])).code).toBe(0);
  const first = (side: string) => join(scene, side, readdirSync(join(scene, side)).sort()[0]!);
  pictures = { folder: scene, left: first("left"), right: first("right") };
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  console.log(`command lines, seed ${random.seed}: ${JSON.stringify(counts)}`);
});

/** Invalid files. Devices are the test's own nodes: a mistake must not cost the machine its /dev/null. */
const KINDS: Record<string, (path: string) => unknown> = {
  folder: (path) => mkdirSync(join(path, "x"), { recursive: true }),
  missing: () => {},
  loop: (path) => symlinkSync(path, path),
  empty: (path) => writeFileSync(path, ""),
  garbage: (path) =>
    writeFileSync(
      path,
      Uint8Array.from({ length: 5000 }, () => random.whole(0, 255)),
    ),
  sparse: (path) => execFileSync("truncate", ["-s", "8G", path]),
  socket: (path) => new Promise<void>((resolve) => sockets.push(createServer().listen(path, resolve))),
  ...(root && {
    null: (path: string) => execFileSync("mknod", [path, "c", "1", "3"]),
    zero: (path: string) => execFileSync("mknod", [path, "c", "1", "5"]),
    full: (path: string) => execFileSync("mknod", [path, "c", "1", "7"]),
  }),
};
const sockets: ReturnType<typeof createServer>[] = [];
afterAll(() => {
  for (const socket of sockets) socket.close();
});

const set = (...settings: string[]) => settings.flatMap((one) => ["--set", one]);
const small = set("source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16");
const NOBODY = "mqtt://127.0.0.1:9";
const match = (...words: string[]) => ["match", ...words, "--num-disparities", "16"];
const compare = (...words: string[]) => [
  "compare",
  ...words,
  ...["--a", "sad-3", "--b", "sgm-2016", "--num-disparities", "16", "-o", join(folder, "both.png")],
];
const run = (...words: string[]) => ["run", "--broker", "none", "--frames", "2", ...small, ...words];
const pair = () => [pictures.left, pictures.right] as const;
const right = () => join(pictures.folder, "right");
const LINES: Record<string, (file: string) => string[]> = {
  "match LEFT": (file) => match(file, pictures.right),
  "match RIGHT": (file) => match(pictures.left, file),
  "match --calibration": (file) => match(...pair(), "--calibration", file),
  "match --output": (file) => match(...pair(), "--output", file),
  "match --color": (file) => match(...pair(), "--color", file),
  "match --output .pfm": (file) => match(...pair(), "--output", `${file}/x.pfm`),
  "compare LEFT": (file) => compare(file, pictures.right),
  "compare --truth": (file) => compare(...pair(), "--truth", file),
  "batch IN": (file) => ["batch", file, join(folder, "maps"), ...set("match.numDisparities=16")],
  "batch OUT": (file) => ["batch", pictures.folder, file, ...set("match.numDisparities=16")],
  "convert IN": (file) => ["convert", file, join(folder, `converted-${random.whole(0, 1e9)}.csv`)],
  "convert OUT": (file) => ["convert", pictures.folder, file, "--to", "mcap"],
  "check-calibration LEFT": (file) => ["check-calibration", file, pictures.right],
  "calibrate --left": (file) => ["calibrate", "--left", file, "--right", file, "--square", "25mm"],
  "match --config": (file) => match(...pair(), "--config", file),
  "run --config": (file) => run("--config", file),
  "run --left": (file) => run("--source", "replay", "--left", file, "--right", right()),
  "run --left --right": (file) => run("--left", file, "--right", file),
  "run --side-by-side": (file) => run("--source", "replay", "--side-by-side", file),
  "run with cameras": (file) => run("--source", "v4l2", "--left", file, "--right", file),
  "run --calibration": (file) => run("--calibration", file),
  "run with a board": (file) => run(...set(`board=${file}`)),
  "run with a password": (file) =>
    run(
      ...set("outputs.mqtt.broker=embedded", "outputs.mqtt.username=u", `outputs.mqtt.passwordFile=${file}`),
    ),
  "run with an authority": (file) =>
    run(...set("outputs.mqtt.broker=mqtts://127.0.0.1:9", `outputs.mqtt.caFile=${file}`)),
  "run with a secret": (file) => run(...set("control.enabled=true", `control.secretFile=${file}`)),
  "run with a page's password": (file) => run(...set(`http.passwordFile=${file}`)),
  "run from a recording": (file) => run("--source", "mcap", ...set(`source.mcap.file=${file}`)),
  "run into a recording": (file) => run(...set(`outputs.mcap.file=${file}`)),
  eval: (file) => ["eval", file],
  "eval --plot": (file) => [
    "eval",
    pictures.folder,
    "--sweep",
    "match.sgm.p1=1:3:1",
    "--plot",
    file,
    ...set("match.numDisparities=16"),
  ],
  "scene --out": (file) => ["scene", "--frames", "1", "--width", "96", "--height", "64", "--out", file],
  "capture --left": (file) => [
    "capture",
    "--left",
    file,
    "--right",
    file,
    "--save",
    join(folder, "captured"),
    "--frames",
    "1",
  ],
  "consume --save": (file) => ["consume", NOBODY, "--save", file, "--timeout", "1"],
  "consume --password-file": (file) => [
    "consume",
    NOBODY,
    "--username",
    "u",
    "--password-file",
    file,
    "--timeout",
    "1",
  ],
  "consume --ca-file": (file) => ["consume", "mqtts://127.0.0.1:9", "--ca-file", file, "--timeout", "1"],
  "consume --cert-file": (file) => [
    "consume",
    "mqtts://127.0.0.1:9",
    "--cert-file",
    file,
    "--key-file",
    file,
    "--timeout",
    "1",
  ],
  "get --secret-file": (file) => [
    "get",
    "--broker",
    NOBODY,
    "--device",
    "d",
    "--secret-file",
    file,
    "--timeout",
    "1",
  ],
  "view --page-password-file": (file) => ["view", NOBODY, "--port", "1", "--page-password-file", file],
  "profile --report-only": (file) => ["profile", "-o", file, "--report-only"],
  "profile compare": (file) => ["profile", "compare", file, file],
  "config --config": (file) => ["config", "--config", file],
  "doctor --config": (file) => ["doctor", "--config", file],
};

const pathKind = (path: string): string => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "nothing";
  const kinds = ["isFile", "isDirectory", "isSocket", "isCharacterDevice", "isSymbolicLink"] as const;
  return kinds.find((kind) => found[kind]()) ?? "something else";
};

/** In a folder of the test's own: a flag may be read as the name of a file to write. */
async function within(seconds: number, words: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, [join(packageRoot(), PROGRAM), ...words], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  // Tests these in order first: a run does not end alone.
  const asked = setTimeout(() => child.kill("SIGTERM"), 1000 * seconds);
  const killed = setTimeout(() => child.kill("SIGKILL"), 1000 * seconds + 15_000);
  const code = await new Promise<number | null>((resolve) => {
    child.once("close", (exit, signal) => resolve(signal === "SIGTERM" ? SIGTERM_EXIT : exit));
  });
  clearTimeout(asked);
  clearTimeout(killed);
  return { code, stdout, stderr };
}

const SIGTERM_EXIT = 143;

function expectOrder({ code, stdout, stderr }: Ran, what: string): void {
  const reported = `seed ${random.seed}: ${what}: exit ${code}\n${stderr.slice(0, 1500)}`;
  expect([0, 1, 2, 3, 4, 5, SIGTERM_EXIT], reported).toContain(code);
  expect(stderr, reported).not.toMatch(/bug in depthwatt|\n {4}at /);
  if (code !== 0 && code !== SIGTERM_EXIT) expect(stdout + stderr, reported).toMatch(/\S/);
}

async function twoAtATime(jobs: (() => Promise<void>)[]): Promise<void> {
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  };
  await Promise.all([worker(), worker()]);
}

test("files that are folders, devices, sockets, loops, garbage or gigabytes of nothing", async () => {
  const all = Object.keys(LINES).flatMap((line) => Object.keys(KINDS).map((kind) => [line, kind] as const));
  // Some of them by chance; with a large count every one.
  const chosen = COUNT >= all.length ? all : Array.from({ length: COUNT }, () => pick(all));
  await twoAtATime(
    chosen.map(([line, kind], i) => async () => {
      const path = join(folder, `${i}-${kind}`);
      await KINDS[kind]!(path);
      const before = pathKind(path);
      const ran = await within(60, LINES[line]!(path));
      count("files");
      expectOrder(ran, `${line} with ${kind}`);
      expect(ran.code, `${line} with ${kind} ends without a signal`).not.toBe(SIGTERM_EXIT);
      if (before !== "nothing") expect(pathKind(path), `${line} with ${kind}: what was there`).toBe(before);
    }),
  );
}, 900_000);

const ODD = [
  "",
  " ",
  "0",
  "-1",
  "1e309",
  "NaN",
  "0x10",
  "99999999999999999999",
  "1;2",
  "a,b",
  ",",
  "--",
  "-",
  "=",
  "a=",
  "=b",
  "null",
  "[]",
  "{}",
  "__proto__",
  "constructor.x=1",
  "match.sgm.p1=",
  "../..",
  "\u00e9\u0301",
  "\ud83d\ude00",
  "%s%n",
  "$(x)",
  "x".repeat(5000),
  "9".repeat(400),
  "640x480",
  "0x0",
  "1x99999",
  "mqtt://",
  "mqtt://a:b@c:1/%",
  "http://x",
  "file:///x",
  "\u001b[2J",
];
const NAMES = [...COMMANDS.map(({ usage }) => usage.split(" ", 1)[0]!), "nonsense"];
/** Each command's own flags, as its help names them. */
async function listFlags(command: string): Promise<string[]> {
  const { stdout } = await runProgram([command, "--help"]);
  return [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!);
}

test("flags of anything", async () => {
  const flags = new Map(
    await Promise.all(NAMES.map(async (command) => [command, await listFlags(command)] as const)),
  );
  const lines = Array.from({ length: COUNT }, () => {
    const command = pick(NAMES);
    const every = flags.get(command)!;
    const own = every.filter((flag) => !["--yes", "--help", "--modes", "--contribute"].includes(flag));
    // First, since "--" ends the flags: as root, commands such as install-service change the machine.
    const words = every.includes("--dry-run") ? [command, "--dry-run"] : [command];
    for (let n = random.whole(0, 2); n > 0; n--) words.push(pick(ODD));
    for (let n = random.whole(0, 3); n > 0 && own.length > 0; n--) words.push(pick(own), pick(ODD));
    return words;
  });
  await twoAtATime(
    lines.map((words) => async () => {
      const ran = await within(20, words);
      count("lines");
      expectOrder(ran, JSON.stringify(words).slice(0, 300));
    }),
  );
}, 900_000);

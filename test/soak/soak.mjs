// SPDX-License-Identifier: Apache-2.0
// `npm run soak -- --minutes N [--seed S] [--out FOLDER] [--vm]`: a run with every output on, consumers good and bad, a live setting
// changed each second, a fault every ten seconds. Ends with 1 where a frame is unaccounted for, damaged, or something grows.
// Needs mosquitto (npm run test:setup). Prints one JSON object; with --out also writes it, and plots of it as SVG. With --vm all of it
// runs in a virtual machine that has two V4L2 cameras (`--cameras` in there).
import { fork, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeRun } from "../../bench/shared/result-file.mjs";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { Broker, freePort, Link } from "./broker.mjs";
import { CAMERA_SIGNAL, Cameras } from "./cameras.mjs";
import { CAMERA_FAULTS, SCENE_FAULTS } from "./faults.mjs";
import { accounts, growth, verdict } from "./judge.mjs";
import { Page, scraper, sluggishSubscriber } from "./other-consumers.mjs";
import { Random, sleep } from "./random.mjs";
import { percentiles, writeReport } from "./report.mjs";
import { nextChange, SCENE, soakSettings } from "./settings.mjs";

const { values: words } = scriptArguments({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string" },
    out: { type: "string" },
    "fault-seconds": { type: "string", default: "10" },
    vm: { type: "boolean", default: false },
    cameras: { type: "boolean", default: false },
    commit: { type: "string" },
    machine: { type: "string" },
  },
});
const minutes = Number(words.minutes);
if (!(minutes > 0)) throw new Error(`--minutes: expected a number above 0, got ${words.minutes}`);
const seed = Number(words.seed ?? Date.now() % 1_000_000_007);
if (words.vm) process.exit(await inMachine());
const random = new Random(seed);
console.error(`soak of ${minutes} minutes, --seed ${seed}`);

const here = dirname(fileURLToPath(import.meta.url));
const device = "soak";
const folder = mkdtempSync(join(tmpdir(), "depthwatt-soak-"));
const closers = [() => rmSync(folder, { recursive: true, force: true })];
const processes = new Set();

function start(file, args, execArgv = []) {
  const child = fork(join(here, file), args, { execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  processes.add(child);
  child.once("exit", () => processes.delete(child));
  return child;
}
process.once("exit", () => {
  for (const child of processes) child.kill("SIGKILL");
});

const heard = (child, wanted) =>
  new Promise((resolve, reject) => {
    const hear = (message) => {
      if (!wanted(message)) return;
      child.off("message", hear);
      child.off("exit", removed);
      resolve(message);
    };
    const removed = (code, signal) => reject(new Error(`a process of the soak ended with ${code ?? signal}`));
    child.on("message", hear);
    child.once("exit", removed);
  });

/** A disk of 256 MB that can be filled; undefined without the right to mount one. */
function mountDisk() {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  if (process.getuid() !== 0) return undefined;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=256m", "none", disk]).status !== 0) return undefined;
  closers.push(() => spawnSync("umount", ["-l", disk]));
  return disk;
}

/** Recordings of which the newest two are kept. */
function keepNewest(place) {
  const files = readdirSync(place)
    .filter((name) => name.endsWith(".mcap"))
    .map((name) => ({ path: join(place, name), at: statSync(join(place, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of files.slice(2)) rmSync(path);
}

/** The same words, in the guest. @returns its exit code */
async function inMachine() {
  const { soakInMachine } = await import("./machine.mjs");
  const { minutes: asked, "fault-seconds": pause, commit = describeRun().commit } = words;
  const guest = ["--minutes", asked, "--seed", String(seed), "--fault-seconds", pause, "--commit", commit];
  const machine = "QEMU without KVM, cameras by vivid";
  const out = words.out ?? mkdtempSync(join(tmpdir(), "depthwatt-soak-"));
  return soakInMachine({ words: [...guest, "--machine", machine], minutes, out });
}

/** Devices of the guest; undefined where the source is the scene. */
async function openCameras() {
  if (!words.cameras) return undefined;
  const { loadAddon } = await import("v4l2-camera/parts");
  const video = loadAddon();
  const cameras = new Cameras((path) => video.identify(path), random);
  await cameras.show();
  return cameras;
}

async function soak() {
  const disk = mountDisk();
  const recordings = disk ?? join(folder, "disk");
  const broker = new Broker(await freePort());
  await broker.start();
  closers.push(() => broker.close());
  const link = new Link(broker.port);
  await link.open();
  closers.push(() => link.close());

  const cameras = await openCameras();
  const source = cameras === undefined ? SCENE : await cameras.settings(folder);
  const settings = soakSettings({ port: link.port, folder: recordings, device, source });
  const shown = cameras === undefined ? "scene" : "bars";
  const FAULTS = cameras === undefined ? SCENE_FAULTS : CAMERA_FAULTS;
  const run = start("watched-run.mjs", settings, ["--expose-gc"]);
  const { page } = await heard(run, ({ kind }) => kind === "opened");
  const everything = ["depth", "disparity", "confidence", "left", "right", "points"];
  const consumers = [everything, ["depth", "left"]].map((streams, index) => ({
    name: `fast consumer ${index + 1}`,
    child: start("fast-consumer.mjs", [broker.url, device, shown, ...streams]),
  }));
  await Promise.all(consumers.map(({ child }) => heard(child, ({ ready }) => ready === true)));
  const topics = `depthwatt/${device}/#`;
  closers.push(sluggishSubscriber(broker.port, topics, "soak-stalled", 0, 0));
  closers.push(sluggishSubscriber(broker.port, topics, "soak-slow", 200_000, 100));
  const pages = { fast: new Page(page, device, true), stalled: new Page(page, device, false) };
  for (const one of Object.values(pages)) {
    await one.open();
    closers.push(() => one.close());
  }
  const scrapes = scraper(page);
  closers.push(() => scrapes.end());

  const samples = [];
  const ended = heard(run, ({ kind }) => kind === "ended");
  run.on("message", (message) => {
    if (message.kind === "sample") samples.push(message);
  });
  run.send({ kind: "start" });

  const refusals = [];
  let changes = 0;
  const apply = async (change, refused = false) => {
    const id = ++changes;
    const answered = heard(run, (message) => message.kind === "applied" && message.id === id);
    run.send({ kind: "apply", id, change });
    const answer = await answered;
    if (answer.ok === refused)
      refusals.push(
        `settings ${JSON.stringify(change)}: ${answer.ok ? "were taken" : `${answer.code}: ${answer.message}`}`,
      );
  };

  const endsAt = Date.now() + 60_000 * minutes;
  const faults = [];
  const parts = { broker, link, random, run, apply, disk, pages, page, device, cameras };
  const inject = async () => {
    const names = Object.keys(FAULTS);
    let order = [];
    while (Date.now() < endsAt - 8000) {
      const began = Date.now();
      // Each of them once before any comes again.
      if (order.length === 0) order = names.map((name) => [random.next(), name]).sort(([a], [b]) => a - b);
      const [, name] = order.pop();
      const fault = { name, atMs: began };
      faults.push(fault);
      try {
        fault.note = await FAULTS[name](parts);
      } catch (error) {
        fault.error = String(error);
      }
      fault.lastedMs = Date.now() - began;
      await sleep(Math.max(0, 1000 * Number(words["fault-seconds"]) - fault.lastedMs));
    }
  };
  const changeSettings = async () => {
    while (Date.now() < endsAt - 3000) {
      const next = sleep(1000);
      await apply(nextChange(random));
      await next;
    }
  };
  const housekeeping = setInterval(() => keepNewest(recordings), 1000);
  try {
    await Promise.all([inject(), changeSettings()]);
    await sleep(Math.max(0, endsAt - Date.now()));
  } finally {
    clearInterval(housekeeping);
  }
  for (const one of Object.values(pages)) one.mayEnd();
  run.send({ kind: "stop" });
  const reported = await ended;
  await sleep(1000);
  const reports = await Promise.all(
    consumers.map(async ({ name, child }) => {
      const report = heard(child, ({ counts }) => counts !== undefined);
      child.send("stop");
      return { name, ...(await report) };
    }),
  );
  return {
    samples,
    faults,
    changes,
    refusals,
    ended: reported,
    consumers: reports,
    scrapes: scrapes.told,
    pages,
  };
}

let found;
try {
  found = await soak();
} finally {
  for (const close of closers.splice(0).reverse()) await close();
}

// Engines of every size have been opened, code is compiled, pools have their size. In a soak of 75 minutes at 4 frames a second the
// C library's first arena reached its size after 37 minutes and kept it.
const warmUpMs = Math.min(2_400_000, (60_000 * minutes) / 2);
const settled = found.samples.filter(({ atMs }) => atMs - found.samples[0].atMs >= warmUpMs);
const accounted = accounts(found.ended);
const grown = growth(settled);
const wrong = verdict({ ...found, accounts: accounted, growth: grown });
const { ended, consumers } = found;
const report = {
  what: "soak: every output on, a live setting changed each second, a fault every ten seconds",
  source: words.cameras ? `two V4L2 cameras, ${CAMERA_SIGNAL}` : "the scene, 640x480 at 60 Hz",
  ...describeRun(words),
  ...(words.commit !== undefined && { commit: words.commit }),
  wrong,
  accounts: accounted,
  growth: grown,
  cameras: words.cameras ? ended.counters : undefined,
  drops: ended.figures.drops,
  faults: summary(found.faults),
  latencyMs: {
    publisher: ended.figures.latencyMs,
    consumers: consumers.map(({ name, latencies }) => ({ name, ...percentiles(latencies) })),
  },
  consumers: consumers.map(({ name, counts, byStream }) => ({ name, counts, byStream })),
  pages: Object.fromEntries(
    Object.entries(found.pages).map(([name, { sets, closed }]) => [name, { sets, closed }]),
  ),
  scrapes: found.scrapes,
  notices: ended.notices,
  rows: [
    {
      kind: "measured",
      minutes,
      seed,
      passed: wrong.length === 0,
      warmUpSeconds: warmUpMs / 1000,
      capturedPerSecond: Math.round((100 * accounted[0].expected) / (60 * minutes)) / 100,
      frames: ended.figures.frames,
      fps: ended.figures.fps,
      settingsChanged: found.changes,
    },
  ],
};

function summary(faults) {
  const byName = {};
  for (const { name, lastedMs, note } of faults) {
    byName[name] ??= { times: 0, longestMs: 0 };
    const row = byName[name];
    row.times++;
    row.longestMs = Math.max(row.longestMs, lastedMs ?? 0);
    if (note !== undefined) row.note = note;
  }
  return byName;
}

if (words.out !== undefined) writeReport(words.out, report, found);
console.log(JSON.stringify(report));
if (wrong.length > 0) {
  for (const sentence of wrong) console.error(`soak: ${sentence}`);
  process.exitCode = 1;
}

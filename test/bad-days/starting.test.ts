// SPDX-License-Identifier: Apache-2.0
// Failures at the start and at the end of a command: brokers that it may not talk to, signals at every stage, disks without room.
// docs/guides/failures.md names each.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { BadDays } from "../doubles/bad-day.js";
import { type Certificates, makeCertificates } from "../doubles/certificates.js";
import { sleep, until } from "../doubles/frames.js";
import { type MosquittoOptions, startMosquitto } from "../doubles/mosquitto.js";
import { fillDisk, mountDisk, testThatMounts } from "../doubles/mounts.js";
import { needs } from "../doubles/needs.js";
import { PROGRAM, runProgram } from "../doubles/program.js";

const bench = new BadDays();
afterEach(() => bench.close());

const SMALL = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
const set = (...settings: string[]) => settings.flatMap((one) => ["--set", one]);

async function broker(options: MosquittoOptions) {
  const mosquitto = await startMosquitto(options);
  bench.owns(() => mosquitto.stop());
  return mosquitto;
}

needs("mosquitto").suite("a broker that it may not talk to", () => {
  let made: Certificates;
  beforeAll(() => {
    made = makeCertificates();
  });
  afterAll(() => made.remove());

  const run = (url: string, ...settings: string[]) =>
    runProgram(["run", "--frames", "5", "--broker", url, ...set(...SMALL, ...settings)]);

  test.each([
    ["an expired certificate", "brokerExpired", "caFile", /a certificate that has expired/],
    [
      "a certificate of another authority",
      "broker",
      "otherCaFile",
      /a certificate that no authority known here/,
    ],
    ["a certificate for another host", "brokerElsewhere", "caFile", /a certificate for another host name/],
  ] as const)("%s: exit 5 and a hint", async (_, pair, authority, sentence) => {
    const { url } = await broker({ tls: { caFile: made.caFile, ...made[pair] } });
    const { code, stderr } = await run(url, `outputs.mqtt.caFile=${made[authority]}`);
    expect(code, stderr).toBe(5);
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^hint: /m);
  });

  test("a name that does not resolve, and a port where nothing listens: exit 5 and a hint", async () => {
    for (const [url, sentence] of [
      ["mqtt://no-such-host.invalid:1883", /host name that cannot be resolved/],
      ["mqtt://127.0.0.1:9", /nothing listens there/],
    ] as const) {
      const { code, stderr } = await run(url);
      expect(code, stderr).toBe(5);
      expect(stderr).toMatch(sentence);
      expect(stderr).toMatch(/^hint: /m);
    }
  });

  test("a wrong password: exit 5, and the password is in no line", async () => {
    const users = join(made.folder, "users");
    execFileSync("mosquitto_passwd", ["-b", "-c", users, "anna", "right"], { stdio: "pipe" });
    chmodSync(users, 0o644);
    const { url } = await broker({ settings: ["allow_anonymous false", `password_file ${users}`] });
    const file = join(made.folder, "password");
    writeFileSync(file, "entirely-wrong\n", { mode: 0o600 });
    const { code, stdout, stderr } = await run(
      url,
      "outputs.mqtt.username=anna",
      `outputs.mqtt.passwordFile=${file}`,
    );
    expect(code, stderr).toBe(5);
    expect(stderr).toMatch(/refused the user name or password|does not let this client connect/);
    expect(stdout + stderr).not.toContain("entirely-wrong");
  });

  test("two publishers with one client id throw each other out, and say why", async () => {
    const { url } = await broker({});
    const notices: string[] = [];
    const publisher = () =>
      createPublisher({
        broker: url,
        base: "depthwatt",
        device: "twin",
        clientId: "one-id",
        onStatus: ({ connected, reason }) => connected || notices.push(reason),
      });
    const first = publisher();
    bench.owns(() => first.close());
    await first.firstAttempt;
    const second = publisher();
    bench.owns(() => second.close());
    await second.firstAttempt;
    await until("it is reported", () =>
      notices.some((text) => /another client|closed the connection/.test(text)),
    );
    // depthwatt connects with a new id each time, so this takes a setting of another client.
    const { uniqueClientId } = await import("../../core/mqtt/connection.js");
    expect(uniqueClientId("depthwatt-a")).not.toBe(uniqueClientId("depthwatt-a"));
  });
});

needs("mosquitto").suite("SIGTERM at every stage of the start", () => {
  test("it is over at once, in order or by the signal; nothing stays: no file, no retained `online`", async () => {
    const mosquitto = await broker({});
    const client = await mqtt.connectAsync(mosquitto.url);
    bench.owns(() => client.endAsync(true));
    const states = new Map<string, string>();
    const frames = new Set<string>();
    client.on("message", (topic, payload) => {
      const [, device, leaf] = topic.split("/") as [string, string, string];
      if (leaf === "depth") frames.add(device);
      else states.set(device, (JSON.parse(payload.toString()) as { state: string }).state);
    });
    await client.subscribeAsync(["depthwatt/+/state", "depthwatt/+/depth"]);
    const begin = (device: string, folder: string) => {
      const recording = `outputs.mcap.file=${join(folder, "out.mcap")}`;
      const words = [
        "run",
        "--json",
        "--device",
        device,
        "--broker",
        mosquitto.url,
        ...set(...SMALL, recording),
      ];
      const temporary = join(folder, "tmp");
      mkdirSync(temporary);
      const env = { ...process.env, TMPDIR: temporary };
      const child = spawn(process.execPath, [PROGRAM, ...words], { env, stdio: "ignore" });
      const ended = new Promise<[number | null, string | null]>((resolve) =>
        child.once("exit", (...how) => resolve(how)),
      );
      return { child, ended, temporary };
    };
    const began = performance.now();
    const whole = begin("whole", bench.folder());
    await until("a frame", () => frames.has("whole"), 60_000);
    const startMs = performance.now() - began;
    whole.child.kill("SIGTERM");
    expect(await whole.ended).toEqual([0, null]);

    const stages = 12;
    const seen: Record<string, number> = {};
    for (let stage = 0; stage < stages; stage++) {
      const device = `stage-${stage}`;
      const { child, ended, temporary } = begin(device, bench.folder());
      await sleep((stage / (stages - 1)) * startMs * 1.1);
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
      const [code, signal] = await ended;
      clearTimeout(late);
      const how = signal ?? `exit ${code}`;
      seen[how] = (seen[how] ?? 0) + 1;
      expect(["SIGTERM", "exit 0"], `stage ${stage}`).toContain(how);
      expect(readdirSync(temporary), `stage ${stage}`).toEqual([]);
    }
    // The will of one that was ended by the signal comes when its socket closes.
    await until("no state says that it runs", () =>
      [...states.values()].every((state) => state === "stopped" || state === "offline"),
    );
    console.log(
      `ended at ${stages} stages: ${JSON.stringify(seen)}, ${Math.round(startMs)} ms to the first frame`,
    );
  }, 240_000);
});

testThatMounts("without /proc, /proc/sys, /sys, /dev/shm or /tmp: a run computes its frames", async () => {
  const words = ["run", "--json", "--broker", "embedded", "--frames", "3", ...set("board=none", ...SMALL)];
  // Not the folder that holds this checkout.
  const hidden = ["/proc", "/proc/sys", "/sys", "/dev/shm", "/tmp"].filter(
    (folder) => !PROGRAM.startsWith(`${folder}/`),
  );
  const ended = hidden.map(async (folder) => {
    const script = `mount -t tmpfs -o ro,mode=0 none ${folder} && exec "$@"`;
    const child = spawn("unshare", [
      "--mount",
      "sh",
      "-c",
      script,
      "sh",
      process.execPath,
      PROGRAM,
      ...words,
    ]);
    let [out, log] = ["", ""];
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (log += chunk));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code, `without ${folder}: ${log}`).toBe(0);
    expect(JSON.parse(out), folder).toMatchObject({ frames: 3 });
    expect(log, folder).not.toContain("    at ");
  });
  await Promise.all(ended);
});

const SHORT = ["--seconds", "2", "--warm-up", "0.5", "--idle", "2"];
testThatMounts(
  "a disk without room, when results are saved: exit 3, the cause, and no half of a file",
  async () => {
    const folder = bench.folder();
    const disk = join(folder, "disk");
    mkdirSync(disk);
    bench.owns(mountDisk(disk, "64k"));
    const scene = join(folder, "scene");
    await writeScene(loadNative(), {
      width: 320,
      height: 240,
      folder: scene,
      frames: 2,
      view: "rectified",
      truth: "left",
    });
    const recording = join(folder, "x.mcap");
    const recorded = await runProgram(["record", recording, "--inputs", "--frames", "2", ...set(...SMALL)]);
    expect(recorded.code, recorded.stderr).toBe(0);
    const first = (side: string) => join(scene, side, readdirSync(join(scene, side))[0]!);
    fillDisk(disk);
    const out = (name: string) => join(disk, name);
    const pair = [first("left"), first("right"), "--num-disparities", "32"];
    const calibration = ["--calibration", join(scene, "calibration.json")];
    for (const words of [
      ["match", ...pair, "-o", out("out.pfm")],
      ["match", ...pair, "-o", out("out.ply"), ...calibration],
      ["match", ...pair, "--color", out("out.png")],
      ["compare", ...pair, "--a", "sgm-2016", "--b", "quality", "-o", out("both.png")],
      ["scene", "--frames", "1", "--width", "320", "--height", "240", "--out", out("scene")],
      ...["folder", "euroc", "ply"].map((to) => ["convert", recording, out(to), "--to", to]),
      ...["x.csv", "x.webp"].map((name) => ["convert", recording, out(name)]),
      ["convert", scene, out("x.mcap")],
      ["batch", scene, out("maps")],
      ["profile", "-o", out("desk"), "--sizes", "160x120", "--disparities", "32", "--paths", "4", ...SHORT],
      ["eval", scene, "--sweep", "p1=8,10", "--plot", out("plot.svg")],
      // The plot has room; without its name it would be written into the folder of the test run.
      [
        ...["eval", scene, "--sweep", "p1=8,10", "--sweep", "rounds=1,2"],
        ...["--plot", join(folder, "plot.svg"), "--heat-map", out("map.svg")],
      ],
    ]) {
      const { code, stderr } = await runProgram(words);
      expect(code, `${words[0]}: ${stderr}`).toBe(3);
      expect(stderr).toMatch(/^error: .*(ENOSPC|no space)/im);
      expect(stderr).toMatch(/^hint: /m);
    }
    const left = (readdirSync(disk, { recursive: true }) as string[]).filter((name) => {
      const { size } = statSync(join(disk, name));
      return name !== "ballast" && statSync(join(disk, name)).isFile() && size > 0;
    });
    expect(left).toEqual([]);
  },
);

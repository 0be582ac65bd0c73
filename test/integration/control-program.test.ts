// SPDX-License-Identifier: Apache-2.0
// Control as its users have it: depthwatt run next to depthwatt get and set, a file that keeps its comments, SIGHUP at the same
// time, restart, and what the doctor says of a broker that lets everybody in.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lookAtControl } from "../../edge/commands/doctor/look-at-control.js";
import { loadConfig } from "../../edge/config/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { SECRET, TestClient } from "../doubles/control-client.js";
import { sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { PROGRAM, runProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function files(more = ""): { config: string; secret: string } {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-control-"));
  const [config, secret] = [join(folder, "depthwatt.yaml"), join(folder, "secret")];
  writeFileSync(secret, `${SECRET}\n`, { mode: 0o600 });
  writeFileSync(
    config,
    `# the robot in hall 2
source: {synthetic: {width: 160, height: 96}}
power: {sensor: none}
control: {enabled: true, secretFile: secret}
match:
  numDisparities: 32 # enough for the aisle
${more}`,
  );
  return { config, secret };
}

/** The program in its own session, so that SIGHUP means reload. */
function startRun(words: string[]) {
  const child = spawn(process.execPath, [PROGRAM, "run", "--json", ...words], { detached: true });
  let log = "";
  let out = "";
  child.stderr.on("data", (chunk) => (log += chunk));
  child.stdout.on("data", (chunk) => (out += chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  cleanups.push(() => child.kill("SIGKILL"));
  return { child, ended, log: () => log, out: () => out };
}

needs("mosquitto").suite("depthwatt get and set", () => {
  test("a device whose control is off is named at once", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const size = ["--set", "source.synthetic.width=160", "--set", "source.synthetic.height=96"];
    startRun(["--broker", mosquitto.url, "--device", "cli", "--set", "match.numDisparities=16", ...size]);
    const client = await TestClient.connect(mosquitto.url, "cli", 5);
    cleanups.push(() => client.close());
    await until("it runs", () => client.info.length > 0, 60_000);
    expect(client.info.at(-1)).toMatchObject({
      control: { available: false, reason: "control.enabled is false" },
    });
    const words = ["--device", "cli", "--broker", mosquitto.url];
    const ran = await runProgram(["get", "match.numDisparities", ...words]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(
      "expected depthwatt/cli to take requests, but its info says: control.enabled is false",
    );
    expect(ran.stderr).toContain("hint: Set control.enabled and control.secretFile on the device");
  });

  test("a running program is read, changed, saved, reloaded at the same time, restarted", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const { config, secret } = files();
    const run = startRun([
      "--config",
      config,
      "--broker",
      mosquitto.url,
      "--device",
      "cli",
      "--set",
      "match.sgm.p1=10",
    ]);
    const client = await TestClient.connect(mosquitto.url, "cli", 5);
    cleanups.push(() => client.close());
    await until("it runs", () => client.info.length > 0, 60_000);
    const access = [
      "--device",
      "cli",
      "--broker",
      mosquitto.url,
      "--secret-file",
      secret,
      "--client",
      "anna",
    ];

    expect(await runProgram(["get", "match.numDisparities", ...access])).toMatchObject({
      code: 0,
      stdout: "32\n",
    });
    const set = await runProgram([
      "set",
      "match.numDisparities=48",
      "match.sgm.p1=12",
      "--save",
      ...access,
      "--json",
    ]);
    expect(set, set.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(set.stdout)).toEqual({ "match.numDisparities": 48, "match.sgm.p1": 12 });
    expect(set.stderr).toContain(`saved to ${config} on cli`);
    expect(set.stderr).toContain("at the next start a flag or a variable still sets: match.sgm.p1");
    expect(run.log()).toContain('settings changed by \\"anna\\": match.numDisparities=48, match.sgm.p1=12');
    const saved = readFileSync(config, "utf8");
    expect(saved).toContain("# the robot in hall 2\n");
    expect(saved).toContain("  numDisparities: 48 # enough for the aisle\n  sgm:\n    p1: 12\n");

    const wrong = await runProgram(["set", "match.numDisparity=64", ...access]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('did you mean "match.numDisparities"?');
    const unsigned = await runProgram([
      "get",
      "match.sgm.paths",
      "--device",
      "cli",
      "--broker",
      mosquitto.url,
    ]);
    expect(unsigned.code).toBe(2);
    expect(unsigned.stderr).toContain("expected a signed request");
    const nobody = await runProgram(["get", ...access.with(1, "nobody"), "--timeout", "2"]);
    expect(nobody.code).toBe(5);
    expect(nobody.stderr).toContain('did not answer "get"');

    // Both at once, ten times: each takes effect whole, and the last one holds.
    for (let i = 0; i < 10; i++) {
      writeFileSync(config, saved.replace("numDisparities: 48", `numDisparities: ${64 + i}`));
      run.child.kill("SIGHUP");
      expect(await client.ask("set", { values: { "match.sgm.uniqueness": i } }, `u${i}`)).toMatchObject({
        ok: true,
      });
      await until("the reload", () => run.log().split("reload: changed").length === i + 2, 20_000);
      // The device serves ten requests a second: so few of these that later requests are served on any machine.
      await sleep(250);
    }
    const { values } = await client.ask("get", { keys: ["match.numDisparities"] });
    expect(values).toEqual({ "match.numDisparities": 73 });

    // It sleeps after two frames, and a request wakes it for two more.
    let frames = 0;
    const cycles: { state?: string; wakes: number; usefulFrames: number }[] = [];
    client.client.on("message", (topic, payload) => {
      if (topic.endsWith("/depth")) frames++;
      if (topic.endsWith("/metrics")) cycles.push(JSON.parse(payload.toString()).dutyCycle);
    });
    await client.client.subscribeAsync(["depth", "metrics"].map((name) => `depthwatt/cli/${name}`));
    const cycle = { "power.dutyCycle.wake": "request", "power.dutyCycle.everySeconds": 3600 };
    await client.ask("set", { values: { ...cycle, "power.dutyCycle.frames": 2 } });
    await until("it sleeps", () => cycles.at(-1)?.state === "asleep", 30_000);
    const { wakes, usefulFrames } = cycles.at(-1)!;
    const reports = cycles.length;
    await until("two reports of the sleep", () => cycles.length === reports + 2, 30_000);
    expect(cycles.at(-1)).toMatchObject({ state: "asleep", wakes, usefulFrames });
    const before = frames;
    expect(await client.ask("wake", {})).toMatchObject({ ok: true, waking: true });
    await until(
      "it sleeps again",
      () => cycles.at(-1)!.wakes > wakes && cycles.at(-1)!.state === "asleep",
      30_000,
    );
    await until("the frames of the request", () => frames >= before + 2, 30_000);
    expect(frames).toBe(before + 2);
    expect(cycles.at(-1)).toMatchObject({ wakes: wakes + 1, usefulFrames: usefulFrames + 2 });
    await client.ask("set", { values: { "power.dutyCycle.frames": null } });
    await until("frames come without requests", () => frames > before + 4, 30_000);

    writeFileSync(config, "match: [\n");
    expect(await client.ask("restart", {})).toMatchObject({ ok: false, code: "CONFIG_UNREADABLE" });
    writeFileSync(config, `${saved}engine: {threads: 1}\n`);
    expect(await client.ask("restart", {}, "r")).toEqual({ id: "r", ok: true, restarting: true });
    await until("it has begun anew", () => client.info.at(-1)?.threads === 1, 30_000);
    expect(await client.ask("get", { keys: ["engine.threads", "match.sgm.p1"] })).toMatchObject({
      values: { "engine.threads": 1, "match.sgm.p1": 10 },
    });
    expect(await client.ask("snapshot", {})).toMatchObject({ ok: true, width: 160, height: 96 });
    run.child.kill("SIGTERM");
    expect(await run.ended, run.log()).toBe(0);
    const figures = run.out().trim().split("\n");
    expect(figures.length).toBe(1);
    expect((JSON.parse(figures[0]!) as RunFigures).frames).toBeGreaterThan(0);
  }, 180_000);

  test.each<[string, string[], Record<string, unknown>, RegExp]>([
    [
      "takes requests from everybody",
      ["allow_anonymous true"],
      { state: "bad" },
      /it accepts requests from anonymous clients/,
    ],
    ["has no users", ["allow_anonymous false"], { state: "ok" }, /refuses anonymous clients/],
    [
      "lets everybody in, to read",
      ["allow_anonymous true", "acl_file ACL"],
      { state: "ok" },
      /refuses requests of anonymous/,
    ],
  ])("the doctor tries a broker that %s", async (_, settings, finding, text) => {
    const acl = join(mkdtempSync(join(tmpdir(), "depthwatt-acl-")), "acl");
    writeFileSync(acl, "topic read depthwatt/#\n");
    chmodSync(dirname(acl), 0o755); // mosquitto, started by root, reads it as its own user
    const mosquitto = await startMosquitto({ settings: settings.map((line) => line.replace("ACL", acl)) });
    cleanups.push(() => mosquitto.stop());
    const set = [
      "board=none",
      "control.enabled=true",
      "control.authentication=broker",
      `outputs.mqtt.broker=${mosquitto.url}`,
    ];
    const { config } = loadConfig({ set, environment: {} });
    const found = await lookAtControl(config);
    expect(found).toMatchObject({ name: "control", ...finding, text: expect.stringMatching(text) });
  });
});

test("control that nothing protects is refused before anything starts", () => {
  const load =
    (...set: string[]) =>
    () =>
      loadConfig({ set: ["board=none", "control.enabled=true", ...set], environment: {} });
  expect(load()).toThrow(/control\.secretFile .*expected to be set with control\.enabled/);
  expect(load("control.authentication=broker")).toThrow(/the embedded broker lets everybody in/);
});

// SPDX-License-Identifier: Apache-2.0
// Secrets stay where they were put: a run that knows five of them is asked for everything that it reports, and is made to fail in every
// way that has to do with them; none of them is in anything that leaves the process, nor in a core dump of it.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { TestClient } from "../doubles/control-client.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { PROGRAM, runProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SECRETS = {
  broker: "Kb7mqttSecretXq",
  page: "Pw4pageSecretZr",
  control: "Ct9controlSecretWithLength",
  url: "Ur2urlSecretVy",
  // Given where no secret belongs, as happens.
  wrong: "Wr5wrongSecretTu",
};

function expectNone(text: string | Buffer, where: string): void {
  for (const [name, secret] of Object.entries(SECRETS)) {
    for (const form of [secret, Buffer.from(secret).toString("base64").slice(0, 18)])
      expect(text.includes(form), `the secret "${name}" is in ${where}`).toBe(false);
  }
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "depthwatt-secrets-"));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  chmodSync(made, 0o755);
  return made;
}

needs("mosquitto").suite("secrets", () => {
  test("are in no log, output, topic, answer, page, metric, recording, ps or core dump", async () => {
    const at = folder();
    const secretFile = (name: string, text: string) => {
      writeFileSync(join(at, name), `${text}\n`, { mode: 0o600 });
      return join(at, name);
    };
    const users = join(at, "users");
    execFileSync("mosquitto_passwd", ["-b", "-c", users, "anna", SECRETS.broker], { stdio: "pipe" });
    chmodSync(users, 0o644);
    const mosquitto = await startMosquitto({ settings: ["allow_anonymous false", `password_file ${users}`] });
    cleanups.push(() => mosquitto.stop());
    const access = { username: "anna", password: SECRETS.broker };
    const client = await mqtt.connectAsync(mosquitto.url, access);
    cleanups.push(() => client.endAsync(true));
    const heard: Buffer[] = [];
    let frames = 0;
    client.on("message", (topic, payload) => {
      // The test knows what it asked.
      if (!topic.includes("/request/")) heard.push(Buffer.from(topic), payload);
      if (topic.endsWith("/depth")) frames++;
    });
    await client.subscribeAsync("#");

    const config = join(at, "depthwatt.yaml");
    writeFileSync(
      config,
      [
        "board: none",
        "device: keeps",
        "log: {level: trace}",
        "source: {synthetic: {width: 96, height: 64, rateHz: 10}}",
        "match: {numDisparities: 16}",
        `power: {sensor: mqtt, supply: {broker: "mqtt://anna:${SECRETS.url}@127.0.0.1:${mosquitto.port}", topic: plug}}`,
        `http: {passwordFile: ${secretFile("page", SECRETS.page)}}`,
        `control: {enabled: true, secretFile: ${secretFile("control", SECRETS.control)}}`,
        "outputs:",
        "  metricsIntervalMs: 200",
        `  mqtt: {broker: "${mosquitto.url}", username: anna, passwordFile: ${secretFile("broker", SECRETS.broker)}}`,
        "  prometheus: {enabled: true}",
        "  homeAssistant: {enabled: true}",
        `  mcap: {file: ${join(at, "out.mcap")}, compression: none}`,
        "",
      ].join("\n"),
      { mode: 0o600 },
    );
    // Where a core may be written, and is, it is in the working directory.
    const words = [
      "-c",
      `ulimit -c unlimited 2>/dev/null; exec "$@"`,
      "sh",
      process.execPath,
      resolve(PROGRAM),
    ];
    const child = spawn("sh", [...words, "run", "--config", config], { cwd: at });
    cleanups.push(() => child.kill("SIGKILL"));
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
      });
    await until(`frames come: ${said}`, () => frames > 5, 60_000);

    for (const file of ["cmdline", "environ"]) expectNone(readFileSync(`/proc/${child.pid}/${file}`), file);
    expectNone(execFileSync("ps", ["-ef"]), "ps");

    // Control: right and wrong requests, and wrong secrets.
    const asking = await TestClient.connect(
      mosquitto.url.replace("//", `//anna:${SECRETS.broker}@`),
      "keeps",
      5,
    );
    cleanups.push(() => asking.close());
    for (const [command, body] of [
      ["get", {}],
      ["set", { values: { "outputs.mqtt.broker": `mqtt://anna:${SECRETS.wrong}@h` } }],
      ["set", { values: { "control.secretFile": "/nowhere" } }],
      ["set", { values: { "refine.median": false } }],
    ] as const) {
      await asking.send(command, asking.payload(command, body, command, SECRETS.control));
      await asking.next();
      await asking.send(command, asking.payload(command, body, command, SECRETS.wrong));
      await asking.next();
    }

    // The page: without, with a wrong and with the right password.
    const page = /https?:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? "";
    expect(page, said).not.toBe("");
    const basic = (password: string) => ({
      authorization: `Basic ${Buffer.from(`x:${password}`).toString("base64")}`,
    });
    for (const [path, headers] of [
      ["/", {}],
      ["/metrics", {}],
      ["/metrics", basic(SECRETS.wrong)],
      ["/metrics", basic(SECRETS.page)],
    ] as const) {
      const answer = await fetch(`${page}${path}`, { headers });
      expectNone(`${JSON.stringify([...answer.headers])}${await answer.text()}`, `${path} of the page`);
    }
    await until("metrics after that", () => heard.some((text) => text.includes("validPercent")));

    const bundle = join(at, "report.zip");
    expect((await runProgram(["support-bundle", "--config", config, "-o", bundle])).code).toBe(0);
    const parts = Object.entries(unzipSync(readFileSync(bundle)));
    for (const [name, bytes] of parts) expectNone(Buffer.from(bytes), `${name} of the support bundle`);
    const documents = parts.find(([name]) => name === "metrics.json")![1];
    expect(Object.keys(JSON.parse(strFromU8(documents)))).toContain("depthwatt/keeps/metrics");

    // A core dump keeps the memory out, whether this machine writes one or not.
    const filter = readFileSync(`/proc/${child.pid}/coredump_filter`, "utf8").trim();
    expect(Number.parseInt(filter, 16)).toBe(0);
    child.kill("SIGTERM");
    await new Promise((done) => child.once("close", done));
    expectNone(said, "what it said");
    for (const bytes of heard) expectNone(bytes, "what it published");
    expectNone(readFileSync(join(at, "out.mcap")), "the recording");
  }, 120_000);

  test("are in no core dump, where one is written", async (context) => {
    const at = folder();
    const password = join(at, "password");
    writeFileSync(password, `${SECRETS.page}\n`, { mode: 0o600 });
    const words = [
      `http.passwordFile=${password}`,
      "source.synthetic.width=96",
      "source.synthetic.height=64",
    ];
    const set = ["match.numDisparities=16", ...words].flatMap((one) => ["--set", one]);
    const command = `ulimit -c unlimited || exit 99; exec "$@"`;
    const program = [process.execPath, resolve(PROGRAM), "run", "--broker", "none", ...set];
    const child = spawn("sh", ["-c", command, "sh", ...program], {
      cwd: at,
      stdio: ["ignore", "pipe", "ignore"],
    });
    cleanups.push(() => child.kill("SIGKILL"));
    const closed = new Promise<number | null>((done) => child.once("close", done));
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    await Promise.race([until("it runs", () => /page/.test(said), 60_000), closed]);
    child.kill("SIGABRT");
    await closed;
    const core = readdirSync(at).find((name) => name.startsWith("core"));
    if (core === undefined)
      return context.skip("this machine writes no core dump into the working directory");
    expectNone(readFileSync(join(at, core)), "the core dump");
  }, 120_000);

  test("are in no error: URLs that are none, passwords that are refused, files that others may read", async () => {
    const at = folder();
    const open = join(at, "open");
    writeFileSync(open, `${SECRETS.page}\n`);
    chmodSync(open, 0o644);
    const size = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
    const run = (...words: string[]) =>
      runProgram(["run", "--frames", "1", ...size.flatMap((one) => ["--set", one]), ...words]);
    const secret = SECRETS.url;
    const commands: (() => ReturnType<typeof runProgram>)[] = [
      () => run("--broker", `mqtt://anna:${secret}@127.0.0.1:9`),
      () => run("--broker", `mqtt://anna:${secret}@127.0.0.1:99999`),
      () => run("--broker", `mqqt://anna:${secret}@127.0.0.1`),
      () => run("--broker", `anna:${secret}@127.0.0.1`),
      () => run("--broker", `mqtt://anna:${secret}%zz@127.0.0.1:9`),
      () => run("--broker", "none", "--set", `http.passwordFile=${open}`),
      () => run("--broker", "none", "--set", "control.enabled=true", "--set", `control.secretFile=${open}`),
      () => runProgram(["config", "--print", "--set", `outputs.mqtt.broker=mqtt://anna:${secret}@h`]),
      () => runProgram(["config", "--json", "--set", `power.supply.broker=mqtt://anna:${secret}@h`]),
      () =>
        runProgram(["doctor", "--json", "--set", `outputs.mqtt.broker=mqtt://anna:${secret}@127.0.0.1:9`]),
      () => runProgram(["consume", `mqtt://anna:${secret}@127.0.0.1:9`, "--timeout", "1"]),
      () =>
        runProgram([
          "get",
          "--broker",
          `mqtt://anna:${secret}@127.0.0.1:9`,
          "--device",
          "d",
          "--timeout",
          "1",
        ]),
    ];
    for (const [index, command] of commands.entries()) {
      const { stdout, stderr } = await command();
      expect(stdout + stderr, `command ${index}`).not.toBe("");
      expectNone(stdout + stderr, `command ${index}: ${stderr}`);
    }
    expect(existsSync(open)).toBe(true);
  }, 180_000);
});

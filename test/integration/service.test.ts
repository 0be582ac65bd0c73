// SPDX-License-Identifier: Apache-2.0
// `depthwatt run` as a service manager sees it: READY with the first frame, the watchdog fed, STATUS, STOPPING, exit 0; idle power
// that is measured before, sources that are slow.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { PYTHON } from "../doubles/needs.js";

const main = resolve(import.meta.dirname, "../../dist/edge/cli/main.js");

const RECEIVER = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + sys.argv[1])
s.settimeout(50)
print("bound", flush=True)
while True:
    message = s.recv(4096).decode()
    print(message, flush=True)
    if message == "STOPPING=1": break`;

async function listen() {
  const name = `depthwatt-service-${process.pid}-${++receivers}`;
  const receiver = spawn(PYTHON, ["-c", RECEIVER, name], { stdio: ["ignore", "pipe", "inherit"] });
  let heard = "";
  receiver.stdout.on("data", (chunk) => {
    heard += chunk;
  });
  await once(receiver.stdout, "data");
  return { receiver, name, heard: () => heard };
}
let receivers = 0;

const SMALL = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];
const run = (address: string, watchdogUs: number, settings: readonly string[]) =>
  spawn(
    process.execPath,
    [main, "run", "--broker", "none", ...[...SMALL, ...settings].flatMap((value) => ["--set", value])],
    {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, NOTIFY_SOCKET: `@${address}`, WATCHDOG_USEC: String(watchdogUs) },
    },
  );

test("idle power is measured first: systemd is asked to wait, and SIGTERM ends the wait at once", async () => {
  const { receiver, name, heard } = await listen();
  // A supply that never reports is a sensor all the same.
  const supply = ["power.sensor=mqtt", "power.supply.broker=mqtt://127.0.0.1:9", "power.supply.topic=plug"];
  const service = run(name, 800_000, [...supply, "power.idleSeconds=600"]);
  while (!heard().includes("EXTEND_TIMEOUT_USEC=")) await once(receiver.stdout, "data");
  expect(heard()).toContain("EXTEND_TIMEOUT_USEC=660000000");
  expect(heard()).not.toContain("READY=1");
  const ends = [once(service, "close"), once(receiver, "close")];
  service.kill("SIGTERM");
  const [[exitCode]] = (await Promise.all(ends)) as [[number], unknown];
  expect([exitCode, heard().trim().split("\n").at(-1)]).toEqual([0, "STOPPING=1"]);
});

test("without a sensor nothing is waited for", async () => {
  const { receiver, name, heard } = await listen();
  const service = run(name, 800_000, ["power.sensor=none", "power.idleSeconds=600"]);
  while (!heard().includes("READY=1")) await once(receiver.stdout, "data");
  expect(heard()).not.toContain("EXTEND_TIMEOUT_USEC");
  const ends = [once(service, "close"), once(receiver, "close")];
  service.kill("SIGTERM");
  await Promise.all(ends);
});

test("a source that is slower than the watchdog's time keeps it fed", async () => {
  const { receiver, name, heard } = await listen();
  const service = run(name, 500_000, ["source.synthetic.rateHz=0.4"]);
  const times: number[] = [];
  receiver.stdout.on("data", (chunk) => {
    if (String(chunk).includes("WATCHDOG=1")) times.push(performance.now());
  });
  while (times.length < 16) await once(receiver.stdout, "data");
  const ends = [once(service, "close"), once(receiver, "close")];
  service.kill("SIGTERM");
  await Promise.all(ends);
  // 2.5 s from frame to frame; between two of them it is fed every eighth of a second.
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  expect(Math.max(...gaps)).toBeLessThan(2000);
  expect(heard()).toContain("READY=1");
});

test("a run reports systemd of its first frame, its progress and its end", async () => {
  const { receiver, name, heard } = await listen();
  const service = run(name, 800_000, ["outputs.metricsIntervalMs=200"]);
  let journal = "";
  service.stderr.on("data", (chunk) => {
    journal += chunk;
  });
  while (!/WATCHDOG=1[\s\S]*STATUS=[1-9]/.test(heard())) await once(receiver.stdout, "data");
  const ends = [once(service, "close"), once(receiver, "close")];
  service.kill("SIGTERM");
  const [[exitCode]] = (await Promise.all(ends)) as [[number], unknown];

  const messages = heard().trim().split("\n").slice(1);
  expect(messages.filter((message) => message === "READY=1")).toHaveLength(1);
  expect(messages.indexOf("READY=1")).toBeLessThan(messages.indexOf("WATCHDOG=1"));
  expect(messages.at(-1)).toBe("STOPPING=1");
  expect(messages.some((message) => /^STATUS=\d+\.\d fps \| /.test(message))).toBe(true);
  expect(exitCode).toBe(0);
  // The live line belongs to a terminal: a journal would get it every 200 ms. A long run has an entry of its energy.
  expect(journal).not.toContain("fps | ");
});

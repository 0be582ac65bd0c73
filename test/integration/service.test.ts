// SPDX-License-Identifier: Apache-2.0
// `depthwatt run` as a service manager sees it: READY with the first frame, the watchdog fed, STATUS, STOPPING, exit 0.
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

test("a run tells systemd of its first frame, its progress and its end", async () => {
  const name = `depthwatt-service-${process.pid}`;
  const receiver = spawn(PYTHON, ["-c", RECEIVER, name], { stdio: ["ignore", "pipe", "inherit"] });
  let heard = "";
  receiver.stdout.on("data", (chunk) => {
    heard += chunk;
  });
  await once(receiver.stdout, "data");

  const small = [
    "source.synthetic.width=96",
    "source.synthetic.height=64",
    "match.numDisparities=16",
    "outputs.metricsIntervalMs=200",
  ];
  const words = [main, "run", "--broker", "none", ...small.flatMap((value) => ["--set", value])];
  const service = spawn(process.execPath, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NOTIFY_SOCKET: `@${name}`, WATCHDOG_USEC: "800000" },
  });
  let journal = "";
  service.stderr.on("data", (chunk) => {
    journal += chunk;
  });
  while (!/WATCHDOG=1[\s\S]*STATUS=[1-9]/.test(heard)) await once(receiver.stdout, "data");
  const ends = [once(service, "close"), once(receiver, "close")];
  service.kill("SIGTERM");
  const [[exitCode]] = (await Promise.all(ends)) as [[number], unknown];

  const messages = heard.trim().split("\n").slice(1);
  expect(messages.filter((message) => message === "READY=1")).toHaveLength(1);
  expect(messages.indexOf("READY=1")).toBeLessThan(messages.indexOf("WATCHDOG=1"));
  expect(messages.at(-1)).toBe("STOPPING=1");
  expect(messages.some((message) => /^STATUS=\d+\.\d fps \| /.test(message))).toBe(true);
  expect(exitCode).toBe(0);
  // The live line belongs to a terminal: a journal would get it every 200 ms.
  expect(journal).not.toContain("fps");
});

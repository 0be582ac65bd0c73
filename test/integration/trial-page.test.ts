// SPDX-License-Identifier: Apache-2.0
// The program as `npm start` runs it: its page changes settings without a secret, and no foreign page does.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { ToPage } from "../../edge/outputs/viewer/protocol.js";
import { until } from "../doubles/frames.js";
import { type Running, startProgram } from "../doubles/program.js";

const SMALL = [
  ...["board=none", "power.sensor=none", "source.synthetic.width=160", "source.synthetic.height=96"],
  ...["match.numDisparities=32", "source.synthetic.rateHz=5", "http.port=auto"],
];
const folder = mkdtempSync(join(tmpdir(), "depthwatt-trial-"));
const started: Running[] = [];
afterAll(async () => {
  for (const { child } of started) child.kill("SIGTERM");
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
});

async function start(words: string[] = [], environment: NodeJS.ProcessEnv = {}) {
  const set = SMALL.flatMap((one) => ["--set", one]);
  const program = startProgram(["run", ...words, ...set], environment);
  started.push(program);
  const address = () => /^page +(\S+)$/m.exec(program.stdout())?.[1];
  await until("the program names its page", () => address() !== undefined, 30_000);
  return { url: new URL(address()!), greeting: program.stdout() };
}

/** Asks as a page does, with these headers; the state of control and the answer, or the refused connection's status. */
async function ask({ host, port }: URL, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, {
    headers: { Host: host, Origin: `http://${host}`, ...headers },
  });
  const reported: ToPage[] = [];
  let status: number | undefined;
  socket.on("message", (data, isBinary) => {
    if (!isBinary) reported.push(JSON.parse(String(data)) as ToPage);
  });
  socket.on("unexpected-response", (_request, response) => {
    status = response.statusCode;
  });
  socket.on("error", () => {});
  const of = <Type extends ToPage["type"]>(type: Type) =>
    reported.find((message) => message.type === type) as Extract<ToPage, { type: Type }> | undefined;
  await until("the page is answered", () => status !== undefined || of("control") !== undefined);
  if (status === undefined) {
    const payload = JSON.stringify({ id: "1", body: { values: { "match.sgm.uniqueness": 7 } } });
    socket.send(JSON.stringify({ type: "ask", id: 1, command: "set", payload }));
    await until("the request is answered", () => of("answer") !== undefined);
  }
  socket.terminate();
  return { status, enabled: of("control")?.state.enabled, code: answerCode(of("answer")) };
}

const answerCode = (message: Extract<ToPage, { type: "answer" }> | undefined) =>
  message && (message.answer.ok ? "ok" : message.answer.code);

test("a page of this machine changes settings; foreign names, foreign origins and proxies do not", async () => {
  const { url, greeting } = await start();
  expect(greeting).toMatch(/^settings +can be changed on the page without a secret/m);
  expect(await ask(url)).toMatchObject({ enabled: true, code: "ok" });
  const local = `localhost:${url.port}`;
  expect(await ask(url, { Host: local, Origin: `http://${local}` })).toMatchObject({ code: "ok" });

  // DNS rebinding, another site's script, and a page that another local server delivered.
  const foreign = `attacker.example:${url.port}`;
  expect(await ask(url, { Host: foreign, Origin: `http://${foreign}` })).toMatchObject({ status: 421 });
  for (const origin of ["http://attacker.example", "http://127.0.0.1:1", "null"])
    expect(await ask(url, { Origin: origin })).toMatchObject({ status: 403 });

  const refused = { enabled: false, code: "CONTROL_UNSUPPORTED" };
  expect(await ask(url, { "X-Forwarded-For": "10.0.0.9" })).toMatchObject(refused);
  const numbered = `192.0.2.7:${url.port}`;
  expect(await ask(url, { Host: numbered, Origin: `http://${numbered}` })).toMatchObject(refused);
});

test("with a configuration file, as a service, or with control switched off, the page needs a secret", async () => {
  const file = join(folder, "depthwatt.yaml");
  writeFileSync(file, "{}\n");
  const runs = await Promise.all([
    start(["--config", file]),
    start([], { NOTIFY_SOCKET: join(folder, "notify") }),
    start(["--set", "control.enabled=false"]),
  ]);
  for (const { url, greeting } of runs) {
    expect(greeting).not.toMatch(/^settings/m);
    expect(await ask(url)).toMatchObject({ enabled: false, code: "CONTROL_UNSUPPORTED" });
  }
});

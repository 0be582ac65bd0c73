// SPDX-License-Identifier: Apache-2.0
// depthwatt view: the page that it serves, what it subscribes to, and the flags that it refuses.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import "../../../../../edge/commands/view/command.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { type ScriptedBroker, SUBSCRIBE, startScriptedBroker } from "../../../../doubles/scripted-broker.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const listeners = () => SIGNALS.map((name) => process.listenerCount(name));
const LISTENERS = listeners();

let broker: ScriptedBroker | undefined;
afterEach(async () => {
  for (const [i, name] of SIGNALS.entries())
    for (const listener of process.listeners(name).slice(LISTENERS[i])) process.off(name, listener);
  await broker?.close();
  broker = undefined;
});

/** Calls `action` with the page's URL once the command waits for a signal, and then sends it one. */
async function view(
  words: readonly string[],
  signal: NodeJS.Signals,
  action: (url: string) => Promise<void>,
) {
  let [subscribed, problem] = ["", undefined as unknown];
  const printed = () => vi.mocked(process.stdout.write).mock.calls.flat().join("");
  broker = await startScriptedBroker(async (packet, session) => {
    session.answer(packet);
    if (packet.type !== SUBSCRIBE || subscribed !== "") return;
    subscribed = packet.bytes.toString("latin1");
    await vi.waitUntil(() => process.listenerCount("SIGHUP") > LISTENERS[2]!, { interval: 1 });
    await action(/http:\S+/.exec(printed())![0]).catch((error: unknown) => {
      problem = error;
    });
    process.emit(signal);
  });
  const ran = await runInProcess(["view", broker.url, "--port", "0", ...words]);
  if (problem !== undefined) throw problem;
  return { ...ran, subscribed };
}

test.each(SIGNALS)("serves the page until %s, and subscribes to pictures and the grid", async (signal) => {
  let url = "";
  const { code, stdout, stderr, subscribed } = await view(["--base", "lab"], signal, async (given) => {
    url = given;
    const page = await fetch(url, { headers: { connection: "close" } });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toMatch(/^<!doctype html>/i);
  });
  expect([code, stdout]).toEqual([0, `page      ${url}\n`]);
  const [first, ...others] = stderr.trim().split("\n");
  expect(JSON.parse(first!)).toMatchObject({ level: 30, msg: `broker: connected to ${broker!.url}, MQTT 5` });
  expect(others, "an end that was asked for is no problem of the broker").toEqual([]);
  expect(listeners(), "no signal has a listener left").toEqual(LISTENERS);
  const leaves = [
    "depth",
    "disparity",
    "confidence",
    "left",
    "state",
    "info",
    "camera_info",
    "metrics",
    "grid",
  ];
  expect(subscribed.match(/lab\/\+\/\w+/g)).toEqual(leaves.map((leaf) => `lab/+/${leaf}`));
  // The command has ended: nothing listens there.
  await expect(fetch(url)).rejects.toThrow();
});

test.each([
  [["http://a"], "URL: expected mqtt://"],
  [["mqtt://127.0.0.1:9", "--address", "0.0.0.0"], "--page-password-file"],
  [["mqtt://127.0.0.1:9", "--password-file", join(tmpdir(), "no such file")], "--password-file"],
  [["mqtt://127.0.0.1:9", "--page-password-file", join(tmpdir(), "no such file")], "--page-password-file"],
  ...["65536", "-1", "8080.5", "any"].map((port) => [
    ["mqtt://127.0.0.1:9", `--port=${port}`],
    "Expected auto or a port from 0 to 65535.",
  ]),
] as [string[], string][])("%j is refused", async (words, message) => {
  const { code, stdout, stderr } = await runInProcess(["view", ...words]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
});

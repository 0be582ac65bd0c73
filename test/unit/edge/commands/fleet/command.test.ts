// SPDX-License-Identifier: Apache-2.0
// depthwatt fleet as a whole: what it prints of the devices at a broker, whom it asks for a state, and how it ends.
import { afterEach, expect, test, vi } from "vitest";
import "../../../../../edge/commands/fleet/command.js";
import type { FleetDevice } from "../../../../../edge/commands/fleet/fleet.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { lastJson } from "../../../../doubles/program.js";
import {
  publication,
  type Received,
  type ScriptedBroker,
  type Session,
  SUBSCRIBE,
  startScriptedBroker,
} from "../../../../doubles/scripted-broker.js";

const listeners = () => process.listenerCount("SIGINT");
const LISTENERS = listeners();

const { isTTY } = process.stdout;
let broker: ScriptedBroker | undefined;
afterEach(async () => {
  process.stdout.isTTY = isTTY;
  await broker?.close();
  broker = undefined;
  expect(listeners()).toBe(LISTENERS);
});

/** Topic filters of a SUBSCRIBE of MQTT 5, without properties. */
function filtersOf({ bytes }: Received): string[] {
  const found = bytes.toString("latin1").match(/[a-z0-9]+\/[a-z+]+\/[a-z_]+/g);
  return found ?? [];
}

/** Starts a broker that answers everything, and then each subscription with `onSubscribe`. */
async function start(onSubscribe: (filters: string[], session: Session) => void): Promise<string> {
  broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type === SUBSCRIBE) onSubscribe(filtersOf(packet), session);
  });
  return broker.url;
}

const state = (device: string, base = "depthwatt") =>
  publication(`${base}/${device}/state`, JSON.stringify({ state: "online", reason: "runs", runId: 1 }));
const metrics = (device: string, fps: number, watts: number) =>
  publication(`depthwatt/${device}/metrics`, JSON.stringify({ fps, power: { available: true, watts } }));

const ofAll = (filters: readonly string[]) => filters.some((filter) => filter.includes("+"));
const rows = (devices: readonly FleetDevice[]) =>
  devices.map(({ device, state: its, fps, watts }) => [device, its, fps, watts]);

test("devices without a state are asked for it after half of the time", async () => {
  const asked: string[][] = [];
  const url = await start((filters, session) => {
    asked.push(filters);
    if (ofAll(filters)) session.send(metrics("b", 30, 8), state("a"), metrics("a", 15, 4));
    else session.send(state("b"));
  });
  const ran = await runInProcess(["fleet", url, "--seconds", "0.1", "--json"]);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const { devices, overlooked } = lastJson<{ devices: FleetDevice[]; overlooked: number }>(ran);
  expect([rows(devices), overlooked]).toEqual([
    [
      ["a", "online", 15, 4],
      ["b", "online", 30, 8],
    ],
    0,
  ]);
  expect(asked).toEqual([
    ["state", "info", "camera_info", "metrics"].map((leaf) => `depthwatt/+/${leaf}`),
    ["state", "info", "camera_info"].map((leaf) => `depthwatt/b/${leaf}`),
  ]);
});

test("--base, a table, and a time after which it ends", async () => {
  const url = await start((_, session) => session.send(state("a", "site"), state("b")));
  const began = performance.now();
  const { code, stdout, stderr } = await runInProcess(["fleet", url, "--seconds", "0.2", "--base", "site"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.split("\n")).toEqual([
    "DEVICE  STATE   FPS  W  FPS/W  VERSION  BOARD  BACKEND  WARNINGS",
    "a       online  -    -  -      -        -      -",
    "1 device: 1 online; 0.0 fps together",
    "",
  ]);
  // Timers may fire up to 1 ms early, twenty times.
  expect(performance.now() - began).toBeGreaterThan(170);
});

test("a refused subscription ends the command at once, without a table", async () => {
  broker = await startScriptedBroker((packet, session) => {
    if (packet.type !== SUBSCRIBE) return session.answer(packet);
    const [high, low] = [packet.messageId >> 8, packet.messageId & 255];
    // SUBACK with reason 0x87, not authorized (MQTT 5, 3.9.3).
    session.send(0x90, 3 + packet.filters, high, low, 0, ...Array<number>(packet.filters).fill(0x87));
  });
  for (const more of [[], ["--watch"]]) {
    const { code, stdout, stderr } = await runInProcess(["fleet", broker.url, "--seconds", "600", ...more]);
    expect([code, stdout]).toEqual([5, ""]);
    expect(stderr).toContain("depthwatt/+/state");
    expect(stderr).not.toContain("outputs.mqtt");
  }
});

test("a connection that breaks is reported after the table, which may miss devices", async () => {
  const url = await start((_, session) => {
    session.send(state("a"));
    session.socket.end();
  });
  const { code, stdout, stderr } = await runInProcess(["fleet", url, "--seconds", "0.1"]);
  expect(code).toBe(5);
  expect(stdout).toContain("1 device: 1 online; 0.0 fps together\n");
  expect(stderr).toMatch(/^error: /m);
});

test("without a broker the command ends at once, and with --watch shows empty tables until a signal", async () => {
  const none = "mqtt://127.0.0.1:1";
  const once = await runInProcess(["fleet", none, "--seconds", "600"]);
  expect([once.code, once.stdout]).toEqual([5, ""]);
  expect(once.stderr).toContain("nothing listens there");
  const watched = runInProcess(["fleet", none, "--seconds", "0.04", "--watch", "--json"]);
  await vi.waitUntil(() => vi.mocked(process.stdout.write).mock.calls.length > 1, 30_000);
  process.emit("SIGTERM");
  const { code, stdout, stderr } = await watched;
  expect(code).toBe(0);
  expect(stderr).toContain("nothing listens there");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(2);
  for (const line of lines) expect(JSON.parse(line)).toEqual({ devices: [], overlooked: 0 });
});

test.each([
  ["--watch", []],
  ["--watch --json", ["--json"]],
  ["a single table", undefined],
])("%s in a terminal: only tables that follow each other clear it", async (_, more) => {
  process.stdout.isTTY = true;
  const url = await start((filters, session) => {
    session.send(state("a"));
    // The signal comes during the first table, which is still shown.
    if (ofAll(filters) && more !== undefined) setTimeout(() => process.emit("SIGINT"), 60);
  });
  const words = more === undefined ? [] : ["--watch", ...more];
  const { code, stdout, stderr } = await runInProcess(["fleet", url, "--seconds", "0.1", ...words]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.startsWith("\u001b[H\u001b[2J")).toBe(more?.length === 0);
  expect(stdout.match(/online/g)).toHaveLength(more?.length === 1 ? 1 : 2);
});

test.each(["0", "-1", "3600.1", "soon"])("--seconds %s is refused", async (seconds) => {
  const { code, stderr } = await runInProcess(["fleet", "mqtt://127.0.0.1:1", "--seconds", seconds]);
  expect(code).toBe(2);
  expect(stderr).toContain("expected seconds, above 0 and up to 3600");
});

test("an address that is no broker's is refused, with the name of the argument", async () => {
  const { code, stderr } = await runInProcess(["fleet", "http://127.0.0.1", "--seconds", "0.02"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: URL: expected mqtt:\/\/, .*, got http:\/\/127\.0\.0\.1$/m);
});

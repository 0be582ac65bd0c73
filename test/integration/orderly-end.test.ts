// SPDX-License-Identifier: Apache-2.0
// How a run ends after failures: a frozen broker, a pipe that no consumer reads, a client that asked for an idle machine. Each frame is
// accounted for, and the state says `stopped`.
import { spawn } from "node:child_process";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import type { RunFigures } from "../../edge/run/figures.js";
import { sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, PROGRAM, startProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const size = ["--set", "source.synthetic.width=192", "--set", "source.synthetic.height=128"];
const SMALL = [...size, "--set", "match.numDisparities=32", "--device", "ends"];

async function broker() {
  const mosquitto = await startMosquitto();
  cleanups.push(() => mosquitto.stop());
  const reader = await mqtt.connectAsync(mosquitto.url);
  cleanups.push(() => reader.endAsync(true));
  const states: { state: string; reason: string }[] = [];
  let frames = 0;
  reader.on("message", (topic, payload) => {
    if (topic.endsWith("/state")) states.push(JSON.parse(payload.toString()));
    else frames++;
  });
  await reader.subscribeAsync(["depthwatt/ends/state", "depthwatt/ends/depth"]);
  return { mosquitto, states, frames: () => frames };
}

needs("mosquitto").suite("the end of a run", () => {
  test("SIGINT with a frozen broker: every frame is sent or dropped under a cause", async () => {
    const { mosquitto, frames } = await broker();
    const words = ["run", ...SMALL, "--rate", "max", "--json", "--broker", mosquitto.url];
    // A dozen raw frames of this size fill the socket, on the slowest machine.
    const large = ["source.synthetic.width=640", "source.synthetic.height=480", "match.numDisparities=16"];
    const settings = ["outputs.mqtt.depth.encoding=raw", ...large].flatMap((one) => ["--set", one]);
    const running = startProgram([...words, ...settings]);
    await until("frames come", () => frames() > 2, 30_000);
    const began = performance.now();
    await until("ten more", () => frames() > 12, 30_000);
    const periodMs = (performance.now() - began) / 10;
    mosquitto.freeze();
    // Thirty frames, at this machine's rate.
    await sleep(Math.max(500, 30 * periodMs));
    running.child.kill("SIGINT");
    const ran = await running.ended;
    mosquitto.thaw();
    expect(ran.code, ran.stderr).toBe(0);
    const { frames: computed, outputs, drops } = lastJson<RunFigures>(ran);
    const { sent } = outputs.mqtt as { sent: number };
    const dropped = Object.entries(drops).filter(([cause]) => cause.startsWith("mqtt."));
    expect(dropped.length).toBeGreaterThan(0);
    expect(sent + dropped.reduce((sum, [, count]) => sum + count, 0), JSON.stringify(drops)).toBe(computed);
  });

  test("a pipe that no consumer reads any more ends it in order", async () => {
    const { mosquitto, states } = await broker();
    const command = `${process.execPath} ${PROGRAM} run ${SMALL.join(" ")} --broker ${mosquitto.url} 2>&1 | head -n 1`;
    const shell = spawn("bash", ["-c", `set -o pipefail; ${command}`]);
    const code = await new Promise((resolve) => shell.once("close", resolve));
    expect(code).toBe(0);
    await until("the last state", () => states.some(({ state }) => state === "stopped"));
    expect(states.map(({ state }) => state)).not.toContain("offline");
  });
});

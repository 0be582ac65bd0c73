// SPDX-License-Identifier: Apache-2.0
// A preset on a running program, over the broker in this process: all of it at once, without losing a frame, and the same pictures
// as a run that began with it. The broker's thread runs the compiled broker-worker.js, so `npm run build:ts` comes first.
import { afterEach, expect, test } from "vitest";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { changedConfig, valueAt } from "../../edge/config/index.js";
import { PRESET_NAMES, PRESETS } from "../../edge/presets/index.js";
import { accountedPairs, assignments, ControlBench, hashes } from "../doubles/controlled-run.js";
import { until } from "../doubles/frames.js";
import { runProgram } from "../doubles/program.js";

const bench = new ControlBench();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  await bench.close();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function broker(): Promise<string> {
  const started = await startTrialBroker({ port: 0, webSocketPort: null });
  cleanups.push(() => started.close());
  return started.url;
}

/** Settings that would follow the pairs are fixed. */
const STILL = ["match.denoise=off", "rectify.verticalOffset=0"];

test("every preset follows the one before; values next to it win; every pair is accounted for", async () => {
  const url = await broker();
  const { runtime, notices, stop } = await bench.run(url, "one");
  const client = await bench.client(url, "one", 4);
  for (const preset of PRESET_NAMES) {
    const { settings } = PRESETS[preset]!;
    const wanted = changedConfig(runtime.config, settings, "test").config;
    const frames = runtime.parts.pipeline.frames;
    expect(await client.ask("set", { preset }), preset).toMatchObject({ ok: true, values: settings });
    expect(runtime.config, preset).toEqual(wanted);
    expect(runtime.parts.engine.match.algorithm).toBe(settings["match.algorithm"]);
    expect(notices).toContainEqual(
      expect.stringMatching(`^settings changed by "test": preset ${preset}, which is now match.`),
    );
    await until("two frames with it", () => runtime.parts.pipeline.frames > frames + 1, 10_000);
    await new Promise((done) => setTimeout(done, 110)); // ten requests a second are served
  }
  const values = { "match.esaw.steps": 7, "refine.median": false };
  const { values: applied } = await client.ask("set", { preset: "esaw-9", values });
  expect(applied).toEqual({ ...PRESETS["esaw-9"]!.settings, ...values });
  expect(valueAt(runtime.config, "match.esaw.steps")).toBe(7);
  const figures = await stop();
  expect(accountedPairs(figures)).toBe(figures.captured);
}, 60_000);

test("an unknown name gets the nearest, and a value that does not fit leaves all as it was", async () => {
  const url = await broker();
  const { runtime } = await bench.run(url, "two");
  const client = await bench.client(url, "two", 4);
  const before = runtime.config;
  expect(await client.ask("set", { preset: "esaw9" })).toMatchObject({
    ok: false,
    code: "CONTROL_INVALID",
    message: `expected preset to be ${PRESET_NAMES.join(", ")}, got "esaw9"; did you mean "esaw-9"?`,
  });
  expect(await client.ask("set", { preset: "__proto__" })).toMatchObject({ code: "CONTROL_INVALID" });
  expect(await client.ask("set", { preset: "" })).toMatchObject({ code: "CONTROL_INVALID" });
  expect(await client.ask("set", { values: {} })).toMatchObject({
    message: expect.stringContaining("expected at least one setting in values, or a preset"),
  });
  const values = { "match.sgm.p1": 100 };
  expect(await client.ask("set", { preset: "sgm-2016", values })).toMatchObject({
    ok: false,
    code: "CONFIG_INVALID",
    message: expect.stringContaining("expected at most match.sgm.p2, which is 86, got 100"),
  });
  expect(await client.ask("set", { preset: "quality", values: { "engine.threads": 1 } })).toMatchObject({
    code: "SETTING_NEEDS_RESTART",
  });
  expect(runtime.config).toBe(before);
}, 60_000);

test("depthwatt set preset=NAME, next to a setting that wins", async () => {
  const url = await broker();
  const { runtime } = await bench.run(url, "cli");
  const secret = bench.secretFile();
  const access = ["--device", "cli", "--broker", url, "--secret-file", secret, "--json"];
  const done = await runProgram(["set", "preset=esaw-9", "refine.fill=background", ...access]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(done.stdout)).toEqual({
    ...PRESETS["esaw-9"]!.settings,
    "refine.fill": "background",
  });
  expect(runtime.config.match.algorithm).toBe("esaw");
  expect(runtime.config.refine.fill).toBe("background");
  const wrong = await runProgram(["set", "preset=esaw9", ...access]);
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain('did you mean "esaw-9"?');
}, 60_000);

test.each(["sgm-2016", "esaw-5-improved", "chang-half", "pyramid-7"])(
  "%s on a running program gives the pictures of a run that began with it",
  async (preset) => {
    const url = await broker();
    const scene = assignments(await bench.stillScene());
    await bench.run(url, "changed", ...scene, ...STILL);
    await bench.run(url, "begun", ...scene, ...STILL, ...assignments(PRESETS[preset]!.settings));
    const changed = await bench.client(url, "changed", 4);
    const begun = await bench.client(url, "begun", 4);
    const before = await hashes(changed);
    expect(await changed.ask("set", { preset: "esmp-8" })).toMatchObject({ ok: true });
    expect(await changed.ask("set", { preset })).toMatchObject({ ok: true });
    const after = await hashes(changed);
    expect(after["disparity.png"]).not.toBe(before["disparity.png"]);
    expect(after).toEqual(await hashes(begun));
  },
  60_000,
);

// SPDX-License-Identifier: Apache-2.0
// Which changes open another source, and that the one in use stays untouched by all that fails.
import { afterEach, expect, test } from "vitest";
import { hasColours } from "../../../core/index.js";
import { type Config, changedConfig, loadConfig, type SettingsChange } from "../../../edge/config/index.js";
import { LiveInput } from "../../../edge/run/live-input.js";

const opened: LiveInput[] = [];
afterEach(async () => {
  for (const input of opened.splice(0)) await input.source.stop();
});

const SMALL = ["board=none", "source.synthetic.width=96", "source.synthetic.height=64"];
const config = (...set: string[]): Config => loadConfig({ set: [...SMALL, ...set], environment: {} }).config;

async function open(...set: string[]) {
  const now = config(...set);
  const input = await LiveInput.open(now, () => {});
  opened.push(input);
  const prepare = (change: SettingsChange) => {
    const { config: next, changed } = changedConfig(now, change, "a test");
    return input.prepare(next, changed, new AbortController().signal);
  };
  return { input, prepare };
}

test("settings of other sources change no input", async () => {
  const { prepare } = await open();
  expect(await prepare({ "source.replay.loop": true, "match.numDisparities": 32 })).toBeUndefined();
});

test("a crop of the calibration is another geometry of the same source", async () => {
  const { input, prepare } = await open();
  const before = input.geometry;
  const next = await prepare({ "calibration.crop": 1 });
  expect(next!.source).toBe(input.source);
  expect(next!.geometry.depth).not.toEqual(before.depth);
  expect(input.geometry).toBe(before);
  next!.takeOver();
  expect(input.geometry).toBe(next!.geometry);
});

test("a matcher that reads colours gets them: the source is opened anew with them", async () => {
  const { input, prepare } = await open();
  expect(hasColours(input.source.description.leftFormat)).toBe(false);
  const next = await prepare({ "match.algorithm": "esaw" });
  expect(hasColours(next!.source.description.leftFormat)).toBe(true);
  await next!.discard();
  expect(await prepare({ "match.algorithm": "cbca" })).toBeUndefined();
});

test("a run that ends does not wait for the first pair of another source", async () => {
  const { input } = await open();
  const { config: next, changed } = changedConfig(config(), { "source.synthetic.rateHz": 0.01 }, "a test");
  const ending = new AbortController();
  const prepared = input.prepare(next, changed, ending.signal);
  ending.abort();
  await expect(prepared).rejects.toMatchObject({ code: "RUN_ENDED" });
});

test("a run that ends does not wait for a source that is still being opened", async () => {
  // It never writes a frame: opening it fails after a second.
  const set = [
    "source.kind=synthetic",
    "source.command.sideBySide=sleep 10",
    "source.command.timeoutMs=1000",
  ];
  const { input } = await open(...set);
  const { config: next, changed } = changedConfig(config(...set), { "source.kind": "command" }, "a test");
  const ending = new AbortController();
  const prepared = input.prepare(next, changed, ending.signal);
  ending.abort();
  await expect(prepared).rejects.toMatchObject({ code: "RUN_ENDED" });
  // One that waits its turn behind it is not opened at all.
  await expect(input.prepare(next, changed, ending.signal)).rejects.toMatchObject({ code: "RUN_ENDED" });
});

test("a source that is exchanged before the run starts is used", async () => {
  const { input, prepare } = await open();
  const next = await prepare({ "source.synthetic.width": 128 });
  next!.takeOver();
  expect(input.source.description.width).toBe(128);
  expect(input.geometry.width).toBe(128);
  const bytes = await new Promise<number>((resolve, reject) => {
    input.source.start({
      onPair: (pair) => {
        resolve(pair.left.data.length);
        pair.release();
      },
      onDegraded: () => {},
      onEnd: () => reject(new Error("it ended")),
      onError: reject,
    });
  });
  expect(bytes).toBe(128 * 64);
});

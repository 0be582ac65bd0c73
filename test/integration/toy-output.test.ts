// SPDX-License-Identifier: Apache-2.0
// An output of one's own, added from its folder to a copy of the project and run by `depthwatt run`: what it costs in changed
// files, and that a bad one hurts nobody.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunFigures } from "../../edge/run/figures.js";
import { TreeCopy } from "../doubles/tree-copy.js";

const COUNTER = `// SPDX-License-Identifier: Apache-2.0
// An output that counts.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";
import { defineOutput, type FrameLease, type Output } from "../../contracts/output.js";

const settings = section("A counter.", {
  enabled: setting(z.boolean(), { default: false, description: "Counts frames." }),
  manner: setting(z.enum(["good", "throws", "rejects", "holds", "doesNotOpen"]), {
    default: "good",
    description: "How it behaves.",
  }),
});

export const counter = defineOutput({
  settings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.counter.enabled is false"),
  encodings: () => ({ encodeDisparity: "raw" }),
  framesHeld: 1,
  async open({ settings: { manner }, width, height }): Promise<Output> {
    if (manner === "doesNotOpen") throw new Error("its pencil is blunt");
    let sent = 0;
    let bytes = 0;
    const kept: FrameLease[] = [];
    return {
      streams: ["disparity"],
      frame(lease) {
        if (manner === "throws") throw new Error("it cannot count that far");
        if (manner === "rejects") return Promise.reject(new Error("it counts later")) as unknown as void;
        if (manner === "holds") {
          kept.push(lease);
          return;
        }
        const { encodings, result, slot } = lease.frame;
        if (encodings.encodeDisparity === "raw") bytes += result.encodedDisparityBytes;
        if (slot.disparityQ4.length !== width * height) throw new Error("another size");
        sent++;
        lease.sent();
        lease.release();
      },
      counters: () => ({ sent, bytes, drops: {}, details: { kept: kept.length } }),
      close: async () => {},
    };
  },
});
`;

let copy: TreeCopy;
beforeAll(async () => {
  copy = new TreeCopy();
  copy.put("edge/outputs/counter/open.ts", COUNTER);
  copy.replace(
    "edge/outputs/list.ts",
    'import { mqtt } from "./mqtt/open.js";',
    'import { counter } from "./counter/open.js";\nimport { mqtt } from "./mqtt/open.js";',
  );
  copy.replace("edge/outputs/list.ts", "  viewer,\n", "  viewer,\n  counter,\n");
  await copy.build("build:ts");
}, 960_000);
afterAll(() => copy?.remove());

const SMALL = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];

function run(...words: string[]) {
  const set = SMALL.flatMap((setting) => ["--set", setting]);
  return copy.run("run", ...set, "--frames", "12", "--rate", "40", "--json", ...words);
}

function figuresOf(...words: string[]): RunFigures & { outputs: { counter: Record<string, unknown> } } {
  const { stdout, stderr, status } = run(...words);
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

test("costs two changed files at most", () => {
  expect(copy.changed).toEqual(["edge/outputs/list.ts"]);
});

test("counts every frame, and gets the encoding it asks for", () => {
  const figures = figuresOf("--broker", "none", "--set", "outputs.counter.enabled=true");
  expect(figures.outputs.counter).toMatchObject({
    sent: 12,
    bytes: 12 * 2 * figures.width * figures.height,
    problem: null,
  });
  expect(figures.outputs.counter.latencyMs).toEqual(figures.latencyMs);
  expect(figures.outputs.mqtt).toEqual({ available: false, reason: "outputs.mqtt.broker is none" });
});

test("is off unless asked for, and its settings are checked like all others", () => {
  expect(figuresOf("--broker", "none").outputs.counter).toEqual({
    available: false,
    reason: "outputs.counter.enabled is false",
  });
  const wrong = run("--set", "outputs.counter.maner=good");
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain('did you mean "outputs.counter.manner"?');
});

test.each([
  ["throws", "failed", 12, "frame failed: it cannot count that far"],
  ["rejects", "failed", 12, "frame failed: it counts later"],
  ["holds", "held", 10, "it holds 2 frames and releases none"],
])("one that %s is counted beside MQTT, which gets every frame", (manner, cause, count, problem) => {
  const figures = figuresOf(
    "--set",
    "outputs.counter.enabled=true",
    "--set",
    `outputs.counter.manner=${manner}`,
  );
  expect(figures.frames).toBe(12);
  expect(figures.drops[`counter.${cause}`]).toBe(count);
  expect(figures.outputs.counter).toMatchObject({ sent: 0, problem });
  expect(figures.outputs.mqtt).toMatchObject({ sent: 12, problem: null });
});

test("one that cannot be opened is a clear error at the start", () => {
  const ran = run("--set", "outputs.counter.enabled=true", "--set", "outputs.counter.manner=doesNotOpen");
  expect(ran.status).toBe(3);
  expect(ran.stderr).toContain("error: the output counter could not be opened: its pencil is blunt");
  expect(ran.stderr).toMatch(/^hint: /m);
});

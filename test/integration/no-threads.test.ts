// SPDX-License-Identifier: Apache-2.0
// A system that gives no more threads: an error with a code, and all is well again when it does.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

interface Outcomes {
  held: { engine: string; scene: string };
  free: { engine: string; scene: string };
}

const run = promisify(execFile);
// V8 aborts where it cannot make room for young objects: it has all of that room before memory is held.
const V8 = ["--min-semi-space-size=16", "--max-semi-space-size=16", "--no-incremental-marking"];

/** @param tries that are left where V8 itself finds no memory, which says nothing of depthwatt */
async function outcomesWith(stacks: number, tries = 5): Promise<Outcomes> {
  const words = [...V8, "test/doubles/without-threads.mjs", String(stacks)];
  try {
    return JSON.parse((await run(process.execPath, words)).stdout) as Outcomes;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (tries > 1 && /v8::|heap out of memory/.test(stderr ?? "")) return outcomesWith(stacks, tries - 1);
    throw error;
  }
}

test("no thread at all, and one for each of the first few", async () => {
  const none = await outcomesWith(0);
  expect(none.held.engine).toMatch(/^ENGINE_FAILED: .*another thread.*ulimit/);
  expect(none.held.scene).toMatch(/^ENGINE_FAILED: .*another thread.*ulimit/);
  for (const stacks of [1, 2, 3, 4]) {
    const { held, free } = await outcomesWith(stacks);
    for (const one of [held.engine, held.scene]) expect(one).toMatch(/^(ok$|ENGINE_FAILED: )/);
    expect(free, `after ${stacks}`).toEqual({ engine: "ok", scene: "ok" });
  }
}, 60_000);

test("as many threads as cores that the process may use", async () => {
  const program = `
    import { createEngine } from "./dist/cuda/index.js";
    import { smallEngine } from "./test/doubles/small-engine.mjs";
    const engine = await createEngine(smallEngine(64, 48, { backend: "cpu", threads: 0, slots: 2 }));
    console.log(engine.info.threads);
    engine.close();`;
  const node = [process.execPath, "--input-type=module", "--eval", program];
  const [core] = (await run("taskset", ["-cp", String(process.pid)])).stdout.match(/\d+(?=\D*$)/)!;
  const { stdout } = await run("taskset", ["-c", core, ...node]);
  expect(Number(stdout)).toBe(1);
});

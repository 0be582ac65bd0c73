// SPDX-License-Identifier: Apache-2.0
// A system that gives no more threads: an error with a code, and all is well again when it does.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

interface Outcomes {
  held: { engine: string; scene: string };
  free: { engine: string; scene: string };
}

async function outcomesWith(stacks: number): Promise<Outcomes> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "test/doubles/without-threads.mjs",
    String(stacks),
  ]);
  return JSON.parse(stdout) as Outcomes;
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

// SPDX-License-Identifier: Apache-2.0
// A system that gives no more threads: an error with a code, and all is well again when it does.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { needs } from "../doubles/needs.js";

interface Outcomes {
  held: { engine: string; scene: string };
  free: { engine: string; scene: string };
}

const run = promisify(execFile);

needs("toolchain").suite("a system without threads", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-threads-"));
  const library = join(folder, "fewer_threads.so");
  afterAll(() => rmSync(folder, { recursive: true }));

  async function outcomesWith(threads: number): Promise<Outcomes> {
    const env = { ...process.env, LD_PRELOAD: `${process.env.LD_PRELOAD ?? ""} ${library}` };
    const words = ["test/doubles/without-threads.mjs", String(threads)];
    return JSON.parse((await run(process.execPath, words, { env })).stdout) as Outcomes;
  }

  test("an engine of four threads is refused with three, and both open as soon as there are enough", async () => {
    await run("gcc", [
      "-shared",
      "-fPIC",
      "-O2",
      "-o",
      library,
      "test/doubles/native/fewer_threads.c",
      "-ldl",
    ]);
    const refused = expect.stringMatching(/^ENGINE_FAILED: .*another thread.*ulimit/);
    const free = { engine: "ok", scene: "ok" };
    for (const threads of [0, 1, 2, 3])
      expect(await outcomesWith(threads), `${threads}`).toEqual({
        held: { engine: refused, scene: refused },
        free,
      });
    expect(await outcomesWith(4)).toEqual({ held: { engine: "ok", scene: refused }, free });
    expect(await outcomesWith(100)).toEqual({ held: free, free });
  }, 60_000);
});

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

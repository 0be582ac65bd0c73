// SPDX-License-Identifier: Apache-2.0
// The page of the library: each of its examples is run as it is there, and prints what stands below it.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { until } from "../doubles/frames.js";
import { type Running, startProgram } from "../doubles/program.js";

const repository = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(repository, "docs/start/library.md"), "utf8");

/** Heading, code, and the indented lines that follow the code. */
const examples = [...page.matchAll(/^## (.+)\n[^#]*?^```js\n([\s\S]*?)^```\n\n((?: {4}.*\n)+)/gm)].map(
  ([, heading, code, printed]) => [heading!, code!, printed!.replace(/^ {4}/gm, "")] as const,
);

// Inside the checkout, where the name "depthwatt" is this package.
mkdirSync(join(repository, "build"), { recursive: true });
const folder = mkdtempSync(join(repository, "build/library-page-"));
let publisher: Running;
let broker: string | undefined;
beforeAll(async () => {
  const scene = { width: 320, height: 240, folder, frames: 1, view: "rectified", truth: "none" } as const;
  await writeScene(loadNative(), scene);
  for (const side of ["left", "right"]) {
    const [name] = readdirSync(join(folder, side));
    renameSync(join(folder, side, name!), join(folder, `${side}.png`));
  }
  const words = "run --source synthetic --device porch --broker embedded --set outputs.viewer.enabled=false";
  const size = "--set source.synthetic.width=320 --set source.synthetic.height=240";
  publisher = startProgram(`${words} ${size}`.split(" "));
  const printed = () => publisher.stdout() + publisher.stderr();
  await until(
    "the broker's address",
    () => {
      broker = /consume (mqtt:\S+)/.exec(printed())?.[1];
      return broker !== undefined;
    },
    50_000,
  );
}, 60_000);
afterAll(async () => {
  publisher.child.kill("SIGTERM");
  await publisher.ended;
  rmSync(folder, { recursive: true, force: true });
});

test("every block of code on the page is an example that is run here", () => {
  expect(examples.length).toBe(page.match(/^```js$/gm)!.length);
  expect(examples.length).toBeGreaterThanOrEqual(3);
});

test.each(examples)("%s", (_heading, code, printed) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, BROKER: broker },
    timeout: 30_000,
  });
  expect(stdout, stderr).toBe(printed);
  expect(status, stderr).toBe(0);
});

// SPDX-License-Identifier: Apache-2.0
// Tests that mount: small disks that fill, a system without /proc. Mounting needs root. Another user runs such a test once more in a user
// namespace (user_namespaces(7)), where this user is root.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, type TestContext, test } from "vitest";

const NAMESPACE = ["--user", "--map-root-user", "--mount"];
const mayMount = () => process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;
const mayEnter = () => spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;

async function runInNamespace(name: string): Promise<void> {
  const file = expect.getState().testPath!;
  const pattern = `${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const vitest = ["node_modules/vitest/vitest.mjs", "run", file, "--testNamePattern", pattern];
  const child = spawn("unshare", [...NAMESPACE, "--kill-child", process.execPath, ...vitest]);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect(code, text).toBe(0);
}

/** Declares a test whose body may mount. Where that is impossible it fails with CI=true, and is a named skip elsewhere. */
export function testThatMounts(
  name: string,
  body: (context: TestContext) => unknown,
  timeoutMs = 120_000,
): void {
  test(
    name,
    async (context) => {
      if (mayMount()) return void (await body(context));
      if (mayEnter()) return await runInNamespace(name);
      const reason = "needs root or user namespaces, to mount";
      if (process.env.CI === "true") expect.fail(reason);
      context.skip(reason);
    },
    timeoutMs,
  );
}

/** Mounts a disk of this size, such as "64k", at an existing folder. @returns how to unmount it */
export function mountDisk(folder: string, size: string): () => void {
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "none", folder]);
  if (status !== 0) throw new Error(`no disk at ${folder}: ${stderr}`);
  return () => void spawnSync("umount", ["-l", folder]);
}

/** Fills a disk with one file. @returns its path */
export function fillDisk(disk: string): string {
  const ballast = join(disk, "ballast");
  const descriptor = openSync(ballast, "w");
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  } finally {
    closeSync(descriptor);
  }
  return ballast;
}

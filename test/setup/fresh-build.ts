// SPDX-License-Identifier: Apache-2.0
// Builds before the tests if a source has changed since the last build, because many tests start the built program. In watch
// mode it builds before each rerun too.
import { spawnSync } from "node:child_process";
import type { TestProject } from "vitest/node";
import { packageRoot } from "../../core/index.js";
import { isBuilt } from "../../scripts/build-stamp.mjs";

function buildIfStale(): void {
  const root = packageRoot();
  if (isBuilt(root)) return;
  process.stdout.write("A source has changed since the last build: running 'npm run build'.\n");
  const { status, error } = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  if (status !== 0)
    throw new Error(
      `Expected 'npm run build' to succeed. Fix the errors above. ${error?.message ?? ""}`.trim(),
    );
}

/** @throws Error if the build fails */
export default function setup(project: TestProject): void {
  buildIfStale();
  project.onTestsRerun(buildIfStale);
}

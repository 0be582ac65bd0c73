// SPDX-License-Identifier: Apache-2.0
// The gates themselves: a skip names its hint, CI turns it into a failure, data never does.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { needs, needsData } from "../../doubles/needs.js";

const repository = resolve(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(repository, "test/.needs-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs one suite in its own vitest, where `mosquitto` cannot be found. */
function runSuite(gate: string, environment: Record<string, string>) {
  const file = join(folder, "inner.test.ts");
  writeFileSync(
    file,
    `import { test } from "vitest";
import { needs, needsData } from "../doubles/needs.js";
${gate}.suite("inner", () => { test("body of the suite", () => {}); });
`,
  );
  const configuration = join(folder, "vitest.config.ts");
  writeFileSync(configuration, 'export default { test: { include: ["**/inner.test.ts"] } };\n');
  const env = { ...process.env, ...environment };
  const vitest = join(repository, "node_modules/vitest/vitest.mjs");
  const result = spawnSync(
    process.execPath,
    [vitest, "run", "--config", configuration, "--root", folder, "--reporter=verbose"],
    { encoding: "utf8", env },
  );
  return { status: result.status, output: result.stdout + result.stderr };
}

describe("needs", () => {
  test("is met by an installed tool", () => {
    expect(needs("toolchain").met).toBe(true);
    expect(needs("toolchain").reason).toBe("");
  });

  const absent = { PATH: "/nowhere", CI: "" };
  const gate = 'needs("toolchain")';

  test("a missing package is a skip that names the apt line", () => {
    const { status, output } = runSuite(gate, absent);
    expect(status).toBe(0);
    expect(output).toContain("inner: needs toolchain (sudo apt-get install g++ make python3)");
    expect(output).toContain("1 skipped");
    expect(output).not.toContain("body of the suite");
  });

  test("with CI=true it is a failure", () => {
    const { status, output } = runSuite(gate, { ...absent, CI: "true" });
    expect(status).toBe(1);
    expect(output).toContain("with CI=true this suite must run");
  });

  test("missing data is a skip, even with CI=true", () => {
    const { status, output } = runSuite('needsData("no/such/pair")', { CI: "true", DEPTHWATT_DATA: "/" });
    expect(status).toBe(0);
    expect(output).toContain("needs research data that is not there: no/such/pair");
  });

  test("data that is there is handed to the suite as a path", () => {
    const before = process.env.DEPTHWATT_DATA;
    process.env.DEPTHWATT_DATA = "/usr";
    try {
      expect(needsData("bin").met).toBe(true);
    } finally {
      if (before === undefined) delete process.env.DEPTHWATT_DATA;
      else process.env.DEPTHWATT_DATA = before;
    }
  });
});

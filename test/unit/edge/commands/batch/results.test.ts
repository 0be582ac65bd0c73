// SPDX-License-Identifier: Apache-2.0
// Another value of any setting that a result depends on asks for another folder.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { claimFolder, resultSettings } from "../../../../../edge/commands/batch/results.js";
import { loadConfig, SETTINGS } from "../../../../../edge/config/index.js";
import { differentValue } from "../../../../doubles/other-value.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-results-"));
afterAll(() => rmSync(folder, { recursive: true }));

const choice = (...set: string[]) => resultSettings(loadConfig({ set, environment: {} }).config, "pfm");

const COMPUTED = SETTINGS.filter(
  ({ key }) => /^(match|refine|rectify|region|depth|calibration)\./.test(key) && key !== "calibration.file",
);

test.each(COMPUTED.map((setting) => [setting.key, setting] as const))("%s", (key, setting) => {
  const matcher = /^match\.(\w+)\./.exec(key)?.[1];
  const own = matcher === undefined ? [] : [`match.algorithm=${matcher}`];
  const changed = [...own, `${key}=${differentValue(setting)}`];
  expect(choice(...changed)).not.toEqual(choice(...own));
});

test("a folder that holds results of another region is refused, one of the same is taken again", async () => {
  const [whole, part] = [choice(), choice("region.width=64")];
  const key = await claimFolder(folder, whole);
  expect(await claimFolder(folder, whole)).toBe(key);
  await expect(claimFolder(folder, part)).rejects.toMatchObject({ code: "USAGE" });
});

// SPDX-License-Identifier: Apache-2.0
// A machine on which the image library does not load: the error reports it, and no image is called damaged.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { decodeGreyImage, encodeJpeg, encodePng } from "../../camera/index.js";
import { runBatch } from "../../edge/commands/batch/batch.js";
import { toRecording } from "../../edge/commands/convert/to-recording.js";
import { lookAtImages } from "../../edge/commands/doctor/look-at-program.js";
import { loadConfig } from "../../edge/config/index.js";

vi.mock("sharp", () => {
  throw new Error("Cannot find package '@img/colour'\nImported from here");
});

const folder = mkdtempSync(join(tmpdir(), "depthwatt-library-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const missing = { code: "IMAGE_LIBRARY_MISSING", exitCode: 4 };
const image = { data: new Uint8Array(64), width: 8, height: 8 };

test("a whole PNG is not called damaged", async () => {
  await expect(decodeGreyImage(await encodePng(image), "a.png")).rejects.toMatchObject({
    ...missing,
    message: expect.stringContaining("expected the image library sharp to load, found:") as string,
  });
  await expect(encodeJpeg(image)).rejects.toMatchObject(missing);
});

test("the doctor reports it", async () => {
  expect(await lookAtImages()).toMatchObject({ name: "images", state: "bad", exitCode: 4 });
});

test("batch and convert stop instead of skipping every pair", async () => {
  for (const name of ["left.png", "right.png"]) writeFileSync(join(folder, name), await encodePng(image));
  const options = {
    config: loadConfig({ environment: {}, set: ["board=none"] }).config,
    input: folder,
    output: join(folder, "out"),
    format: "pfm",
    ahead: 1,
    onProgress: () => {},
    onSkip: () => {},
    note: () => {},
  } as const;
  await expect(
    runBatch([{ name: "a", left: "left.png", right: "right.png" }], options),
  ).rejects.toMatchObject(missing);
  for (const side of ["left", "right"]) {
    mkdirSync(join(folder, "pairs", side), { recursive: true });
    writeFileSync(join(folder, "pairs", side, "0.png"), await encodePng(image));
  }
  const events = { onProgress: () => {}, onSkip: () => {}, onWarning: () => {} };
  await expect(
    toRecording(join(folder, "pairs"), join(folder, "out.mcap"), { rateHz: 30 }, events),
  ).rejects.toMatchObject(missing);
});

// SPDX-License-Identifier: Apache-2.0
// Tests what the doctor says after an upgrade: of the program, of JetPack, of the board, of the cameras.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  gatherEvidence,
  JETPACK_FAMILIES,
  loadBoardFile,
  readL4t,
  SHIPPED_BOARDS,
} from "../../../../../edge/boards/index.js";
import { lookAtCalibration, lookAtPlugin } from "../../../../../edge/commands/doctor/look-at-upgrade.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { VERSION } from "../../../../../edge/contracts/version.js";

const plugin = { version: VERSION, nvcc: "12.6", architectures: ["87"] };
const board = (name: string) => {
  const { board: choice } = loadConfig({ environment: {}, set: ["board=none"] });
  return { board: { ...choice, facts: loadBoardFile(join(SHIPPED_BOARDS, `${name}.json`)) } };
};
const on = (release: string) => ({
  ...gatherEvidence(),
  l4t: readL4t(`# R${release.replace(".", " (release), REVISION: ")}, GCID: 1`),
});

test("a plugin of this version, this JetPack and this board is well", () => {
  expect(lookAtPlugin("auto", board("orin-nano-8gb"), on("36.4.3"), plugin)).toMatchObject({
    state: "ok",
    text: "of this version, CUDA 12.6, for sm_87",
  });
});

test.each([
  ["of another program", { version: "0.0.9" }, "36.4.3", /plugin is of depthwatt 0\.0\.9, this program is/],
  [
    "of a later JetPack",
    { nvcc: "13.2" },
    "36.4.3",
    /needs CUDA 13\.2, the driver of L4T 36\.4\.3 serves 12\.6/,
  ],
  [
    "left by an upgrade of JetPack",
    {},
    "39.2.0",
    /built for an earlier JetPack \(CUDA 12\.6\), this is L4T 39\.2\.0/,
  ],
  ["of another board", { architectures: ["72"] }, "36.4.3", /code for sm_72, this board is sm_87/],
])("a plugin %s is named, and is an error with backend cuda", (_, changes, release, words) => {
  const look = (wanted: string) =>
    lookAtPlugin(wanted, board("orin-nano-8gb"), on(release), { ...plugin, ...changes });
  expect(look("auto")?.text).toMatch(words);
  expect(look("auto")?.state).toBe("absent");
  expect(look("cuda")).toMatchObject({ state: "bad", exitCode: 4 });
});

test("a package of JetPack 7 fits Orin and Thor", () => {
  const { architectures } = JETPACK_FAMILIES.jetpack7!;
  const seven = { version: VERSION, nvcc: "13.2", architectures };
  for (const name of ["orin-nano-8gb", "agx-orin-64gb", "agx-thor-t5000"])
    expect(lookAtPlugin("cuda", board(name), on("39.2.0"), seven)?.state).toBe("ok");
});

const folder = mkdtempSync(join(tmpdir(), "depthwatt-upgrade-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a calibration is read, and compared with the size that the settings ask for", async () => {
  const file = join(folder, "camchain.yaml");
  const camera = (extra = "") =>
    `  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [0, 0, 0, 0]\n  intrinsics: [400, 400, 320, 240]\n  resolution: [640, 480]\n${extra}`;
  const pose = "  T_cn_cnm1: [[1, 0, 0, -0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n";
  writeFileSync(file, `cam0:\n${camera()}cam1:\n${camera(pose)}`);
  const look = (...set: string[]) =>
    lookAtCalibration(loadConfig({ environment: {}, set: [`calibration.file=${file}`, ...set] }).config);
  const cameras = ["source.kind=v4l2", "source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"];
  expect(await look()).toMatchObject({ state: "ok", text: `${file} can be read` });
  expect(await look(...cameras, "source.v4l2.width=640", "source.v4l2.height=480")).toMatchObject({
    state: "ok",
  });
  expect(await look(...cameras, "source.v4l2.width=1280", "source.v4l2.height=720")).toMatchObject({
    state: "bad",
    text: expect.stringContaining("found 640 x 480"),
  });
  expect(await lookAtCalibration(loadConfig({ environment: {} }).config)).toBeUndefined();
  rmSync(file);
  expect(await look()).toMatchObject({ state: "bad" });
});

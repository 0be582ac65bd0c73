// SPDX-License-Identifier: Apache-2.0
// Makes the table of cameras from camera-configs/: the page has one line that works for each.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { table } from "../bench/shared/result-tables.mjs";

const FOLDER = "camera-configs";
const FLAGS = {
  "source.v4l2.left": "--left",
  "source.v4l2.right": "--right",
  "source.v4l2.sideBySide": "--side-by-side",
};

/** The files of camera-configs/, by name. */
export function cameraConfigs(root) {
  return readdirSync(join(root, FOLDER))
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => ({ file, ...JSON.parse(readFileSync(join(root, FOLDER, file), "utf8")) }));
}

export function commandLine({ settings }) {
  const words = Object.entries(settings).map(([key, value]) =>
    key in FLAGS ? `${FLAGS[key]} ${value}` : `--set ${key}=${value}`,
  );
  return `depthwatt run --source v4l2 ${words.join(" ")}`;
}

/** Returns the page with the table between its two marks. */
export function withCameraTable(root, page) {
  const rows = cameraConfigs(root).map((camera) => [
    `[${camera.name}](../../${FOLDER}/${camera.file})`,
    `\`${commandLine(camera)}\``,
    camera.hardware,
  ]);
  const text = `<!-- cameras -->\n\n${table(["camera", "one line that works", "run on hardware"], rows)}\n\n<!-- /cameras -->`;
  return readFileSync(join(root, page), "utf8").replace(
    /<!-- cameras -->[\s\S]*<!-- \/cameras -->/,
    () => text,
  );
}

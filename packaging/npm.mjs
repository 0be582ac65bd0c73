// SPDX-License-Identifier: Apache-2.0
// `npm run package:npm`: the tarballs that are published to npm: depthwatt and v4l2-camera with prebuilt addons for x64 and arm64, and
// depthwatt-consumer. The same bytes for the same commit.
//   npm run package:npm -- [--out DIR] [--arch amd64,arm64] [--addons DIR]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../scripts/arguments.mjs";
import { addonsFor, COMPILERS } from "./addons.mjs";
import { ARCHITECTURES } from "./node-runtime.mjs";

const project = dirname(dirname(fileURLToPath(import.meta.url)));

/** Each package: its workspace, and its addons with the folder that gets prebuilds/linux-ARCH. */
const PACKAGES = [
  { workspace: undefined, addons: { depthwatt: "", v4l2_camera: "node_modules/v4l2-camera" } },
  { workspace: "v4l2-camera", addons: { v4l2_camera: "" } },
  { workspace: "depthwatt-consumer", addons: {} },
];

/** Packs and unpacks one package below `work`. @returns its file name and folder */
function unpack(workspace, work) {
  const words = ["pack", "--json", "--ignore-scripts", "--pack-destination", work];
  if (workspace !== undefined) words.push("--workspace", workspace);
  const output = execFileSync("npm", words, {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [{ filename }] = JSON.parse(output);
  const folder = join(work, workspace ?? "depthwatt");
  mkdirSync(folder);
  execFileSync("tar", ["-xzf", join(work, filename), "-C", folder]);
  return { filename, folder };
}

/** Packs a folder as npm does: names below package/, no owner, one time, programs executable. */
function pack(folder, file) {
  const names = execFileSync("find", ["package", "-type", "f"], { cwd: folder, encoding: "utf8" });
  const list = names.trim().split("\n").sort().join("\n");
  const fixed = ["--owner=0", "--group=0", "--numeric-owner", "--mtime=1985-10-26T08:15:00Z"];
  const words = ["--format=ustar", "--mode=u+rw,go+r,go-w", ...fixed, "-T", "-", "-cf", `${file}.tar`];
  execFileSync("tar", words, { cwd: folder, input: list });
  execFileSync("gzip", ["-9nf", `${file}.tar`]);
  renameSync(`${file}.tar.gz`, file);
}

function main() {
  const { values } = scriptArguments({
    options: {
      out: { type: "string", default: join(project, "out") },
      arch: { type: "string", default: Object.keys(COMPILERS).join(",") },
      addons: { type: "string" },
    },
  });
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "depthwatt-npm-"));
  try {
    const built = values.arch
      .split(",")
      .map((one) => [ARCHITECTURES[one].npm, addonsFor(project, one, values.addons ?? join(work, "addons"))]);
    for (const { workspace, addons } of PACKAGES) {
      const { filename, folder } = unpack(workspace, work);
      for (const [addon, place] of Object.entries(addons))
        for (const [architecture, from] of built) {
          const to = join(folder, "package", place, `prebuilds/linux-${architecture}`);
          mkdirSync(to, { recursive: true });
          cpSync(join(from, `${addon}.node`), join(to, `${addon}.node`));
        }
      const file = join(out, filename);
      pack(folder, file);
      const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
      console.log(`${sha256}  ${filename}  ${(statSync(file).size / 1e6).toFixed(1)} MB`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  main();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}

// SPDX-License-Identifier: Apache-2.0
// `npm run package`: Debian packages for amd64 and arm64, the same bytes for the same commit.
//   npm run package -- [--arch amd64,arm64] [--out DIR] [--node ARCH=FILE --node-license FILE] [--cuda NAME [--plugin FILE]]
//                      [--addons DIR]
// packaging/README.md explains each.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../scripts/arguments.mjs";
import { addonsFor, COMPILERS } from "./addons.mjs";
import { cudaTarget, makeCudaPackage } from "./cuda.mjs";
import { makeDeb } from "./deb.mjs";
import { fetchDebian } from "./debian-compilers.mjs";
import { checkSymbolVersions } from "./elf.mjs";
import { chooseNode } from "./node-runtime.mjs";
import { CONFFILES, isProgram, makeTree } from "./tree.mjs";

const project = dirname(dirname(fileURLToPath(import.meta.url)));

/** Node asks for glibc 2.28; JetPack 5 has 2.31. */
const NODE_LIMITS = { GLIBC: "2.28", GLIBCXX: "3.4.22" };

const DESCRIPTION = `stereo depth from paired cameras, published over MQTT
 depthwatt turns a pair of V4L2 cameras into a depth stream over MQTT, and says
 what every frame costs in joules. It runs as a systemd service on Jetson-class
 boards and on PCs; each algorithm computes the same bits on the CPU and on the
 GPU.
 .
 This package contains Node in /usr/lib/depthwatt.`;

const git = (...words) => execFileSync("git", ["-C", project, ...words], { encoding: "utf8" }).trim();

/** Seconds since 1970 that every file gets: the variable that builds agree on, else the commit's time. */
function sourceDate() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given === undefined || given === "") return Number(git("log", "-1", "--format=%ct"));
  if (!/^\d+$/.test(given))
    throw new Error(`SOURCE_DATE_EPOCH: expected seconds, got ${JSON.stringify(given)}`);
  return Number(given);
}

function readWords() {
  const { values } = scriptArguments({
    options: {
      arch: { type: "string", default: Object.keys(COMPILERS).join(",") },
      out: { type: "string", default: join(project, "out") },
      node: { type: "string", multiple: true, default: [] },
      "node-license": { type: "string" },
      cuda: { type: "string" },
      plugin: { type: "string" },
      // Addons that are compiled already, DIR/amd64/*.node; where there are none they are compiled and put there.
      addons: { type: "string" },
      // Another number than package.json's, to try an upgrade.
      version: { type: "string" },
      compression: { type: "string", default: "6" },
    },
  });
  const architectures = values.arch.split(",").filter((one) => one !== "none");
  const unknown = architectures.find((one) => COMPILERS[one] === undefined);
  if (unknown !== undefined)
    throw new Error(`--arch: expected amd64, arm64 or none, got ${JSON.stringify(unknown)}`);
  if (!/^[0-9]$/.test(values.compression)) throw new Error("--compression: expected 0 to 9, the level of xz");
  const nodes = Object.fromEntries(
    values.node.map((one) => {
      const [, architecture, file] = /^(amd64|arm64)=(.+)$/.exec(one) ?? [];
      if (file === undefined)
        throw new Error(`--node: expected amd64=FILE or arm64=FILE, got ${JSON.stringify(one)}`);
      return [architecture, resolve(file)];
    }),
  );
  return { ...values, architectures, nodes, out: resolve(values.out) };
}

const { version: programVersion } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));

/** dpkg's tools ask the same two variables; else who made the commit. */
const maintainer = () => {
  const { DEBFULLNAME: name, DEBEMAIL: mail } = process.env;
  return name && mail ? `${name} <${mail}>` : git("log", "-1", "--format=%an <%ae>");
};

async function main() {
  const words = readWords();
  const target = words.cuda === undefined ? undefined : await cudaTarget(project, words.cuda);
  const epochSeconds = sourceDate();
  const common = { Maintainer: maintainer(), Section: "science", Priority: "optional" };
  const at = new Date(1000 * epochSeconds);
  const version = `${words.version ?? programVersion}-1`;
  const day = at.toUTCString().replace("GMT", "+0000");
  const changelog = (name) =>
    `${name} (${version}) unstable; urgency=medium\n\n  * Built from the sources; see changelog.gz of depthwatt.\n\n -- ${common.Maintainer}  ${day}\n`;
  mkdirSync(words.out, { recursive: true });
  const made = [];
  const compression = words.compression;
  for (const architecture of words.architectures) {
    const root = fetchDebian("bullseye");
    const node = chooseNode(architecture, words.nodes[architecture], words["node-license"]);
    console.error(`${architecture}: Node is ${node.from}`);
    const nodeVersions = checkSymbolVersions(node.file, NODE_LIMITS);
    const work = mkdtempSync(join(tmpdir(), "depthwatt-package-"));
    try {
      const tree = join(work, "tree");
      mkdirSync(tree);
      const addons = addonsFor(project, architecture, words.addons ?? join(work, "addons"));
      const { GLIBC, GLIBCXX } = nodeVersions;
      console.error(`${architecture}: node asks for GLIBC_${GLIBC}, GLIBCXX_${GLIBCXX}`);
      const date = at.toISOString().slice(0, 10);
      const facts = { node, version: programVersion, date, changelog: changelog("depthwatt") };
      await makeTree({ project, tree, root, architecture, addons, ...facts });
      const script = (name) => readFileSync(join(project, "packaging/debian", name), "utf8");
      made.push(
        makeDeb({
          tree,
          control: {
            Package: "depthwatt",
            Version: version,
            Architecture: architecture,
            ...common,
            Depends: "libc6 (>= 2.28), libstdc++6 (>= 8), libgcc-s1, passwd",
            Suggests: "mosquitto, depthwatt-cuda",
            Description: DESCRIPTION,
          },
          scripts: Object.fromEntries(["postinst", "prerm", "postrm"].map((name) => [name, script(name)])),
          conffiles: CONFFILES,
          isProgram,
          epochSeconds,
          compression,
          out: words.out,
        }),
      );
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  if (target !== undefined) {
    const { plugin, out } = words;
    const facts = { control: common, version, programVersion, epochSeconds, compression, changelog, out };
    const { file, glibc } = makeCudaPackage({ project, target, plugin, ...facts });
    console.error(
      `depthwatt-cuda-${target.name}: needs glibc ${glibc} or newer, as this machine's compiler made it`,
    );
    made.push(file);
  }
  for (const file of made) {
    const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
    console.log(`${sha256}  ${basename(file)}  ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  }
}

try {
  await main();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}

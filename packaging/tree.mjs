// SPDX-License-Identifier: Apache-2.0
// Builds the file tree of the package depthwatt: the program with its dependencies, addons and Node; settings, units, udev rule,
// manual pages and completions, which are made from the commands.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { inRoot } from "./addons.mjs";
import { ARCHITECTURES } from "./node-runtime.mjs";

const HOME = "usr/lib/depthwatt";
const DOC = "usr/share/doc/depthwatt";
const SETTINGS = "etc/depthwatt/config.yaml";
const NODE = `${HOME}/bin/node`;

export const CONFFILES = [`/${SETTINGS}`];
export const isProgram = (path) => [NODE, "usr/bin/depthwatt"].includes(path);

/** The same bytes for the same text: no time, no name, and no byte that names the machine. */
export function gzip(text) {
  const bytes = gzipSync(text, { level: 9 });
  bytes[9] = 3;
  return bytes;
}

function put(tree, path, content) {
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), content);
}

/** Files that no program reads at run time: types, and files for the developers of a package. */
const UNUSED = [
  /\.(d\.[cm]?ts|map|tsbuildinfo|stamp)$/,
  /\/dist\/types$/,
  /\/\.[^/]+$/,
  /node_modules\/(@[^/]+\/)?[^/@]+\/(docs?|tests?|examples?|bench(marks?)?)$/,
];
const isUsed = (path) => !UNUSED.some((pattern) => pattern.test(path));

/** The production dependencies for another architecture as for this one: npm's own choice, checked by the lock file. */
function putDependencies(project, tree, architecture) {
  const work = mkdtempSync(join(tmpdir(), "depthwatt-dependencies-"));
  try {
    for (const path of ["", "camera/v4l2/", "clients/javascript/"]) {
      mkdirSync(join(work, path), { recursive: true });
      cpSync(join(project, path, "package.json"), join(work, path, "package.json"));
    }
    cpSync(join(project, "package-lock.json"), join(work, "package-lock.json"));
    const place = ["--os=linux", `--cpu=${ARCHITECTURES[architecture].npm}`, "--libc=glibc"];
    const quiet = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--silent"];
    try {
      execFileSync("npm", ["ci", "--omit=dev", ...place, ...quiet], {
        cwd: work,
        stdio: ["ignore", "ignore", "pipe"],
      });
    } catch (error) {
      throw new Error(
        `npm could not fetch the dependencies for ${architecture}: ${String(error.stderr).trim()}`,
      );
    }
    const target = join(tree, HOME, "node_modules");
    // The workspaces are links; v4l2-camera is put below, the reader's library is its own package. Headers are for compilers.
    const left = new Set([
      "v4l2-camera",
      "depthwatt-consumer",
      "node-addon-api",
      ".bin",
      ".package-lock.json",
      "@types",
    ]);
    cpSync(join(work, "node_modules"), target, {
      recursive: true,
      filter: (path) => !left.has(path.slice(join(work, "node_modules").length + 1)) && isUsed(path),
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function putProgram(project, tree, addons) {
  const home = join(tree, HOME);
  cpSync(join(project, "dist"), join(home, "dist"), { recursive: true, filter: isUsed });
  cpSync(join(project, "package.json"), join(home, "package.json"));
  mkdirSync(join(home, "build/Release"), { recursive: true });
  cpSync(join(addons, "depthwatt.node"), join(home, "build/Release/depthwatt.node"));
  const cameras = join(home, "node_modules/v4l2-camera");
  cpSync(join(project, "camera/v4l2/dist"), join(cameras, "dist"), { recursive: true, filter: isUsed });
  for (const name of ["package.json", "LICENSE"])
    cpSync(join(project, "camera/v4l2", name), join(cameras, name));
  mkdirSync(join(cameras, "build/Release"), { recursive: true });
  cpSync(join(addons, "v4l2_camera.node"), join(cameras, "build/Release/v4l2_camera.node"));
}

/** Node without its debugging symbols, which are a third of it. */
function putNode(tree, root, architecture, node) {
  const inside = mkdtempSync(join(root, "tmp/depthwatt-node-"));
  try {
    cpSync(node.file, join(inside, "node"));
    const strip = architecture === "arm64" ? "aarch64-linux-gnu-strip" : "strip";
    const failure = inRoot(root, `${strip} --strip-unneeded ${inside.slice(root.length)}/node`);
    if (failure !== "") throw new Error(`${strip}: ${failure}`);
    mkdirSync(dirname(join(tree, NODE)), { recursive: true });
    cpSync(join(inside, "node"), join(tree, NODE));
  } finally {
    rmSync(inside, { recursive: true, force: true });
  }
}

/** Units, settings, pages and completions out of the built program. */
async function putMade(project, tree, { version, date }) {
  const load = (path) => import(pathToFileURL(join(project, "dist/edge", path)).href);
  const [units, powerMode, program, pages, bash, fish, zsh] = await Promise.all([
    load("service/unit-text.js"),
    load("service/power-mode/install.js"),
    load("cli/program.js"),
    load("cli/manual/man-page.js"),
    load("cli/manual/bash-completion.js"),
    load("cli/manual/fish-completion.js"),
    load("cli/manual/zsh-completion.js"),
  ]);
  const paths = {
    unit: readFileSync(join(project, "edge/service/depthwatt.service"), "utf8"),
    node: `/${NODE}`,
    mainScript: `/${HOME}/dist/edge/cli/main.js`,
  };
  const whole = await program.buildProgram();
  put(tree, "lib/systemd/system/depthwatt.service", units.unitFor(paths));
  put(tree, "lib/systemd/system/depthwatt@.service", units.templateFor(paths));
  const devices = readFileSync(join(project, "edge/service/devices/depthwatt-devices.service"), "utf8");
  const renew = `/${HOME}/dist/edge/service/devices/renew.js`;
  put(tree, "lib/systemd/system/depthwatt-devices.service", units.devicesUnitFor(devices, `/${NODE}`, renew));
  // Off until 'depthwatt power-modes --allow' enables the socket.
  const helper = `/${HOME}/dist/edge/service/power-mode/helper.js`;
  for (const [name, text] of Object.entries(powerMode.unitTexts(`/${NODE}`, helper)))
    put(tree, `lib/systemd/system/${name}`, text);
  put(tree, SETTINGS, units.firstSettings({ file: `/${SETTINGS}`, unit: "depthwatt" }));
  for (const [name, text] of pages.manualPages(whole, { version, date }))
    put(tree, `usr/share/man/man1/${name}.gz`, gzip(text));
  put(tree, "usr/share/bash-completion/completions/depthwatt", bash.bashCompletion(whole));
  put(tree, "usr/share/fish/vendor_completions.d/depthwatt.fish", fish.fishCompletion(whole));
  put(tree, "usr/share/zsh/vendor-completions/_depthwatt", zsh.zshCompletion(whole));
}

const DOCUMENTS = [
  "docs/start/service.md",
  "docs/guides/running-service.md",
  "docs/reference/config.md",
  "docs/reference/errors.md",
  "docs/reference/mqtt.md",
  "docs/reference/frames.md",
  "docs/reference/documents.md",
  "docs/reference/requests.md",
];

function putDocuments(project, tree, { changelog, node }) {
  const debian = join(project, "packaging/debian");
  put(tree, `${DOC}/changelog.Debian.gz`, gzip(changelog));
  put(tree, `${DOC}/changelog.gz`, gzip(readFileSync(join(project, "CHANGELOG.md"))));
  put(tree, `${DOC}/README.Debian.gz`, gzip(readFileSync(join(debian, "README.Debian"))));
  put(tree, `${DOC}/copyright`, copyright(debian, node));
  put(tree, `${DOC}/node-LICENSE.gz`, gzip(readFileSync(node.license)));
  for (const path of DOCUMENTS)
    put(tree, `${DOC}/${basename(path)}.gz`, gzip(readFileSync(join(project, path))));
}

/** @param node {from, sha256} of the Node inside */
function copyright(debian, { from, sha256 }) {
  const text = readFileSync(join(debian, "copyright"), "utf8");
  return text.replace("@NODE@", `It was taken from ${from}, a file with the sha256\n ${sha256}.`);
}

/** Makes the whole tree of one architecture. */
export async function makeTree({
  project,
  tree,
  root,
  architecture,
  addons,
  node,
  version,
  date,
  changelog,
}) {
  putProgram(project, tree, addons);
  putDependencies(project, tree, architecture);
  putNode(tree, root, architecture, node);
  await putMade(project, tree, { version, date });
  putDocuments(project, tree, { changelog, node });
  const debian = join(project, "packaging/debian");
  put(tree, "usr/bin/depthwatt", readFileSync(join(debian, "depthwatt.sh")));
  put(
    tree,
    "lib/udev/rules.d/60-depthwatt-power.rules",
    readFileSync(join(project, "power/udev/60-depthwatt-power.rules")),
  );
  const overrides = join(debian, "lintian-overrides");
  if (existsSync(overrides)) put(tree, "usr/share/lintian/overrides/depthwatt", readFileSync(overrides));
}

// SPDX-License-Identifier: Apache-2.0
// Packs depthwatt and v4l2-camera as npm would publish them, installs each in an empty folder with npm 10, 11 and 12, and runs what
// was installed. One line each; exit status 1 where one fails. Needs the network, g++ and some six minutes.
//   node scripts/try-packed.mjs [VERSION...]
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const versions = process.argv.length > 2 ? process.argv.slice(2) : ["10", "11", "12"];
const work = mkdtempSync(join(tmpdir(), "depthwatt-packed-"));

/** An npm by itself, with a Node that it supports: npm 12 wants 22 or newer. @returns a folder for PATH */
function programs(version) {
  const folder = join(work, `npm-${version}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const packages = [`npm@${version}`];
  const needsNewerNode =
    Number(version.split(".")[0]) >= 12 && Number(process.versions.node.split(".")[0]) < 22;
  const node = `node-linux-${process.arch}`;
  if (needsNewerNode) packages.push(`${node}@22`);
  const words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages];
  execFileSync("npm", words, { cwd: folder, stdio: "pipe" });
  const script = join(folder, "node_modules/npm/bin/npm-cli.js");
  writeFileSync(join(folder, "bin/npm"), `#!/bin/sh\nexec node ${script} "$@"\n`, { mode: 0o755 });
  const binary = needsNewerNode ? join(folder, "node_modules", node, "bin/node") : process.execPath;
  symlinkSync(binary, join(folder, "bin/node"));
  return join(folder, "bin");
}

function pack(words) {
  const [{ filename }] = JSON.parse(
    execFileSync("npm", ["pack", ...words, "--json", "--ignore-scripts", "--pack-destination", work], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  return join(work, filename);
}

/** What each package must do where it was installed. */
const TARBALLS = {
  "v4l2-camera": {
    file: pack(["-w", "v4l2-camera"]),
    scripts: ["v4l2-camera"],
    check: `import { listDevices, open } from "v4l2-camera";
      await listDevices();
      const code = await open("/dev/null").catch((error) => error.code);
      if (code !== "DEVICE_UNSUITABLE") throw new Error(code);
      console.log("a device that is no camera:", code);`,
  },
  depthwatt: {
    file: pack([]),
    scripts: ["depthwatt"],
    check: `import { execFileSync } from "node:child_process";
      const run = (...words) => execFileSync("npm", ["exec", "--no", "--", "depthwatt", ...words], { encoding: "utf8" });
      const { frames, drops } = JSON.parse(
        run("run", "--source", "synthetic", "--broker", "none", "--frames", "20", "--json").trim().split("\\n").at(-1));
      if (frames !== 20) throw new Error("frames " + frames);
      const { loadAddon } = await import("v4l2-camera/parts").catch(() =>
        import("./node_modules/depthwatt/node_modules/v4l2-camera/dist/parts.js"));
      loadAddon();
      console.log("frames of the synthetic scene:", frames, JSON.stringify(drops));`,
  },
};

let failed = 0;
for (const version of versions) {
  const bin = programs(version);
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry)/i.test(name)),
  );
  env.PATH = `${bin}:${process.env.PATH}`;
  const text = (program, words, cwd) => {
    const ran = spawnSync(program, words, { cwd, env, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`${program} ${words.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran.stdout.trim();
  };
  for (const [name, { file, scripts, check }] of Object.entries(TARBALLS)) {
    const folder = join(work, `${name}-${version}`);
    mkdirSync(folder);
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name: "empty", private: true, type: "module" }),
    );
    writeFileSync(join(folder, "check.mjs"), check);
    const started = performance.now();
    try {
      const npm = text("npm", ["--version"], folder);
      const node = text("node", ["--version"], folder);
      text("npm", ["install", "--no-audit", "--no-fund", file], folder);
      // npm 12 runs no script of a package before it was approved: this is what its message and ours say to do.
      if (Number(npm.split(".")[0]) >= 12) {
        text("npm", ["install-scripts", "approve", ...scripts], folder);
        text("npm", ["rebuild", ...scripts], folder);
      }
      const said = text("node", ["check.mjs"], folder);
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(
        `ok   ${name.padEnd(11)} npm ${npm.padEnd(7)} node ${node.padEnd(9)} ${seconds.padStart(3)} s  ${said}`,
      );
    } catch (error) {
      failed++;
      console.log(`BAD  ${name} with npm ${version}: ${error.message}`);
    }
  }
}
console.log(
  `${readdirSync(work)
    .filter((one) => one.endsWith(".tgz"))
    .join(", ")}: version ${JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version}`,
);
rmSync(work, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);

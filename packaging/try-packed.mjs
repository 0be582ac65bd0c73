// SPDX-License-Identifier: Apache-2.0
// Packs depthwatt and v4l2-camera as npm would publish them, and installs them with npm 10, 11 and 12 on Node 20, 22 and 24:
// v4l2-camera in an empty folder, depthwatt by `npm install --global` below /opt, as for the service. Runs what was installed, and
// removes it. One line each; exit status 1 where one fails. Needs root for /opt, the network and Debian 11's compilers.
//   node packaging/try-packed.mjs [NPM/NODE...]       such as 12/24; all that npm supports where none is given
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
// npm 12 refuses Node 20.
const ALL = ["10/20", "11/20", "10/22", "11/22", "12/22", "10/24", "11/24", "12/24"];
const pairs = process.argv.length > 2 ? process.argv.slice(2) : ALL;
const work = mkdtempSync(join(tmpdir(), "depthwatt-packed-"));

/** Packages of npm, from the registry. @returns their folder */
function fetched(folder, ...packages) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages];
  execFileSync("npm", words, { cwd: folder, stdio: "pipe" });
  return join(folder, "node_modules");
}

/** A prefix with that Node and that npm, where node's own installer puts them. @returns the prefix */
function prefixWith(npm, node) {
  const prefix = mkdtempSync("/opt/depthwatt-try-");
  const name = `node-linux-${process.arch}`;
  const from = join(fetched(join(work, `node-${node}`), `${name}@${node}`), name);
  for (const part of ["bin", "include"]) execFileSync("cp", ["-r", join(from, part), join(prefix, part)]);
  const modules = fetched(join(work, `npm-${npm}`), `npm@${npm}`);
  mkdirSync(join(prefix, "lib/node_modules"), { recursive: true });
  execFileSync("cp", ["-r", join(modules, "npm"), join(prefix, "lib/node_modules/npm")]);
  rmSync(join(prefix, "bin/npm"), { force: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(prefix, "bin/npm"));
  execFileSync("chmod", ["-R", "go+rX", prefix]);
  return prefix;
}

const expect = (holds, what, said) => {
  if (!holds) throw new Error(`${what}\n${said}`);
};

/** In an empty folder, by its own import. */
function tryCameras(file, { text }) {
  const folder = mkdtempSync(join(work, "cameras-"));
  writeFileSync(join(folder, "package.json"), '{ "name": "empty", "private": true, "type": "module" }');
  writeFileSync(
    join(folder, "check.mjs"),
    `import { listDevices, open } from "v4l2-camera";
     await listDevices();
     console.log(await open("/dev/null").catch((error) => error.code));`,
  );
  text("npm", ["install", "--no-audit", "--no-fund", file], folder);
  const code = text("node", ["check.mjs"], folder).trim();
  expect(code === "DEVICE_UNSUITABLE", "a device that is no camera", code);
  return `a device that is no camera: ${code}`;
}

/** For the whole system, as the service's page says, to what the unit of install-service would start. */
function tryProgram(file, { prefix, text }) {
  text("npm", ["install", "--global", "--no-audit", "--no-fund", file], prefix);
  const words = ["run", "--source", "synthetic", "--broker", "none", "--frames", "20", "--json"];
  const run = JSON.parse(text("depthwatt", words, prefix).trim().split("\n").at(-1));
  expect(run.frames === 20, "20 frames", JSON.stringify(run));
  const unit = text("depthwatt", ["install-service", "--print-unit"], prefix);
  const start = /^ExecStart=(\S+) (\S+) run --config/m.exec(unit) ?? [];
  expect(start[1] === join(prefix, "bin/node") && start[2]?.startsWith(prefix), "the unit's paths", unit);
  const started = text(start[1], [start[2], "--version"], prefix).trim();
  const plan = text("depthwatt", ["install-service", "--dry-run"], prefix);
  expect(plan.includes("systemctl enable depthwatt.service"), "the plan of install-service", plan);
  text("npm", ["uninstall", "--global", "depthwatt"], prefix);
  return `frames: ${run.frames}; the unit starts ${started}`;
}

let failed = 0;
try {
  const arch = { x64: "amd64", arm64: "arm64" }[process.arch];
  const words = ["packaging/npm.mjs", "--out", work, "--arch", arch];
  execFileSync(process.execPath, words, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const tarballs = Object.fromEntries(
    ["depthwatt", "v4l2-camera"].map((name) => [name, join(work, `${name}-${version}.tgz`)]),
  );
  for (const pair of pairs) {
    const [npm, node] = pair.split("/").map(Number);
    const prefix = prefixWith(npm, node);
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
    env.PATH = `${join(prefix, "bin")}:${process.env.PATH}`;
    for (const name of ["npm_config_registry", "NPM_CONFIG_REGISTRY"])
      if (process.env[name] !== undefined) env[name] = process.env[name];
    const tried = (program, words, cwd = prefix) => {
      const { status, stdout, stderr } = spawnSync(program, words, { cwd, env, encoding: "utf8" });
      return { status, stdout, said: `${stdout}${stderr}` };
    };
    const text = (program, words, cwd) => {
      const { status, stdout, said } = tried(program, words, cwd);
      expect(status === 0, `${program} ${words.join(" ")} ended with ${status}`, said);
      return stdout;
    };
    try {
      const versions = `npm ${text("npm", ["--version"], prefix).trim()} node ${text("node", ["--version"], prefix).trim()}`;
      for (const [name, attempt] of [
        ["v4l2-camera", tryCameras],
        ["depthwatt", tryProgram],
      ]) {
        const started = performance.now();
        const said = attempt(tarballs[name], { prefix, text });
        const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(3);
        console.log(`ok   ${name.padEnd(11)} ${versions.padEnd(26)} ${seconds} s  ${said}`);
      }
    } catch (error) {
      failed++;
      console.log(`BAD  npm ${npm} on Node ${node}: ${error.message}`);
    } finally {
      rmSync(prefix, { recursive: true, force: true });
    }
  }
  console.log(
    readdirSync(work)
      .filter((one) => one.endsWith(".tgz"))
      .join(", "),
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

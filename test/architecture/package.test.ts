// SPDX-License-Identifier: Apache-2.0
// What npm would publish is enough to build and run: every source of the addon with what it includes, every script that the
// install runs, every entry point. test/packages installs the tarballs.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { UDEV_RULE } from "../../power/index.js";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
/** Files that the install writes before it compiles (scripts/native-sources.mjs). */
const GENERATED = "build/generated/";
/** Limits of the package: raise them only for files that a user needs. The page does not count: in a coverage run it is readable. */
const MAX_FILES = 1175;
const MAX_UNPACKED_BYTES = 7e6;
let packed: Set<string>;
let unpackedBytes = 0;

beforeAll(() => {
  const words = ["pack", "--dry-run", "--ignore-scripts", "--json"];
  const [listing] = JSON.parse(
    execFileSync("npm", words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  const files: { path: string; size: number }[] = listing.files;
  packed = new Set(files.map(({ path }) => path));
  for (const { path, size } of files) if (!path.startsWith("dist/page/")) unpackedBytes += size;
});

/** Files that a C++ file of the project includes by a relative path or by one from the root. */
function listIncludes(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const names = [...text.matchAll(/^\s*#(?:include|define DEPTHWATT_CODE\w*) "([^"]+)"/gm)].map(
    ([, name]) => name!,
  );
  return names
    .map((name) =>
      [posix.join(posix.dirname(file), name), posix.normalize(name)].find((path) => existsSync(path)),
    )
    .filter((path) => path !== undefined);
}

test("every C++ source of the addon and every header it leads to", () => {
  const sources = execFileSync(process.execPath, ["scripts/native-sources.mjs"], { encoding: "utf8" });
  const waiting = sources.trim().split("\n");
  expect(waiting.length).toBeGreaterThan(40);
  const seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (!file.startsWith(GENERATED)) expect(packed, file).toContain(file);
    waiting.push(...listIncludes(file));
  }
  expect(seen.size).toBeGreaterThan(100);
});

test("the scripts that an install runs, and what they import", () => {
  const waiting = ["binding.gyp", ...readFileSync("binding.gyp", "utf8").match(/scripts\/[\w-]+\.mjs/g)!];
  waiting.push(/node (\S+)/.exec(manifest.scripts.install)![1]!, "scripts/build-cuda.mjs");
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    expect(packed, file).toContain(file);
    for (const [, name] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g))
      waiting.push(posix.join(posix.dirname(file), name!));
  }
});

test("the entry points, the board files, the licence; nothing of tests or results", () => {
  const entries = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry as object),
  );
  for (const entry of [manifest.bin.depthwatt, ...entries]) expect(packed).toContain(posix.normalize(entry));
  for (const file of [
    "LICENSE",
    "README.md",
    "dist/edge/service/depthwatt.service",
    "dist/board-configs/README.md",
    "dist/page/index.html",
    UDEV_RULE,
  ])
    expect(packed).toContain(file);
  expect([...packed].filter((path) => /^(test|bench|docs|\.vm|build)\//.test(path))).toEqual([]);
});

test("no TypeScript sources, no maps, no module next to the bundle that holds it, and few files", () => {
  const ours = [...packed].filter((path) => !path.startsWith("node_modules/node-addon-api/"));
  expect(ours.filter((path) => /(?<!\.d)\.tsx?$|\.map$/.test(path))).toEqual([]);
  // What tsc wrote is there only where the bundle is not used: the consumer, what it needs of core, and the service's helpers.
  const modules = ours.filter(
    (path) => /^dist\/.*\.js$/.test(path) && !/^dist\/(program|page|core|clients)\//.test(path),
  );
  const threads = ["edge/broker/broker-worker", "edge/outputs/mcap/recorder-thread"];
  const entries = ["edge/cli/main", "edge/index", ...threads].map((name) => `dist/${name}.js`);
  const helper = /^dist\/edge\/service\/(power-mode|devices)\//;
  expect(modules.filter((path) => !helper.test(path))).toEqual(entries.sort());
  expect(packed.size).toBeLessThan(MAX_FILES);
  expect(unpackedBytes).toBeLessThan(MAX_UNPACKED_BYTES);
});

test("published packages depend on ranges, and the addresses of package.json agree", () => {
  for (const path of ["package.json", "camera/v4l2/package.json", "clients/javascript/package.json"]) {
    const { dependencies } = JSON.parse(readFileSync(path, "utf8")) as {
      dependencies: Record<string, string>;
    };
    const pinned = Object.entries(dependencies).filter(
      ([name, range]) => name !== "v4l2-camera" && !/^\^/.test(range),
    );
    expect(pinned, path).toEqual([]);
  }
  const address = /github\.com\/([^/]+)\/depthwatt/.exec(manifest.repository.url)![0];
  expect(manifest.homepage).toContain(address);
  expect(manifest.bugs).toContain(address);
});

test("the changelog, the citation and the Python package name the version", () => {
  expect(readFileSync("CHANGELOG.md", "utf8")).toContain(`\n## ${manifest.version}\n`);
  expect(readFileSync("CITATION.cff", "utf8")).toContain(`\nversion: ${manifest.version}\n`);
  expect(readFileSync("clients/python/pyproject.toml", "utf8")).toContain(
    `\nversion = "${manifest.version}"\n`,
  );
});

test("every package that the published code imports is a dependency", () => {
  const missing = new Set<string>();
  for (const path of packed) {
    if (!path.startsWith("dist/") || !path.endsWith(".js")) continue;
    for (const [, name] of readFileSync(path, "utf8").matchAll(/(?:from\s+|import\()"([^."][^"]*)"/g)) {
      const [scope, rest] = name!.split("/");
      const dependency = scope!.startsWith("@") ? `${scope}/${rest}` : scope!;
      const known = dependency.startsWith("node:") || dependency in manifest.dependencies;
      // Its own name stands in the examples of comments.
      if (!known && dependency !== manifest.name) missing.add(dependency);
    }
  }
  expect([...missing]).toEqual([]);
});

test("v4l2-camera is bundled, whole and once, with the headers that its build wants", () => {
  // Without them npm 11 and 12 leave their folder empty in a global installation: they take them for a part of the bundle.
  expect(manifest.bundleDependencies).toEqual(["v4l2-camera", "node-addon-api"]);
  for (const file of ["package.json", "index.js", "napi.h", "node_addon_api.gyp"])
    expect([...packed]).toContain(`node_modules/node-addon-api/${file}`);
  const cameras = JSON.parse(readFileSync("camera/v4l2/package.json", "utf8"));
  // Another version would be looked for in a registry instead of linked.
  expect(manifest.dependencies["v4l2-camera"]).toBe(cameras.version);
  expect(cameras.dependencies["node-addon-api"]).toBe(manifest.dependencies["node-addon-api"]);
  const inside = [...packed].filter((path) => path.startsWith("node_modules/v4l2-camera/"));
  for (const file of [
    "package.json",
    "build.mjs",
    "binding.gyp",
    "native/addon.cc",
    "dist/index.js",
    "dist/parts.d.ts",
  ])
    expect(inside).toContain(`node_modules/v4l2-camera/${file}`);
  expect([...packed].filter((path) => path.startsWith("camera/v4l2/"))).toEqual([]);
  expect(inside.filter((path) => /\/(test|build)\//.test(path))).toEqual([]);
});

test("v4l2-camera by itself: every source that its build names, every page and entry point, no test", () => {
  const words = ["pack", "-w", "v4l2-camera", "--dry-run", "--ignore-scripts", "--json"];
  const [listing] = JSON.parse(
    execFileSync("npm", words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  const files = new Set<string>(listing.files.map(({ path }: { path: string }) => path));
  const native = readdirSync("camera/v4l2/native").map((name) => `native/${name}`);
  for (const file of native) expect(files).toContain(file);
  const { exports } = JSON.parse(readFileSync("camera/v4l2/package.json", "utf8"));
  for (const entry of Object.values(exports).flatMap((one) =>
    typeof one === "string" ? [one] : Object.values(one as object),
  ))
    expect(files).toContain(posix.normalize(entry));
  for (const file of ["LICENSE", "README.md", "docs/pairing.md", "examples/serve-jpeg.mjs"])
    expect(files).toContain(file);
  expect([...files].filter((path) => /^(test|build)\//.test(path))).toEqual([]);
  // It stands alone: nothing that it runs imports anything but Node and itself.
  for (const path of files) {
    if (!/^(dist|examples)\/.*\.m?js$|\.mjs$/.test(path)) continue;
    for (const [, name] of readFileSync(posix.join("camera/v4l2", path), "utf8").matchAll(
      /from "([^.][^"]*)"/g,
    ))
      expect(name, path).toMatch(/^(node:|v4l2-camera)/);
  }
});

test("the addons stay mapped when the thread that loaded them ends", () => {
  for (const addon of ["build/Release/depthwatt.node", "camera/v4l2/build/Release/v4l2_camera.node"])
    expect(execFileSync("readelf", ["-d", addon], { encoding: "utf8" }), addon).toMatch(/NODELETE/);
});

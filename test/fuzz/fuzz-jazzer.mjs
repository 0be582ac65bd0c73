// SPDX-License-Identifier: Apache-2.0
// `node test/fuzz/fuzz-jazzer.mjs [--seconds N] [--jobs N] [--out FILE] [target...]`: readers in TypeScript under jazzer.js, which finds its
// way by coverage, for N seconds (600) each. Its prebuilt fuzzer needs glibc 2.38: where this machine's is older, it runs in the cached
// root of Debian trixie (npm run test:setup -- --long), as root. jazzer.js itself comes from npm, once, into the cache; it is no
// dependency. Ends with 1 where one has found something.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { cachedDebian, cacheFolder } from "../../packaging/debian-compilers.mjs";
import { fuzzArguments } from "./arguments.mjs";
import { reportTargets } from "./report.mjs";

const VERSION = "4.0.0";
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const words = fuzzArguments(["frames", "netpbm", "streams", "calibrations"]);
const [, minor] = process.report.getReport().header.glibcVersionRuntime.split(".").map(Number);
/** The root to run in: none where this machine's own library will do. */
const debian = minor >= 38 ? undefined : cachedDebian("trixie");
if (minor < 38 && (process.getuid() !== 0 || debian === undefined)) {
  console.error(
    "error: jazzer.js needs glibc 2.38, or root and the cached root of Debian trixie (npm run test:setup -- --long)",
  );
  process.exit(2);
}

/** Keeps jazzer.js in the cache, without running its install scripts: its fuzzer is prebuilt. */
function installed() {
  const place = join(cacheFolder(), `jazzer-${VERSION}`);
  if (existsSync(place)) return place;
  const work = mkdtempSync(`${place}-`);
  writeFileSync(join(work, "package.json"), '{"private":true,"type":"commonjs"}\n');
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `@jazzer.js/core@${VERSION}`];
  execFileSync("npm", install, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
  renameSync(work, place);
  return place;
}

/** One file of CommonJS, which is what jazzer.js instruments. */
async function bundle(folder) {
  await build({
    root,
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true },
    build: {
      ssr: join(root, "test/fuzz/jazzer.ts"),
      outDir: folder,
      emptyOutDir: false,
      target: "node20",
      minify: false,
      rollupOptions: { output: { format: "cjs", entryFileNames: "targets.js" } },
    },
  });
}

/** Good inputs, as this project's own encoders write them. */
async function writeCorpora(folder) {
  const camera = await import("../../dist/camera/index.js");
  const put = (target, files) => {
    mkdirSync(join(folder, target));
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, target, name), bytes);
  };
  cpSync(join(root, "test/fuzz/corpus/frame"), join(folder, "frames"), { recursive: true });
  const [width, height] = [13, 9];
  const grey = Uint8Array.from({ length: width * height }, (_, i) => (i * 7) & 255);
  put("netpbm", {
    pgm: camera.encodePgm({ data: grey, width, height }),
    pfm: camera.encodePfm({ data: Float32Array.from(grey), width, height }),
    ppm: Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), grey, grey, grey]),
  });
  const frame = Buffer.concat([Buffer.from("FRAME\n"), Buffer.alloc(384, 100)]);
  const head = (text) => Buffer.concat([Buffer.from(`YUV4MPEG2 W16 H16 ${text}\n`), frame, frame]);
  const pair = Buffer.concat([Buffer.from("FRAME XTIME=81 XSEQ=42\n"), Buffer.alloc(1280, 100)]);
  const pairs = Buffer.concat([Buffer.from("DEPTHWATT-PAIRS W16 H16 F30:1\n"), pair, pair]);
  put("streams", { jpeg: head("F30:1 Ip A1:1 C420jpeg"), mpeg2: head("F30000:1001 C420mpeg2"), pairs });
  const calibration = camera.sceneCalibration({ width: 320 });
  const ros = camera.stringifyRos(calibration);
  put("calibrations", {
    json: camera.stringifyCalibration(calibration),
    opencv: camera.stringifyOpenCv(calibration),
    kalibr: camera.stringifyKalibr(calibration),
    ros: ros.left,
  });
  put("scratch", { "right.yaml": ros.right });
}

const folder = mkdtempSync(join(debian === undefined ? tmpdir() : join(debian, "tmp"), "jazzer-"));

async function runTarget(target) {
  const seed = Date.now() % 2 ** 31;
  const fuzzer = `-max_total_time=${words.seconds} -seed=${seed} -max_len=8192 -print_final_stats=1`;
  const jazzer = `./node node_modules/@jazzer.js/core/dist/cli.js targets ${target} --sync -f ${target} -- ${fuzzer}`;
  const script = `cd ${folder.slice(debian?.length ?? 0)} && ${jazzer}; code=$?; times >&2; exit $code`;
  const shell = ["/bin/bash", "-c", script];
  const [file, ...given] = debian === undefined ? shell : ["chroot", debian, ...shell];
  const child = spawn(file, given, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  const ended = new Promise((done) => child.once("close", done));
  const [stderr, status] = await Promise.all([text(child.stderr), ended]);
  const number = (pattern) => Number(pattern.exec(stderr)?.[1] ?? Number.NaN);
  const minutes = [
    ...stderr
      .trimEnd()
      .split("\n")
      .at(-1)
      .matchAll(/(\d+)m([\d.]+)s/g),
  ];
  return {
    target,
    tool: `jazzer.js ${VERSION}${debian === undefined ? "" : " in Debian trixie"}`,
    askedSeconds: words.seconds,
    cpuSeconds: Math.round(minutes.reduce((sum, [, m, s]) => sum + 60 * Number(m) + Number(s), 0)),
    seed,
    executions: number(/stat::number_of_executed_units: (\d+)/),
    edgesByCorpus: number(/INITED\s+cov: (\d+)/),
    edges: number(/DONE\s+cov: (\d+)/),
    features: number(/DONE\s+cov: \d+ ft: (\d+)/),
    findings: status === 0 ? [] : [stderr.slice(-4000)],
  };
}

try {
  cpSync(installed(), folder, { recursive: true });
  cpSync(process.execPath, join(folder, "node"));
  // Asked for when it is needed, so it is in no bundle.
  cpSync(join(root, "node_modules/yaml"), join(folder, "node_modules/yaml"), { recursive: true });
  await bundle(folder);
  await writeCorpora(folder);
  await reportTargets({
    what: "readers in TypeScript under jazzer.js: test/fuzz/fuzz-jazzer.mjs",
    targets: words.chosen,
    words,
    run: runTarget,
    formatRow: (row) => JSON.stringify(row),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

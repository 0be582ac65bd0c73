// SPDX-License-Identifier: Apache-2.0
// `node scripts/fuzz-jazzer.mjs [--seconds N] [--out FILE] [target...]`: readers in TypeScript under jazzer.js, which finds its way by
// coverage, for N seconds (600) each. Its prebuilt fuzzer needs glibc 2.38, so it runs in the cached root of Debian trixie (npm run
// test:setup -- --long), as root. jazzer.js itself comes from npm, once, into the cache; it is no dependency. Ends with 1 where one has
// found something.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { cachedDebian, cacheFolder } from "./debian-compilers.mjs";
import { fuzzWords } from "./fuzz/words.mjs";

const VERSION = "4.0.0";
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { seconds, out, chosen } = fuzzWords(["frames", "netpbm", "streams", "calibrations"]);
const debian = cachedDebian("trixie");
const fail = (sentence) => {
  console.error(`error: ${sentence}`);
  process.exit(2);
};
if (process.getuid() !== 0 || debian === undefined)
  fail("jazzer.js needs root and the cached root of Debian trixie (npm run test:setup -- --long)");

/** jazzer.js in the cache, without anybody's install scripts: its fuzzer comes built. */
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
  const camera = await import("../dist/camera/index.js");
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
  put("streams", { jpeg: head("F30:1 Ip A1:1 C420jpeg"), mpeg2: head("F30000:1001 C420mpeg2") });
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

const folder = mkdtempSync(join(debian, "tmp/jazzer-"));
const rows = [];
const began = new Date();
try {
  cpSync(installed(), folder, { recursive: true });
  cpSync(process.execPath, join(folder, "node"));
  // Asked for when it is needed, so it is in no bundle.
  cpSync(join(root, "node_modules/yaml"), join(folder, "node_modules/yaml"), { recursive: true });
  await bundle(folder);
  await writeCorpora(folder);
  for (const target of chosen) {
    const seed = Date.now() % 2 ** 31;
    const fuzzer = `-max_total_time=${seconds} -seed=${seed} -max_len=8192 -print_final_stats=1`;
    const jazzer = `./node node_modules/@jazzer.js/core/dist/cli.js targets ${target} --sync -f ${target} -- ${fuzzer}`;
    const script = `cd ${folder.slice(debian.length)} && ${jazzer}; code=$?; times >&2; exit $code`;
    const ran = spawnSync("chroot", [debian, "/bin/bash", "-c", script], {
      encoding: "utf8",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      maxBuffer: 1 << 28,
    });
    const number = (pattern) => Number(pattern.exec(ran.stderr)?.[1] ?? Number.NaN);
    const minutes = [
      ...ran.stderr
        .trimEnd()
        .split("\n")
        .at(-1)
        .matchAll(/(\d+)m([\d.]+)s/g),
    ];
    const row = {
      target,
      tool: `jazzer.js ${VERSION} in Debian trixie`,
      askedSeconds: seconds,
      cpuSeconds: Math.round(minutes.reduce((sum, [, m, s]) => sum + 60 * Number(m) + Number(s), 0)),
      seed,
      executions: number(/stat::number_of_executed_units: (\d+)/),
      edgesByCorpus: number(/INITED\s+cov: (\d+)/),
      edges: number(/DONE\s+cov: (\d+)/),
      findings: ran.status === 0 ? [] : [ran.stderr.slice(-4000)],
    };
    rows.push(row);
    console.log(`${ran.status === 0 ? "ok  " : "BAD "} ${JSON.stringify(row)}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const cpu = `${cpus()[0]?.model}, ${cpus().length} cores`;
const load = loadavg().map((one) => Math.round(one * 10) / 10);
const report = {
  what: "readers in TypeScript under jazzer.js: scripts/fuzz-jazzer.mjs",
  commit,
  began,
  ended: new Date(),
  cpu,
  load,
  rows,
};
if (out !== undefined) writeFileSync(out, `${JSON.stringify(report, undefined, 2)}\n`);
if (rows.some(({ findings }) => findings.length > 0)) process.exitCode = 1;

// SPDX-License-Identifier: Apache-2.0
// Each check is itself checked: green on a small sound tree, red on the same tree with one violation in it.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const repository = resolve(import.meta.dirname, "../..");

interface Check {
  name: string;
  run(root: string): { problems: string[]; found: string } | Promise<{ problems: string[]; found: string }>;
}
const load = async (file: string) =>
  import(/* @vite-ignore */ pathToFileURL(join(repository, "scripts/checks", file)).href);

/** @param check "links.mjs", or "pages.mjs links" for one of several in a file */
const loadCheck = async (check: string): Promise<Check> => {
  const [file, name = "default"] = check.split(" ");
  return (await load(file!))[name];
};

const HEADER = "// SPDX-License-Identifier: Apache-2.0\n// A file of this test.\n";
const RESULT = `{
 "machine": "one",
 "commit": "0123abc",
 "date": "2026-01-02",
 "toolchain": null,
 "powerMode": null,
 "clocks": null,
 "load": null,
 "rows": [
  {"medianMs":1.5}
 ]
}
`;
const README = "# tiny: a stage\n\ntext\n\n## By hand\n\n## Cost\n\n## Files\n";

const SOUND: Record<string, string> = {
  "core/index.ts": `${HEADER}export const base = 1;\n`,
  "power/index.ts": `${HEADER}export const power = 1;\n`,
  "cuda/index.ts": `${HEADER}export const cuda = 1;\nexport type Cuda = number;\n`,
  "camera/index.ts": `${HEADER}export const camera = 1;\nexport type Camera = number;\n`,
  "camera/source.ts": `${HEADER}import { base } from "../core/index.js";\nexport const source = base;\n`,
  "edge/config/layers.ts": `${HEADER}export const OTHER_VARIABLES: Record<string, string> = {\n  DEPTHWATT_KNOWN: "x",\n};\n`,
  "edge/run/main.ts": `${HEADER}import { camera } from "../../camera/index.js";\nimport { power } from "../../power/index.js";\nexport const all = camera + power;\n`,
  "core/image.h": `${HEADER}`,
  "addon.cc": `${HEADER}#include "cuda/engine/binding/binding.cc"\n#include "camera/scene/video.h"\n`,
  "cuda/engine/binding/binding.cc": `${HEADER}#include "../../gpu/one.h"\n`,
  "cuda/check/twins_main.cu": `${HEADER}#include "twins.h"\n#include "../gpu/one.h"\n`,
  "cuda/check/twins.h": `${HEADER}`,
  "cuda/gpu/one.h": `${HEADER}#include "core/image.h"\n`,
  "cuda/cpu/two.h": `${HEADER}`,
  "camera/scene/video.h": `${HEADER}#include "../../core/image.h"\n`,
  "camera/v4l2/native/device.h": `${HEADER}`,
  "camera/v4l2/src/index.ts": `${HEADER}export const cameras = 1;\n`,
  "cuda/match/tiny/README.md": README,
  "cuda/match/tiny/tiny.h": `${HEADER}#include "../../../core/image.h"\n`,
  "cuda/match/tiny/tiny.ref.cc": `${HEADER}#include "tiny.h"\nint stops() { return 1; }  // exit(1) only in a comment\n`,
  "cuda/match/tiny/tiny.inl.h": `${HEADER}\n`,
  "cuda/match/other/other.h": `${HEADER}\n`,
  "cuda/match/other/README.md": README.replace("tiny", "other"),
  "cuda/match/other/other.ref.cc": `${HEADER}\n`,
  "cuda/match/other/other.inl.h": `${HEADER}\n`,
  "cuda/match/tiny/tiny.node.inl.h": `${HEADER}\n`,
  "cuda/match/other/other.node.inl.h": `${HEADER}\n`,
  "test/stages/tiny.test.ts": `${HEADER}test("x", () => {});\n`,
  "test/stages/other.test.ts": `${HEADER}test("x", () => {});\n`,
  "bench/stages/tiny.bench.ts": `${HEADER}\n`,
  "bench/stages/other.bench.ts": `${HEADER}\n`,
  "bench/results/one/2026-01-02-0123abc-speed.json": RESULT,
  "README.md": "# Title\n\n[down](docs/page.md#a-part), [here](#title), [out](https://example.org)\n",
  "docs/page.md": "# Page\n\n## A part\n\n[measured](../bench/results/one/2026-01-02-0123abc-speed.json)\n",
  "docs/guides/accuracy.md": "# Accuracy\n",
  "docs/internals/cpu-limits.md": "# What limits the CPU\n",
  "docs/internals/evaluation.md": "# Evaluation\n",
  "docs/internals/papers.md":
    "# Papers\n\n| cited as | paper |\n| --- | --- |\n| Known et al. 2001 | K. Known: a paper |\n\nSee (Known et al. 2001, eq. 1).\n",
  "package.json": '{"dependencies": {"some": "1.0.0"}}\n',
  "scripts/README.md": "# Scripts\n",
  "packaging/dependencies.json": '{"installed": {"some": "for this"}, "insideThePage": {}}\n',
  "package-lock.json":
    '{"packages": {"": {}, "node_modules/some": {"version": "1.0.0", "license": "MIT", "integrity": "sha512-x"}, "camera": {}, "node_modules/@x/camera": {"resolved": "camera", "link": true}}}\n',
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "depthwatt-check-"));
  for (const [path, text] of Object.entries(SOUND)) put(path, text);
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** [file of the check and its export (default), what is wrong, how to make it so, what the check must say] */
const VIOLATIONS: [string, string, () => void, RegExp][] = [
  [
    "pages.mjs pageLengths",
    "a page is too long",
    () => put("docs/page.md", `# Page\n\n## A part\n\n${"word word\n".repeat(460)}`),
    /docs\/page\.md: 92\d words of 900/,
  ],
  [
    "wording.mjs prose",
    "a line of prose is too long",
    () => put("docs/page.md", `# Page\n\n## A part\n\n${"word ".repeat(25)}\n`),
    /docs\/page\.md:5: 12\d columns/,
  ],
  [
    "wording.mjs prose",
    "a line of a list is too long",
    () => put("docs/page.md", `# Page\n\n- one\n    ${"word ".repeat(25)}\n`),
    /docs\/page\.md:4: 1\d\d columns/,
  ],
  [
    "wording.mjs prose",
    "a page has a banned word",
    () => put("docs/page.md", "# Page\n\nThe left\neye sees.\n"),
    /docs\/page\.md:4: "eye": we say camera/,
  ],
  [
    "wording.mjs prose",
    "a table has a banned word",
    () => put("docs/page.md", "# Page\n\n| symptom | cure |\n| --- | --- |\n"),
    /docs\/page\.md:3: "cure": we say hint/,
  ],
  [
    "wording.mjs prose",
    "a lane that is no lane of a warp or vector",
    () => put("docs/page.md", "# Page\n\nEach frame has a lane.\n"),
    /docs\/page\.md:3: "lane"/,
  ],
  [
    "wording.mjs names",
    "a sentence of the program has a banned word",
    () => put("edge/run/main.ts", `${HEADER}export const text = \`the processor of \${text} is slow\`;\n`),
    /edge\/run\/main\.ts:3: "processor": we say CPU/,
  ],
  [
    "wording.mjs names",
    "a comment has a banned word",
    () => put("test/some.test.ts", `${HEADER}// What the left eye sees.\n`),
    /test\/some\.test\.ts:3: "eye": we say camera/,
  ],
  [
    "wording.mjs names",
    "a name has a banned word in it",
    () => put("camera/pair.h", `${HEADER}struct LeftEye;\n`),
    /camera\/pair\.h:3: "Eye": we say camera/,
  ],
  [
    "wording.mjs names",
    "a board's file has a banned word",
    () => put("board-configs/x.json", '{"measures": "processor"}\n'),
    /x\.json:1: "processor": we say CPU/,
  ],
  [
    "wording.mjs names",
    "a lane that is no lane of a warp or vector",
    () => put("edge/run/main.ts", `${HEADER}export const lanes = 1;\n`),
    /main\.ts:3: "lanes"/,
  ],
  [
    "wording.mjs names",
    "a limit that is called most, where the text next to it may say at most",
    () => put("edge/run/main.ts", `${HEADER}export const [most, text] = [1, "at most"]; // at most\n`),
    /main\.ts:3: "most": we say max/,
  ],
  [
    "wording.mjs plainEnglish",
    "a comment has a word that is not plain English, over the end of a line",
    () => put("edge/new/main.ts", `${HEADER}// The publisher is an object of\n// its own.\n`),
    /main\.ts:3: "of its own": we say separate/,
  ],
  [
    "wording.mjs plainEnglish",
    "a message has a word that is not plain English",
    () => put("edge/new/main.ts", `${HEADER}export const text = "the user is told";\n`),
    /main\.ts:3: "told": we say report/,
  ],
  [
    "wording.mjs plainEnglish",
    "a comment begins with a word that begins a riddle",
    () => put("edge/new/main.ts", "// SPDX-License-Identifier: Apache-2.0\n// Whether it runs.\n"),
    /main\.ts:2: "Whether": we say a sentence with a verb/,
  ],
  [
    "cycles.mjs",
    "two modules import each other",
    () => {
      put("core/index.ts", 'import { other } from "./other.js";\nexport const base = () => other();\n');
      put("core/other.ts", 'import { base } from "./index.js";\nexport const other = () => base();\n');
    },
    /^core\/index\.ts: imports itself: core\/index\.ts -> core\/other\.ts -> core\/index\.ts$/,
  ],
  [
    "cycles.mjs",
    "three modules of several kinds import each other",
    () => {
      put("core/a.ts", 'export * from "./b.js";\n');
      put("core/b.tsx", 'import {\n  c,\n} from "./c.mjs";\nimport "./c.mjs";\nexport const b = c;\n');
      put("core/c.mjs", 'import "./none.js";\nexport { a as c } from "./a.js";\n');
    },
    /core\/a\.ts -> core\/b\.tsx -> core\/c\.mjs -> core\/a\.ts$/,
  ],
  [
    "cycles.mjs",
    "a module imports its own importer's types",
    () => {
      put("core/index.ts", 'export * from "./other.js";\nexport type Base = number;\n');
      put("core/other.ts", 'import type { Base } from "./index.js";\nexport const other: Base = 1;\n');
    },
    /core\/index\.ts -> core\/other\.ts -> core\/index\.ts$/,
  ],
  [
    "imports.mjs",
    "camera imports edge",
    () => put("camera/source.ts", 'import "../edge/run/main.js";\n'),
    /camera must not import edge/,
  ],
  [
    "imports.mjs",
    "power imports camera",
    () => put("power/index.ts", 'import { camera } from "../camera/index.js";\n'),
    /power must not import camera/,
  ],
  [
    "imports.mjs",
    "edge goes past an index",
    () => put("edge/run/main.ts", 'import { source } from "../../camera/source.js";\n'),
    /index\.js only/,
  ],
  [
    "imports.mjs",
    "cuda imports a type of camera",
    () => put("cuda/index.ts", 'import { type Camera } from "../camera/index.js";\n'),
    /cuda must not import camera/,
  ],
  [
    "imports.mjs",
    "a re-export counts",
    () => put("cuda/index.ts", 'export * from "../camera/index.js";\n'),
    /cuda must not import camera/,
  ],
  [
    "imports.mjs",
    "a dynamic import counts",
    () => put("core/index.ts", 'await import("../edge/run/main.js");\n'),
    /core must not import edge/,
  ],
  [
    "imports.mjs",
    "an ending is missing",
    () => put("edge/run/main.ts", 'import "../config/layers";\n'),
    /does not end in \.js/,
  ],
  [
    "imports.mjs",
    "the package of cameras imports depthwatt",
    () => put("camera/v4l2/src/index.ts", 'import { base } from "../../../core/index.js";\n'),
    /v4l2-camera imports nothing of depthwatt/,
  ],
  [
    "imports.mjs",
    "the package of cameras is imported past its name",
    () => put("camera/source.ts", 'import { cameras } from "./v4l2/src/index.js";\n'),
    /imported by its name/,
  ],
  [
    "imports.mjs",
    "the live page reads frames past the consumer's name",
    () => put("clients/page/worker.ts", 'import { parseFrame } from "../../core/frame/payload.js";\n'),
    /clients\/page imports core by core\/colour-maps\.js, core\/plane\.js only/,
  ],
  [
    "imports.mjs",
    "the live page imports a module of the program that is not its protocol",
    () => put("clients/page/live.ts", 'import type { Hub } from "../../edge/outputs/viewer/hub.js";\n'),
    /clients\/page imports edge by edge\/outputs\/viewer\/protocol\.js only/,
  ],
  [
    "imports.mjs",
    "the consumer imports the program",
    () =>
      put("clients/javascript/src/index.ts", 'import { openRuntime } from "../../../edge/run/main.js";\n'),
    /clients\/javascript must not import edge/,
  ],
  [
    "imports.mjs",
    "the program goes past the consumer's index",
    () => put("edge/run/main.ts", 'import { decodePng } from "../../clients/javascript/src/png.js";\n'),
    /edge imports clients\/javascript by clients\/javascript\/src\/index\.js only/,
  ],
  [
    "imports.mjs",
    "the engine reads the wire format",
    () => put("cuda/index.ts", 'import { crc32 } from "../core/frame/crc32.js";\n'),
    /cuda imports core by core\/index\.js only/,
  ],
  [
    "imports.mjs",
    "a command imports another command",
    () => put("edge/commands/record/command.ts", 'import { run } from "../run/command.js";\n'),
    /only edge\/commands\/list\.ts imports a command/,
  ],
  [
    "imports.mjs",
    "a feature imports a command",
    () => put("edge/outputs/open.ts", 'import { run } from "../commands/run/command.js";\n'),
    /only edge\/commands\/list\.ts imports a command/,
  ],
  [
    "imports.mjs",
    "a command imports the list of commands",
    () => put("edge/commands/help/command.ts", 'import { COMMANDS } from "../list.js";\n'),
    /only edge\/cli imports the list of commands/,
  ],
  [
    "imports.mjs",
    "no other file imports the consumer by its name",
    () => put("edge/run/main.ts", 'import { parseFrame } from "depthwatt-consumer/frames";\n'),
    /inside the project imports are relative/,
  ],
  [
    "layers.mjs",
    "a feature imports the run",
    () => put("edge/config/layers.ts", 'import { all } from "../run/main.js";\n'),
    /layers\.ts: a feature must not import run/,
  ],
  [
    "layers.mjs",
    "a contract imports the type of a feature",
    () => put("edge/contracts/output.ts", 'import type { Rig } from "../rig/health/index.js";\n'),
    /output\.ts: contracts must not import a feature/,
  ],
  [
    "layers.mjs",
    "two features import each other",
    () => {
      put("edge/one/a.ts", 'import "../two/b.js";\n');
      put("edge/two/c.ts", 'import "../one/d.js";\n');
    },
    /edge\/one <-> edge\/two: edge\/one\/a\.ts imports .*, and edge\/two\/c\.ts imports/,
  ],
  [
    "includes.mjs",
    "the package of cameras includes depthwatt",
    () => put("camera/v4l2/native/device.h", '#include "../../../core/image.h"\n'),
    /v4l2-camera includes nothing of depthwatt/,
  ],
  [
    "includes.mjs",
    "depthwatt includes the package of cameras",
    () => put("camera/scene/video.h", '#include "../v4l2/native/device.h"\n'),
    /nothing else includes camera\/v4l2/,
  ],
  [
    "imports.mjs",
    "the package imports itself by name",
    () => put("edge/run/main.ts", 'import "@depthwatt/camera";\n'),
    /are relative/,
  ],
  [
    "includes.mjs",
    "camera includes cuda",
    () => put("camera/scene/video.h", '#include "../../cuda/cpu/two.h"\n'),
    /camera must not include cuda/,
  ],
  [
    "includes.mjs",
    "core includes cuda, by the path from the root",
    () => put("core/image.h", '#include "cuda/cpu/two.h"\n'),
    /core must not include cuda/,
  ],
  [
    "includes.mjs",
    "the engine includes what checks it",
    () => put("cuda/gpu/one.h", '#include "../check/twins.h"\n'),
    /nothing else includes cuda\/check/,
  ],
  [
    "includes.mjs",
    "the engine includes its binding",
    () => put("cuda/cpu/two.h", '#include "../engine/binding/binding.cc"\n'),
    /nothing else includes cuda\/engine\/binding/,
  ],
  [
    "includes.mjs",
    "one backend includes the other",
    () => put("cuda/gpu/one.h", '#include "../cpu/two.h"\n'),
    /cuda\/gpu must not include cuda\/cpu/,
  ],
  [
    "includes.mjs",
    "two files include each other by way of a third",
    () => {
      put("cuda/cpu/two.h", '#include "three.h"\n');
      put("cuda/cpu/three.h", '#include "four.h"\n');
      put("cuda/cpu/four.h", '#include "two.h"\n');
    },
    /include circle: cuda\/cpu\/four\.h -> cuda\/cpu\/two\.h -> cuda\/cpu\/three\.h -> cuda\/cpu\/four\.h/,
  ],
  [
    "includes.mjs",
    "an include that leads nowhere",
    () => put("cuda/cpu/two.h", '#include "gone.h"\n'),
    /"gone\.h" leads nowhere/,
  ],
  [
    "stages.mjs",
    "a stage without its reference",
    () => rmSync(join(root, "cuda/match/tiny/tiny.ref.cc")),
    /tiny\.ref\.cc is missing/,
  ],
  [
    "stages.mjs",
    "a stage without its test",
    () => rmSync(join(root, "test/stages/tiny.test.ts")),
    /tiny\.test\.ts is missing/,
  ],
  [
    "stages.mjs",
    "a README without its cost",
    () => put("cuda/match/tiny/README.md", README.replace("## Cost", "")),
    /"## Cost" is missing/,
  ],
  [
    "stages.mjs",
    "a stage includes a stage",
    () => put("cuda/match/tiny/tiny.inl.h", '#include "../other/other.h"\n'),
    /includes no other stage/,
  ],
  [
    "stages.mjs",
    "a reference that reads the fast form",
    () => put("cuda/match/tiny/tiny.ref.cc", `${HEADER}#include "tiny.inl.h"\n`),
    /tiny\.ref\.cc: a reference shares no arithmetic .* includes cuda\/match\/tiny\/tiny\.inl\.h/,
  ],
  [
    "stages.mjs",
    "fast code that calls the reference",
    () => put("cuda/match/tiny/tiny.inl.h", `${HEADER}void fast() { tinyReference(1); }\n`),
    /fast code never calls a reference/,
  ],
  [
    "stages.mjs",
    "fast code that includes a header of references",
    () => put("cuda/match/tiny/tiny.inl.h", `${HEADER}#include "../shared.ref.h"\n`),
    /tiny\.inl\.h: only references include cuda\/match\/shared\.ref\.h/,
  ],
  [
    "files.mjs binaries",
    "a compiled file",
    () => put("docs/tool", "\x7fELF\x02\x01"),
    /docs\/tool: is a compiled file/,
  ],
  [
    "files.mjs binaries",
    "a file that is not text",
    () => put("docs/page.png", "\x00\x01"),
    /docs\/page\.png: is not text/,
  ],
  [
    "dependencies.mjs dependencies",
    "a dependency without a reason",
    () => put("packaging/dependencies.json", '{"installed": {}, "insideThePage": {}}'),
    /some: packaging\/dependencies\.json gives no reason/,
  ],
  [
    "dependencies.mjs dependencies",
    "a reason for what is not there",
    () =>
      put("packaging/dependencies.json", '{"installed": {"some": "x", "gone": "x"}, "insideThePage": {}}'),
    /gone: in packaging\/dependencies\.json, not in package\.json/,
  ],
  [
    "dependencies.mjs dependencies",
    "a package that the page imports without a reason",
    () => put("clients/page/x.ts", 'import { y } from "@other/thing/y.js";\n'),
    /@other\/thing: the live page imports it/,
  ],
  [
    "dependencies.mjs dependencies",
    "a licence that is not in the list, of a package that another one brings",
    () =>
      put(
        "package-lock.json",
        '{"packages": {"": {}, "node_modules/some": {"version": "1.0.0", "license": "MIT", "dependencies": {"deep": "1"}}, "node_modules/deep": {"version": "1.0.0", "license": "GPL-3.0-only"}}}',
      ),
    /deep@1\.0\.0: its licence is GPL-3\.0-only/,
  ],
  [
    "dependencies.mjs dependencies",
    "an install script of others",
    () =>
      put(
        "package-lock.json",
        '{"packages": {"": {}, "node_modules/some": {"version": "1.0.0", "license": "MIT", "hasInstallScript": true}}}',
      ),
    /some@1\.0\.0: runs a script at installation/,
  ],
  [
    "files.mjs fileSize",
    "a large file",
    () => put("docs/big.bin", "x".repeat((1 << 20) + 1)),
    /1048577 bytes/,
  ],
  [
    "citations.mjs papers",
    "a paper that is not listed",
    () => put("cuda/x.cc", "// As they do (Nobody et al. 1999, eq. 3).\n"),
    /"\(Nobody et al\. 1999, eq\. 3\)" is not in docs\/internals\/papers\.md/,
  ],
  [
    "citations.mjs papers",
    "a paper named by the number of a file",
    () => put("docs/page.md", "# Page\n\n## A part\n\nAs in [papers/004].\n"),
    /"\[papers\/004" is not in/,
  ],
  [
    "citations.mjs results",
    "a result that nothing cites",
    () => put("bench/results/one/2026-01-02-0123abc-start.json", RESULT),
    /2026-01-02-0123abc-start\.json: no page, preset, program or test cites it/,
  ],
  [
    "citations.mjs results",
    "a cited result that is missing",
    () => put("edge/run/main.ts", `${HEADER}// See 2026-01-02-${"0123abc"}-start.json.\n`),
    /edge\/run\/main\.ts:3: 2026-01-02-0123abc-start\.json is not in bench\/results/,
  ],
  [
    "citations.mjs results",
    "a result without its load",
    () => put("bench/results/one/2026-01-02-0123abc-speed.json", RESULT.replace(' "load": null,\n', "")),
    /speed\.json: expected the keys load/,
  ],
  [
    "citations.mjs results",
    "a result with a row on several lines",
    () =>
      put(
        "bench/results/one/2026-01-02-0123abc-speed.json",
        JSON.stringify(JSON.parse(RESULT), undefined, 2),
      ),
    /speed\.json: is not in the format of results/,
  ],
  [
    "citations.mjs results",
    "results of too many lines",
    () => {
      const row = '  {"medianMs":1.5}';
      const rows = new Array(15_000).fill(row).join(",\n");
      put("bench/results/one/2026-01-02-0123abc-speed.json", RESULT.replace(row, rows));
    },
    /bench\/results\/: 15011 lines, expected at most 15000/,
  ],
  ["files.mjs headers", "no licence", () => put("edge/run/main.ts", "// x\n// y\n"), /first line/],
  [
    "files.mjs headers",
    "no word of what it is",
    () => put("cuda/x.cc", '// SPDX-License-Identifier: Apache-2.0\n#include "x.h"\n'),
    /line 2/,
  ],
  [
    "words.mjs",
    "native code exits",
    () => put("cuda/x.cc", "void f() { std::exit(1); }\n"),
    /cuda\/x\.cc:1: "std::exit\("/,
  ],
  [
    "words.mjs",
    "native code asserts",
    () => put("camera/x.cc", "\nvoid f() { assert(false); }\n"),
    /camera\/x\.cc:2/,
  ],
  [
    "words.mjs",
    "native code prints",
    () => put("power/x.cc", 'void f() { std::cerr << "x"; }\n'),
    /prints nothing/,
  ],
  [
    "words.mjs",
    "the library ends the process",
    () => put("edge/run/main.ts", "process.exit(1);\n"),
    /only the command line/,
  ],
  [
    "words.mjs",
    "the library prints",
    () => put("camera/source.ts", 'console.log("x");\n'),
    /only the command line/,
  ],
  ["words.mjs", "an unfinished mark", () => put("docs/page.md", `${"TO"}${"DO"}: write\n`), /unfinished/],
  [
    "words.mjs",
    "an object literal spread into another",
    () => put("edge/run/main.ts", `export const all = { one: 1, ${".."}.{ two: 2, three: 3 } };\n`),
    /edge\/run\/main\.ts:1: .*can stand there themselves/,
  ],
  [
    "words.mjs",
    "a private member without #",
    () => put("edge/run/main.ts", `export class Run {\n  ${"private"} readonly open = true;\n}\n`),
    /edge\/run\/main\.ts:2: "private readonly": .*begins with #/,
  ],
  [
    "words.mjs",
    "a private parameter property",
    () => put("edge/run/main.ts", `export class Run {\n  constructor(${"private"} open: boolean) {}\n}\n`),
    /edge\/run\/main\.ts:2: "private open"/,
  ],
  [
    "wording.mjs names",
    "a limit by another name",
    () => put("edge/run/main.ts", `export const ${"MO"}ST_FRAMES = 1;\n`),
    /we say max/,
  ],
  [
    "words.mjs",
    "a test singled out",
    () => put("test/stages/tiny.test.ts", `test.${"only"}("x", () => {});\n`),
    /singled out/,
  ],
  [
    "dependencies.mjs lockFile",
    "a download host",
    () =>
      put(
        "package-lock.json",
        SOUND["package-lock.json"]!.replace('"integrity"', '"resolved": "https://host/x.tgz", "integrity"'),
      ),
    /names the host/,
  ],
  [
    "dependencies.mjs lockFile",
    "a package without its hash",
    () => put("package-lock.json", SOUND["package-lock.json"]!.replace(', "integrity": "sha512-x"', "")),
    /no integrity/,
  ],
  [
    "dependencies.mjs lockFile",
    "a dependency that is not locked",
    () => put("package.json", '{"dependencies": {"some": "1", "new": "1"}}'),
    /new: in package\.json/,
  ],
  [
    "pages.mjs links",
    "a page that is not there",
    () => put("README.md", "[x](docs/none.md)\n"),
    /leads nowhere/,
  ],
  [
    "pages.mjs links",
    "code that names a page that is not there",
    () => put("edge/run/main.ts", "// See docs/none.md.\n"),
    /edge\/run\/main\.ts: names docs\/none\.md/,
  ],
  [
    "pages.mjs links",
    "a heading that is not there",
    () => put("README.md", "[x](docs/page.md#nothing)\n"),
    /no such heading/,
  ],
  [
    "pages.mjs scripts",
    "a script that its page does not name",
    () => put("scripts/other.mjs", HEADER),
    /scripts\/other\.mjs: scripts\/README\.md does not name it/,
  ],
  [
    "variables.mjs",
    "an unlisted variable",
    () => put("edge/run/main.ts", "process.env.DEPTHWATT_" + "SECRET;\n"),
    /DEPTHWATT_SECRET/,
  ],
];

/** Runs git in the tree of this test, without the user's settings. */
function git(...words: string[]): string {
  const identity = [
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@example.org",
    "-c",
    "commit.gpgsign=false",
  ];
  return execFileSync("git", [...identity, ...words], { cwd: root, encoding: "utf8" });
}
const commit = (subject: string) => git("commit", "--quiet", "--allow-empty", "-m", subject);

describe("commit subjects", () => {
  test.each([
    ["Add a temporal filter", true],
    ["Process frames in order", true],
    ['Revert "added a filter"', true],
    [`Add ${"x".repeat(68)}`, true],
    [`Add ${"x".repeat(69)}`, false],
    ["Add a filter.", false],
    ["add a filter", false],
    ["Added a filter", false],
    ["Adds a filter", false],
    ["fixup! Add a filter", false],
  ])("%s: %s", async (subject, isGood) => {
    const { subjectProblem } = await load("commits.mjs");
    expect(subjectProblem(subject) === undefined).toBe(isGood);
  });

  test("those since origin/main; without it, or without git, the check still passes", async () => {
    const check = await loadCheck("commits.mjs");
    expect(await check.run(root)).toEqual({ found: "no git history", problems: [] });
    git("init", "--quiet", "--initial-branch=main");
    expect((await check.run(root)).problems).toEqual([]);
    commit("added long ago");
    commit("Add a filter");
    expect((await check.run(root)).problems).toHaveLength(1);
    git("checkout", "--quiet", "-b", "filter");
    commit("Describe the filter");
    expect(await check.run(root)).toEqual({ found: "1 commits", problems: [] });
    git("update-ref", "refs/remotes/origin/main", "HEAD");
    commit("Test the filter");
    expect(await check.run(root)).toEqual({ found: "1 commits", problems: [] });
    // A shallow clone whose history does not reach origin/main.
    git("update-ref", "refs/remotes/origin/main", "HEAD~3");
    git("update-ref", "-d", "refs/heads/main");
    writeFileSync(join(root, ".git/shallow"), git("rev-parse", "HEAD~1"));
    expect(await check.run(root)).toEqual({ found: "2 commits", problems: [] });
  });
});

describe("checks", () => {
  test.each([...new Set(VIOLATIONS.map(([file]) => file))])("%s is green on a sound tree", async (name) => {
    const check = await loadCheck(name);
    expect((await check.run(root)).problems).toEqual([]);
  });

  test.each(VIOLATIONS)("%s is red: %s", async (name, _, violate, message) => {
    violate();
    const check = await loadCheck(name);
    const { problems } = await check.run(root);
    expect(problems.join("\n")).toMatch(message);
    expect(problems).toHaveLength(1);
  });

  test("types and lint run the real tools", async () => {
    const { types, lint } = (await load("tools.mjs")) as { types: Check; lint: Check };
    symlinkSync(join(repository, "node_modules"), join(root, "node_modules"));
    for (const file of ["biome.json", "tsconfig.json", "tsconfig.check.json"])
      cpSync(join(repository, file), join(root, file));
    for (const folder of ["edge", "camera", "cuda", "power", "test", "bench"])
      rmSync(join(root, folder), { recursive: true });
    put("package.json", '{"type": "module"}\n');
    put("core/index.ts", `${HEADER}export const base: number = 1;\n`);
    expect((await types.run(root)).problems).toEqual([]);
    expect((await lint.run(root)).problems).toEqual([]);
    put("core/index.ts", `${HEADER}export const base: string = 1;\n`);
    expect((await types.run(root)).problems.join("\n")).toMatch(/core\/index\.ts.*error TS2322/);
    put("core/script.mjs", `${HEADER}export const base = (/** @type {number} */ one) => one.length;\n`);
    put(
      "core/index.ts",
      `${HEADER}import { base } from "./script.mjs";\n\nexport const length: string = base(1);\n`,
    );
    expect((await types.run(root)).problems.join("\n")).toMatch(
      /core\/script\.mjs: TypeScript imports this script, and tsconfig\.scripts\.json does not list it/,
    );
    const scripts = JSON.parse(readFileSync(join(repository, "tsconfig.scripts.json"), "utf8"));
    put("tsconfig.scripts.json", JSON.stringify({ ...scripts, include: ["core/script.mjs"] }));
    expect((await types.run(root)).problems.join("\n")).toMatch(/core\/script\.mjs.*error TS2339/);
    put("core/index.ts", `${HEADER}export const base : any = 1\n`);
    expect((await lint.run(root)).problems.join("\n")).toMatch(/noExplicitAny/);
    put("core/other.ts", `${HEADER}export const other = () => 1;\n`);
    put(
      "core/both.ts",
      `${HEADER}import { other } from "./other.js";\nimport { base } from "./index.js";\n\nexport const both = [base, other];\n`,
    );
    expect((await lint.run(root)).problems.join("\n")).toMatch(/core\/both\.ts.*organizeImports/);
  });

  test("C++ and CUDA are compared with what clang-format would write", async () => {
    const { nativeFormat } = (await load("tools.mjs")) as { nativeFormat: Check };
    put(".clang-format", "BasedOnStyle: Google\nColumnLimit: 120\nSortIncludes: Never\n");
    for (const folder of ["cuda/match", "cuda/engine/binding"])
      rmSync(join(root, folder), { recursive: true });
    const kernel = "cuda/gpu/one.cu";
    const tidy = `${HEADER}void f() { kernel<A<B>><<<1, 2, 0, stream>>>(x); }\n`;
    put(kernel, tidy);
    expect((await nativeFormat.run(root)).problems).toEqual([]);
    put(kernel, tidy.replace("1, 2", "1,2"));
    expect((await nativeFormat.run(root)).problems).toEqual([
      expect.stringMatching(/^cuda\/gpu\/one\.cu: .*npm run format/),
    ]);
  });

  // Imports the whole program from a copy: on a machine with other work this takes a minute.
  test("generated pages: a stale page and a missing one are distinguished", {
    timeout: 240_000,
  }, async () => {
    const check = await loadCheck("pages.mjs generatedPages");
    const paths = ["scripts", "packaging", "bench/shared", "camera-configs", "docs/guides/cameras.md"];
    for (const path of [...paths, "package.json", "package-lock.json"])
      cpSync(join(repository, path), join(root, path), { recursive: true });
    symlinkSync(join(repository, "dist"), join(root, "dist"));
    symlinkSync(join(repository, "node_modules"), join(root, "node_modules"));
    const { generatePages } = await import(
      /* @vite-ignore */ pathToFileURL(join(root, "scripts/docs.mjs")).href
    );
    for (const [path, text] of Object.entries(await generatePages(root))) put(path, text as string);
    expect((await check.run(root)).problems).toEqual([]);
    put("docs/reference/errors.md", "old\n");
    rmSync(join(root, "docs/reference/config.md"));
    expect((await check.run(root)).problems).toEqual([
      "docs/reference/config.md is missing: run 'npm run docs'",
      "docs/reference/errors.md is stale: run 'npm run docs'",
    ]);
  });
});

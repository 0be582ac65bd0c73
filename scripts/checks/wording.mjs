// SPDX-License-Identifier: Apache-2.0
// One word for one thing, in pages and in code, and lines of prose that fit 120 columns.
import {
  filesBelow,
  filesIn,
  lineAt,
  NATIVE_ENDINGS,
  readText,
  SOURCE_FOLDERS,
  withoutComments,
} from "./tree.mjs";

/** The word as a name, or as a part of a camelCase or UPPER_CASE one. */
const named = (word) => {
  const capital = word[0].toUpperCase() + word.slice(1);
  return new RegExp(
    `(?<![A-Za-z])(?:${word}|${capital})(?![a-z])|(?<=[a-z])${capital}(?![a-z])|(?<![A-Z])${word.toUpperCase()}(?![A-Z])`,
    "g",
  );
};

// A lane is one thread of a warp or one element of a vector register, and nothing else.
const WARPS_AND_VECTORS =
  /^(cuda|bench\/model)\/|\/(cuda|cuda-limits|predictions)\.(md|test\.ts)$|^test\/doubles\/native\/warp\/|\/(cuda-kernels\.test\.ts|build-cuda\.mjs)$/;

/**
 * `pattern` is searched for in pages and in sentences that users see, `inCode` in names and comments of all code, `inNames` in names
 * alone. `allowed`: files where the word means something else and is right.
 */
const BANNED = [
  {
    pattern: /\beyes?\b/gi,
    inCode: [named("eye"), named("eyes")],
    use: "camera, or left / right image; side where a name stands for left or right",
  },
  {
    // A key of profiles and result files, which people keep, is called `processor`.
    pattern: /\bprocessors?\b|(?<=^|[.:] )Processors?\b/gm,
    inCode: [/(?<![A-Za-z.])[Pp]rocessors?(?![a-z]|["']?:)|(?<=[a-z])(?<![Mm]ulti)Processors?(?![a-z])/g],
    use: "CPU",
  },
  {
    pattern: /\bcure[sd]?\b/gi,
    inCode: [named("cure"), named("cures"), named("cured")],
    use: "hint, or what to do",
  },
  {
    pattern: /\blanes?\b/gi,
    inCode: [named("lane"), named("lanes")],
    use: "frame in work, or worker",
    allowed: WARPS_AND_VECTORS,
  },
  // "At most" is English; in a name it is a second word for max.
  { inNames: [/(?<![A-Za-z])(?<!\bat )(?:most|Most|MOST)(?![a-z])|(?<=[a-z])Most(?![a-z])/g], use: "max" },
];

const COLUMNS = 120;

const WORDS = BANNED.filter(({ pattern }) => pattern !== undefined);

const GENERATED = "<!-- Made from the code by `npm run docs`";
const blank = (text) => text.replace(/[^\n]/g, " ");

/** A page without its code blocks, fenced or indented, its tables and headings; lines keep their numbers. */
function proseOf(page) {
  let inList = false;
  return page
    .replace(/^ *```[\s\S]*?^ *```$/gm, blank)
    .split("\n")
    .map((line) => {
      if (/^(?:[-*+]|\d+\.) /.test(line)) inList = true;
      else if (/^\S/.test(line)) inList = false;
      const isCode = line.startsWith("    ") && !inList;
      return isCode || /^ *[|#]/.test(line) ? "" : line;
    })
    .join("\n");
}

const withoutCode = (text) => text.replace(/^ *```[\s\S]*?^ *```$/gm, blank).replace(/`[^`]*`/g, blank);
const withoutTargets = (line) => line.replace(/\]\([^)]*\)/g, "]");

function longLines(path, page) {
  if (page.startsWith(GENERATED)) return [];
  return proseOf(page)
    .split("\n")
    .flatMap((line, index) => {
      const columns = [...withoutTargets(line)].length;
      return columns > COLUMNS
        ? [`${path}:${index + 1}: ${columns} columns of prose, at most ${COLUMNS}`]
        : [];
    });
}

/** The texts of several words in a source file: what users may read, not names, paths or values. */
function sentencesIn(source) {
  const code = withoutComments(source);
  return [...code.matchAll(/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g)]
    .filter(([text]) => /\w \w/.test(text))
    .map((match) => ({ text: match[0].replace(/\$\{[^}]*\}/g, blank), index: match.index }));
}

function bannedIn(path, text, line) {
  return WORDS.filter(({ allowed }) => !allowed?.test(path)).flatMap(({ pattern, use }) =>
    [...text.matchAll(pattern)].map((match) => `${path}:${line(match.index)}: "${match[0]}": we say ${use}`),
  );
}

export const prose = {
  name: "prose",
  run(root) {
    const pages = filesBelow(root).filter((path) => path.endsWith(".md"));
    const sources = filesIn(root, SOURCE_FOLDERS, [".ts", ...NATIVE_ENDINGS]).filter(
      (path) => !path.startsWith("cuda/check/"),
    );
    const problems = pages.flatMap((path) => {
      const page = readText(root, path);
      const words = withoutTargets(withoutCode(page));
      return [...longLines(path, page), ...bannedIn(path, words, (index) => lineAt(words, index))];
    });
    for (const path of sources) {
      const source = readText(root, path);
      for (const { text, index } of sentencesIn(source))
        problems.push(...bannedIn(path, text, () => lineAt(source, index)));
    }
    return { found: `${pages.length} pages, ${WORDS.length} banned words`, problems };
  },
};

const FOLDERS = [...SOURCE_FOLDERS, "bench", "board-configs", "docs", "packaging", "scripts", "test"];
const SCRIPTS = [".ts", ".tsx", ".mjs"];
const OTHERS = [".c", ".hpp", ".py", ".json", ".service", ".yml", ".yaml", ".sh"];

/** Results were measured, and the checks and their tests have to name what they forbid. */
const isExempt = (path) =>
  /^bench\/results\/|^docs\/guides\/example|^test\/architecture\/|^scripts\/checks\/|package-lock\.json$/.test(
    path,
  );

/** Code without comments and strings; what stands in a template's braces is code. Characters keep their places. */
const namesIn = (source) =>
  withoutComments(source).replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, (text) =>
    text.startsWith("`") ? text.replace(/(^|\})[\s\S]*?(\$\{|$)/g, blank) : blank(text),
  );

/** Names and comments of everything that is not a page. */
export const names = {
  name: "words in code",
  run(root) {
    const files = filesIn(root, FOLDERS, [...NATIVE_ENDINGS, ...SCRIPTS, ...OTHERS]).filter(
      (path) => !isExempt(path),
    );
    const problems = files.flatMap((path) => {
      const source = readText(root, path);
      const isScript = [...NATIVE_ENDINGS, ...SCRIPTS].some((ending) => path.endsWith(ending));
      return BANNED.filter(({ allowed }) => !allowed?.test(path)).flatMap(
        ({ inCode = [], inNames = [], use }) =>
          [
            ...inCode.map((pattern) => [source, pattern]),
            ...(isScript ? inNames.map((pattern) => [namesIn(source), pattern]) : []),
          ].flatMap(([text, pattern]) =>
            [...text.matchAll(pattern)].map(
              (match) => `${path}:${lineAt(text, match.index)}: "${match[0]}": we say ${use}`,
            ),
          ),
      );
    });
    return { found: `${files.length} files`, problems };
  },
};

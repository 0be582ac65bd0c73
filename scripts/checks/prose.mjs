// SPDX-License-Identifier: Apache-2.0
// How we write: lines of prose that fit 120 columns, and one word for one thing, in pages and in the sentences users see.
import { BANNED } from "./banned-words.mjs";
import {
  filesBelow,
  filesIn,
  lineAt,
  NATIVE_ENDINGS,
  readText,
  SOURCE_FOLDERS,
  withoutComments,
} from "./tree.mjs";

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

export default {
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

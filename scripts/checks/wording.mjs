// SPDX-License-Identifier: Apache-2.0
// Checks the words of pages, comments, messages and names against word-list.mjs, and that prose fits 120 columns.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  filesBelow,
  filesIn,
  lineAt,
  NATIVE_ENDINGS,
  readText,
  SOURCE_FOLDERS,
  withoutComments,
} from "./tree.mjs";
import { BEGINNINGS, FORBIDDEN, PLAIN } from "./word-list.mjs";

const COLUMNS = 120;

const GENERATED = "<!-- Made from the code by `npm run docs`";
const blank = (text) => text.replace(/[^\n]/g, " ");

/** A page without its code blocks, fenced or indented, its tables and headings; lines keep their numbers. */
function pageProse(page) {
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
  return pageProse(page)
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
  return [...code.matchAll(STRING)]
    .filter(([text]) => /\w \w/.test(text))
    .map(({ 0: text, index }) => ({ text: text.replace(/\$\{[^}]*\}/g, blank), index }));
}

const STRING = /"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
const LINE_COMMENTS = /^[ \t]*(?:\/\/|#).*(?:\n[ \t]*(?:\/\/|#).*)*|\/\/ .*/gm;
const BLOCK_COMMENTS = /\/\*[\s\S]*?\*\//g;

/** The comments of a source file; lines of // that follow each other are one comment. */
function commentsIn(source) {
  return [...source.matchAll(BLOCK_COMMENTS), ...source.matchAll(LINE_COMMENTS)].map(
    ({ 0: text, index }) => ({
      text,
      index,
    }),
  );
}

const anyOf = (words, flags) =>
  new RegExp(`(?<![\\w-])(?:${words.join("|").replaceAll(" ", "[ \\n*/#]+")})(?![\\w-])`, flags);

/** Matches the words where they are a name, or a part of a camelCase or UPPER_CASE name. */
function namePattern(words) {
  const lower = words.join("|");
  const capital = words.map((word) => word[0].toUpperCase() + word.slice(1)).join("|");
  return new RegExp(
    `(?<![A-Za-z])(?:${lower}|${capital})(?![a-z])|(?<=[a-z])(?:${capital})(?![a-z])|(?<![A-Z])(?:${lower.toUpperCase()})(?![A-Z])`,
    "g",
  );
}

const FORBIDDEN_PATTERNS = FORBIDDEN.map((rule) => ({
  ...rule,
  inText: anyOf(rule.words, "gi"),
  inCode: namePattern(rule.words),
}));

/** Finds the forbidden words of a page. */
function forbiddenIn(path, page) {
  return FORBIDDEN_PATTERNS.filter(({ namesOnly, allowed }) => !namesOnly && !allowed?.test(path)).flatMap(
    ({ inText, except, say }) =>
      [...without(except, page).matchAll(inText)].map(
        ({ 0: word, index }) => `${path}:${lineAt(page, index)}: "${word}": we say ${say}`,
      ),
  );
}

const without = (pattern, text) => (pattern === undefined ? text : text.replace(pattern, blank));

const proseOfPage = (page) => withoutTargets(withoutCode(page));

export const prose = {
  name: "prose",
  run(root) {
    const pages = filesBelow(root).filter((path) => path.endsWith(".md"));
    const problems = pages.flatMap((path) => {
      const page = readText(root, path);
      return [...longLines(path, page), ...forbiddenIn(path, proseOfPage(page))];
    });
    return { found: `${pages.length} pages`, problems };
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

/** Returns code without comments and strings; code in a template's braces is kept. Characters keep their places. */
const namesIn = (source) =>
  withoutComments(source).replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, (text) =>
    text.startsWith("`") ? text.replace(/(^|\})[\s\S]*?(\$\{|$)/g, blank) : blank(text),
  );

export const names = {
  name: "words in code",
  run(root) {
    const files = filesIn(root, FOLDERS, [...NATIVE_ENDINGS, ...SCRIPTS, ...OTHERS]).filter(
      (path) => !isExempt(path),
    );
    const problems = files.flatMap((path) => {
      const source = readText(root, path);
      const isScript = [...NATIVE_ENDINGS, ...SCRIPTS].some((ending) => path.endsWith(ending));
      return FORBIDDEN_PATTERNS.filter(
        ({ allowed, namesOnly }) => !allowed?.test(path) && (isScript || !namesOnly),
      ).flatMap(({ inCode, except, namesOnly, say }) => {
        const text = without(except, namesOnly ? namesIn(source) : source);
        return [...text.matchAll(inCode)].map(
          ({ 0: word, index }) => `${path}:${lineAt(text, index)}: "${word}": we say ${say}`,
        );
      });
    });
    return { found: `${files.length} files`, problems };
  },
};

const PLAIN_PATTERNS = PLAIN.map(({ words, say }) => ({ pattern: anyOf(words, "gi"), say }));
const BEGINNING = new RegExp(`^(?:/\\*\\*?|//|#)\\s*(?:\\*\\s*)?(${BEGINNINGS.join("|")})\\b`);
const LICENCE = /^(?:\/\/|#) SPDX.*\n\s*/;

/** Finds the words of word-list.mjs that are not plain English: each with its path, line and replacement. */
function notPlainIn(root, path) {
  const source = readText(root, path);
  const isPage = path.endsWith(".md");
  const comments = isPage ? [] : commentsIn(source);
  const texts = isPage ? [{ text: proseOfPage(source), index: 0 }] : [...comments, ...sentencesIn(source)];
  const problem = (index, word, say) => `${path}:${lineAt(source, index)}: "${word}": we say ${say}`;
  return [
    ...texts.flatMap(({ text, index }) =>
      PLAIN_PATTERNS.flatMap(({ pattern, say }) =>
        [...text.matchAll(pattern)].map((match) =>
          problem(index + match.index, match[0].replace(/[\s*/#]+/g, " "), say),
        ),
      ),
    ),
    ...comments.flatMap(({ text, index }) => {
      const comment = text.trimStart().replace(LICENCE, "");
      const [, word] = BEGINNING.exec(comment) ?? [];
      return word === undefined
        ? []
        : [problem(index + text.indexOf(comment), word, "a sentence with a verb where a comment begins")];
    }),
  ];
}

/** "edge/outputs" for edge/outputs/ros/x.ts: folders that are counted apart. */
const countedFolder = (path) => dirname(path).split("/").slice(0, 2).join("/");

const TEXTS = [...NATIVE_ENDINGS, ...SCRIPTS, ".md", ".py", ".sh"];

/** Finds the words that are not plain English, in comments, pages, messages and test names, by folder. */
export function wordsByFolder(root) {
  const found = new Map();
  for (const path of filesBelow(root)) {
    if (!TEXTS.some((ending) => path.endsWith(ending)) || isExempt(path)) continue;
    const folder = countedFolder(path);
    found.set(folder, [...(found.get(folder) ?? []), ...notPlainIn(root, path)]);
  }
  return found;
}

const ALLOWANCE = new URL("word-allowance.json", import.meta.url);
const readAllowance = () => JSON.parse(readFileSync(ALLOWANCE, "utf8"));

/** Fails when a folder has more of these words than word-allowance.json allows; `check.mjs --lower` lowers the numbers. */
export const plainEnglish = {
  name: "plain English",
  run(root) {
    const allowance = readAllowance();
    const problems = [];
    let words = 0;
    for (const [folder, found] of wordsByFolder(root)) {
      const allowed = allowance[folder] ?? 0;
      words += found.length;
      if (found.length > allowed)
        problems.push(...found.map((hit) => `${hit} (${found.length} in ${folder}, ${allowed} allowed)`));
    }
    return { found: `${words} words left`, problems };
  },
};

/** Writes the numbers that are smaller than the allowed ones into word-allowance.json. No number is raised. */
export function lowerAllowance(root) {
  const found = wordsByFolder(root);
  const lowered = Object.entries(readAllowance())
    .map(([folder, allowed]) => [folder, Math.min(allowed, found.get(folder)?.length ?? 0)])
    .filter(([, allowed]) => allowed > 0);
  writeFileSync(ALLOWANCE, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
}

// SPDX-License-Identifier: Apache-2.0
// One word for one thing in code: names and comments of everything that is not a page.
import { BANNED } from "./banned-words.mjs";
import { filesIn, lineAt, NATIVE_ENDINGS, readText, SOURCE_FOLDERS, withoutComments } from "./tree.mjs";

const FOLDERS = [
  ...SOURCE_FOLDERS,
  "bench",
  "board-configs",
  "clients",
  "docs",
  "packaging",
  "scripts",
  "test",
];
const SCRIPTS = [".ts", ".tsx", ".mts", ".mjs"];
const OTHERS = [".c", ".hpp", ".py", ".json", ".service", ".yml", ".yaml", ".sh"];

/** Results were measured, and the checks and their tests have to name what they forbid. */
const isExempt = (path) =>
  /^bench\/results\/|^docs\/3-boards\/example|^test\/architecture\/|^scripts\/checks\//.test(path);

const blank = (text) => text.replace(/[^\n]/g, " ");

/** Code without comments and strings; what stands in a template's braces is code. Characters keep their places. */
const namesIn = (source) =>
  withoutComments(source).replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, (text) =>
    text.startsWith("`") ? text.replace(/(^|\})[\s\S]*?(\$\{|$)/g, blank) : blank(text),
  );

export default {
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

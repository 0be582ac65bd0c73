// SPDX-License-Identifier: Apache-2.0
// Checks of pages: their links lead somewhere, they are short, the generated ones are up to date, each script is named.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { filesBelow, filesIn, headingAnchor, NATIVE_ENDINGS, readText, SOURCE_FOLDERS } from "./tree.mjs";

function anchors(text) {
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => headingAnchor(heading.trim())));
}

/** Links between our own pages, and the pages that our code names, lead to a file and a heading that exist. */
export const links = {
  name: "links",
  run(root) {
    const problems = [];
    let count = 0;
    for (const path of filesBelow(root).filter((file) => file.endsWith(".md"))) {
      const text = readText(root, path)
        .replace(/^```[\s\S]*?^```/gm, "")
        .replace(/`[^`\n]*`/g, "");
      for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        count++;
        const [file, anchor] = link.split("#");
        const target = file === "" ? path : posix.join(posix.dirname(path), file);
        if (!existsSync(join(root, target))) problems.push(`${path}: ${link} leads nowhere`);
        else if (
          anchor &&
          statSync(join(root, target)).isFile() &&
          !anchors(readText(root, target)).has(anchor)
        ) {
          problems.push(`${path}: ${link}: no such heading`);
        }
      }
    }
    // Checks links in error messages and comments.
    for (const path of filesIn(root, SOURCE_FOLDERS, [".ts", ...NATIVE_ENDINGS])) {
      for (const [page] of readText(root, path).matchAll(/\bdocs\/[\w/.-]+\.md\b/g)) {
        count++;
        if (!existsSync(join(root, page))) problems.push(`${path}: names ${page}, which is not there`);
      }
    }
    return { found: `${count} links`, problems };
  },
};

const LONGEST_PAGE = 900;

/** A page can be read in one sitting. References and generated tables are for looking things up, so they may be longer. */
export const pageLengths = {
  name: "page lengths",
  run(root) {
    const pages = filesBelow(root).filter(
      (file) => file.endsWith(".md") && !file.startsWith("docs/reference/"),
    );
    const problems = pages.flatMap((path) => {
      const text = readText(root, path);
      if (text.startsWith("<!-- Made from the code")) return [];
      const words = text
        .replace(/<!-- ([\w-]+) -->[\s\S]*?<!-- \/\1 -->/g, "")
        .split(/\s+/)
        .filter(Boolean).length;
      return words <= LONGEST_PAGE
        ? []
        : [`${path}: ${words} words of ${LONGEST_PAGE}: shorten it, or divide it by reader`];
    });
    return { found: `${pages.length} pages`, problems };
  },
};

const SCRIPTS = "scripts/README.md";

/** The page of the scripts names every file of its folder. */
export const scripts = {
  name: "scripts",
  run(root) {
    const page = readText(root, SCRIPTS);
    const files = filesBelow(root, posix.dirname(SCRIPTS)).filter((path) => path !== SCRIPTS);
    const problems = files
      .filter((path) => !page.includes(`\`${posix.relative(posix.dirname(SCRIPTS), path)}\``))
      .map((path) => `${path}: ${SCRIPTS} does not name it: add a line, or delete the file`);
    return { found: `${files.length} files`, problems };
  },
};

/** The pages that `npm run docs` writes say what the code says now. */
export const generatedPages = {
  name: "generated pages",
  async run(root) {
    if (!existsSync(join(root, "dist/edge/config/index.js"))) {
      return { found: "", problems: ["dist is not built: run 'npm run build:ts' first"] };
    }
    const { generatePages } = await import(pathToFileURL(join(root, "scripts/docs.mjs")).href);
    const { FACTS_PATH, factsText } = await import(pathToFileURL(join(root, "scripts/facts.mjs")).href);
    const gains = await import(pathToFileURL(join(root, "scripts/search-gains.mjs")).href);
    const measured = gains.searchResults(root);
    const facts = factsText(root);
    // Without the addon, types and settings are as committed.
    const pages = {
      ...(await generatePages(root)),
      ...(measured.length > 0 && { [gains.SEARCH_GAINS_PATH]: gains.searchGainsText(root, measured) }),
      ...(facts !== undefined && { [FACTS_PATH]: facts }),
    };
    const problems = Object.entries(pages).flatMap(([path, text]) => {
      const file = join(root, path);
      if (!existsSync(file)) return [`${path} is missing: run 'npm run docs'`];
      return readFileSync(file, "utf8") === text ? [] : [`${path} is stale: run 'npm run docs'`];
    });
    return { found: `${Object.keys(pages).length} pages`, problems };
  },
};

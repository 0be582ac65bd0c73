// SPDX-License-Identifier: Apache-2.0
// The documentation site: every page of docs/, with local search. Links to files outside docs/ lead to the repository that the root
// package.json names. VitePress fails the build at a link to a page that does not exist.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { headingAnchor } from "../../../scripts/checks/tree.mjs";

const docs = fileURLToPath(new URL("../../", import.meta.url));
const root = dirname(docs.replace(/\/$/, ""));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const repository = manifest.repository.url.replace(/^git\+/, "").replace(/\.git$/, "");

const SECTIONS = {
  start: "Start",
  guides: "Guides",
  reference: "Reference",
  internals: "Internals",
  decisions: "Decisions",
};

const listPages = (folder) =>
  readdirSync(join(docs, folder), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`)
    .sort((a, b) => Number(b.endsWith("README.md")) - Number(a.endsWith("README.md")) || (a < b ? -1 : 1));
const pages = Object.keys(SECTIONS).flatMap(listPages);
const pageTitle = (page) =>
  /^# (.+)$/m.exec(readFileSync(join(docs, page), "utf8"))?.[1].replaceAll("`", "") ?? page;
const pageAddress = (page) => page.replace(/README\.md$/, "index.md");

/** Returns where a link of a page leads on the site; a link to a file that does not exist is returned as it is. */
function linkTarget(link, page) {
  if (/^([a-z]+:|#|\/\/)/i.test(link)) return link;
  const [path, anchor] = link.split("#");
  const file = posix.join(posix.dirname(page), path);
  if (!existsSync(join(docs, file))) return link;
  if (pages.includes(file)) return pageAddress(link);
  const inRepository = relative(root, join(docs, file));
  const kind = statSync(join(docs, file)).isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/main/${inRepository}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** Rewrites the links of a page before VitePress resolves them. Images stay: Vite bundles them. */
function rewriteLinks(markdown) {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = relative(docs, env.path);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === "link_open") token.attrSet("href", linkTarget(token.attrGet("href"), page));
    }
  });
}

/** Pages lie outside this package, so their imports of Vue are resolved from here. */
const vueOfThisPackage = {
  name: "vue-of-this-package",
  enforce: "pre",
  resolveId(name, _from, { ssr }) {
    if (!/^vue(\/|$)/.test(name)) return null;
    return ssr
      ? { id: name, external: true }
      : this.resolve(name, join(docs, "site/index.md"), { skipSelf: true });
  },
};

export default {
  title: "depthwatt",
  description: manifest.description,
  srcDir: "..",
  srcExclude: ["site/node_modules/**"],
  outDir: "dist",
  rewrites: {
    "site/index.md": "index.md",
    ...Object.fromEntries(
      pages.filter((page) => page !== pageAddress(page)).map((page) => [page, pageAddress(page)]),
    ),
  },
  ignoreDeadLinks: "localhostLinks",
  markdown: { html: false, config: rewriteLinks, anchor: { slugify: headingAnchor } },
  vite: { plugins: [vueOfThisPackage] },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: Object.entries(SECTIONS).map(([folder, text]) => {
      const [first] = listPages(folder);
      return { text, link: `/${pageAddress(first)}`, activeMatch: `^/${folder}/` };
    }),
    sidebar: Object.fromEntries(
      Object.entries(SECTIONS).map(([folder, text]) => [
        `/${folder}/`,
        [
          {
            text,
            items: listPages(folder).map((page) => ({
              text: pageTitle(page),
              link: `/${pageAddress(page)}`,
            })),
          },
        ],
      ]),
    ),
    socialLinks: [{ icon: "github", link: repository }],
  },
};

// SPDX-License-Identifier: Apache-2.0
// Every word of the page is in strings.ts: its other files hold no text that a person would read. They are parsed, not
// searched: what counts is what TypeScript calls text of an element, and the attributes that are read out or shown.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const FOLDER = "clients/page";
/** Attributes whose text a person sees or hears. */
const READ = new Set(["aria-label", "title", "placeholder", "alt", "label", "value"]);
/** Two letters in a row are a word; signs and digits are not. */
const WORD = /\p{L}{2}/u;

function wordsIn(file: string, source = readFileSync(file, "utf8")): string[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const see = (text: string, node: ts.Node) => {
    const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
    if (WORD.test(text)) found.push(`${file}:${line + 1}: ${text.trim()}`);
  };
  const literals = (node: ts.Node): void => {
    // A comparison and the choice of a class are not displayed.
    if (ts.isBinaryExpression(node) && node.operatorToken.getText() !== "??") {
      if (node.operatorToken.getText() !== "+") {
        literals(node.right);
        return;
      }
    }
    if (ts.isCallExpression(node)) return;
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) see(node.text, node);
    else if (ts.isTemplateExpression(node)) {
      see(node.head.text, node);
      for (const span of node.templateSpans) {
        see(span.literal.text, node);
        literals(span.expression);
      }
    } else if (ts.isConditionalExpression(node)) {
      literals(node.whenTrue);
      literals(node.whenFalse);
    } else if (ts.isParenthesizedExpression(node) || ts.isBinaryExpression(node))
      ts.forEachChild(node, literals);
  };
  const walk = (node: ts.Node): void => {
    if (ts.isJsxText(node)) see(node.text, node);
    if (ts.isJsxExpression(node) && node.expression && !ts.isJsxAttribute(node.parent))
      literals(node.expression);
    if (ts.isJsxAttribute(node) && READ.has(node.name.getText()) && node.initializer) {
      if (ts.isStringLiteral(node.initializer)) see(node.initializer.text, node);
      else if (ts.isJsxExpression(node.initializer) && node.initializer.expression)
        literals(node.initializer.expression);
    }
    ts.forEachChild(node, walk);
  };
  walk(tree);
  return found;
}

/** Units that stand behind a figure, and names that come from the device. */
const UNITS = /: (fps|px|ms|mW|reversed|string|number|boolean)$/;

test("only strings.ts has texts of the page", () => {
  const files = (readdirSync(FOLDER, { recursive: true }) as string[]).filter((name) =>
    name.endsWith(".tsx"),
  );
  expect(files.length).toBeGreaterThan(10);
  const found = files.flatMap((name) => wordsIn(join(FOLDER, name)));
  expect(found.filter((one) => !UNITS.test(one))).toEqual([]);
});

test("a word that is written into an element is found, however it is put there", () => {
  const source = [
    "const a = <p>Hello there</p>;",
    'const b = <p title="A hint">{x ? "Yes, it is" : T.no}</p>;',
    "const c = <p>{`${count} points`}</p>;",
    'const d = <p class="quiet">{"Off" + x}</p>;',
    'const e = <p class={x ? "wide" : "narrow"} data-x="word">{x === "side" && T.side}</p>;',
  ].join("\n");
  const texts = wordsIn("page.tsx", source).map((one) => one.replace(/^page\.tsx:/, ""));
  expect(texts).toEqual(["1: Hello there", "2: A hint", "2: Yes, it is", "3: points", "4: Off"]);
});

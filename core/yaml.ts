// SPDX-License-Identifier: Apache-2.0
// The YAML parser, loaded when there is YAML to read. Its 84 files take 50 ms, and most commands meet none.
import { createRequire } from "node:module";

import type { Document } from "yaml";

type Yaml = typeof import("yaml");

let loaded: Yaml | undefined;

/** The library "yaml". */
export function yaml(): Yaml {
  loaded ??= createRequire(import.meta.url)("yaml") as Yaml;
  return loaded;
}

const MAX_DEPTH = 100;
/** Tokens that are not in the text: the start of a document, the end of a flow collection, the start of a scalar. */
const LEXER_MARKS = new Set(["\x02", "\x18", "\x1f"]);

/**
 * Returns the offset at which the text is nested too deeply. The library calls itself at each level, and close to the end of
 * the stack, V8 ends the whole process if it has to compile a regular expression.
 */
function offsetOfExcessiveDepth(text: string): number | undefined {
  let offset = 0;
  let flow = 0;
  let indicators = 0;
  for (const token of new (yaml().Lexer)().lex(text)) {
    if (token === "[" || token === "{") flow++;
    else if (token === "]" || token === "}") flow--;
    // Lists and keys in one line, and the tags and anchors of one node, whose time grows with the square of their number.
    if (/^(?:[-?:]$|[!&])/.test(token)) indicators++;
    else if (token.trim() !== "") indicators = 0;
    if (Math.max(flow, indicators) > MAX_DEPTH) return offset;
    if (!LEXER_MARKS.has(token)) offset += token.length;
  }
  return undefined;
}

/**
 * Parses YAML in linear time. The library's own check for repeated keys compares each key with all keys before it.
 * @returns the document; if it has no errors, also the offset of the first key that its mapping has twice
 */
export function parseYamlDocument(text: string): { document: Document; repeatedAt: number | undefined } {
  const deepAt = offsetOfExcessiveDepth(text);
  const whole = deepAt === undefined ? text : "";
  const document: Document = yaml().parseDocument(whole, { prettyErrors: true, uniqueKeys: false });
  if (deepAt !== undefined) {
    const message = `nesting of more than ${MAX_DEPTH} levels`;
    const error = new (yaml().YAMLParseError)([deepAt, deepAt + 1], "IMPOSSIBLE", message);
    const lines = text.slice(0, deepAt).split("\n");
    error.linePos = [{ line: lines.length, col: lines.at(-1)!.length + 1 }];
    document.errors.push(error);
  }
  let repeatedAt: number | undefined;
  if (document.errors.length > 0) return { document, repeatedAt };
  yaml().visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!yaml().isScalar(key)) continue;
        if (names.has(key.value)) repeatedAt ??= key.range?.[0] ?? 0;
        names.add(key.value);
      }
    },
  });
  return { document, repeatedAt };
}

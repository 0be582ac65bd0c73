// SPDX-License-Identifier: Apache-2.0
// Makes mutants of a source: each changes one operator, constant, condition or statement. A test should notice it.
import ts from "typescript";

/**
 * @typedef {{ start: number, end: number, text: string, kind: string, line: number }} Mutant Replaces text[start, end) by `text`.
 */

/** @type {Record<string, string>} */
const OPERATORS = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "==": "!=",
  "!=": "==",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "<<": ">>",
  ">>": "<<",
  "+=": "-=",
  "-=": "+=",
};

const lineAt = (/** @type {string} */ text, /** @type {number} */ at) => text.slice(0, at).split("\n").length;

/** Messages: their words are not behaviour. */
const isMessage = (/** @type {ts.Node} */ node) => ts.isThrowStatement(node) || ts.isTypeNode(node);

/**
 * @param {string} text TypeScript
 * @returns {Mutant[]}
 */
export function typescriptMutants(text) {
  const source = ts.createSourceFile("x.tsx", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  /** @type {Mutant[]} */
  const mutants = [];
  const add = (
    /** @type {ts.Node} */ node,
    /** @type {string} */ replacement,
    /** @type {string} */ kind,
  ) => {
    const start = node.getStart(source);
    mutants.push({ start, end: node.getEnd(), text: replacement, kind, line: lineAt(text, start) });
  };
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || isMessage(node)) return;
    if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(source);
      if (operator in OPERATORS)
        add(node.operatorToken, /** @type {string} */ (OPERATORS[operator]), "operator");
      if (operator === "??") add(node, node.right.getText(source), "operator");
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      add(node, node.operand.getText(source), "operator");
    } else if (ts.isNumericLiteral(node) && /^[\d_.]+$/.test(node.getText(source))) {
      add(node, String(Number(node.text) + 1), "constant");
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) {
      add(node, "false", "constant");
    } else if (node.kind === ts.SyntaxKind.FalseKeyword) {
      add(node, "true", "constant");
    } else if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      add(condition, `!(${condition.getText(source)})`, "condition");
    } else if (ts.isExpressionStatement(node) && !ts.isStringLiteral(node.expression)) {
      add(node, ";", "removed statement");
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants;
}

/** Replaces comments, strings, characters and preprocessor lines by blanks, so that positions stay. */
const blanked = (/** @type {string} */ text) =>
  text.replace(
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*/gm,
    (found) => found.replace(/[^\n]/g, " "),
  );

/** Not in templates' brackets: clang-format puts blanks around binary operators only. */
const BINARY = /(?<=[\w)\]] )(<=?|>=?|==|!=|&&|\|\||[+*/%-]|<<|>>|\+=|-=)(?= )/g;
const INTEGER = /(?<![\w.'])(\d+)(?![\w.'])/g;
const STATEMENT =
  /^[ \t]+((?!return|break|continue|using|typedef|static|const|auto|delete|throw|goto|case|default)[a-zA-Z_][\w.>:[\]()*-]*(?: ?[+*/|&^-]?= |\(|\+\+|--)[^;{}]*;)$/gm;

/**
 * @param {string} text C++ as clang-format writes it
 * @returns {Mutant[]}
 */
export function nativeMutants(text) {
  const code = blanked(text);
  /** @type {Mutant[]} */
  const mutants = [];
  const add = (
    /** @type {number} */ start,
    /** @type {string} */ before,
    /** @type {string} */ after,
    /** @type {string} */ kind,
  ) => mutants.push({ start, end: start + before.length, text: after, kind, line: lineAt(text, start) });
  for (const { index, 1: operator } of code.matchAll(BINARY))
    add(
      index,
      /** @type {string} */ (operator),
      /** @type {string} */ (OPERATORS[/** @type {string} */ (operator)]),
      "operator",
    );
  for (const { index, 1: digits } of code.matchAll(INTEGER)) {
    const line = code.slice(code.lastIndexOf("\n", index) + 1, code.indexOf("\n", index));
    if (/static_assert|template|alignas/.test(line)) continue;
    add(index, /** @type {string} */ (digits), String(Number(digits) + 1), "constant");
  }
  for (const { index, 0: whole, 1: statement } of code.matchAll(STATEMENT))
    add(
      index + whole.indexOf(/** @type {string} */ (statement)),
      /** @type {string} */ (statement),
      ";",
      "removed statement",
    );
  for (const { index, 1: condition } of code.matchAll(/\bif \(([^;{}\n]+)\) (?=[^\n]*[;{]$)/gm))
    if (balanced(/** @type {string} */ (condition)))
      add(index + 4, /** @type {string} */ (condition), `!(${condition})`, "condition");
  return mutants.sort((one, other) => one.start - other.start);
}

function balanced(/** @type {string} */ text) {
  let depth = 0;
  for (const letter of text) {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** Returns the source with the mutant in it. */
export const mutated = (/** @type {string} */ text, /** @type {Mutant} */ mutant) =>
  text.slice(0, mutant.start) + mutant.text + text.slice(mutant.end);

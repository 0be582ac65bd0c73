// SPDX-License-Identifier: Apache-2.0
// Reads from sources which fields a document has, without running what makes it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { packageRoot } from "../../core/index.js";

function nodesOf(file: string): ts.Node[] {
  const text = readFileSync(join(packageRoot(), file), "utf8");
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node) => {
    nodes.push(node);
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return nodes;
}

function within(node: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [node];
  node.forEachChild((child) => void nodes.push(...within(child)));
  return nodes;
}

export const unique = (names: readonly string[]) => [...new Set(names)].sort();
const nameOf = (node: { name?: ts.Node }) => node.name?.getText().replace(/^"(.*)"$/, "$1") ?? "";

/** Returns the members of an interface or a type, nested ones among them. */
export function typeFields(file: string, type: string): string[] {
  const found = nodesOf(file).find(
    (node) => (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) && nameOf(node) === type,
  );
  if (found === undefined) throw new Error(`expected a type ${type} in ${file}`);
  return unique(within(found).filter(ts.isPropertySignature).map(nameOf));
}

/** Returns the keys of object literals that are the value of a variable, property or parameter, or the result of a function. */
export function literalFields(file: string, owner: string): string[] {
  const owners = nodesOf(file).filter(
    (node) =>
      (ts.isVariableDeclaration(node) ||
        ts.isPropertyAssignment(node) ||
        ts.isFunctionDeclaration(node) ||
        ts.isMethodDeclaration(node)) &&
      nameOf(node) === owner,
  );
  if (owners.length === 0) throw new Error(`expected ${owner} in ${file}`);
  const isField = (node: ts.Node): node is ts.PropertyAssignment | ts.ShorthandPropertyAssignment =>
    ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
  return unique(
    owners.flatMap((node) =>
      within(node)
        .filter((one) => one !== node && isField(one))
        .map((one) => nameOf(one as ts.PropertyAssignment)),
    ),
  );
}

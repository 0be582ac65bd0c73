// SPDX-License-Identifier: Apache-2.0
// Settings in words: what a value must be, what came instead, and which name was probably meant.
import { z } from "zod";
import { redactBrokenUrl } from "../../core/index.js";
import type { Setting } from "../contracts/setting.js";

interface JsonSchemaNode {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchemaNode[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

export function either(words: readonly string[]): string {
  return words.length < 3 ? words.join(" or ") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function range(node: JsonSchemaNode): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node;
  const low =
    minimum !== undefined
      ? ` from ${minimum}`
      : exclusiveMinimum !== undefined
        ? ` above ${exclusiveMinimum}`
        : "";
  const to = low.startsWith(" from") ? " to" : low === "" ? " up to" : " and up to";
  if (maximum !== undefined) return `${low}${to} ${maximum}`;
  return exclusiveMaximum === undefined ? low : `${low}${low === "" ? "" : " and"} below ${exclusiveMaximum}`;
}

function inWords(node: JsonSchemaNode): string {
  if (node.anyOf) return either(node.anyOf.map(inWords));
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum) return either(node.enum.map((value) => JSON.stringify(value)));
  if (node.type === "boolean") return "true or false";
  if (node.type === "integer") return `a whole number${range(node)}`;
  if (node.type === "number") return `a number${range(node)}`;
  return "text";
}

/** Describes the values that a setting accepts, such as "a whole number from 1 to 1023 (cost)". */
export function expectedWords({ schema, facts }: Setting): string {
  const words = facts.expects ?? inWords(z.toJSONSchema(schema) as JsonSchemaNode);
  return facts.unit === undefined ? words : `${words} (${facts.unit})`;
}

/** A value as it came, short enough for one line, without the password of what was to be a URL. */
export function foundWords(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a group of settings";
  const text = typeof value === "string" ? JSON.stringify(redactBrokenUrl(value)) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Smallest number of inserted, deleted, replaced or swapped neighbouring letters between two words. */
export function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1);
      let best = Math.min(previous[column]! + 1, current[column - 1]! + 1, replaced);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, beforePrevious[column - 2]! + 1);
      current.push(best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length]!;
}

function sharedBeginning(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** A mistyped name is not this long; comparing it would take its length times that of every known name. */
const LONGEST_MISTYPED = 100;

const lastPart = (name: string) => name.slice(name.lastIndexOf(".") + 1);
const sectionPrefix = (name: string) => name.slice(0, name.indexOf(".") + 1);

function nearestAmong(asked: string, known: readonly string[]): string | undefined {
  const lastAsked = lastPart(asked);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const whole = name.toLowerCase();
    const last = lastPart(whole);
    // The last part found under another group is a slip too, but a lesser candidate than the same group.
    const letters = Math.min(editDistance(asked, whole), editDistance(lastAsked, last) + 0.5);
    // People misspell endings more than beginnings: of two equally distant names, prefers the one with the same
    // beginning.
    const distance = letters - sharedBeginning(lastAsked, last) / 100;
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return bestDistance <= Math.max(1.5, lastAsked.length / 3) ? best : undefined;
}

/**
 * The known name that was probably meant, or undefined. Letter case does not count, and a dotted name may be given by
 * its last part alone: "numdisparity" finds "match.numDisparities". Where there is a section of that name, its names come
 * first: "match.path" finds none of another section.
 */
export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  if (wrong.length > LONGEST_MISTYPED) return undefined;
  const asked = wrong.toLowerCase();
  const names = [...known];
  const section = sectionPrefix(asked);
  const inside = section === "" ? [] : names.filter((name) => name.toLowerCase().startsWith(section));
  return nearestAmong(asked, inside) ?? nearestAmong(asked, names);
}

/** A name as it came, short enough for one line. */
export function shortName(name: string): string {
  return name.length > LONGEST_MISTYPED ? `${name.slice(0, LONGEST_MISTYPED - 3)}...` : name;
}

/** For a setting that is one of several names: returns the probably intended one. */
export function nearestChoice({ schema }: Setting, value: unknown): string | undefined {
  const { enum: choices } = z.toJSONSchema(schema) as JsonSchemaNode;
  return choices && typeof value === "string" ? nearestName(value, choices.map(String)) : undefined;
}

// SPDX-License-Identifier: Apache-2.0
// Text to plain objects: YAML (with OpenCV's dialect of it), JSON, and the small XML that FileStorage writes.
import { DepthwattError, parseYamlDocument } from "../../core/index.js";
import { isRecord, type ParsedFile } from "./draft.js";
import { isMiddleburyText, parseMiddlebury } from "./read-benchmark.js";

function unreadable(file: string, expected: string, found: string, cause?: unknown): DepthwattError {
  return new DepthwattError("CALIBRATION_UNREADABLE", `${file}: expected ${expected}, found ${found}.`, {
    ...(cause === undefined ? {} : { cause }),
    context: { file, expected, found },
  });
}

const yamlWords = (message: string) => message.split(/ at line|\n/)[0]!;

/** Calibration files have a few hundred, or some thousands with the chessboard corners. Frames wait while YAML is parsed. */
const MAX_LINES_AND_VALUES = 20_000;

function checkLength(file: string, text: string): void {
  const found = text.match(/[\n,]/g)?.length ?? 0;
  if (found > MAX_LINES_AND_VALUES)
    throw unreadable(file, `at most ${MAX_LINES_AND_VALUES} lines and values`, String(found));
}

function checkKeys(file: string, text: string, repeatedAt: number | undefined): void {
  if (repeatedAt === undefined) return;
  const line = text.slice(0, repeatedAt).split("\n").length;
  throw unreadable(file, "each key once", `one twice (line ${line})`);
}

function parseYaml(file: string, text: string): unknown {
  // "%YAML:1.0" is not a directive of any YAML; some files carry it without the "---" that must follow one.
  // `ros2 topic echo` ends each message with "---".
  const body = text.replace(/^\uFEFF?%YAML[^\n]*\n/, "\n").replace(/\n---\s*$/, "\n");
  checkLength(file, body);
  const { document, repeatedAt } = parseYamlDocument(body);
  const [error] = document.errors;
  if (error) {
    const line = error.linePos?.[0]?.line;
    throw unreadable(file, "YAML", `${yamlWords(error.message)}${line ? ` (line ${line})` : ""}`, error);
  }
  checkKeys(file, body, repeatedAt);
  try {
    return document.toJS({ maxAliasCount: 10 });
  } catch (cause) {
    throw unreadable(file, "YAML with few aliases", (cause as Error).message, cause);
  }
}

interface XmlElement {
  name: string;
  type: string | undefined;
  children: XmlElement[];
  text: string;
}

/** FileStorage nests a handful; what follows the tree calls itself at each level. */
const MAX_XML_DEPTH = 64;

/** Elements and text only: FileStorage writes no CDATA, no namespaces and no entities inside numbers. */
function parseXmlTree(file: string, text: string): XmlElement {
  const root: XmlElement = { name: "", type: undefined, children: [], text: "" };
  const stack = [root];
  // Each pattern takes linear time: an unclosed tag extends to the end, and a name ends before its attributes.
  const body = text.replace(/<!--[\s\S]*?(?:-->|$)/g, "").replace(/<\?[\s\S]*?(?:\?>|$)/g, "");
  for (const match of body.matchAll(/<(\/?)([^\s<>/]+)(?![^\s<>/])([^<>]*)>|([^<]+)/g)) {
    const [, closing, name, attributes = "", content] = match;
    const top = stack[stack.length - 1]!;
    if (name === undefined) {
      top.text += content;
    } else if (closing) {
      if (top.name !== name) throw unreadable(file, `</${top.name}>`, `</${name}>`);
      stack.pop();
    } else {
      const element = { name, type: /type_id\s*=\s*"([^"]*)"/.exec(attributes)?.[1], children: [], text: "" };
      top.children.push(element);
      if (!attributes.endsWith("/")) stack.push(element);
      if (stack.length > MAX_XML_DEPTH)
        throw unreadable(file, `elements nested at most ${MAX_XML_DEPTH} deep`, "more");
    }
  }
  if (stack.length > 1) throw unreadable(file, `</${stack[stack.length - 1]!.name}>`, "the end of the file");
  return root;
}

function xmlWord(word: string): unknown {
  const number = Number(word);
  return Number.isNaN(number) ? word.replace(/^"|"$/g, "") : number;
}

function xmlValue(element: XmlElement): unknown {
  const { children, text } = element;
  if (children.length > 0) {
    if (children.every(({ name }) => name === "_")) return children.map(xmlValue);
    return Object.fromEntries(children.map((child) => [child.name, xmlValue(child)]));
  }
  const words = text.trim().match(/"[^"]*"|\S+/g) ?? [];
  return words.length === 1 && element.name !== "data" ? xmlWord(words[0]!) : words.map(xmlWord);
}

function parseXml(file: string, text: string): unknown {
  const storage = parseXmlTree(file, text).children.find(({ name }) => name === "opencv_storage");
  if (!storage) throw unreadable(file, "an <opencv_storage> element", "other XML");
  return Object.fromEntries(storage.children.map((child) => [child.name, xmlValue(child)]));
}

/** Chooses the syntax by the text's first character; JSON is distinguished from YAML by its opening brace. */
export function parseCalibrationText(file: string, text: string): ParsedFile {
  const start = text.replace(/^\uFEFF/, "").trimStart();
  if (start === "") throw unreadable(file, "a calibration", "an empty file");
  let root: unknown;
  if (start.startsWith("<")) {
    root = parseXml(file, text);
  } else if (start.startsWith("{")) {
    try {
      root = JSON.parse(start);
    } catch (cause) {
      throw unreadable(file, "JSON", (cause as Error).message, cause);
    }
    // JSON's own parser takes the last of two values and says nothing.
    checkLength(file, start);
    checkKeys(file, start, parseYamlDocument(start).repeatedAt);
  } else if (isMiddleburyText(start)) {
    checkLength(file, start);
    root = parseMiddlebury(start);
  } else {
    root = parseYaml(file, text);
  }
  if (!isRecord(root)) {
    const found = root === null ? "nothing" : Array.isArray(root) ? "a list" : `a ${typeof root}`;
    throw unreadable(file, "a mapping of keys at the top", found);
  }
  return { file, root };
}

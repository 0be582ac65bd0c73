// SPDX-License-Identifier: Apache-2.0
// Removes secrets from texts that leave the machine: those of the secret files, of URLs, and values next to their names.
import { readFileSync } from "node:fs";
import { HIDDEN, redactUrl } from "../../../core/index.js";

/** Shorter contents would remove ordinary words. */
const SHORTEST_SECRET = 4;

const NAMES = "(?:pass(?:word|wd|phrase)?|token|secret|api[_-]?key)";
/** password=..., "token": "...", --secret ...; keys such as passwordFile, whose value is a path, stay. */
const NAMED = new RegExp(`((?:\\b${NAMES}["']?\\s*[=:]|--${NAMES})\\s*["']?)[^\\s"',;}]+`, "gi");
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** Finds the passwords of URLs and values next to their names in settings: the log may have them elsewhere. */
function secretsIn(text: string): string[] {
  const urls = [...text.matchAll(/\b[a-z]+:\/\/[^\s/:@]*:([^\s/@]+)@/gi)].map(([, password]) => password!);
  const named = [...text.matchAll(NAMED)].map(([whole, name]) => whole.slice(name!.length));
  return [...urls, ...urls.map((one) => safeDecode(one)), ...named];
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a secret as it may be written: itself, in a URL, in JSON, in Base64. */
function encodedForms(secret: string): string[] {
  const base64 = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64];
}

/**
 * Returns a function that removes secrets from a text.
 * @param secretFiles files that hold one secret each; one that cannot be read is reported by `unreadable`
 * @param settings texts of the configuration, which may have passwords in URLs and commands
 */
export function createRedactor(
  secretFiles: readonly string[],
  settings: readonly string[] = [],
): {
  redact: (text: string) => string;
  unreadable: string[];
} {
  const forms = new Set<string>();
  const learn = (secret: string) => {
    if (secret.length >= SHORTEST_SECRET) for (const form of encodedForms(secret)) forms.add(form);
  };
  for (const secret of settings.flatMap(secretsIn)) learn(secret);
  const unreadable: string[] = [];
  for (const file of secretFiles) {
    try {
      for (const line of readFileSync(file, "utf8").split("\n")) learn(line.trim());
    } catch {
      unreadable.push(file);
    }
  }
  // The longest first: one secret may be part of another.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  const redact = (text: string) => {
    const known = sorted.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
    return redactUrl(known.replace(PRIVATE_KEY, HIDDEN)).replace(NAMED, `$1${HIDDEN}`);
  };
  return { redact, unreadable };
}

// SPDX-License-Identifier: Apache-2.0
// The YAML parser, loaded when there is YAML to read. Its 84 files take 50 ms, and most commands meet none.
import { createRequire } from "node:module";

type Yaml = typeof import("yaml");

let loaded: Yaml | undefined;

/** The library "yaml". */
export function yaml(): Yaml {
  loaded ??= createRequire(import.meta.url)("yaml") as Yaml;
  return loaded;
}

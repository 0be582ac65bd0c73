// SPDX-License-Identifier: Apache-2.0
// Converts V8's counts of the programs that tests started from dist into Istanbul's form, by the source maps of the build.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseAstAsync } from "vite";

// Both come with @vitest/coverage-v8, so that programs and tests are counted by the same rules.
const require = createRequire(createRequire(import.meta.url).resolve("@vitest/coverage-v8"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

/** Returns the path of a built script that has a source map, or undefined. */
function builtScript(url, root) {
  if (!url.startsWith("file:")) return undefined;
  const path = fileURLToPath(url);
  const isBuilt = ["dist", "camera/v4l2/dist", "clients/javascript/dist"].some((folder) =>
    path.startsWith(join(root, folder, "/")),
  );
  return isBuilt && existsSync(`${path}.map`) ? path : undefined;
}

/**
 * Reads and removes the files that processes wrote to NODE_V8_COVERAGE.
 * @param {string} folder
 * @param {string} root
 * @returns {Promise<Record<string, any>[]>} a coverage map of each built script; paths are those of the sources
 */
export async function readProgramCoverage(folder, root) {
  if (!existsSync(folder)) return [];
  const [{ mergeProcessCovs }, { default: convert }] = await Promise.all(
    ["@bcoe/v8-coverage", "ast-v8-to-istanbul"].map(load),
  );
  let merged = { result: [] };
  for (const name of readdirSync(folder)) {
    // A process that was killed while it wrote leaves half a file.
    try {
      const { result } = JSON.parse(readFileSync(join(folder, name), "utf8"));
      merged = mergeProcessCovs([
        merged,
        { result: result.filter(({ url }) => builtScript(url, root) !== undefined) },
      ]);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  rmSync(folder, { recursive: true });
  const maps = [];
  for (const { url, functions } of merged.result) {
    const path = /** @type {string} */ (builtScript(url, root));
    const code = readFileSync(path, "utf8");
    const sourceMap = JSON.parse(readFileSync(`${path}.map`, "utf8"));
    const ast = await parseAstAsync(code);
    maps.push(await convert({ code, sourceMap, ast, coverage: { functions, url } }));
  }
  return maps;
}

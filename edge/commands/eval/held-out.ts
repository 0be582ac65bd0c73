// SPDX-License-Identifier: Apache-2.0
// Evaluates once on scenes that no setting was chosen on. The result is a file named by the commit, and a commit is evaluated once:
// comparing settings on held-out scenes would turn them into a development set.
import { execFile } from "node:child_process";
import { access, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { promisify } from "node:util";
import { DepthwattError, packageRoot } from "../../../core/index.js";
import { VERSION } from "../../contracts/version.js";
import { evaluateOnce } from "./once.js";
import type { EvalOptions } from "./options.js";
import type { Report } from "./report.js";

const run = promisify(execFile);

/**
 * Returns the 7 digits of the commit of a work tree without changes, or "v" and the version of an installed package.
 * @throws DepthwattError USAGE for a work tree with changes, because its results could not be repeated
 */
export async function sourceCommit(root = packageRoot()): Promise<string> {
  const git = async (...words: string[]) => (await run("git", ["-C", root, ...words])).stdout.trim();
  let changes: string;
  try {
    if (resolve(await git("rev-parse", "--show-toplevel")) !== resolve(root)) return `v${VERSION}`;
    changes = await git("status", "--porcelain", "--untracked-files=no");
  } catch {
    return `v${VERSION}`;
  }
  if (changes !== "")
    throw new DepthwattError("USAGE", `expected ${root} without changes for --held-out, found ${changes}`, {
      hint: "Commit first, so that the result names what computed it.",
    });
  return git("rev-parse", "--short=7", "HEAD");
}

/**
 * Evaluates once and writes held-out-FOLDER-COMMIT.json into the current folder.
 * @throws DepthwattError FILE_EXISTS if this commit was evaluated on these scenes before; OUTPUT_UNWRITABLE
 */
export async function evaluateHeldOut(
  folders: readonly string[],
  options: EvalOptions,
  { commit, evaluate } = { commit: sourceCommit, evaluate: evaluateOnce },
): Promise<Report> {
  const computedBy = await commit();
  const names = folders.map((folder) => basename(resolve(folder))).join("-");
  const file = `held-out-${names}-${computedBy}.json`;
  await access(file).then(
    () => {
      throw new DepthwattError(
        "FILE_EXISTS",
        `${file}: these scenes were evaluated by this version already`,
        {
          hint: "Read the file. To compare settings, use scenes that may become a development set, without --held-out.",
        },
      );
    },
    () => undefined,
  );
  const report = await evaluate(folders, options);
  const date = new Date().toISOString().slice(0, 10);
  const result = { heldOut: names, commit: computedBy, date, ...(report.json as object) };
  await writeFile(file, `${JSON.stringify(result, null, 1)}\n`, { flag: "wx" }).catch((cause: Error) => {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${cause.message}`, { cause });
  });
  return { ...report, json: result, notes: [...report.notes, `held-out result: ${file}`] };
}

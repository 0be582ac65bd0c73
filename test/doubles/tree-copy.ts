// SPDX-License-Identifier: Apache-2.0
// A copy of the project with something added, built and run for itself. It takes over the compiled objects, so that only what was
// added is compiled.
import { execFile, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const project = new URL("../../", import.meta.url).pathname;

/** As deep below / as the project, so that the compiler is called with the same relative paths and objects are kept. */
function sameDepthBelow(folder: string): string {
  const depth = (path: string) => path.split("/").filter(Boolean).length;
  const missing = Math.max(0, depth(project) - depth(folder));
  return join(folder, ...Array.from({ length: missing }, (_, level) => `level-${level}`));
}

interface Ended {
  stdout: string;
  stderr: string;
  status: number | null;
}

export class TreeCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), "depthwatt-tree-"));
  readonly root = sameDepthBelow(this.#folder);
  /** Files of the project that were changed, in order. */
  #changed: string[] = [];

  constructor() {
    const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: project,
      encoding: "utf8",
    });
    // Where there is no git, as in an unpacked archive, everything but what was built and downloaded.
    const files = listed.status === 0 ? listed.stdout.split("\0").filter(Boolean) : ["."];
    for (const path of files) {
      if (path.startsWith("bench/results/") || path.startsWith("docs/")) continue;
      const to = join(this.root, path);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(join(project, path), to, { recursive: true, preserveTimestamps: true, force: true });
    }
    this.#linkModules();
    // Not the copies of the tree that measure coverage.
    const filter = (path: string) => path !== join(project, "build/coverage");
    for (const made of ["build", "dist"])
      cpSync(join(project, made), join(this.root, made), {
        recursive: true,
        preserveTimestamps: true,
        filter,
      });
  }

  /** Links every package. node-addon-api is copied, because its real path is in the compiler's command, and objects are kept only
   * if the command is the same. */
  #linkModules(): void {
    const from = join(project, "node_modules");
    mkdirSync(join(this.root, "node_modules"));
    for (const name of readdirSync(from)) {
      const to = join(this.root, "node_modules", name);
      if (name === "node-addon-api")
        cpSync(join(from, name), to, { recursive: true, preserveTimestamps: true });
      else symlinkSync(join(from, name), to);
    }
  }

  /** Adds something. @returns the files of the project that it changed outside its own folder */
  add(addition: (tree: TreeCopy) => void): readonly string[] {
    this.#changed = [];
    addition(this);
    return this.#changed;
  }

  /** A new file of the addition. */
  put(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  /** Changes an existing file; `from` must occur in it exactly once. */
  replace(path: string, from: string, to: string): void {
    const text = readFileSync(join(this.root, path), "utf8");
    const parts = text.split(from);
    if (parts.length !== 2)
      throw new Error(`${path}: expected ${JSON.stringify(from)} once, found it ${parts.length - 1} times`);
    writeFileSync(join(this.root, path), parts.join(to));
    if (!this.#changed.includes(path)) this.#changed.push(path);
  }

  /** @param what "build" for addon and TypeScript, "build:ts" where nothing native was added */
  async build(what: "build" | "build:ts"): Promise<void> {
    await promisify(execFile)("npm", ["run", "--silent", what], { cwd: this.root, timeout: 900_000 });
  }

  /** Runs the copy's command line to its end. */
  run(...words: string[]): Ended {
    return this.#node(join(this.root, "dist/edge/cli/main.js"), ...words);
  }

  /** Runs a module's text in the copy's folder. */
  evaluate(text: string): Ended {
    return this.#node("--input-type=module", "--eval", text);
  }

  #node(...words: string[]): Ended {
    const { stdout, stderr, status } = spawnSync(process.execPath, words, {
      cwd: this.root,
      encoding: "utf8",
      timeout: 60_000,
    });
    return { stdout, stderr, status };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// SPDX-License-Identifier: Apache-2.0
// Suites that need more than Node and g++: run where it is there, else a skip that names what to install. With CI=true a
// missing package is a failure; missing research data never is.
//
//   needs("mosquitto").suite("publisher against Mosquitto", () => { test(...) });
//   needsData("midd_v2/teddy").suite("teddy", (folder) => { test(...) });
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";

interface Need {
  apt: string[];
  for: string;
  commands?: string[];
  python?: string[];
  libraries?: string[];
  /** Below /usr/include. */
  headers?: string[];
}

const packages = JSON.parse(
  readFileSync(new URL("../setup/packages.json", import.meta.url), "utf8"),
) as Record<string, Need>;

export type NeedName =
  | "toolchain"
  | "valgrind"
  | "mosquitto"
  | "opencv"
  | "paho"
  | "numpy"
  | "pip"
  | "libmosquitto"
  | "fastcdr"
  | "aarch64"
  | "vm"
  | "armVm"
  | "v4l"
  | "turbojpeg"
  | "ffmpeg"
  | "gstreamer"
  | "vtk"
  | "zstandard"
  | "lz4"
  | "nats"
  | "prometheus"
  | "rabbitmq"
  | "jinja2"
  | "systemd"
  | "systemdVm"
  | "debootstrap"
  | "lintian"
  | "binutils"
  | "fish"
  | "buildah"
  | "zsh"
  | "man"
  | "chromium";

export interface Gate<Argument> {
  /** True where everything is there. */
  readonly met: boolean;
  /** Names the missing requirement and how to get it; empty if it is met. */
  readonly reason: string;
  /** Like vitest's describe; where the need is not met, one named skip (or, for a package under CI, one failure). */
  suite(title: string, body: (argument: Argument) => void): void;
}

/** The interpreter that Debian's python3-* packages belong to. */
export const PYTHON = "/usr/bin/python3";

const searchPath = `${process.env.PATH ?? ""}:/usr/sbin:/sbin:/usr/local/sbin`;

function hasCommand(name: string): boolean {
  return searchPath.split(":").some((folder) => folder !== "" && existsSync(resolve(folder, name)));
}

function hasLibrary(name: string): boolean {
  const cache = spawnSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  return cache.status === 0 && cache.stdout.includes(`${name} `);
}

function hasPython(module: string): boolean {
  // Found, not imported: some modules take a second to import.
  const code = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)";
  return spawnSync(PYTHON, ["-c", code, module], { stdio: "ignore" }).status === 0;
}

const known = new Map<string, boolean>();
function satisfied(name: NeedName): boolean {
  let answer = known.get(name);
  if (answer === undefined) {
    const need = packages[name]!;
    answer =
      (need.commands ?? []).every(hasCommand) &&
      (need.libraries ?? []).every(hasLibrary) &&
      (need.headers ?? []).every((name) => existsSync(resolve("/usr/include", name))) &&
      (need.python ?? []).every(hasPython);
    known.set(name, answer);
  }
  return answer;
}

function gate<Argument>(argument: Argument, reason: string, fails: boolean): Gate<Argument> {
  return {
    met: reason === "",
    reason,
    suite(title, body) {
      if (reason === "") return void describe(title, () => body(argument));
      test(`${title}: ${reason}`, (context) => {
        if (fails) expect.fail(`with CI=true this suite must run, but it ${reason}`);
        context.skip(reason);
      });
    },
  };
}

/** Debian packages by the names of test/setup/packages.json; `npm run test:setup` installs them all. */
export function needs(...names: NeedName[]): Gate<undefined> {
  const missing = names.filter((name) => !satisfied(name));
  if (missing.length === 0) return gate(undefined, "", false);
  const apt = [...new Set(missing.flatMap((name) => packages[name]!.apt))].join(" ");
  return gate(
    undefined,
    `needs ${missing.join(", ")} (sudo apt-get install ${apt})`,
    process.env.CI === "true",
  );
}

/** The C library's own malloc, for what counts it, measures it or is preloaded next to it: test/sanitize/sanitize.mjs runs tests without. */
export function needsOwnMalloc(): Gate<undefined> {
  const sanitized = /libasan/.test(process.env.LD_PRELOAD ?? "");
  const reason = "needs the C library's malloc, in whose place AddressSanitizer has its own";
  return gate(undefined, sanitized ? reason : "", false);
}

/** A file or folder of the research data, below DEPTHWATT_DATA. The suite gets its absolute path. */
export function needsData(relativePath: string): Gate<string> {
  const root = process.env.DEPTHWATT_DATA;
  if (!root)
    return gate(
      "",
      `needs research data (set DEPTHWATT_DATA to the folder that holds ${relativePath})`,
      false,
    );
  const path = resolve(root, relativePath);
  return gate(path, existsSync(path) ? "" : `needs research data that is not there: ${relativePath}`, false);
}

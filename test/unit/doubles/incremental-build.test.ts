// SPDX-License-Identifier: Apache-2.0
// Builds of test programs compile what has changed, and a failed build leaves nothing that looks built.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { buildProgram, writeIfChanged } from "../../doubles/incremental-build.js";
import { needs } from "../../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-build-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

needs("toolchain").suite("a build of a test program", () => {
  test("compiles only what has changed, by content", async () => {
    const source = (name: string, text: string) => writeIfChanged(join(folder, name), text);
    const program = join(folder, "out/program");
    const build = async (flags: string[] = []) => {
      const sources = ["main.cc", "value.cc"].map((name) => join(folder, name));
      return (await buildProgram(program, sources, flags)).map((path) => basename(path)).sort();
    };
    const answer = () => execFileSync(program, { encoding: "utf8" });
    source("value.h", "int value();\n#define VALUE 1\n");
    source("value.cc", '#include "value.h"\nint value() { return VALUE; }\n');
    source("main.cc", '#include <cstdio>\nint value();\nint main() { std::printf("%d", value()); }\n');
    expect(await build()).toEqual(["main.cc", "value.cc"]);
    expect(answer()).toBe("1");
    expect(await build()).toEqual([]);
    source("value.h", "int value();\n#define VALUE 2\n");
    expect(await build()).toEqual(["value.cc"]);
    expect(answer()).toBe("2");
    expect(await build(["-DOTHER"])).toEqual(["main.cc", "value.cc"]);

    source("value.h", "int value();\n#define VALUE wrong\n");
    await expect(build(["-DOTHER"])).rejects.toThrow("was not declared");
    expect(readdirSync(join(folder, "out")).filter((name) => name.endsWith(".new"))).toEqual([]);
    source("value.h", "int value();\n#define VALUE 3\n");
    expect(await build(["-DOTHER"])).toEqual(["value.cc"]);
    expect(answer()).toBe("3");
  });

  test("an object without its record, as an interrupted run leaves it, is compiled again", async () => {
    const program = join(folder, "cut/program");
    mkdirSync(join(folder, "cut"));
    writeFileSync(join(folder, "one.cc"), "int main() {}\n");
    const build = () => buildProgram(program, [join(folder, "one.cc")], []);
    expect(await build()).toHaveLength(1);
    for (const name of readdirSync(join(folder, "cut")).filter((name) => name.endsWith(".o.json")))
      rmSync(join(folder, "cut", name));
    expect(await build()).toHaveLength(1);
  });

  test("programs share the objects whose preprocessed text is the same, and none of others", async () => {
    const shared = join(folder, "objects");
    writeIfChanged(join(folder, "same.cc"), "int same() { return 20; }\n");
    writeIfChanged(
      join(folder, "differs.cc"),
      '#include <cstdio>\nint same();\nint main() { std::printf("%d", same() + CELL); }\n',
    );
    const sources = ["same.cc", "differs.cc"].map((name) => join(folder, name));
    const build = async (name: string, ...flags: string[]) =>
      (await buildProgram(join(folder, name, "program"), sources, flags, { shared })).map((path) =>
        basename(path),
      );
    const answer = (name: string) => execFileSync(join(folder, name, "program"), { encoding: "utf8" });
    expect((await build("first", "-DCELL=1")).sort()).toEqual(["differs.cc", "same.cc"]);
    expect(await build("second", "-DCELL=2")).toEqual(["differs.cc"]);
    expect([answer("first"), answer("second")]).toEqual(["21", "22"]);
    expect((await build("third", "-DCELL=2", "-O1")).sort()).toEqual(["differs.cc", "same.cc"]);

    writeIfChanged(join(folder, "same.cc"), "int same() { return 30; }\n");
    expect(await build("first", "-DCELL=1")).toEqual(["same.cc"]);
    expect([answer("first"), answer("second")]).toEqual(["31", "22"]);
    for (const name of ["second", "third"]) rmSync(join(folder, name), { recursive: true });
    expect(await build("first", "-DCELL=1")).toEqual([]);
    // Objects that only the removed programs used are removed.
    const kept = readdirSync(shared).filter((key) => readdirSync(join(shared, key)).includes("object.o"));
    expect(kept).toHaveLength(2);
  });
});

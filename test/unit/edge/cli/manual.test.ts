// SPDX-License-Identifier: Apache-2.0
// Manual pages and completions made from the commands; a real bash reads its own. real-shells.test.ts has man, fish and zsh.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { bashCompletion } from "../../../../edge/cli/manual/bash-completion.js";
import { manualPages, roff } from "../../../../edge/cli/manual/man-page.js";
import { zshCompletion } from "../../../../edge/cli/manual/zsh-completion.js";
import { SETTINGS } from "../../../../edge/config/index.js";
import { PRESET_NAMES } from "../../../../edge/presets/index.js";
import { byCommand, commands, pathOf, program, splitAnswers } from "../../../doubles/completions.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-manual-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("manual pages", () => {
  const pages = manualPages(program, { version: "1.2.3", date: "2026-11-22" });

  test("one for the program and one for each command", () => {
    expect(pages.size).toBe(commands.length);
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(["depthwatt.1", "depthwatt-run.1", "depthwatt-config-explain.1"]),
    );
  });

  test("every option and argument of a command is in its page, and its examples", () => {
    for (const command of program.commands) {
      const page = pages.get(`depthwatt-${command.name()}.1`)!;
      for (const { long } of command.options) expect(page, command.name()).toContain(roff(long!));
      for (const argument of command.registeredArguments)
        expect(page, command.name()).toContain(roff(argument.name()));
      expect(page).toMatch(/^\.SH EXAMPLES$/m);
      expect(page).toMatch(/^ {4}depthwatt /m);
    }
  });

  test("the page of the program names every command and the exit codes", () => {
    const page = pages.get("depthwatt.1")!;
    for (const command of program.commands)
      expect(page).toContain(`.BR ${roff(`depthwatt-${command.name()}`)} (1)`);
    expect(page).toContain("Exit codes: 0 done");
  });

  test("text that roff would read as its own is printed as it is", () => {
    expect(roff("a \\n b")).toBe("a \\en b");
    expect(roff(".TH x\n'y")).toBe("\\&.TH x\n\\&'y");
    expect(roff("--set")).toBe("\\-\\-set");
  });

  test("the same commands give the same pages", () => {
    expect([...manualPages(program, { version: "1.2.3", date: "2026-11-22" })]).toEqual([...pages]);
  });
});

describe("completion in bash", () => {
  const script = join(folder, "completion.bash");
  writeFileSync(script, bashCompletion(program));

  /** Returns bash's suggestions for the last word of each line; words are split like bash does, "=" is a separate word. */
  function offeredFor(lines: string[][]): string[][] {
    const complete = lines.map(
      (words) => `COMP_WORDS=(${["depthwatt", ...words].map((word) => `"${word}"`).join(" ")})
        COMP_CWORD=${words.length}; COMPREPLY=(); _depthwatt; printf "%s\\n" "\${COMPREPLY[@]}" END`,
    );
    const code = ['source "$0"', ...complete].join("\n");
    const ran = spawnSync("bash", ["--norc", "-c", code, script], { encoding: "utf8", cwd: folder });
    expect(ran.stderr).toBe("");
    return splitAnswers(ran.stdout);
  }
  const offered = (...words: string[]) => offeredFor([words])[0]!;

  test("commands, and those below a command", () => {
    expect(offered("")).toEqual(program.commands.map((command) => command.name()));
    expect(offered("inst")).toEqual(["install-service"]);
    expect(offered("config", "exp")).toEqual(["explain"]);
  });

  test("every option of each command", () => {
    const found = offeredFor(commands.map((command) => [...pathOf(command).slice(1), "-"]));
    const expected = commands.map(({ options }) =>
      [
        ...options.flatMap(({ short, long }) => [short, long].flatMap((flag) => flag ?? [])),
        "-h",
        "--help",
      ].sort(),
    );
    expect(byCommand(found.map((flags) => flags.sort()))).toEqual(byCommand(expected));
  });

  test("words that an option takes, after a blank and after =", () => {
    expect(offered("run", "--backend", "")).toEqual(["auto", "cpu", "cuda"]);
    expect(offered("run", "--backend", "=", "c")).toEqual(["cpu", "cuda"]);
    expect(offered("match", "--preset", "").length).toBe(PRESET_NAMES.length);
    expect(offered("consume", "--format", "p")).toEqual(["png", "pfm"]);
  });

  test("settings, and the values of one", () => {
    expect(offered("run", "--set", "match.sgm.p")).toContain("match.sgm.paths=");
    expect(offered("run", "--set", "").length).toBe(SETTINGS.length);
    expect(offered("run", "--set", "match.sgm.paths", "=")).toEqual(["2", "4", "8"]);
    expect(offered("run", "--set", "engine.backend", "=", "c")).toEqual(["cpu", "cuda"]);
    expect(offered("config", "explain", "points.fr")).toEqual(["points.frame"]);
    expect(offered("set", "refine.fill", "=", "")).toEqual(["background", "bilateral", "off"]);
  });

  test("files where a file is meant, with a blank in their name, and none where a number is", () => {
    writeFileSync(join(folder, "left one.png"), "");
    expect(offered("match", "left")).toEqual(["left one.png"]);
    expect(offered("run", "--config", "compl")).toEqual(["completion.bash"]);
    expect(offered("run", "--frames", "")).toEqual([]);
    expect(offered("run", "--calibration", "=", "compl")).toEqual(["completion.bash"]);
  });

  test("an option's value is not taken for a command or an argument", () => {
    expect(offered("run", "--device", "config", "--back")).toEqual(["--backend"]);
    expect(offered("consume", "--base", "run", "--str")).toEqual(["--stream"]);
  });
});

describe("completion in zsh", () => {
  const text = zshCompletion(program);

  test("a function for each command, every option with what it does, no quote left open", () => {
    for (const command of commands.slice(1)) {
      expect(text).toMatch(
        new RegExp(`^_depthwatt_.*${command.name().replaceAll("-", "_")}\\(\\) \\{$`, "m"),
      );
      for (const { long } of command.options) expect(text).toMatch(new RegExp(`${long}=?\\[`));
    }
    // bash reads the same quoting; its parser refuses one that is not closed.
    expect(spawnSync("bash", ["-n"], { input: text, encoding: "utf8" }).stderr).toBe("");
  });
});

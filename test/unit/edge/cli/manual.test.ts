// SPDX-License-Identifier: Apache-2.0
// Manual pages and completions made from the commands: read by man and by a real bash, as users do.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, describe, expect, test } from "vitest";
import { bashCompletion } from "../../../../edge/cli/manual/bash-completion.js";
import { fishCompletion } from "../../../../edge/cli/manual/fish-completion.js";
import { manualPages, roff } from "../../../../edge/cli/manual/man-page.js";
import { zshCompletion } from "../../../../edge/cli/manual/zsh-completion.js";
import { buildProgram } from "../../../../edge/cli/program.js";
import { SETTINGS } from "../../../../edge/config/index.js";
import { PRESET_NAMES } from "../../../../edge/presets/index.js";
import { needs } from "../../../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-manual-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = await buildProgram();
const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];
const commands = everyCommand(program);
/** The names of a command and those above it, from the program on. */
function pathOf(command: Command): string[] {
  return [...(command.parent === null ? [] : pathOf(command.parent)), command.name()];
}
const byCommand = (values: string[][]) =>
  Object.fromEntries(values.map((value, at) => [pathOf(commands[at]!).join(" "), value]));
/** Splits what a shell printed, one suggestion a line and END after each answer. */
const splitAnswers = (text: string): string[][] =>
  text
    .split(/^END\n/m)
    .slice(0, -1)
    .map((answer) => answer.split("\n").filter((line) => line !== ""));

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

needs("man").suite("manual pages in man", () => {
  test("each is laid out without a warning, with its name, its options and its examples", () => {
    const pages = manualPages(program, { version: "1.2.3", date: "2026-11-22" });
    const paths = [...pages].map(([name, text]) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    });
    const ran = spawnSync("man", ["--warnings", "-E", "UTF-8", "-l", ...paths], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8", MANWIDTH: "100", MAN_KEEP_STDERR: "1" },
    });
    expect(ran.stderr).toBe("");
    const shown = ran.stdout;
    for (const name of pages.keys()) expect(shown).toContain(`${name.replace(/\.1$/, "").toUpperCase()}(1)`);
    for (const { long } of program.commands.flatMap(({ options }) => options)) expect(shown).toContain(long);
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

needs("fish").suite("completion in a real fish", () => {
  const file = join(folder, "depthwatt.fish");
  writeFileSync(file, fishCompletion(program));

  /** Returns fish's suggestions after each line. */
  function offeredFor(lines: string[]): string[][] {
    const code = [`source ${file}`, ...lines.map((line) => `complete -C "${line}"; echo END`)].join("; ");
    const ran = spawnSync("fish", ["--no-config", "-c", code], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: folder },
      cwd: folder,
    });
    expect(ran.stderr).toBe("");
    return splitAnswers(ran.stdout).map((answer) => answer.map((one) => one.split("\t")[0]!));
  }
  const offered = (line: string) => offeredFor([line])[0]!;

  test("commands, and those below a command", () => {
    expect(offered("depthwatt ").sort()).toEqual(program.commands.map((command) => command.name()).sort());
    expect(offered("depthwatt config exp")).toEqual(["explain"]);
  });

  test("every option of each command", () => {
    const found = offeredFor(commands.map((command) => `${pathOf(command).join(" ")} --`));
    const expected = commands.map(({ options }) =>
      [...options.flatMap(({ long }) => (long == null ? [] : [long])), "--help"].sort(),
    );
    expect(byCommand(found.map((flags) => flags.sort()))).toEqual(byCommand(expected));
  });

  test("values of options, settings with theirs, and files", () => {
    expect(offered("depthwatt run --backend ")).toEqual(["auto", "cpu", "cuda"]);
    expect(offered("depthwatt run --set match.sgm.paths=")).toEqual(
      ["2", "4", "8"].map((paths) => `match.sgm.paths=${paths}`),
    );
    expect(offered("depthwatt config explain points.fr")).toEqual(["points.frame"]);
    writeFileSync(join(folder, "settings.yaml"), "");
    expect(offered("depthwatt run --config sett")).toEqual(["settings.yaml"]);
    expect(offered("depthwatt run --frames ")).toEqual([]);
  });
});

needs("zsh").suite("completion in a real zsh", () => {
  const functions = join(folder, "zsh");
  mkdirSync(functions);
  writeFileSync(join(functions, "_depthwatt"), zshCompletion(program));

  /**
   * Returns the suggestions of zsh's own completion after this line. A zsh in a pseudo-terminal (zpty) completes it;
   * compadd, which every completion ends in, prints its suggestions.
   */
  function offered(line: string): string[] {
    const inside = `
PROMPT=; unset zle_bracketed_paste; fpath=(${functions} $fpath); autoload -Uz compinit; compinit -u -d ${folder}/zcompdump
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a offers; builtin compadd -A offers "$@"
  local one; for one in $offers; do print -r -- "<$one>"; done
}
complete-and-end() { print -r -- BEGIN; zle complete-word; print -r -- END; exit }
zle -N complete-and-end; bindkey "^I" complete-and-end; zstyle ":completion:*" list-grouped no; cd ${folder}; print -r -- ready
`;
    writeFileSync(join(folder, "inside.zsh"), inside);
    const outside = `
zmodload zsh/zpty; zpty shell zsh -f -i; zpty -w shell "source ${folder}/inside.zsh"
zpty -r shell text "*ready*"; zpty -n -w shell "$1"$'\t'; zpty -r shell text "*END*"; print -r -- "$text"; zpty -d shell`;
    const ran = spawnSync("zsh", ["-f", "-c", outside, "test", line], {
      encoding: "utf8",
      timeout: 50_000,
      env: { PATH: process.env.PATH, HOME: folder, TERM: "dumb", LC_ALL: "C.UTF-8" },
    });
    expect(ran.stderr).toBe("");
    return [...ran.stdout.matchAll(/<([^>\r\n]*)>/g)].map(([, word]) => word!);
  }

  test("loads, and offers every command", () => {
    expect(offered("depthwatt ").sort()).toEqual(program.commands.map((command) => command.name()).sort());
  });

  test("commands below a command, and what an argument can be", () => {
    expect(offered("depthwatt config exp")).toEqual(["explain"]);
    expect(offered("depthwatt completion ")).toEqual(["bash", "fish", "zsh"]);
    expect(offered("depthwatt config explain points.fr")).toEqual(["points.frame"]);
  });

  test("every option of a command, and the values of one", () => {
    const run = program.commands.find((command) => command.name() === "run")!;
    const long = run.options.map((option) => option.long!);
    expect(offered("depthwatt run --").sort()).toEqual([...long, "--help"].sort());
    expect(offered("depthwatt run --backend ")).toEqual(["auto", "cpu", "cuda"]);
    expect(offered("depthwatt run --backend=c")).toEqual(["cpu", "cuda"]);
  });

  test("settings with their values, and files", () => {
    expect(offered("depthwatt run --set match.sgm.path")).toEqual(["match.sgm.paths"]);
    expect(offered("depthwatt run --set match.sgm.paths=")).toEqual(["2", "4", "8"]);
    writeFileSync(join(folder, "pair-left.png"), "");
    expect(offered("depthwatt match pair-l")).toEqual(["pair-left.png"]);
  });
});

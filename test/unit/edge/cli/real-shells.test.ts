// SPDX-License-Identifier: Apache-2.0
// Manual pages in man, completions in fish and zsh, as users meet them.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fishCompletion } from "../../../../edge/cli/manual/fish-completion.js";
import { manualPages } from "../../../../edge/cli/manual/man-page.js";
import { zshCompletion } from "../../../../edge/cli/manual/zsh-completion.js";
import { byCommand, commands, pathOf, program, splitAnswers } from "../../../doubles/completions.js";
import { needs } from "../../../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-shells-"));
afterAll(() => rmSync(folder, { recursive: true }));

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

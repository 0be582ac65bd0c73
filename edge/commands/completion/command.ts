// SPDX-License-Identifier: Apache-2.0
// depthwatt completion: the script that makes a shell complete commands, options, settings and their values.
import type { Command } from "commander";
import { bashCompletion } from "../../cli/manual/bash-completion.js";
import { fishCompletion } from "../../cli/manual/fish-completion.js";
import { zshCompletion } from "../../cli/manual/zsh-completion.js";
import { describeArguments, withExamples } from "../../cli/options.js";

const SHELLS = { bash: bashCompletion, fish: fishCompletion, zsh: zshCompletion };

export function define(command: Command): void {
  const [shell] = describeArguments(command, { shell: "shell to complete for" });
  shell!.choices(Object.keys(SHELLS));
  command.action((shell: keyof typeof SHELLS) => {
    process.stdout.write(SHELLS[shell](command.parent!));
  });
  withExamples(
    command,
    "depthwatt completion bash > ~/.local/share/bash-completion/completions/depthwatt",
    "depthwatt completion fish > ~/.config/fish/completions/depthwatt.fish",
    "depthwatt completion zsh > /usr/local/share/zsh/site-functions/_depthwatt",
  );
}

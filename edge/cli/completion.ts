// SPDX-License-Identifier: Apache-2.0
// depthwatt completion: the script that makes a shell complete commands, options, settings and their values.
import { Argument, type Command } from "commander";
import { bashCompletion } from "./manual/bash-completion.js";
import { zshCompletion } from "./manual/zsh-completion.js";
import { withExamples } from "./options.js";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion };

export function defineCompletion(command: Command): void {
  command
    .addArgument(new Argument("<shell>", "whose").choices(Object.keys(SHELLS)))
    .action((shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](command.parent!));
    });
  withExamples(
    command,
    "depthwatt completion bash > ~/.local/share/bash-completion/completions/depthwatt",
    "depthwatt completion zsh > /usr/local/share/zsh/site-functions/_depthwatt",
  );
}

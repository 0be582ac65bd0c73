// SPDX-License-Identifier: Apache-2.0
// One thing the doctor looked at: in words for a person, in facts for a script.

export interface Finding {
  /** One word, such as "cameras". */
  name: string;
  /** ok; absent: depthwatt runs without it; bad: what the configuration asks for cannot work. */
  state: "ok" | "absent" | "bad";
  /** The result, one clause. */
  text: string;
  /** The advice, if the result is not ok. */
  hint?: string;
  /** Shell commands that fix it, in order; absent where none does: a camera is plugged in by hand. For --fix. */
  commands?: readonly string[];
  /** More lines, one thing each. */
  details?: string[];
  /** For --json. */
  facts?: Record<string, unknown>;
  /** The command's exit code if the result is bad. */
  exitCode?: number;
}

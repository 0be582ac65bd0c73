// SPDX-License-Identifier: Apache-2.0
// One thing the doctor looked at: in words for a person, in facts for a script.

export interface Finding {
  /** One word, such as "cameras". */
  name: string;
  /** ok; absent: depthwatt runs without it; bad: what the configuration asks for cannot work. */
  state: "ok" | "absent" | "bad";
  /** What was found, one clause. */
  text: string;
  /** What to do, for what is not ok. */
  hint?: string;
  /** Shell commands that fix it, in order; absent where none does: a camera is plugged in by hand. For --fix. */
  commands?: readonly string[];
  /** More lines, one thing each. */
  details?: string[];
  /** For --json. */
  facts?: Record<string, unknown>;
  /** What the command exits with where this is bad. */
  exitCode?: number;
}

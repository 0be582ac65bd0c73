// SPDX-License-Identifier: Apache-2.0
// Words of a shell command.

/** Returns the text as one word of a POSIX shell command: in single quotes, unless a shell takes it as it is. */
export const quoteShellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

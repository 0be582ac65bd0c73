// SPDX-License-Identifier: Apache-2.0
// Commands for `doctor --fix` that fix settings, secrets and the rights to power rails, from what an error says in data.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type DepthwattError, packageRoot, quoteShellWord } from "../../../core/index.js";
import { UDEV_RULE } from "../../../power/index.js";
import type { Problem } from "../../config/index.js";

/** "sudo " where this user may not write the file. */
function rootFor(file: string): string {
  try {
    accessSync(file, constants.W_OK);
    return "";
  } catch {
    return "sudo ";
  }
}

const isThere = (file: unknown): file is string => typeof file === "string" && existsSync(file);

/** The editor on each file that has a wrong setting, and the check of it; variables are unset. A flag is fixed where it stands. */
export function settingsCommands({ context }: DepthwattError): string[] {
  const problems = (context.problems ?? []) as readonly Problem[];
  const named = (kind: string) =>
    problems.flatMap(({ origin }) => (origin.kind === kind ? [origin.name] : []));
  const files = [...named("file"), ...(isThere(context.file) ? [context.file] : [])];
  const line = typeof context.line === "number" ? `+${context.line} ` : "";
  return [
    ...[...new Set(named("environment"))].map((name) => `unset ${name}`),
    ...[...new Set(files)].flatMap((file) => {
      const root = rootFor(file);
      return [
        `${root}"\${EDITOR:-editor}" ${line}${quoteShellWord(file)}`,
        `${root}depthwatt config --config ${quoteShellWord(file)}`,
      ];
    }),
  ];
}

const CONTROL_SECRET = "control.secretFile";
const SECRETS = [CONTROL_SECRET, "outputs.mqtt.passwordFile", "outputs.mqtt.keyFile"];

/**
 * Returns the commands for a secret's file: restricts its mode, creates it if it is missing, and replaces it if it is
 * too short.
 */
export function secretCommands({ code, context }: DepthwattError): string[] | undefined {
  const { key, file } = context;
  if (typeof file !== "string" || !SECRETS.includes(String(key))) return undefined;
  const there = existsSync(file);
  if (there && (statSync(file).mode & 0o007) !== 0)
    return [`${rootFor(file)}chmod 600 ${quoteShellWord(file)}`];
  // It is there and closed: another user's, who has to run this.
  if (there && code === "CONFIG_UNREADABLE") return undefined;
  const root = rootFor(there ? file : dirname(file));
  const empty = `${root}install -m 0600 /dev/null ${quoteShellWord(file)}`;
  if (key === CONTROL_SECRET)
    return [empty, `openssl rand -hex 32 | ${root}tee ${quoteShellWord(file)} > /dev/null`];
  // The user must write the broker's password; nor can a private key be made up.
  if (key !== "outputs.mqtt.passwordFile" || there) return undefined;
  return [empty, `${root}"\${EDITOR:-editor}" ${quoteShellWord(file)}`];
}

/**
 * Opens the rails to the group depthwatt, and the group to this user.
 * @param root what "/" means; another folder in tests
 */
export function railCommands(root = "/", program = packageRoot()): string[] {
  const name = basename(UDEV_RULE);
  const installed = ["etc", "lib", "usr/lib"].some((folder) =>
    existsSync(join(root, folder, "udev/rules.d", name)),
  );
  return [
    "sudo groupadd --system --force depthwatt",
    ...(installed ? [] : [`sudo cp ${quoteShellWord(join(program, UDEV_RULE))} /etc/udev/rules.d/`]),
    "sudo udevadm control --reload",
    "sudo udevadm trigger",
    'sudo usermod -aG depthwatt "$USER"',
  ];
}

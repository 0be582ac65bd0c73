// SPDX-License-Identifier: Apache-2.0
// A soak inside the virtual machine of the capture tests (test/capture-vm/), whose kernel has two cameras by its driver vivid.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Two webcams. */
const VIVID = "n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0,0 multiplanar=1,1";
/** Booting, ending, and what an emulated CPU makes of a minute. */
const MORE_SECONDS = 600;

/** Runs test/soak/soak.mjs with `words` in the guest; its report goes to `out`. @returns the guest's exit code */
export async function soakInMachine({ words, minutes, out }) {
  const { module } = await runnerImport(join(root, "test/capture-vm/machine.ts"), {
    root,
    logLevel: "error",
  });
  // A path below /tmp of the host is not seen in the guest, whose own /tmp is empty.
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-soak-vm-"));
  try {
    const end = await module.runMachine({
      name: "soak",
      vivid: VIVID,
      program: [
        process.execPath,
        join(root, "test/soak/soak.mjs"),
        "--cameras",
        "--out",
        "/tmp/out",
        ...words,
      ],
      out: folder,
      memoryMegabytes: 4096,
      limitSeconds: 60 * minutes + MORE_SECONDS,
      onReport: (facts) => console.error(JSON.stringify(facts)),
    });
    mkdirSync(out, { recursive: true });
    cpSync(folder, out, { recursive: true });
    const report = readdirSync(folder).find((name) => name.endsWith(".json"));
    if (report !== undefined)
      console.log(JSON.stringify(JSON.parse(readFileSync(join(folder, report), "utf8"))));
    if (end.exitCode !== 0) console.error(end.tail);
    return end.exitCode ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

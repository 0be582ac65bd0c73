// SPDX-License-Identifier: Apache-2.0
// Asks the addon why a plugin cannot be used.
import { execFileSync } from "node:child_process";

/** Returns the addon's reason, in its own process: the addon keeps the plugin that it opened first. */
export function reasonWith(plugin: string): string {
  const program =
    'import("./dist/cuda/index.js").then((m) => console.log(m.engineAddon().cudaUnavailable()))';
  return execFileSync(process.execPath, ["-e", program], {
    encoding: "utf8",
    env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: plugin },
  }).trim();
}

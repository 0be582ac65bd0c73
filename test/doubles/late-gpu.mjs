// SPDX-License-Identifier: Apache-2.0
// A run whose plugin (late_plugin.cc) finds its GPU late, prints states and frames as JSON. Its own process, because the
// addon keeps the plugin that it opened first. With a second word: what the plugin does when the run is degraded.
import { writeFileSync } from "node:fs";
import { loadConfig } from "../../dist/edge/config/index.js";
import { openRuntime } from "../../dist/edge/run/main.js";

const [first, second] = process.argv.slice(2);
const file = process.env.LATE_PLUGIN;
writeFileSync(file, first);

const set = [
  "source.kind=synthetic",
  "source.synthetic.width=64",
  "source.synthetic.height=48",
  "source.synthetic.rateHz=max",
  "outputs.mqtt.broker=none",
  "match.numDisparities=16",
  "board=none",
];
const { config } = loadConfig({ set, environment: {} });
const states = [];
const backends = [];
const notices = [];
let after = 0;
const runtime = await openRuntime(config, undefined, {
  onNotice: (notice) => notices.push(notice),
  onState(state, reason, code) {
    states.push({ state, reason, code });
    if (state !== "degraded") return;
    if (second === undefined) runtime.stop();
    else writeFileSync(file, second);
  },
  async onFrame() {
    const { backend } = runtime.parts.engine.info;
    if (backends.at(-1) !== backend) backends.push(backend);
    if (backend !== "cuda" || ++after !== 20) return;
    // An engine that needs more than the board has left is refused, and this one continues.
    writeFileSync(file, "memory");
    await runtime.apply({ "match.numDisparities": 32 }).catch((error) => notices.push(error.message));
    runtime.stop();
  },
});
const { frames, drops, backend } = await runtime.run();
console.log(JSON.stringify({ states, backends, notices, frames, drops, backend }));

// SPDX-License-Identifier: Apache-2.0
// depthwatt-devices.service runs this as root before the service starts: writes the rules of this board's GPU nodes.
import { execFileSync } from "node:child_process";
import { writeSync } from "node:fs";
import { renewDropIns } from "./drop-ins.js";
import { gpuNodes, readDrivers } from "./nodes.js";
import { dropInFor } from "./rules.js";

const nodes = gpuNodes();
if (renewDropIns(dropInFor(nodes, readDrivers()))) {
  execFileSync("systemctl", ["daemon-reload"]);
  writeSync(1, `device rules renewed for ${nodes.length} GPU nodes\n`);
}

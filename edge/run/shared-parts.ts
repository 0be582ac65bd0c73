// SPDX-License-Identifier: Apache-2.0
// The parts that the rigs of a process share. A run without rigs opens each of them itself.
import type { HttpAccess } from "../contracts/http.js";
import type { BoardGovernor } from "../governor/index.js";
import type { PreparedOutputs } from "../outputs/outputs.js";
import type { RunMeter } from "../power/run-meter.js";

export interface SharedParts {
  /** Name of the rig that uses them. */
  name: string;
  /** Place of the rig in the configuration, from 1: its frames go first on a GPU, and it keeps its quality longest. */
  rank: number;
  meter: RunMeter;
  governor: BoardGovernor;
  /** Returns the process's HTTP server, with the paths of this rig. @throws DepthwattError */
  http(): Promise<HttpAccess>;
  /** Begins the outputs; those that the process has once are taken from it. */
  prepare(settings: ConstructorParameters<typeof PreparedOutputs>[0]): PreparedOutputs;
}

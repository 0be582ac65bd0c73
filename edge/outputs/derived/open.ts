// SPDX-License-Identifier: Apache-2.0
// The output "derived": nearest distances by zone and by angle, and figures of quality, as small JSON topics.
import { defineOutput } from "../../contracts/output.js";
import { brokenDerived, derivedSettings } from "./settings.js";

export const derived = defineOutput({
  settings: derivedSettings,
  broken: brokenDerived,
  off: ({ enabled }) => (enabled ? undefined : "outputs.derived.enabled is false"),
  encodings: () => ({}),
  // All is computed while the frame is lent.
  framesHeld: 0,
  open: async (context) => (await import("./derived-output.js")).openDerived(context),
});

// SPDX-License-Identifier: Apache-2.0
// Exports the duty cycle: a run that sleeps between groups of frames.
export { DutyCycle } from "./duty-cycle.js";
export { type DutyCycleSettings, dutyCycleSection } from "./settings.js";

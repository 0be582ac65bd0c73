// SPDX-License-Identifier: Apache-2.0
// Prints the energy of a frame at a low clock in relation to the highest one, for boards with a published idle power:
//   node bench/run/clocks.mjs [--rate-hz R] [--busy-share S]
// A simulation. The board computes at a fixed rate and is idle between frames. Active, it draws the whole budget of its default power
// mode. A part of the active power beyond idle follows clock and voltage squared; the rest is drawn as long as a frame takes.
import { scriptArguments } from "../../scripts/arguments.mjs";

const { values } = scriptArguments({
  options: { "rate-hz": { type: "string", default: "15" }, "busy-share": { type: "string", default: "0.4" } },
});
const RATE_HZ = Number(values["rate-hz"]);
const BUSY_SHARE = Number(values["busy-share"]);

/** Idle watts and clocks as published (board-configs); megahertz of the default mode and of the slowest one. */
const BOARDS = [
  { name: "Orin Nano", idleWatts: 2.4, activeWatts: 15, fast: 624, slow: 408 },
  { name: "AGX Orin", idleWatts: 7.6, activeWatts: 30, fast: 612, slow: 408 },
];
/** Voltage at the lower clock in relation to that at the higher one. 1: the voltage has reached its floor. */
const VOLTAGES = [1, 0.9, 0.8];
/** Share of the active power that does not depend on the clock. */
const CONSTANT_SHARES = [0, 0.25, 0.5];

/** Joules per frame at a clock and voltage in relation to the higher ones. */
function joules({ idleWatts, activeWatts }, clock, voltage, constantShare) {
  const busySeconds = BUSY_SHARE / RATE_HZ / clock;
  const extraWatts = (activeWatts - idleWatts) * (constantShare + (1 - constantShare) * clock * voltage ** 2);
  return idleWatts / RATE_HZ + busySeconds * extraWatts;
}

const line = (...cells) => console.log(`| ${cells.join(" | ")} |`);
line("board", "clocks", "voltage", ...CONSTANT_SHARES.map((share) => `${100 * share} % constant`));
line(...Array(3 + CONSTANT_SHARES.length).fill("---"));
for (const board of BOARDS) {
  const clock = board.slow / board.fast;
  for (const voltage of VOLTAGES) {
    const cells = CONSTANT_SHARES.map((share) => {
      const [low, high] = [joules(board, clock, voltage, share), joules(board, 1, 1, share)];
      return (low / high).toFixed(2);
    });
    line(board.name, `${board.slow} of ${board.fast} MHz`, voltage, ...cells);
  }
}

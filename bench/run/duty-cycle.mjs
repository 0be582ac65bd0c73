// SPDX-License-Identifier: Apache-2.0
// Prints joules per useful frame of power.dutyCycle for boards with a published idle power:
//   node bench/run/duty-cycle.mjs [--awake-seconds S]
// A simulation: the board draws its idle power while asleep and the whole budget of its default power mode while awake.
import { scriptArguments } from "../../scripts/arguments.mjs";

const { values } = scriptArguments({ options: { "awake-seconds": { type: "string", default: "1.2" } } });
const AWAKE_SECONDS = Number(values["awake-seconds"]);

/** Idle watts as published: a stripped Orin Nano (NVIDIA's forum, 2.2 to 2.6), AGX Orin and Thor (NVIDIA's PVA manual). */
const BOARDS = [
  { name: "Orin Nano", idleWatts: 2.4, awakeWatts: 15 },
  { name: "AGX Orin", idleWatts: 7.6, awakeWatts: 30 },
  { name: "AGX Thor", idleWatts: 11.8, awakeWatts: 120 },
];

const line = (...cells) => console.log(`| ${cells.join(" | ")} |`);
line(
  "board",
  "idle, awake",
  "always awake, every 10 s",
  "asleep, every 10 s",
  "asleep, every 60 s",
  "of it idle",
);
line(...Array(6).fill("---"));
for (const { name, idleWatts, awakeWatts } of BOARDS) {
  const joules = (everySeconds) => idleWatts * (everySeconds - AWAKE_SECONDS) + awakeWatts * AWAKE_SECONDS;
  const idleShare = (idleWatts * (60 - AWAKE_SECONDS)) / joules(60);
  const whole = (value) => `${Math.round(value)} J`;
  line(
    name,
    `${idleWatts} W, ${awakeWatts} W`,
    whole(10 * awakeWatts),
    whole(joules(10)),
    whole(joules(60)),
    `${Math.round(100 * idleShare)} %`,
  );
}

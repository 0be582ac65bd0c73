// SPDX-License-Identifier: Apache-2.0
// An open output "command" without a run: tests offer it frames.
import { expect } from "vitest";
import type { ComputedFrame } from "../../edge/contracts/computed-frame.js";
import type { FrameLease, Output, OutputContext } from "../../edge/contracts/output.js";
import { openCommandOutput } from "../../edge/outputs/command/command-output.js";
import type { CommandOutputSettings } from "../../edge/outputs/command/settings.js";

export const COMMAND_DEFAULTS = {
  shell: true,
  picture: "left",
  format: "y4m",
  timeoutMs: 10_000,
  rateHz: "max",
} as const;

/** The caller closes the output. */
export async function openCommand(settings: Partial<CommandOutputSettings>, hasDepth = true) {
  const notices: string[] = [];
  const output = await openCommandOutput({
    settings: { ...COMMAND_DEFAULTS, ...settings },
    hasDepth,
    rateHz: 25,
    searched: () => ({ min: 0, max: 64 }),
    notice: (text: string) => notices.push(text),
  } as unknown as OutputContext<CommandOutputSettings>);
  return { output, notices };
}

/** Returns how often the output reported the frame as sent, which it does later. */
export function offerPicture(output: Output, frame: ComputedFrame): { sent: number } {
  let isReleased = false;
  const release = () => {
    isReleased = true;
  };
  const calls = { sent: 0 };
  output.frame({ frame, sent: () => calls.sent++, release } as unknown as FrameLease);
  expect(isReleased).toBe(true);
  return calls;
}

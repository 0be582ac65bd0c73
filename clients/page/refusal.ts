// SPDX-License-Identifier: Apache-2.0
// Joins an error's message and its hint to sentences that end with a full stop.
import type { ControlAnswer } from "../../edge/outputs/viewer/protocol.js";

function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "";
  return `${trimmed[0]?.toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}

/** Returns what was refused and what to do, as sentences. */
export const refusalText = ({ message, hint }: Extract<ControlAnswer, { ok: false }>): string =>
  [message, hint].map(sentence).filter(Boolean).join(" ");

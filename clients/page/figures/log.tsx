// SPDX-License-Identifier: Apache-2.0
// Warnings and what else the program said, newest first.
import { useStore } from "../store.js";
import { S } from "../strings.js";

export function Log() {
  const lines = useStore((state) => state.log);
  if (lines.length === 0) return <p class="quiet">{S.log.empty}</p>;
  return (
    <ol class="log" aria-label={S.log.title}>
      {lines.toReversed().map(({ timeMs, level, text }, index) => (
        <li key={lines.length - index} class={level}>
          <time>{new Date(timeMs).toLocaleTimeString("en-GB")}</time> {text}
        </li>
      ))}
    </ol>
  );
}

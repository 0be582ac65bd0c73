// SPDX-License-Identifier: Apache-2.0
// Describes the probe in words, because the canvas alone says nothing to a screen reader.
import { S } from "../strings.js";
import type { PixelFacts } from "./painter.js";

function words(value: number | undefined, unit: string, digits: number): string {
  if (value === undefined) return S.probe.notSent;
  return Number.isNaN(value) ? S.probe.noValue : `${value.toFixed(digits)}${unit}`;
}

export function Probe({ facts }: { facts: PixelFacts | undefined }) {
  return (
    <section class="probe" aria-labelledby="probe-title">
      <h2 id="probe-title">{S.probe.title}</h2>
      {facts === undefined ? (
        <p class="quiet">{S.probe.none}</p>
      ) : (
        <dl>
          <dt>{S.probe.position}</dt>
          <dd data-probe="position">
            {facts.x}, {facts.y}
          </dd>
          <dt>{S.probe.depth}</dt>
          <dd data-probe="depth">{words(facts.depthMetres, ` ${S.units.m}`, 3)}</dd>
          <dt>{S.probe.disparity}</dt>
          <dd data-probe="disparity">{words(facts.disparityPixels, ` ${S.units.px}`, 4)}</dd>
          <dt>{S.probe.confidence}</dt>
          <dd data-probe="confidence">
            {words(facts.confidence, "", 0)}
            {facts.filled ? ` (${S.probe.filled})` : ""}
          </dd>
          <dt>{S.probe.grey}</dt>
          <dd data-probe="grey">{words(facts.grey, "", 0)}</dd>
        </dl>
      )}
    </section>
  );
}

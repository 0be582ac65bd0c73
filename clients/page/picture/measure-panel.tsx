// SPDX-License-Identifier: Apache-2.0
// The results of the measuring tools: the rectangle and the ruler.
import { S } from "../strings.js";
import type { AreaFacts } from "./measure.js";

const T = S.measure;
const millimetres = (metres: number, digits: number) => `${(1000 * metres).toFixed(digits)} mm`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const known = (value: number, text: (value: number) => string) =>
  Number.isNaN(value) ? S.probe.noValue : text(value);

interface MeasurePanelProps {
  area: AreaFacts | undefined;
  /** Metres; NaN: an end has no depth; undefined: no ruler, or no calibration. */
  distance: number | undefined;
  hasRuler: boolean;
  onClear: () => void;
}

export function MeasurePanel({ area, distance, hasRuler, onClear }: MeasurePanelProps) {
  const plane = area?.plane;
  return (
    <section class="measure" aria-labelledby="measure-title" data-measure="panel">
      <h2 id="measure-title">{T.title}</h2>
      <dl>
        {area && (
          <>
            <dt>{T.median}</dt>
            <dd data-measure="median">{known(area.medianMetres, (value) => `${value.toFixed(3)} m`)}</dd>
            <dt>{T.spread}</dt>
            <dd data-measure="spread">{known(area.spreadMetres, (value) => millimetres(value, 1))}</dd>
            <dt>{T.matched}</dt>
            <dd data-measure="matched">
              {area.matched === undefined ? S.probe.notSent : percent(area.matched)}
            </dd>
            <dt>{T.valid}</dt>
            <dd data-measure="valid">{percent(area.valid)}</dd>
            <dt>{T.distance}</dt>
            <dd data-measure="distance">{plane ? `${plane.distanceMetres.toFixed(3)} m` : T.noPlane}</dd>
            <dt>{T.angle}</dt>
            <dd data-measure="angle">{plane ? `${plane.angleDegrees.toFixed(1)}°` : T.noPlane}</dd>
            <dt>{T.rms}</dt>
            <dd data-measure="rms">{plane ? millimetres(plane.rmsMetres, 1) : T.noPlane}</dd>
          </>
        )}
        {hasRuler && (
          <>
            <dt>{T.ruler}</dt>
            <dd data-measure="ruler">
              {distance === undefined ? T.noPlane : known(distance, (value) => `${value.toFixed(3)} m`)}
            </dd>
          </>
        )}
      </dl>
      <button type="button" onClick={onClear}>
        {T.clear}
      </button>
    </section>
  );
}

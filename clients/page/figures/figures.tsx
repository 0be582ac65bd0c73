// SPDX-License-Identifier: Apache-2.0
// The figures tab: what runs where and why, what a frame costs, stage by stage, what was lost.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  finiteNumber,
  isRecord,
  listStages,
  member,
  nonEmptyText,
  numericEntries,
  unavailableReason,
} from "../documents.js";
import { shownFrames, shownSet } from "../live.js";
import { useDocuments } from "../store.js";
import { S } from "../strings.js";
import { causeWords, isIntended } from "./causes.js";

const T = S.figures;
const MAX_CHARACTERS = 90;
const SHORT_CHARACTERS = 50;

function figure(value: unknown, unit: string, digits: number, scale = 1): string {
  const number = finiteNumber(value);
  if (number !== undefined) return `${(number * scale).toFixed(digits)} ${unit}`.trim();
  return unavailableReason(value) ?? T.unknown;
}

/** A long reason folds to its first words. */
function Words({ text }: { text: string }) {
  if (text.length <= MAX_CHARACTERS) return <>{text}</>;
  return (
    <details>
      <summary>{text.slice(0, text.lastIndexOf(" ", SHORT_CHARACTERS))} …</summary>
      {text}
    </details>
  );
}

function Row({ label, name, children }: { label: string; name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{label}</dt>
      <dd data-figure={name}>{children}</dd>
    </>
  );
}

/** How many sets were shown in the second before, and how many passed over. */
function usePace(): { shown: number; skipped: number } {
  const [pace, setPace] = useState({ shown: 0, skipped: 0 });
  useEffect(() => {
    let before = { ...shownFrames };
    const timer = setInterval(() => {
      setPace({ shown: shownFrames.sets - before.sets, skipped: shownFrames.skipped - before.skipped });
      before = { ...shownFrames };
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return pace;
}

/** Causes in words, with their names for those who look them up. */
function Counts({ counts }: { counts: readonly [string, number][] }) {
  if (counts.length === 0) return <>{T.noDrops}</>;
  return (
    <ul>
      {counts.map(([cause, count]) => (
        <li key={cause} data-cause={cause} title={cause}>
          {causeWords(cause)}: {count}
        </li>
      ))}
    </ul>
  );
}

/** Only where one is at work. */
function GovernorRow({ governor }: { governor: unknown }) {
  const name = nonEmptyText(member(governor, "name"));
  if (name === undefined) return null;
  const [budget, reason] = [
    finiteNumber(member(governor, "budgetWatts")),
    nonEmptyText(member(governor, "reason")),
  ];
  return (
    <Row label={T.governor} name="governor">
      {budget === undefined ? "" : `${T.budget(String(budget))}, `}
      {name}
      {reason === undefined ? "" : ": "}
      {reason !== undefined && <Words text={reason} />}
    </Row>
  );
}

export function Figures() {
  const { metrics, info, state } = useDocuments();
  const pace = usePace();
  const damaged = Object.entries(shownSet()?.damaged ?? {});
  const latency = metrics?.latencyMs;
  const percentiles = ["p50", "p95", "p99"].map((name) => finiteNumber(member(latency, name)));
  const power = metrics?.power;
  const watts = member(power, "watts");
  const rails = member(power, "rails");
  const drops = numericEntries(metrics?.drops, 32).filter(([, count]) => count > 0);
  const backend = nonEmptyText(metrics?.backend) ?? nonEmptyText(info?.backend);
  const instructions = nonEmptyText(metrics?.instructionSet) ?? nonEmptyText(info?.instructionSet);
  const [width, height] = [finiteNumber(info?.width), finiteNumber(info?.height)];
  return (
    <div class="figures">
      {(state?.state === "offline" || state?.state === "stopped") && metrics !== undefined && (
        <p class="quiet">{T.last}</p>
      )}
      {damaged.map(([stream, why]) => (
        <p key={stream} class="notice" role="status">
          {T.damaged(stream, why)}
        </p>
      ))}
      <dl>
        <Row label={T.state} name="state">
          {state ? `${state.state}${state.reason ? `: ${state.reason}` : ""}` : T.unknown}
        </Row>
        <Row label={T.backend} name="backend">
          {backend ? `${backend}${instructions ? ` (${instructions})` : ""}` : T.unknown}
        </Row>
        <Row label={T.why} name="backendReason">
          <Words
            text={nonEmptyText(metrics?.backendReason) ?? nonEmptyText(info?.backendReason) ?? T.unknown}
          />
        </Row>
        <Row label={T.source} name="source">
          {nonEmptyText(info?.source) ?? T.unknown}
        </Row>
        <Row label={T.matcher} name="algorithm">
          {nonEmptyText(metrics?.algorithm) ?? nonEmptyText(info?.algorithm) ?? T.unknown}
        </Row>
        <Row label={T.size} name="size">
          {width && height ? `${width} × ${height} ${S.units.px}` : T.unknown}
        </Row>
        <Row label={T.fps} name="fps">
          {figure(metrics?.fps, "fps", 2)}
        </Row>
        <Row label={T.latency} name="latency">
          {percentiles[0] === undefined
            ? (unavailableReason(latency) ?? T.unknown)
            : `${percentiles.map((value) => value?.toFixed(1) ?? "–").join(" / ")} ms`}
        </Row>
        <Row label={T.valid} name="valid">
          {figure(metrics?.validPercent, "%", 1)}
        </Row>
        <Row label={T.matched} name="matched">
          {figure(metrics?.matchedPercent, "%", 1)}
        </Row>
        <Row label={T.power} name="watts">
          {finiteNumber(watts) === undefined ? (
            <Words text={unavailableReason(power) ?? T.unknown} />
          ) : (
            figure(watts, "W", 2)
          )}
        </Row>
        {finiteNumber(watts) !== undefined && (
          <>
            <Row label={T.perFrame} name="joules">
              {figure(member(power, "joulesPerFrame"), S.units.mJ, 1, 1000)}
            </Row>
            <Row label={T.efficiency} name="efficiency">
              {figure(member(power, "fpsPerWatt"), "", 2)}
            </Row>
          </>
        )}
        {isRecord(rails) && Object.keys(rails).length > 0 && (
          <Row label={T.rails} name="rails">
            <ul>
              {Object.entries(rails)
                .slice(0, 16)
                .map(([name, rail]) => (
                  <li key={name}>
                    {name}: {unavailableReason(rail) ?? figure(member(rail, "watts"), "W", 2)}
                  </li>
                ))}
            </ul>
          </Row>
        )}
        <GovernorRow governor={metrics?.governor} />
        <Row label={T.lost} name="lost">
          <Counts counts={drops.filter(([cause]) => !isIntended(cause))} />
        </Row>
        <Row label={T.skipped} name="skipped">
          <Counts counts={drops.filter(([cause]) => isIntended(cause))} />
        </Row>
        <Row label={T.page} name="page">
          {T.pageText(String(pace.shown), String(pace.skipped))}
        </Row>
      </dl>
      <Stages />
    </div>
  );
}

function Stages() {
  const { metrics } = useDocuments();
  const stages = listStages(metrics);
  if (stages.length === 0) return <p class="quiet">{T.waiting}</p>;
  const max = Math.max(...stages.map(([, stage]) => stage.p95Ms), 0.001);
  return (
    <table class="stages">
      <caption>{T.stages}</caption>
      <thead>
        <tr>
          <th scope="col">{T.stage}</th>
          <th scope="col">{T.p50}</th>
          <th scope="col">{T.p95}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {stages.map(([name, { p50Ms, p95Ms }]) => (
          <tr key={name} data-stage={name}>
            <th scope="row">{name}</th>
            <td>{p50Ms.toFixed(2)}</td>
            <td>{p95Ms.toFixed(2)}</td>
            <td class="bar" aria-hidden="true">
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect class="p95" width={(100 * p95Ms) / max} height="10" />
                <rect class="p50" width={(100 * p50Ms) / max} height="10" />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

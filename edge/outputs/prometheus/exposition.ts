// SPDX-License-Identifier: Apache-2.0
// Writes the metrics as text: Prometheus' format 0.0.4, and OpenMetrics 1.0.0 on request.
import type { Family, HistogramFamily, Labels, ScrapeFacts, ValueFamily } from "./family.js";

export type Format = "prometheus" | "openMetrics";

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** OpenMetrics where the Accept header of a scrape names it with a weight above 0. */
export function formatFor(accept: string | undefined): Format {
  const isAccepted = (accept ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const version = parameters.find((parameter) => parameter.startsWith("version="));
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    const known = version === undefined || version === "version=1.0.0";
    return type === "application/openmetrics-text" && known && !refused;
  });
  return isAccepted ? "openMetrics" : "prometheus";
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"');

function labelled(labels: Labels = {}, extra: Labels = {}): string {
  const pairs = Object.entries({ ...labels, ...extra }).map(
    ([name, value]) => `${name}="${escapeLabel(value)}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** OpenMetrics wants a decimal point in each bound. */
const bound = (value: number): string => {
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
};

/** Suffix of the family's name in a sample. */
const ENDINGS = { counter: "_total", gauge: "", info: "_info" } as const;

function valueLines(family: ValueFamily, facts: ScrapeFacts): string[] {
  const name = family.name + ENDINGS[family.type];
  return family.samples(facts).map(({ labels, value }) => `${name}${labelled(labels)} ${number(value)}`);
}

function histogramLines({ name, samples }: HistogramFamily, facts: ScrapeFacts): string[] {
  return samples(facts).flatMap(({ labels, counts: { buckets, cumulative, count, sum } }) => [
    ...buckets.bounds.map(
      (value, place) =>
        `${name}_bucket${labelled(labels, { le: bound(value / buckets.perUnit) })} ${cumulative[place]}`,
    ),
    `${name}_bucket${labelled(labels, { le: "+Inf" })} ${count}`,
    `${name}_sum${labelled(labels)} ${number(sum / buckets.perUnit)}`,
    `${name}_count${labelled(labels)} ${count}`,
  ]);
}

/** Writes a family. A family without samples does not appear: an unknown value is absent, never 0. */
function familyLines(family: Family, facts: ScrapeFacts, format: Format): string[] {
  const samples = family.type === "histogram" ? histogramLines(family, facts) : valueLines(family, facts);
  if (samples.length === 0) return [];
  const { name, type, help, unit } = family;
  const head =
    format === "openMetrics"
      ? { name, type, unit }
      : {
          name: type === "histogram" ? name : name + ENDINGS[type],
          type: type === "info" ? "gauge" : type,
          unit: undefined,
        };
  return [
    `# HELP ${head.name} ${escapeHelp(help)}`,
    `# TYPE ${head.name} ${head.type}`,
    ...(head.unit === undefined ? [] : [`# UNIT ${head.name} ${head.unit}`]),
    ...samples,
  ];
}

export function exposition(families: readonly Family[], facts: ScrapeFacts, format: Format): string {
  const lines = families.flatMap((family) => familyLines(family, facts, format));
  return [...lines, ...(format === "openMetrics" ? ["# EOF"] : []), ""].join("\n");
}

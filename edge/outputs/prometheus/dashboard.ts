// SPDX-License-Identifier: Apache-2.0
// A Grafana dashboard and Prometheus' alert rules, made from the list of metrics.
import { stringify } from "yaml";
import { FAMILIES } from "./families.js";
import type { Alert, Family, Panel } from "./family.js";

/** Two drawings next to each other on Grafana's 24 columns. */
const PANEL = { width: 12, height: 8 };

/** Grafana puts the chosen data source here. */
const SOURCE = { type: "prometheus", uid: "$datasource" };

function grafanaPanel({ title, lines, unit }: Panel, index: number): object {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    datasource: SOURCE,
    gridPos: {
      h: PANEL.height,
      w: PANEL.width,
      x: (index % 2) * PANEL.width,
      y: Math.floor(index / 2) * PANEL.height,
    },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "table", placement: "bottom", calcs: ["mean", "max"] } },
    targets: lines.map(({ expr, legend }, line) => ({
      refId: String.fromCharCode(65 + line),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

/** To be imported by Grafana 9 or newer; it asks for the data source and shows the devices that are chosen. */
export function grafanaDashboard(families: readonly Family[] = FAMILIES): object {
  const panels = families.flatMap(({ panel }) => panel ?? []);
  return {
    uid: "depthwatt",
    title: "depthwatt",
    description: "Depth per watt: frames, time, energy and losses of every device.",
    tags: ["depthwatt"],
    schemaVersion: 38,
    editable: true,
    refresh: "10s",
    time: { from: "now-30m", to: "now" },
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
        {
          name: "instance",
          type: "query",
          label: "Device",
          datasource: SOURCE,
          query: { query: "label_values(depthwatt_frames_total, instance)", refId: "instance" },
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: ".*",
        },
      ],
    },
    panels: panels.map(grafanaPanel),
  };
}

/** Alerts for every device that Prometheus scrapes; it is not about a metric of ours. */
const DOWN: Alert = {
  name: "DepthwattDown",
  expr: 'up{job="depthwatt"} == 0',
  for: "1m",
  severity: "critical",
  summary: "{{ $labels.instance }} has not answered a scrape for a minute.",
};

/** The text of a rules file. */
export function alertRules(families: readonly Family[] = FAMILIES): string {
  const alerts = [DOWN, ...families.flatMap(({ alerts = [] }) => alerts)];
  const rules = alerts.map(({ name, expr, for: holds, severity, summary }) => ({
    alert: name,
    expr,
    for: holds,
    labels: { severity },
    annotations: { summary },
  }));
  return stringify({ groups: [{ name: "depthwatt", rules }] }, { lineWidth: 0 });
}

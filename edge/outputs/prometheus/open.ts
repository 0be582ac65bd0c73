// SPDX-License-Identifier: Apache-2.0
// The output "prometheus": metrics for whoever scrapes them.
import { z } from "zod";
import { defineOutput } from "../../contracts/output.js";
import { section, setting } from "../../contracts/setting.js";

const prometheusSettings = section(
  "Metrics for Prometheus at /metrics; where they are served stands in http.",
  {
    enabled: setting(z.boolean(), { default: false, description: "Serves /metrics." }),
  },
);

export const prometheus = defineOutput({
  settings: prometheusSettings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.prometheus.enabled is false"),
  encodings: () => ({}),
  framesHeld: 0,
  open: async (context) => (await import("./prometheus-output.js")).openPrometheus(context),
});

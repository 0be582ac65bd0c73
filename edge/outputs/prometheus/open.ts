// SPDX-License-Identifier: Apache-2.0
// Defines the output "prometheus".
import { z } from "zod";
import { defineOutput } from "../../contracts/output.js";
import { section, setting } from "../../contracts/setting.js";

const prometheusSettings = section(
  "Metrics for Prometheus at /metrics; http has the address of the server.",
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

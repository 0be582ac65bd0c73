// SPDX-License-Identifier: Apache-2.0
// Two sensors that measure different parts of one machine, such as CPU packages and a GPU board, as one.
import type { PowerSensor, RailDescription, RailReading, TotalRule, Unavailable } from "./sensor.js";

export class CombinedSensor implements PowerSensor {
  readonly name: string;
  readonly rails: readonly RailDescription[];
  readonly total: TotalRule | Unavailable;
  readonly parts: readonly PowerSensor[];

  constructor(parts: readonly PowerSensor[]) {
    this.parts = parts;
    this.name = parts.map((part) => part.name).join("+");
    this.rails = parts.flatMap((part) => [...part.rails]);
    const rules: TotalRule[] = [];
    let refused: Unavailable | undefined;
    for (const { total } of parts) {
      if ("rails" in total) rules.push(total);
      else refused ??= total;
    }
    this.total = refused ?? {
      rails: rules.flatMap((rule) => rule.rails),
      reason: rules.map((rule) => rule.reason).join("; plus "),
    };
  }

  read(): RailReading[] {
    return this.parts.flatMap((part) => part.read());
  }

  close(): void {
    for (const part of this.parts) part.close();
  }
}

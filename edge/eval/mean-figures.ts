// SPDX-License-Identifier: Apache-2.0
// The mean of nested records of numbers, such as scores by mask and name.

/** Numbers by name, at any depth; null is not known. */
type Figures = { readonly [name: string]: number | null | Figures };

const isRecord = (value: number | null | Figures | undefined): value is Figures =>
  typeof value === "object" && value !== null;

function meanOfFigures(records: readonly { figures: Figures; weight: number }[]): Figures {
  const names = [...new Set(records.flatMap(({ figures }) => Object.keys(figures)))];
  const entries = names.map((name): [string, number | null | Figures] => {
    const values = records.map(({ figures, weight }) => ({ figures: figures[name], weight }));
    const inner = values.filter((value): value is { figures: Figures; weight: number } =>
      isRecord(value.figures),
    );
    if (inner.length > 0) return [name, meanOfFigures(inner)];
    let [sum, weights] = [0, 0];
    for (const { figures: value, weight } of values) {
      if (typeof value !== "number") continue;
      sum += weight * value;
      weights += weight;
    }
    return [name, weights === 0 ? null : sum / weights];
  });
  return Object.fromEntries(entries);
}

/**
 * Returns for each name the weighted mean over the records that know it; null if none does.
 * @param records records of numbers or null by name, at any depth
 */
export const meanFigures = <T extends object>(records: readonly { figures: T; weight: number }[]): T =>
  meanOfFigures(records as unknown as { figures: Figures; weight: number }[]) as unknown as T;

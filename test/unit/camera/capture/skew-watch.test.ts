// SPDX-License-Identifier: Apache-2.0
// The warning of two cameras whose images are of different moments.
import { describe, expect, test } from "vitest";
import { SkewWatch } from "../../../../camera/live/skew-watch.js";

describe("skew warning", () => {
  test("names what to do once, and again only after it was good", () => {
    const watch = new SkewWatch({ maxSkewMs: undefined, rephase: false });
    const warnings: string[] = [];
    const feed = (skewNs: number) => {
      for (let i = 0; i < 300; i++) {
        const warning = watch.addPair(skewNs, 33e6);
        if (warning) warnings.push(warning);
      }
    };
    feed(1e6);
    expect(warnings).toEqual([]);
    feed(14e6);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/14\.0 ms.*source\.v4l2\.rephase/);
    feed(1e6);
    feed(14e6);
    expect(warnings).toHaveLength(2);
  });

  test("many images without a partner in the strict mode are reported with the limit", () => {
    const watch = new SkewWatch({ maxSkewMs: 2, rephase: false });
    let warning: string | undefined;
    for (let i = 0; i < 75; i++) {
      warning ??= watch.addPair(1e6, 33e6);
      warning ??= watch.addUnmatched(33e6);
    }
    expect(warning).toMatch(/50 %.*source\.v4l2\.maxSkewMs \(2 ms\)/);
  });

  test("images without a partner count in their own window only", () => {
    const watch = new SkewWatch({ maxSkewMs: 2, rephase: false });
    const feed = (pairs: number, unmatched: number) => [
      ...Array.from({ length: unmatched }, () => watch.addUnmatched(33e6)),
      ...Array.from({ length: pairs }, () => watch.addPair(1e6, 33e6)),
    ];
    const warned = (results: (string | undefined)[]) => results.filter((one) => one !== undefined);
    // A fifth is no trouble yet, in any of the windows.
    for (let window = 0; window < 4; window++) expect(warned(feed(120, 30))).toEqual([]);
    expect(warned(feed(119, 31))[0]).toMatch(/^21 %/);
    expect(warned(feed(150, 0))).toEqual([]);
    expect(warned(feed(119, 31))[0]).toMatch(/^21 %/);
  });
});

test("150 pairs and losses are judged together: a quarter of the period, a fifth without a partner", () => {
  const watched = (pairs: number, skewNs: number, unmatched: number) => {
    const watch = new SkewWatch({ maxSkewMs: undefined, rephase: true });
    const found = [
      ...Array.from({ length: unmatched }, () => watch.addUnmatched(40e6)),
      ...Array.from({ length: pairs }, (_, at) => watch.addPair(at % 2 === 0 ? skewNs : -skewNs, 40e6)),
    ];
    return found.flatMap((text, at) => (text === undefined ? [] : [[at, /[\d.]+/.exec(text)![0]]]));
  };
  expect(watched(149, 11e6, 0)).toEqual([]);
  expect(watched(150, 11e6, 0)).toEqual([[149, "11.0"]]);
  expect(watched(150, 10e6, 0)).toEqual([]);
  expect(watched(150, 10.1e6, 0)).toEqual([[149, "10.1"]]);
  expect(watched(120, 0, 30)).toEqual([]);
  expect(watched(119, 0, 31)).toEqual([[149, "21"]]);
  expect(watched(0, 0, 150)).toEqual([[149, "100"]]);
});

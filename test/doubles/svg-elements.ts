// SPDX-License-Identifier: Apache-2.0
// Reads the elements of a chart, so that a test compares all places, classes and words at once.

/** Returns the elements of an SVG picture in their order: name, values of the attributes, words inside. */
export function svgElements(svg: string): string[] {
  const elements = svg.matchAll(
    /<(svg|rect|line|circle|path|polyline|image|text)\b([^>]*)>(?:<title>)?([^<]*)/g,
  );
  return [...elements].map(([, name, attributes, words]) => {
    const values = [...attributes!.matchAll(/="([^"]*)"/g)].map(([, value]) => value);
    return [name, ...values.filter((value) => !value!.startsWith("http")), words!.trim()].join(" ").trim();
  });
}

// SPDX-License-Identifier: Apache-2.0
// The anchors of headings, for the check of links and for the documentation site.

/**
 * Returns a heading's anchor, as GitHub makes it.
 * @param {string} heading
 */
export const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[`*]/g, "")
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

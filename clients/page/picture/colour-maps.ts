// SPDX-License-Identifier: Apache-2.0
// The colour maps that the page offers: those of the pictures that the commands write.
export { COLOUR_MAPS, type ColourMapName, colourTable } from "../../../core/colour-maps.js";

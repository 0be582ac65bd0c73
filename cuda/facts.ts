// SPDX-License-Identifier: Apache-2.0
// Generated from the addon by `npm run build`: edits here are lost. The facts are written in cuda/match/*/*.cpu.cc and
// cuda/**/*.stage.cc; cuda/setting.h explains them.

/** Every matcher, in the order of cuda/match/matchers.h. */
export const MATCHER_FACTS = [
  {
    name: "sgm",
    description: "semi-global matching",
    images: "grey",
    halfByDefault: false,
    parameters: [
      {
        key: "cost",
        kind: "word",
        choices: ["twoGradientCensus", "gradientCensus", "census", "wideCensus"],
        default: "twoGradientCensus",
        description:
          "Pixel description to compare. twoGradientCensus: 8 neighbours and both gradients; gradientCensus: 5x5 census and horizontal gradient; census: the paper's 9x7 census; wideCensus: 62 bits, most accurate and slowest.",
      },
      {
        key: "paths",
        kind: "oneOf",
        choices: [2, 4, 8],
        default: 4,
        description: "Directions of aggregation. More give smoother results and take more time.",
      },
      {
        key: "p1",
        kind: "whole",
        low: 1,
        high: 1023,
        default: 10,
        unit: "cost",
        description:
          "Penalty of a disparity step of one pixel, at most p2. Raise it for smoother slanted surfaces.",
      },
      {
        key: "p2",
        kind: "whole",
        low: 1,
        high: 1023,
        default: 24,
        unit: "cost",
        description:
          "Penalty of a larger disparity step. Raise it for smoother surfaces, lower it to keep small objects. Above 127 the CPU is slower.",
      },
      {
        key: "adaptiveP2",
        kind: "whole",
        low: 0,
        high: 255,
        default: 2,
        description:
          "Lowers p2 at grey edges, to max(p1, p2 - (adaptiveP2 x grey difference) / 16). Raise it for sharper object edges. 0: off.",
      },
      {
        key: "uniqueness",
        kind: "whole",
        low: 0,
        high: 99,
        default: 0,
        unit: "%",
        description:
          "How much higher the cost of every other disparity must be; otherwise the pixel is invalid. Raise it to drop ambiguous pixels. 0: off.",
      },
      {
        key: "outsideCost",
        kind: "whole",
        low: 0,
        high: 63,
        default: 6,
        unit: "cost",
        description:
          "Cost of a disparity that points outside the right image. If it wins, the pixel becomes a hole. 63: it never wins.",
      },
      {
        key: "rightView",
        kind: "word",
        choices: ["diagonal", "own"],
        default: "diagonal",
        description:
          "Right-image match for the left-right check. diagonal: read from the left image's costs; own: a separate match, more accurate at about twice the time.",
      },
      {
        key: "search",
        kind: "word",
        choices: ["full", "coarseToFine", "auto"],
        default: "full",
        description:
          "Disparities to compare at each pixel. full: all of them; coarseToFine: those near a match at half the size, for ranges above 64; auto: coarseToFine where it is measured to be faster.",
      },
      {
        key: "subpixel",
        kind: "flag",
        default: true,
        description: "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.",
      },
    ],
    ladder: {
      steps: [
        { key: "paths", value: 4 },
        { key: "paths", value: 2 },
      ],
      atHalf: 1,
      workPerCell: "paths",
    },
  },
  {
    name: "cbca",
    description: "cross-based aggregation over regions of similar grey",
    images: "grey",
    halfByDefault: true,
    parameters: [
      {
        key: "armX",
        kind: "whole",
        low: 0,
        high: 141,
        default: 9,
        defaultAtHalf: 3,
        unit: "px",
        description:
          "Longest horizontal arm of a pixel's region; CUDA computes up to 61. Longer arms smooth more and take more time.",
      },
      {
        key: "armY",
        kind: "whole",
        low: 0,
        high: 61,
        default: 9,
        defaultAtHalf: 3,
        unit: "px",
        description: "Longest vertical arm of a pixel's region. Longer arms smooth more and take more time.",
      },
      {
        key: "similarity",
        kind: "whole",
        low: 1,
        high: 256,
        default: 13,
        defaultAtHalf: 30,
        unit: "grey",
        description:
          "Grey difference at which an arm ends. Raise it for noisy images, lower it to keep edges apart.",
      },
      {
        key: "armXRight",
        kind: "whole",
        low: -1,
        high: 141,
        default: -1,
        unit: "px",
        description: "armX of the right image; CUDA computes up to 61. -1: as in the left image.",
      },
      {
        key: "armYRight",
        kind: "whole",
        low: -1,
        high: 61,
        default: -1,
        unit: "px",
        description: "armY of the right image. -1: as in the left image.",
      },
      {
        key: "lambdaDifference",
        kind: "whole",
        low: 10,
        high: 10000,
        default: 300,
        unit: "1/1000",
        description:
          "Grey difference whose cost is 63 % of the maximum, in thousandths of lambdaUnit. Lower it to make small differences count more.",
      },
      {
        key: "lambdaUnit",
        kind: "word",
        choices: ["fullScale", "greyLevel"],
        default: "fullScale",
        description:
          "Unit of lambdaDifference: the full scale of 255, or one grey level. The paper prints 0.3 without a unit.",
      },
      {
        key: "lambdaCensus",
        kind: "whole",
        low: 10,
        high: 10000,
        default: 23,
        unit: "1/10 bit",
        description:
          "Census distance whose cost is 63 % of the maximum, in tenths of a bit. Lower it to make the census count more.",
      },
      {
        key: "threshold",
        kind: "whole",
        low: 0,
        high: 64,
        default: 3,
        unit: "px",
        description: "Largest disparity step that filling bridges with a straight line.",
      },
    ],
    ladder: { steps: [], atHalf: 0, workPerCell: 4 },
  },
  {
    name: "esaw",
    description: "adaptive weights in exponential steps",
    images: "grey and left rgb",
    halfByDefault: false,
    parameters: [
      {
        key: "steps",
        kind: "whole",
        low: 1,
        high: 16,
        default: 9,
        description:
          "Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time.",
      },
      {
        key: "basePercent",
        kind: "whole",
        low: 100,
        high: 400,
        default: 190,
        unit: "%",
        description:
          "Round t reaches round((basePercent / 100)^(t - 1)) pixels. Use 190 with 9 rounds and 260 with 5, as the paper does.",
      },
      {
        key: "gammaColour",
        kind: "whole",
        low: 1,
        high: 1000,
        default: 17,
        unit: "grey",
        description:
          "Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges.",
      },
      {
        key: "colourDistance",
        kind: "word",
        choices: ["rgb", "lab"],
        default: "rgb",
        description:
          "How gammaColour compares colours. rgb: largest channel difference; lab: distance in CIELab, as the paper prints.",
      },
      {
        key: "gammaDistance",
        kind: "whole",
        low: 1,
        high: 1000,
        default: 36,
        unit: "px",
        description:
          "Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas.",
      },
      {
        key: "truncation",
        kind: "whole",
        low: 1,
        high: 255,
        default: 12,
        unit: "grey",
        description:
          "Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections.",
      },
      {
        key: "gradientTruncation",
        kind: "whole",
        low: 0,
        high: 127,
        default: 0,
        unit: "grey / 2",
        description:
          "Largest difference of horizontal gradients that counts. 0: gradients are not compared, as in the paper. 4 is more accurate.",
      },
      {
        key: "gradientPercent",
        kind: "whole",
        low: 1,
        high: 2000,
        default: 400,
        unit: "%",
        description:
          "Cost of a gradient difference, relative to a grey difference. Used if gradientTruncation is above 0.",
      },
      {
        key: "rightView",
        kind: "word",
        choices: ["own", "diagonal"],
        default: "own",
        description:
          "Right-image match for the left-right check. own: aggregates again from the right image, at twice the time; diagonal: reads it from the left image's costs.",
      },
      {
        key: "subpixel",
        kind: "flag",
        default: false,
        description: "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.",
      },
    ],
    ladder: {
      steps: [
        { key: "steps", value: 7 },
        { key: "steps", value: 5 },
      ],
      atHalf: 1,
      workPerCell: "steps",
    },
  },
  {
    name: "esmp",
    description: "message propagation in exponential steps",
    images: "grey and left rgb",
    halfByDefault: false,
    parameters: [
      {
        key: "steps",
        kind: "whole",
        low: 1,
        high: 16,
        default: 8,
        description:
          "Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time.",
      },
      {
        key: "basePercent",
        kind: "whole",
        low: 100,
        high: 400,
        default: 180,
        unit: "%",
        description:
          "Round t reaches round((basePercent / 100)^(t - 1)) pixels. The paper prints 280, but its results need 180.",
      },
      {
        key: "gammaColour",
        kind: "whole",
        low: 1,
        high: 1000,
        default: 18,
        unit: "grey",
        description:
          "Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges.",
      },
      {
        key: "colourDistance",
        kind: "word",
        choices: ["rgb", "lab"],
        default: "rgb",
        description:
          "How gammaColour compares colours. rgb: largest channel difference; lab: distance in CIELab, as the paper prints.",
      },
      {
        key: "gammaDistance",
        kind: "whole",
        low: 1,
        high: 1000,
        default: 29,
        unit: "px",
        description:
          "Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas.",
      },
      {
        key: "truncation",
        kind: "whole",
        low: 1,
        high: 255,
        default: 17,
        unit: "grey",
        description:
          "Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections.",
      },
      {
        key: "lambdaThousandths",
        kind: "whole",
        low: 1,
        high: 3276,
        default: 150,
        unit: "1/1000",
        description:
          "Cost of one grey value, relative to the smoothness penalties. Times truncation, at most 3276.",
      },
      {
        key: "slopeThousandths",
        kind: "whole",
        low: 1,
        high: 3276,
        default: 1000,
        unit: "1/1000",
        description:
          "Penalty per pixel of disparity difference between neighbours. Raise it for smoother surfaces.",
      },
      {
        key: "capTenThousandths",
        kind: "whole",
        low: 0,
        high: 10000,
        default: 375,
        unit: "1/10000",
        description:
          "Largest smoothness penalty, times numDisparities - 1. Lower it to keep disparity edges.",
      },
      {
        key: "gradientTruncation",
        kind: "whole",
        low: 0,
        high: 127,
        default: 0,
        unit: "grey / 2",
        description:
          "Largest difference of horizontal gradients that counts. 0: gradients are not compared, as in the paper. 4 is more accurate.",
      },
      {
        key: "gradientPercent",
        kind: "whole",
        low: 1,
        high: 2000,
        default: 400,
        unit: "%",
        description:
          "Cost of a gradient difference, relative to a grey difference. Used if gradientTruncation is above 0.",
      },
      {
        key: "rightView",
        kind: "word",
        choices: ["own", "diagonal"],
        default: "own",
        description:
          "Right-image match for the left-right check. own: aggregates again from the right image, at twice the time; diagonal: reads it from the left image's costs.",
      },
      {
        key: "subpixel",
        kind: "flag",
        default: false,
        description: "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.",
      },
    ],
    ladder: {
      steps: [
        { key: "steps", value: 6 },
        { key: "steps", value: 4 },
      ],
      atHalf: 1,
      workPerCell: "steps",
    },
  },
  {
    name: "sad",
    description: "window sums of absolute colour differences",
    images: "grey and rgb",
    halfByDefault: false,
    parameters: [
      {
        key: "windowWidth",
        kind: "oneOf",
        choices: [3, 5, 7, 9, 11, 13, 15],
        default: 5,
        unit: "px",
        description: "Width of the window. Larger windows are less noisy and blur edges more.",
      },
      {
        key: "windowHeight",
        kind: "oneOf",
        choices: [3, 5, 7, 9, 11, 13, 15],
        default: 5,
        unit: "px",
        description: "Height of the window. Larger windows are less noisy and blur edges more.",
      },
      {
        key: "hueWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 30,
        unit: "%",
        description: "Weight of differences in hue, where a full circle is 256 grey values.",
      },
      {
        key: "saturationWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 30,
        unit: "%",
        description: "Weight of differences in saturation.",
      },
      {
        key: "valueWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 30,
        unit: "%",
        description: "Weight of differences in value (brightness). The three weights add up to 1 to 100.",
      },
      {
        key: "subpixel",
        kind: "flag",
        default: false,
        description: "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.",
      },
    ],
    ladder: { steps: [], atHalf: 0, workPerCell: 4 },
  },
  {
    name: "pyramid",
    description: "window sums refined from small copies of the images",
    images: "grey and rgb",
    halfByDefault: false,
    parameters: [
      {
        key: "windowWidth",
        kind: "oneOf",
        choices: [3, 5, 7, 9, 11, 13, 15],
        default: 7,
        unit: "px",
        description: "Width of the window at every level. Larger windows are less noisy and blur edges more.",
      },
      {
        key: "windowHeight",
        kind: "oneOf",
        choices: [3, 5, 7, 9, 11, 13, 15],
        default: 7,
        unit: "px",
        description: "Height of the window. Larger windows are less noisy and blur edges more.",
      },
      {
        key: "levels",
        kind: "whole",
        low: 1,
        high: 4,
        default: 3,
        description:
          "Number of smaller copies to match first, each half the size. More are faster and lose thin objects.",
      },
      {
        key: "peakRatio",
        kind: "whole",
        low: 0,
        high: 50,
        default: 5,
        unit: "%",
        description:
          "Margin by which a disparity must win to replace the coarser level's, per pixel of distance to the second best. 0: no margin.",
      },
      {
        key: "hueWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 20,
        unit: "%",
        description: "Weight of differences in hue, where a full circle is 256 grey values.",
      },
      {
        key: "saturationWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 30,
        unit: "%",
        description: "Weight of differences in saturation.",
      },
      {
        key: "valueWeight",
        kind: "whole",
        low: 0,
        high: 100,
        default: 50,
        unit: "%",
        description: "Weight of differences in value (brightness). The three weights add up to 1 to 100.",
      },
      {
        key: "subpixel",
        kind: "flag",
        default: false,
        description: "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.",
      },
    ],
    ladder: { steps: [], atHalf: 0, workPerCell: 1 },
  },
] as const;

/** Every stage, in the order of cuda/stages.h, with the settings that it owns. */
export const STAGE_FACTS = [
  {
    name: "rectify",
    settings: [
      {
        key: "rectify.verticalOffset",
        kind: "fraction",
        low: -16,
        high: 16,
        step: 0.25,
        automatic: true,
        default: "auto",
        unit: "rows",
        takesEffect: "restart",
        description:
          "Vertical offset between the images, in rows, to correct. auto: estimated from the images, as a line over the columns if a camera is rotated.",
      },
      {
        key: "rectify.blackLevel",
        kind: "whole",
        low: 0,
        high: 255,
        default: 0,
        unit: "grey levels",
        takesEffect: "restart",
        description:
          "Subtracts a raw sensor's value of black from grey and each colour. 255 is white: 64 of 1023 is 16.",
      },
    ],
  },
  {
    name: "half",
    settings: [
      {
        key: "match.halfResolution",
        kind: "flag",
        automatic: true,
        default: "auto",
        description:
          "Matches at half the width and height with half the disparities, then doubles the result: about four times faster, less detail. auto: as the matcher recommends.",
      },
    ],
  },
  {
    name: "denoise",
    settings: [
      {
        key: "match.denoise",
        kind: "word",
        choices: ["auto", "off", "on"],
        default: "auto",
        takesEffect: "restart",
        description:
          "Denoises both images before matching, by the estimated noise level. auto: only between 2.75 and 16 grey levels.",
      },
    ],
  },
  {
    name: "average",
    settings: [
      {
        key: "match.average",
        kind: "flag",
        default: false,
        description:
          "Averages both images over the last frames before matching, except where something moves. Turn it on for a still camera in low light. Results then depend on earlier frames.",
      },
    ],
  },
  {
    name: "match",
    settings: [
      {
        key: "match.minDisparity",
        kind: "whole",
        low: 0,
        high: 2039,
        default: 0,
        unit: "px",
        description: "Smallest disparity searched. Raise it to ignore distant objects.",
      },
      {
        key: "match.numDisparities",
        kind: "whole",
        low: 8,
        high: 512,
        default: 64,
        unit: "px",
        description:
          "Number of disparities searched, from minDisparity on. More of them see nearer objects; time grows in proportion.",
      },
      {
        key: "refine.leftRight",
        kind: "flag",
        default: true,
        description:
          "Drops pixels whose disparity differs by more than 1 px from the right image's match, such as occlusions.",
      },
    ],
  },
  {
    name: "speckle",
    settings: [
      {
        key: "refine.speckleSize",
        kind: "whole",
        low: 0,
        high: 1000000,
        default: 60,
        unit: "pixels",
        description:
          "Drops connected regions with fewer pixels than this. Raise it to remove more wrong matches, lower it to keep small objects. 0: off.",
      },
      {
        key: "refine.speckleRange",
        kind: "fraction",
        low: 0,
        high: 128,
        default: 0.75,
        unit: "px",
        description: "Largest disparity step inside one region, rounded to 1/16 px.",
      },
    ],
  },
  { name: "ambiguity", settings: [] },
  {
    name: "confidence",
    settings: [
      {
        key: "refine.confidence",
        kind: "word",
        choices: ["probability", "peakRatio", "featureDensity", "matchingScore", "product"],
        default: "probability",
        description:
          "Meaning of the confidence. probability: how likely a matched pixel is right; the others are measures of Prehn 2007 and their product.",
      },
    ],
  },
  { name: "windowConfidence", settings: [] },
  {
    name: "repair",
    settings: [
      {
        key: "refine.repair",
        kind: "flag",
        default: false,
        description:
          "Replaces outliers by the disparity of more reliable pixels on both sides within 10 px (Prehn 2007).",
      },
    ],
  },
  {
    name: "fill",
    settings: [
      {
        key: "refine.fill",
        kind: "word",
        choices: ["background", "bilateral", "off"],
        default: "background",
        description:
          "Fills pixels without a match; their confidence stays 0. background: as an occlusion, up to an edge of the image; bilateral: by grey value; off: only matched pixels have a disparity.",
      },
      {
        key: "refine.fillThreshold",
        kind: "fraction",
        low: 0,
        high: 2047,
        default: 6,
        unit: "px",
        description:
          "Largest disparity difference between the two sides of a hole that a straight line bridges.",
      },
    ],
  },
  {
    name: "boundary",
    settings: [
      {
        key: "refine.boundary",
        kind: "flag",
        default: true,
        description: "Moves disparity edges onto nearby grey edges. Turn it off to save time.",
      },
      {
        key: "refine.rounds",
        kind: "whole",
        low: 1,
        high: 4,
        default: 1,
        description: "How often refine.boundary and refine.median run in turn, if both are on.",
      },
    ],
  },
  {
    name: "median",
    settings: [
      {
        key: "refine.median",
        kind: "flag",
        default: true,
        description: "Removes single wrong disparities by a 3x3 median.",
      },
    ],
  },
  {
    name: "slant",
    settings: [
      {
        key: "refine.slant",
        kind: "flag",
        default: false,
        description: "Fits a plane around each pixel: slanted surfaces have no steps, and fewer errors.",
      },
    ],
  },
  {
    name: "temporal",
    settings: [
      {
        key: "refine.temporal",
        kind: "flag",
        default: false,
        description:
          "Averages the disparity over the last frames, except where something moves. Turn it on to reduce flicker. Results then depend on earlier frames.",
      },
    ],
  },
  {
    name: "upscale",
    settings: [
      {
        key: "refine.upscaleThreshold",
        kind: "fraction",
        low: 0,
        high: 1023,
        default: 3,
        unit: "px",
        description:
          "At half resolution: largest disparity step that doubling interpolates, in pixels of the half-size map.",
      },
    ],
  },
  {
    name: "region",
    settings: [
      {
        key: "region.x",
        kind: "whole",
        low: 0,
        high: 16383,
        default: 0,
        unit: "px",
        description: "First column of the region.",
      },
      {
        key: "region.y",
        kind: "whole",
        low: 0,
        high: 16383,
        default: 0,
        unit: "px",
        description: "First row of the region.",
      },
      {
        key: "region.width",
        kind: "whole",
        low: 0,
        high: 16384,
        default: 0,
        unit: "px",
        description: "Width of the region. 0: everything from x on.",
      },
      {
        key: "region.height",
        kind: "whole",
        low: 0,
        high: 16384,
        default: 0,
        unit: "px",
        description: "Height of the region. 0: everything from y on.",
      },
    ],
  },
  {
    name: "threshold",
    settings: [
      {
        key: "refine.minConfidence",
        kind: "fraction",
        low: 0,
        high: 1,
        default: 0,
        description:
          "Drops pixels whose confidence, as a share of 255, is below this. With refine.confidence = probability, 0.9 keeps pixels that are right with a probability of at least 90 %. Any value above 0 also drops filled pixels. 0: off.",
      },
      {
        key: "depth.minMetres",
        kind: "fraction",
        low: 0,
        high: 1000,
        default: 0,
        unit: "m",
        description: "Drops pixels that are nearer than this. 0: off. Needs a calibration.",
      },
      {
        key: "depth.maxMetres",
        kind: "fraction",
        low: 0,
        high: 1000,
        default: 0,
        unit: "m",
        description: "Drops pixels that are farther away than this. 0: off. Needs a calibration.",
      },
    ],
  },
  { name: "depth", settings: [] },
  {
    name: "points",
    settings: [
      {
        key: "points.frame",
        kind: "word",
        choices: ["camera", "robot"],
        default: "camera",
        takesEffect: "restart",
        description:
          "Axes of the points. camera: x right, y down, z ahead, from the left camera; robot: x ahead, y left, z up, from the middle of the baseline.",
      },
      {
        key: "points.element",
        kind: "word",
        choices: ["float32", "int16"],
        default: "float32",
        takesEffect: "restart",
        description:
          "Number format. float32: metres; int16: millimetres, half the bytes, no point beyond 32.767 m.",
      },
      {
        key: "points.colour",
        kind: "word",
        choices: ["grey", "rgb", "registered"],
        default: "grey",
        takesEffect: "restart",
        description:
          "Colour of each point. rgb needs a left camera with colours; registered takes the image of registration.camera, where that camera sees the point.",
      },
    ],
  },
  {
    name: "voxels",
    settings: [
      {
        key: "voxels.sizeMillimetres",
        kind: "whole",
        low: 5,
        high: 10000,
        default: 50,
        unit: "mm",
        description: "Edge of the smallest voxel.",
      },
      {
        key: "voxels.uncertaintyPixels",
        kind: "fraction",
        low: 0,
        high: 4,
        default: 0.5,
        unit: "px",
        description:
          "Far voxels are 2, 4, to 128 times as large, so that each covers the depth error of this many pixels of disparity. 0: all have the same size.",
      },
    ],
  },
  {
    name: "registration",
    settings: [
      {
        key: "registration.fill",
        kind: "flag",
        default: false,
        takesEffect: "restart",
        description:
          "Fills a pixel without depth of which 5 neighbours have one with the farthest of theirs; its confidence is 0.",
      },
    ],
  },
  { name: "floor", settings: [] },
  { name: "grid", settings: [] },
  { name: "encode", settings: [] },
] as const;

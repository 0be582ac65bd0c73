// SPDX-License-Identifier: Apache-2.0
// Settings of the cameras' mounting and calibration.
import { z } from "zod";
import { ORIENTATIONS, PAIR_ORIENTATION } from "../../camera/index.js";
import { section, setting } from "../contracts/setting.js";

export const rigSection = section(
  "How the cameras are mounted.",
  {
    orientation: setting(z.string().regex(PAIR_ORIENTATION), {
      default: "none",
      expects: `${ORIENTATIONS.slice(0, -1).join(", ")} or ${ORIENTATIONS.at(-1)}, or two joined by a comma, of which both or none rotate by 90 or 270`,
      description:
        "Makes captured images upright; rotations are clockwise: rotate180 for cameras upside down, rotate90 or rotate270 for cameras above each other, mirror (left and right) or flip (top and bottom) for drivers that exchange sides; none,mirror treats left and right differently. The calibration describes the upright images.",
    }),
  },
  "live",
);

export const calibrationSection = section(
  "The calibration of the pair; without one, images must be rectified.",
  {
    file: setting(z.string().min(1).optional(), {
      isPath: true,
      description:
        "OpenCV FileStorage YAML, ROS camera_info, Kalibr camchain, Middlebury calib.txt, KITTI calibration or depthwatt JSON; two files are joined by a comma.",
    }),
    crop: setting(z.union([z.literal("given"), z.number().min(0).max(1)]), {
      default: 0,
      description:
        "0 keeps what both cameras see, 1 every captured pixel, between them in proportion; given takes the file's own R and P.",
    }),
    leftName: setting(z.string().min(1).optional(), {
      description: "Which camera of a Kalibr camchain is the left one, such as cam1; without it, the first.",
    }),
    lengthUnitMetres: setting(z.number().positive(), {
      default: 1,
      unit: "m",
      description: "How long the file's unit of length is: 0.001 where it was calibrated in millimetres.",
    }),
    allowScaling: setting(z.boolean(), {
      default: false,
      description:
        "Takes a calibration for a whole multiple or fraction of the captured size: for cameras that bin pixels, not for crops.",
    }),
  },
  "live",
);

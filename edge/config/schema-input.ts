// SPDX-License-Identifier: Apache-2.0
// Settings of what comes in: the source of image pairs and their calibration.
import { z } from "zod";
import { CAPTURE_FORMATS } from "../../camera/index.js";
import { section, setting } from "./setting.js";

export const sourceSection = section("Where image pairs come from.", {
  kind: setting(z.enum(["synthetic", "replay", "v4l2"]), {
    default: "synthetic",
    description: "synthetic: the built-in moving scene; replay: images on disk; v4l2: cameras.",
  }),
  left: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "Left camera device (v4l2), or folder or list file of left images (replay).",
  }),
  right: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "Right camera device (v4l2), or folder or list file of right images (replay).",
  }),
  sideBySide: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "One device or folder whose images hold the left and the right eye side by side.",
  }),
  rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
    default: 30,
    unit: "Hz",
    description: "Pairs per second that the source delivers; max is as fast as the engine takes them.",
  }),
  width: setting(z.int().min(16).max(16384), {
    default: 640,
    unit: "px",
    description: "Image width of the synthetic scene and of cameras; recordings bring their own.",
  }),
  height: setting(z.int().min(16).max(16384), {
    default: 480,
    unit: "px",
    description: "Image height of the synthetic scene and of cameras; recordings bring their own.",
  }),
  format: setting(z.enum(["auto", ...CAPTURE_FORMATS]), {
    default: "auto",
    description: "Pixel format asked of the cameras; auto takes the cheapest one that both offer.",
  }),
  loop: setting(z.boolean(), {
    default: false,
    description: "Starts a recording again at its end.",
  }),
  timestamps: setting(z.enum(["auto", "names", "rate"]), {
    default: "auto",
    description:
      "Capture times of a recording: from file names in ns, or counted from rateHz; auto tries names first.",
  }),
  maxSkewMs: setting(z.number().min(0.01).max(1000).optional(), {
    unit: "ms",
    description:
      "Largest time between the two images of a camera pair, for cameras triggered together; without it half a frame period.",
  }),
  rephase: setting(z.boolean(), {
    default: false,
    description:
      "Restarts the right camera's stream at the right moment when free-running cameras expose out of step.",
  }),
  controls: setting(z.string().min(1).optional(), {
    description:
      "Camera controls set equal on both eyes and read back, such as auto_exposure=1,gain=20; left.NAME or right.NAME sets one eye.",
  }),
  autoExposure: setting(z.enum(["auto", "on", "off"]), {
    default: "auto",
    description:
      "depthwatt's own exposure control, one for both eyes; auto uses it where a camera has exposure and gain but no automatic of its own.",
  }),
  rawAlignment: setting(z.enum(["auto", "low", "high"]), {
    default: "auto",
    description:
      "Where a raw sensor's 10 or 12 bits stand in 16: low is V4L2's rule, high is NVIDIA's from Xavier on; auto knows the board.",
  }),
  memory: setting(z.enum(["mmap", "userptr"]), {
    default: "mmap",
    description:
      "Where cameras write their images: mmap is the driver's memory; userptr is this process's, which CUDA reads in place or copies from at full speed.",
  }),
  buffers: setting(z.int().min(4).max(32), {
    default: 8,
    description: "Frame buffers asked of each camera; what is held by the engine is not free for the camera.",
  }),
});

export const calibrationSection = section(
  "The calibration of the pair; without one, images must be rectified.",
  {
    file: setting(z.string().min(1).optional(), {
      isPath: true,
      description:
        "OpenCV FileStorage YAML, ROS camera_info, Kalibr camchain or depthwatt JSON; two files are joined by a comma.",
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
);

// SPDX-License-Identifier: Apache-2.0
// Settings of cameras with a V4L2 driver.
import { z } from "zod";
import { CAPTURE_FORMATS, PAIR_LAYOUTS } from "../../../camera/index.js";
import { section, setting } from "../../contracts/setting.js";

export const v4l2Settings = section(
  "Cameras with a V4L2 driver: /dev/video*.",
  {
    left: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "Device of the left camera, such as /dev/video0.",
    }),
    right: setting(z.string().min(1).optional(), {
      isPath: true,
      description: "Device of the right camera.",
    }),
    sideBySide: setting(z.string().min(1).optional(), {
      isPath: true,
      description:
        "Device of one camera that delivers both images in each frame, in place of left and right.",
    }),
    layout: setting(z.enum(PAIR_LAYOUTS), {
      default: "leftRight",
      description:
        "Place of the two images in a sideBySide camera's frame, the left camera's first; interleaved: every pixel has a sample of each (Y8I, Y12I, such as the infrared images of a RealSense).",
    }),
    margins: setting(z.string().min(1).optional(), {
      description:
        "Pixels of a sideBySide camera's frame that belong to neither image: left,top,right,bottom, such as 48,0,840,8.",
    }),
    width: setting(z.int().min(16).max(16384), {
      default: 640,
      unit: "px",
      description: "Width of one image, not of both together.",
    }),
    height: setting(z.int().min(16).max(16384), {
      default: 480,
      unit: "px",
      description: "Height of one image, not of both together.",
    }),
    rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
      default: 30,
      unit: "Hz",
      description: "Frame rate asked of the cameras; max leaves them at the rate they are set to.",
    }),
    format: setting(z.enum(["auto", ...CAPTURE_FORMATS]), {
      default: "auto",
      description:
        "Pixel format requested from the cameras; auto takes the cheapest for this machine in which both reach rateHz and fit their USB bus.",
    }),
    maxSkewMs: setting(z.number().min(0.01).max(1000).optional(), {
      unit: "ms",
      description:
        "Largest time between the two images of a pair, for cameras triggered together; without it half a frame period.",
    }),
    rephase: setting(z.boolean(), {
      default: false,
      description:
        "Restarts the right camera's stream at the right moment when free-running cameras expose out of step.",
    }),
    controls: setting(z.string().min(1).optional(), {
      description:
        "Camera controls set equal on both cameras and read back, such as auto_exposure=1,gain=20; left.NAME or right.NAME sets one camera.",
    }),
    autoExposure: setting(z.enum(["auto", "on", "off"]), {
      default: "auto",
      description:
        "depthwatt's own exposure control, one for both cameras; auto uses it if a camera has exposure and gain but no automatic exposure.",
    }),
    rawAlignment: setting(z.enum(["auto", "low", "high"]), {
      default: "auto",
      description:
        "Position of a raw sensor's 10 or 12 bits in 16: low is V4L2's rule, high is NVIDIA's from Xavier on; auto knows the board.",
    }),
    mono: setting(z.boolean(), {
      default: false,
      description:
        "The sensors have no colour filter although their driver lists Bayer formats, as Tegra's does: reads samples as grey, without demosaicing.",
    }),
    defects: setting(z.string().min(1).optional(), {
      isPath: true,
      description:
        "JSON file of defective pixels, as 'depthwatt capture --find-defects' writes it: each takes the value of its nearest working neighbour of the same colour.",
    }),
    memory: setting(z.enum(["mmap", "userptr", "dmabuf", "auto"]), {
      default: "mmap",
      description:
        "Where cameras write their images: mmap is the driver's memory; userptr is this process's, which CUDA reads in place or copies from at full speed; dmabuf is the driver's, which a board's GPU imports; auto tries userptr, dmabuf, mmap. Board configs of coherent boards set auto.",
    }),
    buffers: setting(z.int().min(4).max(32), {
      default: 8,
      description:
        "Frame buffers requested from each camera; buffers that the engine holds are not free for the camera.",
    }),
    other: section(
      "A further camera, registration.camera of the calibration: its images go with the pairs.",
      {
        device: setting(z.string().min(1).optional(), {
          isPath: true,
          description:
            "Its device, such as /dev/video4. Each pair takes the image nearest in time, if there is one.",
        }),
        width: setting(z.int().min(16).max(16384), {
          default: 640,
          unit: "px",
          description: "Width of its images, as in the calibration.",
        }),
        height: setting(z.int().min(16).max(16384), {
          default: 480,
          unit: "px",
          description: "Height of its images, as in the calibration.",
        }),
        rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
          default: 30,
          unit: "Hz",
          description: "Frame rate asked of it; max leaves it at the rate it is set to.",
        }),
        format: setting(z.enum(["auto", ...CAPTURE_FORMATS]), {
          default: "auto",
          description: "Pixel format requested from it; auto prefers formats with colours.",
        }),
      },
    ),
  },
  "live",
);

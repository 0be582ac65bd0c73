# SPDX-License-Identifier: Apache-2.0
# Asks OpenCV to rectify the cases on stdin (JSON) and answers with matrices and sampled maps on stdout (JSON).
# Run by rectification.test.ts, and by hand with --golden to rewrite golden-rectification.json.
import json
import sys

import cv2
import numpy as np


def rectify(case):
    size = tuple(case["imageSize"])
    out = tuple(case["outputSize"])
    k1, k2 = (np.array(case[side]["K"], float).reshape(3, 3) for side in ("left", "right"))
    d1, d2 = (np.array(case[side]["coefficients"], float) for side in ("left", "right"))
    rotation = np.array(case["R"], float).reshape(3, 3)
    translation = np.array(case["T"], float)
    flags = cv2.CALIB_ZERO_DISPARITY if case["commonPrincipalPoint"] else 0
    if case["left"]["model"] == "equidistant":
        r1, r2, p1, p2, _ = cv2.fisheye.stereoRectify(
            k1, d1, k2, d2, size, rotation, translation, flags, newImageSize=out, balance=case["crop"]
        )
        build = cv2.fisheye.initUndistortRectifyMap
    else:
        r1, r2, p1, p2, _, _, _ = cv2.stereoRectify(
            k1, d1, k2, d2, size, rotation, translation, flags=flags, alpha=case["crop"], newImageSize=out
        )
        build = cv2.initUndistortRectifyMap
    answer = {"R1": r1.ravel().tolist(), "R2": r2.ravel().tolist(), "P1": p1.ravel().tolist(), "P2": p2.ravel().tolist()}
    for name, k, d, r, p in (("left", k1, d1, r1, p1), ("right", k2, d2, r2, p2)):
        # the fisheye form wants a 3x3 new camera matrix, the other one ignores the fourth column
        x, y = build(k, d, r, p[:, :3], out, cv2.CV_32FC1)
        columns = np.linspace(0, out[0] - 1, case["samples"][0]).round().astype(int)
        rows = np.linspace(0, out[1] - 1, case["samples"][1]).round().astype(int)
        points = np.stack([x, y], -1)[np.ix_(rows, columns)].astype(float)
        answer[name] = {"columns": columns.tolist(), "rows": rows.tolist(), "map": points.round(4).ravel().tolist()}
    return answer


cases = json.load(sys.stdin)
json.dump({"opencv": cv2.__version__, "answers": {name: rectify(case) for name, case in cases.items()}}, sys.stdout)

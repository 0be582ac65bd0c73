# SPDX-License-Identifier: Apache-2.0
# The peer: OpenCV's StereoSGBM on one pair. Prints one JSON line: {"mode": ..., "threads": ..., "medianMs": ..., "minMs": ...}.
#   opencv_sgbm.py LEFT.png RIGHT.png NUM MODE THREADS FRAMES     MODE: 3WAY, HH4, HH
import json
import sys
import time

import cv2

left, right = (cv2.imread(path, cv2.IMREAD_GRAYSCALE) for path in sys.argv[1:3])
num, mode, threads, frames = int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
modes = {
    "3WAY": cv2.STEREO_SGBM_MODE_SGBM_3WAY,
    "HH4": cv2.STEREO_SGBM_MODE_HH4,
    "HH": cv2.STEREO_SGBM_MODE_HH,
}
block = 5
cv2.setNumThreads(threads)
# Uniqueness and the left-right check as here; no speckle filter on either side.
matcher = cv2.StereoSGBM_create(
    0, num, block, 8 * block * block, 32 * block * block, 1, 0, 10, 0, 0, modes[mode]
)
matcher.compute(left, right)
times = []
for _ in range(frames):
    before = time.perf_counter()
    matcher.compute(left, right)
    times.append(1000 * (time.perf_counter() - before))
times.sort()
print(
    json.dumps(
        {
            "opencv": cv2.__version__,
            "mode": mode,
            "threads": threads,
            "medianMs": times[len(times) // 2],
            "minMs": times[0],
        }
    )
)

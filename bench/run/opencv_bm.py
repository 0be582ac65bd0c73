# SPDX-License-Identifier: Apache-2.0
# The peer: OpenCV's StereoBM on one pair. Prints one JSON line: {"opencv": ..., "times": [milliseconds, ...]}.
#   opencv_bm.py LEFT.png RIGHT.png NUM BLOCK THREADS FRAMES
import json
import sys
import time

import cv2

left, right = (cv2.imread(path, cv2.IMREAD_GRAYSCALE) for path in sys.argv[1:3])
num, block, threads, frames = (int(word) for word in sys.argv[3:7])
cv2.setNumThreads(threads)
matcher = cv2.StereoBM_create(num, block)
times = []
for frame in range(frames + 2):
    before = time.perf_counter()
    matcher.compute(left, right)
    if frame >= 2:
        times.append(1000 * (time.perf_counter() - before))
print(json.dumps({"opencv": cv2.__version__, "times": times}))

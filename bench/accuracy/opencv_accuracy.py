# SPDX-License-Identifier: Apache-2.0
# OpenCV's StereoSGBM on the scenes of data sets: mode HH (8 paths), block 5, its refinements on; one line of JSON.
#   opencv_accuracy.py FOLDER...      each with a dataset.json; % bad over all valid ground truth, holes as wrong
# It leaves the first numDisparities columns without a match: both pictures get as many more on the left. Filled: a hole takes the smaller of
# the values next to it, because hidden areas are background. Its confidence is that of ximgproc's WLS filter, 0 in holes.
import json
import os
import sys
import time

import cv2
import numpy as np

BLOCK = 5
# Penalties as OpenCV's documentation advises for grey images; the rest as its samples set it.
PARAMETERS = {
    "minDisparity": 0,
    "blockSize": BLOCK,
    "P1": 8 * BLOCK * BLOCK,
    "P2": 32 * BLOCK * BLOCK,
    "disp12MaxDiff": 1,
    "uniquenessRatio": 10,
    "speckleWindowSize": 100,
    "speckleRange": 2,
    "preFilterCap": 31,
    "mode": cv2.StereoSGBM_MODE_HH,
}


def grey(path):
    """As depthwatt makes grey: (77 R + 150 G + 29 B + 128) >> 8."""
    blue, green, red = (channel.astype(np.int32) for channel in cv2.split(cv2.imread(path, cv2.IMREAD_COLOR)))
    return ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(np.uint8)


def pfm(path):
    """OpenCV's own reader multiplies by the header's scale, which Middlebury uses for the byte order alone."""
    with open(path, "rb") as file:
        file.readline()
        width, height = (int(word) for word in file.readline().split())
        order = "<f4" if float(file.readline()) < 0 else ">f4"
        return np.frombuffer(file.read(), order).reshape(height, width)[::-1].astype(np.float64)


def read_truth(path, scale, invalid):
    stored = pfm(path) if path.endswith(".pfm") else cv2.imread(path, cv2.IMREAD_UNCHANGED).astype(np.float64)
    if stored.ndim == 3:
        stored = stored[:, :, 0]
    missing = ~np.isfinite(stored) if invalid == "inf" else stored == invalid
    return np.where(missing, np.inf, stored / scale)


def filled(disparity):
    """Rows one by one; a row without any value takes the one above."""
    result = disparity.copy()
    for y, row in enumerate(result):
        valid = np.flatnonzero(row >= 0)
        if valid.size == 0:
            result[y] = result[y - 1] if y > 0 else 0
            continue
        places = np.arange(row.size)
        after = np.searchsorted(valid, places)
        right = row[valid[np.minimum(after, valid.size - 1)]]
        left = row[valid[np.maximum(after - 1, 0)]]
        left = np.where(after == 0, right, left)
        right = np.where(after == valid.size, left, right)
        result[y] = np.where(row >= 0, row, np.minimum(left, right))
    return result


def compute_confidence(matcher, disparity, left, right):
    """0 to 255, from both images' disparities; the filter's own result is not used."""
    right_matcher = cv2.ximgproc.createRightMatcher(matcher)
    wls = cv2.ximgproc.createDisparityWLSFilter(matcher)
    wls.filter(disparity, left, None, right_matcher.compute(right, left))
    return wls.getConfidenceMap()


def sparsification(confidence, bad):
    """The mean over k of the share of bad pixels among the k surest; pixels of one confidence in the mean of all orders."""
    kept = wrong = area = 0.0
    for level in range(255, -1, -1):
        chosen = confidence == level
        pixels, off = int(chosen.sum()), int((chosen & bad).sum())
        if pixels == 0:
            continue
        rate = off / pixels
        area += rate * pixels + (0 if kept == 0 else (wrong - kept * rate) * np.log((kept + pixels) / kept))
        kept, wrong = kept + pixels, wrong + off
    return {"areaPercent": 100 * area / kept, "randomPercent": 100 * wrong / kept}


def evaluate(folder, scene):
    left, right = (grey(os.path.join(folder, scene[side])) for side in ("left", "right"))
    given = scene["groundTruth"]
    truth = read_truth(os.path.join(folder, given["path"]), given["scale"], given["invalid"])
    searched = -(-scene["numDisparities"] // 16) * 16
    matcher = cv2.StereoSGBM_create(numDisparities=searched, **PARAMETERS)
    left, right = (cv2.copyMakeBorder(side, 0, 0, searched, 0, cv2.BORDER_REPLICATE) for side in (left, right))
    started = time.perf_counter()
    matched = matcher.compute(left, right)
    milliseconds = 1000 * (time.perf_counter() - started)
    disparity = matched[:, searched:].astype(np.float64) / 16
    sure = np.clip(np.rint(compute_confidence(matcher, matched, left, right)[:, searched:]), 0, 255)
    sure[disparity < 0] = 0
    evaluated = np.isfinite(truth)
    estimated = evaluated & (disparity >= 0)
    threshold = scene.get("badThresholdPx", 1)
    off = estimated & (np.abs(disparity - np.where(evaluated, truth, 0)) > threshold)
    count = int(evaluated.sum())
    filled_off = evaluated & (np.abs(filled(disparity) - np.where(evaluated, truth, 0)) > threshold)
    return {
        "sparsification": sparsification(sure[evaluated], filled_off[evaluated]),
        "filledBadPercent": 100 * int(filled_off.sum()) / count,
        "name": scene["name"],
        "thresholdPx": threshold,
        "badPercent": 100 * (count - int(estimated.sum()) + int(off.sum())) / count,
        "badPercentValidOnly": 100 * int(off.sum()) / max(1, int(estimated.sum())),
        "density": 100 * int(estimated.sum()) / count,
        "milliseconds": milliseconds,
    }


scenes = []
for folder in sys.argv[1:]:
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        scenes += [evaluate(folder, scene) for scene in json.load(file)["scenes"]]
parameters = {**PARAMETERS, "mode": "HH"}
print(json.dumps({"opencv": cv2.__version__, "parameters": parameters, "scenes": scenes}))

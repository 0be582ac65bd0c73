// SPDX-License-Identifier: Apache-2.0
// Node reads NODE_V8_COVERAGE when it starts, so only the processes and workers that a test starts write their counts.
process.env.NODE_V8_COVERAGE = process.env.PROGRAM_COVERAGE;

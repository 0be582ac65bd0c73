// SPDX-License-Identifier: Apache-2.0
// A plugin that crashes while it is loaded.
#include <signal.h>

__attribute__((constructor)) static void crash(void) { raise(SIGSEGV); }

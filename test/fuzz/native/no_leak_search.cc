// SPDX-License-Identifier: Apache-2.0
// Disables LeakSanitizer, which needs a /proc that the root of another Debian lacks; the build with g++ searches for
// leaks.
extern "C" int __lsan_is_turned_off() { return 1; }

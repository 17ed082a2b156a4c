// A shared object with a transactional clone, loaded and unloaded by clones_test.cpp.
// SPDX-License-Identifier: MIT
extern "C" __attribute__((transaction_safe, visibility("default"))) int times_three(int value) {
  return 3 * value;
}

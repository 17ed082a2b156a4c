// Never ends.
// SPDX-License-Identifier: MIT
static void spin_for_ever(void) {
  for (volatile int i = 0;; ++i) {
  }
}
int main(void) {
  spin_for_ever();
  return 0;
}

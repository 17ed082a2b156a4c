// Writes through a wild pointer.
// SPDX-License-Identifier: MIT
int main(void) {
  *(volatile long*)0x123456789000 = 1;
  return 0;
}

// Recursion without an end.
// SPDX-License-Identifier: MIT
__attribute__((noinline)) static int sink(int n) {
  volatile char frame[1000];
  frame[0] = (char)n;
  return sink(n + 1) + frame[0];
}
int main(void) { return sink(0); }

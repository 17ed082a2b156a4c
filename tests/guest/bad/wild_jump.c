// Calls a function that is none.
// SPDX-License-Identifier: MIT
int main(void) {
  void (*volatile target)(void) = (void (*)(void))0x40;
  target();
  return 0;
}

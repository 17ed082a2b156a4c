// Executes a word that is no instruction.
// SPDX-License-Identifier: MIT
int main(void) {
  __asm__ volatile(".word 0xffffffff");
  return 0;
}

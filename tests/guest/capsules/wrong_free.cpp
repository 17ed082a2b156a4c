// Outside tasks, with capalloc: frees a block twice, or with an argument what is no block.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

int main(int argc, char**) {
  char* volatile block = static_cast<char*>(std::malloc(100));
  std::free(argc > 1 ? block + 16 : block);
  std::free(block);
  std::puts("not noticed");
}

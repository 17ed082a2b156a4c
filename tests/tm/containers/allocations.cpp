// Compiled without -fgnu-tm, where operator new is a function like others.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdlib>
#include <new>

namespace containers {

long blocks_in_use();

}  // namespace containers

namespace {

std::atomic<long> blocks = 0;

}  // namespace

long containers::blocks_in_use() { return blocks; }

void* operator new(std::size_t size) {
  void* const p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  ++blocks;
  return p;
}
void operator delete(void* p) noexcept {
  if (p != nullptr) --blocks;
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

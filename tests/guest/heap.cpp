// Every function of the heap, from C and C++, in threads: what they promise, not where blocks lie. The same
// under run.alloc=ideal, which serves them in the simulator.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(bool condition, const char* what) {
  if (condition) return;
  printf("wrong: %s\n", what);
  exit(1);
}

bool is_aligned(const void* p, uintptr_t to) { return (reinterpret_cast<uintptr_t>(p) & (to - 1)) == 0; }

bool is_all(const char* p, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != value) return false;
  return true;
}

void c_functions() {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{16}, size_t{24}, size_t{64}, size_t{1000}, size_t{70000},
                       size_t{300000}}) {
    char* p = static_cast<char*>(malloc(bytes));
    check(p != nullptr && is_aligned(p, 16) && malloc_usable_size(p) >= bytes, "malloc");
    memset(p, 7, bytes);
    p = static_cast<char*>(realloc(p, 2 * bytes + 5));
    check(p != nullptr && is_all(p, 7, bytes), "realloc, larger");
    p = static_cast<char*>(realloc(p, bytes / 3 + 1));
    check(p != nullptr && is_all(p, 7, bytes / 3), "realloc, smaller");
    free(p);
    for (int i = 0; i < 3; ++i) {  // also memory that was used before
      p = static_cast<char*>(calloc(bytes, 3));
      check(p != nullptr && is_all(p, 0, 3 * bytes), "calloc");
      memset(p, 9, 3 * bytes);
      free(p);
    }
  }
  check(realloc(malloc(10), 0) == nullptr, "realloc to nothing");
  char* grown = static_cast<char*>(reallocarray(nullptr, 10, 10));
  check(grown != nullptr, "reallocarray");
  free(grown);
  free(nullptr);
  check(malloc_usable_size(nullptr) == 0, "no block has no size");
  for (size_t alignment = 16; alignment <= 65536; alignment *= 4) {
    void* a = aligned_alloc(alignment, 2 * alignment);
    void* b = memalign(alignment, 33);
    void* c = nullptr;
    check(posix_memalign(&c, alignment, 100) == 0, "posix_memalign");
    check(is_aligned(a, alignment) && is_aligned(b, alignment) && is_aligned(c, alignment), "alignment");
    memset(a, 1, 2 * alignment);
    memset(b, 2, 33);
    memset(c, 3, 100);
    check(is_all(static_cast<char*>(a), 1, 2 * alignment), "aligned blocks are apart");
    free(b);
    free(a);
    free(c);
  }
  void* c = nullptr;
  check(posix_memalign(&c, 24, 100) == EINVAL, "no power of two");
}

template <class T>
void aligned_object() {
  auto one = std::make_unique<T>();
  auto many = std::make_unique<T[]>(5);
  check(is_aligned(one.get(), alignof(T)) && is_aligned(many.get(), alignof(T)), "operator new, aligned");
}

struct alignas(128) Aligned {
  char bytes[130] = {};
};

unsigned containers(unsigned seed) {
  std::map<unsigned, std::string> map;
  std::vector<unsigned> vector;
  unsigned x = seed, sum = 0;
  for (int i = 0; i < 3000; ++i) {
    x = x * 1664525 + 1013904223;
    map[x % 512] = std::string(x % 97, static_cast<char>('a' + x % 26));
    if (x % 3 == 0) map.erase(x / 7 % 512);
    vector.push_back(x);
  }
  for (const auto& [key, text] : map)
    sum = sum * 31 + key + static_cast<unsigned>(text.size()) + (text.empty() ? 0 : text[0]);
  for (unsigned v : vector) sum ^= v;
  return sum;
}

void out_of_memory() {
  volatile size_t much = size_t{1} << 60;
  errno = 0;
  check(malloc(much) == nullptr && errno == ENOMEM, "malloc of too much");
  errno = 0;
  check(calloc(much, much) == nullptr && errno == ENOMEM, "calloc of too much");
  char* p = static_cast<char*>(malloc(100));
  memset(p, 5, 100);
  errno = 0;
  check(realloc(p, much) == nullptr && errno == ENOMEM && is_all(p, 5, 100), "realloc to too much");
  free(p);
  check(new (std::nothrow) char[much] == nullptr, "new, nothrow");
  try {
    char* volatile block = new char[much];
    delete[] block;
    check(false, "new of too much");
  } catch (const std::bad_alloc&) {
    puts("bad_alloc");
  }
  char* volatile block = new char[100];
  delete[] block;
}

}  // namespace

int main() {
  c_functions();
  aligned_object<int>();
  aligned_object<Aligned>();
  printf("%u\n", containers(1));
  unsigned sums[8] = {};
  // Blocks pass from thread to thread.
  std::vector<std::unique_ptr<std::string>> passed(8);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        c_functions();
        sums[t] = containers(t);
        passed[t] = std::make_unique<std::string>(1000 + t, 'x');
      });
  }
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        sums[t] += static_cast<unsigned>(passed[7 - t]->size());
        passed[7 - t].reset();
      });
  }
  for (unsigned sum : sums) printf("%u\n", sum);
  out_of_memory();
  printf("%u\n", containers(2));
  return 0;
}

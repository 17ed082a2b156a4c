// Ordered tasks that allocate and free all the time, in one table of lists: any order but that of timestamps,
// any block that two own, any block reused too early, and the checksum differs from the loop's behind.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kTasks = 1500, kLists = 12, kLongest = 6;

struct Node {
  Node* next;
  std::uint64_t bytes, seed;
  unsigned char data[];
};

struct alignas(64) List {
  Node* head = nullptr;
  std::uint64_t length = 0, sum = 0;
  unsigned char* log = nullptr;  // grows by realloc
  std::uint64_t logged = 0;
};

List lists[kLists];
bool large_blocks = false;  // only the tasks: the loop need not

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

unsigned char byte_of(std::uint64_t seed, std::uint64_t i) {
  return static_cast<unsigned char>(seed * 31 + i);
}

void step(std::uint64_t i) {
  const std::uint64_t r = mix(i + 1);
  List& list = lists[r % kLists];
  const std::uint64_t bytes = r / 16 % 300;
  void* place = r % 3 == 0   ? calloc(1, sizeof(Node) + bytes)
                : r % 3 == 1 ? malloc(sizeof(Node) + bytes)
                             :
                             operator new(sizeof(Node) + bytes);
  Node* node = static_cast<Node*>(place);
  if (r % 3 == 0)
    for (std::uint64_t b = 0; b < bytes; ++b) list.sum += node->data[b];  // nothing
  for (std::uint64_t b = 0; b < bytes; ++b) node->data[b] = byte_of(i, b);
  node->bytes = bytes;
  node->seed = i;
  node->next = list.head;
  list.head = node;
  if (++list.length > kLongest) {
    for (Node* n = list.head; n != nullptr;) {
      for (std::uint64_t b = 0; b < n->bytes; ++b) {
        if (n->data[b] != byte_of(n->seed, b)) list.sum += 1000003;  // another task wrote there
        list.sum = list.sum * 7 + n->data[b];
      }
      free(std::exchange(n, n->next));
    }
    list.head = nullptr;
    list.length = 0;
  }
  list.log = static_cast<unsigned char*>(realloc(list.log, list.logged + 1));
  list.log[list.logged++] = static_cast<unsigned char>(i);
  if (large_blocks && i % 500 == 250) {  // more than a speculative task may have
    auto* large = static_cast<unsigned char*>(malloc(std::size_t{20} << 20));
    large[i] = 1;
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 256, 100) != 0) list.sum = 1;
    free(aligned);
    free(large);
  }
}

std::uint64_t checksum() {
  std::uint64_t sum = 0;
  for (List& list : lists) {
    sum = mix(sum ^ list.sum) + list.length;
    for (std::uint64_t i = 0; i < list.logged; ++i) sum = sum * 31 + list.log[i];
    while (list.head != nullptr) {
      sum = sum * 31 + list.head->seed;
      free(std::exchange(list.head, list.head->next));
    }
    free(list.log);
    list = List{};
  }
  return sum;
}

template <rubato::TaskType type>
void run() {
  large_blocks = true;
  for (std::uint64_t i = 0; i < kTasks; ++i)
    rubato::create<type>(step, {.at = i, .on = mix(i + 1) % kLists}, i);
  rubato::run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "spec") == 0) {
    run<rubato::spec>();
  } else {
    run<rubato::mayspec>();
  }
  const std::uint64_t tasks = checksum();
  large_blocks = false;
  for (std::uint64_t i = 0; i < kTasks; ++i) step(i);
  const bool same = checksum() == tasks;
  std::printf("%016llx check: %s\n", static_cast<unsigned long long>(tasks), same ? "passed" : "failed");
  return same ? 0 : 1;
}

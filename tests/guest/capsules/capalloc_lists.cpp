// Ordered tasks push and pop blocks of many sizes on a few lists, so that speculative attempts are aborted
// while they hold blocks: at the end capalloc_check() finds every block in exactly one place, and as many are
// on the lists as serial execution leaves there.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

const char* capalloc_check() __asm__("capalloc_check");

namespace {

using rubato::spec;

struct alignas(64) List {
  struct Node {
    Node* next;
    std::uint64_t number;
  };
  Node* head = nullptr;
};

constexpr std::uint64_t kLists = 8, kChains = 32;
List lists[kLists];

/// Mostly small; every 64th is a large block.
std::uint64_t bytes_of(std::uint64_t number) {
  return number % 64 == 63 ? 20'000 + number : sizeof(List::Node) + number * 37 % 1000;
}

void pop(std::uint64_t number) {
  List& list = lists[number * 5 % kLists];
  List::Node* const node = list.head;
  if (node == nullptr) return;
  list.head = node->next;
  std::free(node);
}

void push(std::uint64_t number, std::uint64_t count) {
  List& list = lists[number % kLists];
  auto* node = static_cast<List::Node*>(std::malloc(bytes_of(number)));
  *node = {list.head, number};
  if (number % 16 == 3) node = static_cast<List::Node*>(std::realloc(node, bytes_of(number) + 500));
  list.head = node;
  if (number + kChains < count)
    rubato::create<spec>(push, {.at = (number + kChains) * 2}, number + kChains, count);
  if (number % 3 != 0) rubato::create<spec>(pop, {.at = number * 2 + 1 + number % 7 * 40}, number);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  for (std::uint64_t i = 0; i < kChains && i < count; ++i)
    rubato::create<spec>(push, {.at = i * 2}, i, count);
  rubato::run();
  std::uint64_t left = 0, sum = 0;
  for (const List& list : lists)
    for (const List::Node* n = list.head; n != nullptr; n = n->next) ++left, sum = sum * 31 + n->number;
  std::printf("left: %lu, checksum %lu\n", left, sum);
  if (const char* const wrong = capalloc_check()) {
    std::printf("capalloc: %s\n", wrong);
    return 1;
  }
  for (List& list : lists) {
    while (List::Node* const node = list.head) {
      list.head = node->next;
      std::free(node);
    }
  }
  if (const char* const wrong = capalloc_check()) {
    std::printf("capalloc, emptied: %s\n", wrong);
    return 1;
  }
  std::puts("check: passed");
}

// Memory of resources on NUMA nodes (make_resource_on): slabs of a node, cut into blocks of whole lines. A
// freed block is used again on its node. Blocks of more than a page have pages of their own, which go back to
// the system. A slab is found by a block's address, so that blocks look like those of any node.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace rubato::inline v0::native {

/// Before the first block: the engine gives resources on nodes their pools. In native/numa.cpp, which knows
/// it.
void begin_placing();

/// Thread-safe: a mutex, since resources are made rarely beside tasks.
class PlacedBlocks {
 public:
  /// Null: there is no such node, or the system refuses. `alignment`: at most a page.
  void* allocate(std::size_t bytes, std::size_t alignment, unsigned node);
  /// False: the block is of no node.
  bool free(void* block, std::size_t bytes);
  /// Bytes of blocks that are not freed.
  std::uint64_t bytes_on(unsigned node) const;

 private:
  static constexpr std::size_t kLine = 64, kPage = 4096, kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kSmallestSlab = std::size_t{64} << 10, kLargestSlab = std::size_t{32} << 20;
  struct Free {
    Free* next;
  };
  struct Node {
    std::byte* next = nullptr;  // what is left of the last slab
    std::byte* end = nullptr;
    std::size_t slab_bytes = kSmallestSlab;  // of the next slab
    std::uint64_t used = 0;
    std::array<Free*, kPage / kLine + 1> free{};
  };
  struct Slab {
    std::byte* end;
    unsigned node;
    bool is_one_block;
  };

  static std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
  std::byte* map(std::size_t bytes, unsigned number, bool is_one_block);
  void* take(Node& node, unsigned number, std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<unsigned, Node> nodes_;
  std::map<std::byte*, Slab> slabs_;  // by their begin
};

}  // namespace rubato::inline v0::native

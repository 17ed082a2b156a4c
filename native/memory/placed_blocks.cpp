// See placed_blocks.hpp.
// SPDX-License-Identifier: MIT
#include "native/memory/placed_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "native/topology/numa.hpp"

namespace rubato::inline v0::native {

void* PlacedBlocks::allocate(std::size_t bytes, std::size_t alignment, unsigned number) {
  if (alignment > kPage) return nullptr;
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[number];
  const bool is_large = alignment > kLine || bytes > kPage;
  void* const block =
      is_large ? map(rounded(bytes, kPage), number, true) : take(node, number, rounded(bytes, kLine));
  if (block != nullptr) node.used += bytes;
  return block;
}

bool PlacedBlocks::free(void* block, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto behind = slabs_.upper_bound(static_cast<std::byte*>(block));
  if (behind == slabs_.begin()) return false;
  const auto slab = std::prev(behind);
  if (block >= slab->second.end) return false;
  Node& node = nodes_[slab->second.node];
  node.used -= bytes;
  const auto slab_bytes = static_cast<std::size_t>(slab->second.end - slab->first);
  if (slab->second.is_one_block) {
    munmap(block, slab_bytes);
    slabs_.erase(slab);
  } else {
    Free*& first = node.free[rounded(bytes, kLine) / kLine];
    first = ::new (block) Free{first};
  }
  return true;
}

std::uint64_t PlacedBlocks::bytes_on(unsigned node) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.used;
}

void* PlacedBlocks::take(Node& node, unsigned number, std::size_t bytes) {
  if (Free*& first = node.free[bytes / kLine]; first != nullptr) {
    Free* const block = first;
    first = block->next;
    return block;
  }
  if (static_cast<std::size_t>(node.end - node.next) < bytes) {
    std::byte* const slab = map(node.slab_bytes, number, false);
    if (slab == nullptr) return nullptr;
    node.next = slab;
    node.end = slab + node.slab_bytes;
    node.slab_bytes = std::min(2 * node.slab_bytes, kLargestSlab);
  }
  std::byte* const block = node.next;
  node.next += bytes;
  return block;
}

std::byte* PlacedBlocks::map(std::size_t bytes, unsigned number, bool is_one_block) {
  auto* const slab = static_cast<std::byte*>(map_on_node(bytes, number));
  if (slab == nullptr) return nullptr;
  if (bytes >= kHugePage) madvise(slab, bytes, MADV_HUGEPAGE);  // a hint
  slabs_[slab] = {slab + bytes, number, is_one_block};
  return slab;
}

}  // namespace rubato::inline v0::native

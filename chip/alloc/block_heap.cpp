// SPDX-License-Identifier: MIT
#include "chip/alloc/block_heap.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kPage = AddressSpace::kPageBytes;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

}  // namespace

std::uint64_t BlockHeap::rounded(std::uint64_t bytes) {
  if (bytes <= kLargestSmall) return kClassBytes[size_class_of(bytes)];
  // Eight sizes a doubling, so that a block that is freed fits what is asked for next.
  return round_up(bytes, std::max(kPage, std::bit_floor(bytes) / 8));
}

BlockHeap::BlockHeap(AddressSpace& memory, std::uint32_t pools, Addr lowest, Addr limit)
    : memory_(memory), lowest_(lowest), limit_(limit), pools_(pools) {}

BlockHeap::Block BlockHeap::take(std::uint32_t pool, std::uint64_t bytes, std::uint64_t alignment) {
  RUBATO_DCHECK(std::has_single_bit(alignment));
  if (bytes > AddressSpace::kSize || alignment > AddressSpace::kSize) return {};
  // A size that is a power of two is aligned to itself: spans are aligned to the largest.
  if (alignment > kAlignment) bytes = std::max(bytes, alignment);
  if (alignment > kLineBytes) bytes = std::bit_ceil(bytes);
  if (bytes <= kLargestSmall) return take_small(pool, size_class_of(bytes));
  return take_large(pool, rounded(bytes), alignment);
}

BlockHeap::Block BlockHeap::take_small(std::uint32_t pool_index, unsigned size_class) {
  Pool& pool = pools_[pool_index];
  auto& free = pool.free[size_class];
  if (!free.empty()) {
    const Addr address = free.back();
    free.pop_back();
    *find(address) = State::in_use;
    return {address, false};
  }
  Span*& span = pool.growing[size_class];
  const std::uint64_t bytes = kClassBytes[size_class];
  if (span == nullptr || span->used == span->states.size()) {
    const Addr base = map(kSpanBytes, kSpanBytes);
    if (base == 0) return {};
    auto& place = spans_[base];
    place = std::make_unique<Span>(Span{base, pool_index, size_class, 0, {}});
    place->states.assign(kSpanBytes / bytes, State::none);
    span = place.get();
  }
  const Addr address = span->base + span->used * bytes;
  span->states[span->used++] = State::in_use;
  return {address, true};
}

BlockHeap::Block BlockHeap::take_large(std::uint32_t pool, std::uint64_t bytes, std::uint64_t alignment) {
  if (const auto list = pools_[pool].free_large.find(bytes);
      alignment <= kPage && list != pools_[pool].free_large.end()) {
    const Addr address = list->second.back();
    list->second.pop_back();
    if (list->second.empty()) pools_[pool].free_large.erase(list);
    large_[address].state = State::in_use;
    return {address, false};
  }
  const Addr address = map(bytes, std::max(alignment, kPage));
  if (address == 0) return {};
  large_[address] = {bytes, pool, State::in_use};
  return {address, true};
}

Addr BlockHeap::map(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > limit_ || alignment > limit_) return 0;
  const Addr found = memory_.find_free(bytes + alignment - kPage, lowest_, limit_);
  if (found == 0) return 0;
  const Addr address = round_up(found, alignment);
  memory_.map(address, bytes, Page::kRead | Page::kWrite);
  return address;
}

void BlockHeap::retire(Addr address) {
  State* state = find(address);
  RUBATO_CHECK(state != nullptr && *state == State::in_use);
  *state = State::free;
}

void BlockHeap::give_back(Addr address) {
  if (const auto large = large_.find(address); large != large_.end()) {
    large->second.state = State::free;
    pools_[large->second.pool].free_large[large->second.bytes].push_back(address);
    return;
  }
  *find(address) = State::free;
  const Span& span = *spans_.at(address & ~(kSpanBytes - 1));
  pools_[span.pool].free[span.size_class].push_back(address);
}

BlockHeap::State* BlockHeap::find(Addr address) {
  if (const auto large = large_.find(address); large != large_.end()) return &large->second.state;
  const auto place = spans_.find(address & ~(kSpanBytes - 1));
  if (place == spans_.end()) return nullptr;
  Span& span = *place->second;
  const std::uint64_t bytes = kClassBytes[span.size_class], offset = address - span.base;
  if (offset % bytes != 0 || offset / bytes >= span.used) return nullptr;
  return &span.states[offset / bytes];
}

BlockHeap::State BlockHeap::state(Addr address) const {
  const State* state = find(address);
  return state == nullptr ? State::none : *state;
}

std::uint64_t BlockHeap::size(Addr address) const {
  if (const auto large = large_.find(address); large != large_.end()) return large->second.bytes;
  return kClassBytes[spans_.at(address & ~(kSpanBytes - 1))->size_class];
}

}  // namespace rubato::chip

// SPDX-License-Identifier: MIT
#include "chip/alloc/ideal_allocator.hpp"

#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

using State = BlockHeap::State;

void IdealAllocator::begin_call(const Caller& caller) {
  if (const auto moved = moved_.find(caller.thread); moved != moved_.end()) {
    heap_.give_back(moved->second);
    moved_.erase(moved);
  }
  if (caller.attempt == nullptr) return;
  if (const auto record = records_.find(caller.attempt); record != records_.end()) record->second.moved = 0;
}

BlockHeap::Block IdealAllocator::allocate(const Caller& caller, std::uint64_t bytes,
                                          std::uint64_t alignment) {
  const BlockHeap::Block block = heap_.take(caller.core.value, bytes, alignment);
  if (block.address != 0 && caller.attempt != nullptr)
    records_[caller.attempt].allocated.push_back(block.address);
  return block;
}

bool IdealAllocator::abort_later_free(const Caller& caller, const PendingFree& pending) {
  Attempt* const victim = pending.by;
  if (victim == caller.attempt) return false;
  if (caller.attempt != nullptr && caller.attempt->virtual_time >= victim->virtual_time) return false;
  RUBATO_CHECK(handler_ != nullptr, "an attempt freed memory, but nobody aborts attempts");
  if (handler_->is_decided(*victim)) return false;  // as good as committed
  handler_->abort({&victim, 1}, {AbortCause::conflict, {}, caller.core, nullptr}, caller.now);
  return true;
}

IdealAllocator::FreeOutcome IdealAllocator::free(const Caller& caller, Addr address, bool moved) {
  const State state = heap_.state(address);
  if (state == State::none) return FreeOutcome::not_a_block;
  if (state == State::free) return FreeOutcome::freed_before;
  if (const auto pending = pending_.find(address); pending != pending_.end()) {
    if (!abort_later_free(caller, pending->second)) return FreeOutcome::freed_before;
    RUBATO_CHECK(!pending_.contains(address), "an aborted attempt's free was not undone");
    // The abort may have gone on to the attempt that allocated the block.
    if (heap_.state(address) != State::in_use) return FreeOutcome::freed_before;
  }
  if (caller.attempt != nullptr) {
    Record& record = records_[caller.attempt];
    record.freed.push_back(address);
    record.moved = moved ? address : 0;
    record.thread = caller.thread;
    pending_[address] = {caller.attempt};
  } else if (moved) {
    heap_.retire(address);
    moved_[caller.thread] = address;
  } else {
    heap_.give_back(address);
  }
  return FreeOutcome::done;
}

void IdealAllocator::on_commit(const Attempt& attempt) {
  if (records_.empty()) return;
  const auto node = records_.extract(&attempt);
  if (node.empty()) return;
  const Record& record = node.mapped();
  for (const Addr address : record.freed) {
    pending_.erase(address);
    if (address == record.moved && attempt.state == Attempt::State::running) {
      heap_.retire(address);  // promoted in the middle of the copy
      moved_[record.thread] = address;
    } else {
      heap_.give_back(address);
    }
  }
}

void IdealAllocator::on_abort(const Attempt& attempt) {
  if (records_.empty()) return;
  const auto node = records_.extract(&attempt);
  if (node.empty()) return;
  const Record& record = node.mapped();
  for (const Addr address : record.freed) {
    const auto pending = pending_.find(address);
    const bool allocation_undone = pending->second.allocation_undone;
    pending_.erase(pending);
    if (allocation_undone) heap_.give_back(address);
  }
  // Latest first: the next attempt gets the same blocks in the same order.
  for (auto address = record.allocated.rbegin(); address != record.allocated.rend(); ++address) {
    if (const auto pending = pending_.find(*address); pending != pending_.end()) {
      pending->second.allocation_undone = true;
    } else if (heap_.state(*address) == State::in_use) {
      heap_.give_back(*address);
    }
  }
}

}  // namespace rubato::chip

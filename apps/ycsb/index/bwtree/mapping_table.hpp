// Mapping table of the Bw-tree (Levandoski, Lomet, Sengupta, ICDE 2013, Sec. II-B): nodes name each other by
// numbers, and one compare-and-swap of a number's word replaces what is known of a node. Grows by segments.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace rubato::apps::ycsb::index::bwtree {

using NodeId = std::uint64_t;
/// Name of no node.
inline constexpr NodeId kNoNode = ~NodeId{0};

template <class Record>
class MappingTable {
 public:
  using Word = std::atomic<const Record*>;

  MappingTable() = default;
  MappingTable(const MappingTable&) = delete;
  MappingTable& operator=(const MappingTable&) = delete;
  ~MappingTable() {
    for (const auto& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
  }

  /// The node's newest record. What was published before it is visible.
  const Record* load(NodeId id) const { return word(id).load(std::memory_order_acquire); }
  /// Replaces `expected`, if it is still the newest one.
  bool replace(NodeId id, const Record* expected, const Record* record) {
    return word(id).compare_exchange_strong(expected, record, std::memory_order_acq_rel,
                                            std::memory_order_relaxed);
  }
  /// Whatever is there. For nodes that no other thread knows, and for tests.
  void store(NodeId id, const Record* record) { word(id).store(record, std::memory_order_release); }

  /// A number for a new node.
  NodeId take() {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const NodeId id = free_.back();
      free_.pop_back();
      return id;
    }
    const NodeId id = count_.load(std::memory_order_relaxed);
    if (id % kSegment == 0) {
      if (id / kSegment == kSegments) throw std::bad_alloc();
      segments_[id / kSegment].store(new Word[kSegment]{}, std::memory_order_release);
    }
    count_.store(id + 1, std::memory_order_release);
    return id;
  }
  /// Gives a number back that no other thread holds.
  void give_back(NodeId id) {
    store(id, nullptr);
    reuse(id);
  }
  /// The same for a number that other threads may hold: they see the node's last record until the number is
  /// taken. For tests.
  void reuse(NodeId id) {
    const std::lock_guard lock(mutex_);
    free_.push_back(id);
  }
  /// How many numbers are taken.
  NodeId in_use() const {
    const std::lock_guard lock(mutex_);
    return count() - free_.size();
  }
  /// Numbers in use are smaller.
  NodeId count() const { return count_.load(std::memory_order_acquire); }

 private:
  static constexpr NodeId kSegment = 1 << 16, kSegments = 1 << 12;

  Word& word(NodeId id) const {
    return segments_[id / kSegment].load(std::memory_order_acquire)[id % kSegment];
  }

  std::array<std::atomic<Word*>, kSegments> segments_{};
  std::atomic<NodeId> count_{0};
  mutable std::mutex mutex_;
  std::vector<NodeId> free_;
};

}  // namespace rubato::apps::ycsb::index::bwtree

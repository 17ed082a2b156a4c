// A variant: the tree with a way of running operations on it. Those of the B-link tree do the same visits
// (visit.hpp) on the same nodes; they differ in the thread that makes the next visit and in how visits of one
// node are kept apart. The others are indexes of their own on threads (index/index.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/recorder.hpp"
#include "apps/ycsb/tree.hpp"
#include "apps/ycsb/workload.hpp"

namespace rubato::apps::ycsb {

class NumaPlacement;

enum class VariantName : std::uint8_t {
  tasks,        ///< a task of this project for every visit
  threads,      ///< threads, an operation at a time
  interleaved,  ///< threads, 16 lookups at a time, each prefetched while the others go on
  tbb_step,     ///< a oneTBB task for every visit
  tbb_lookup,   ///< a oneTBB task for every operation
  olc,          ///< threads on another index: a B+-tree with optimistic lock coupling
  masstree,     ///< threads on Masstree
  bwtree,       ///< threads on a Bw-tree
};

/// Whether it is an index of its own, with its own way to keep threads apart.
constexpr bool is_index(VariantName variant) { return variant >= VariantName::olc; }

/// How visits of one node are kept apart.
enum class Sync : std::uint8_t {
  automatic,    ///< tasks: the runtime chooses; others: optimistic
  spin,         ///< a spinlock
  rw,           ///< a reader/writer latch
  optimistic,   ///< versions for readers, a latch for writers
  scheduled,    ///< tasks only: all visits of a node by one worker
  speculative,  ///< oneTBB only: speculative_spin_rw_mutex
};

struct RunOptions {
  unsigned workers = 1;
  unsigned inflight = 500;            ///< requests a worker has under way, or takes at once
  Value first_value = kFirstWritten;  ///< what request 0 writes; see operation_of()
};

/// The most at a time, seen whenever nodes are given back and at the end of a run.
struct MemoryPeaks {
  std::uint64_t nodes = 0;              ///< of the tree
  std::uint64_t unreclaimed_bytes = 0;  ///< of nodes given back that visits may still hold links to
};

class Variant {
 public:
  using NextPair = std::function<leaf::Pair()>;
  using Progress = std::function<void(std::uint64_t)>;

  virtual ~Variant() = default;
  /// Fills the empty tree bottom-up; see Tree::bulk_load.
  virtual void bulk_load(std::uint64_t pairs, const NextPair& next, const Progress& progress) = 0;
  /// Runs all requests and returns when they are answered.
  virtual void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) = 0;
  virtual void for_each(const std::function<void(const leaf::Pair&)>& visit) const = 0;
  virtual TreeShape check() const = 0;
  /// Peaks for variants that give nodes back. The others keep empty nodes, since they cannot know which links
  /// are held.
  virtual std::optional<MemoryPeaks> memory_peaks() const { return std::nullopt; }
};

/// `numa`: of the tree's nodes and visits, as long as it lives; null: anywhere.
std::unique_ptr<Variant> make_task_variant(NumaPlacement* numa = nullptr);
std::unique_ptr<Variant> make_placed_task_variant(NumaPlacement& numa);
/// Sync::spin, rw or optimistic.
std::unique_ptr<Variant> make_thread_variant(Sync sync, bool is_interleaved);
std::unique_ptr<Variant> make_olc_variant();
std::unique_ptr<Variant> make_masstree_variant();
std::unique_ptr<Variant> make_bwtree_variant();
#if defined(RUBATO_HAS_TBB)
/// Sync::spin, rw, optimistic or speculative.
std::unique_ptr<Variant> make_tbb_variant(Sync sync, bool is_task_a_step);
#endif

/// Common part of all variants.
template <class Memory>
class VariantOf : public Variant {
 public:
  void bulk_load(std::uint64_t pairs, const NextPair& next, const Progress& progress) final {
    tree_.bulk_load(pairs, next, progress);
  }
  void for_each(const std::function<void(const leaf::Pair&)>& visit) const final { tree_.for_each(visit); }
  TreeShape check() const final { return tree_.check(); }

 protected:
  Tree<Memory> tree_;
};

}  // namespace rubato::apps::ycsb

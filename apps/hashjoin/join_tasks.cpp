// SPDX-License-Identifier: MIT
// Scanning tasks read the tables piece by piece and sort the records by partition into batches; a full batch
// becomes a task of its partition that builds or probes the table there. A task's records are its own: a
// batch belongs to the scanner until its task is created, to the task until that is done, and then to the
// scanner again.
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "apps/hashjoin/customer_table.hpp"
#include "apps/hashjoin/join.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {
namespace {

template <class Record>
struct Batch {
  explicit Batch(std::size_t capacity) : records(std::make_unique_for_overwrite<Record[]>(capacity)) {}
  std::unique_ptr<Record[]> records;  // of these, `count`
  std::size_t count = 0;
  std::atomic<bool> is_with_task{false};
};

struct Partition {
  explicit Partition(std::size_t customers) : table(customers) {}
  PartitionTable table;
  std::array<tracked<std::uint64_t>, JoinResult{}.sums.size()> sums;
};

using PartitionHandle = resource<Partition>;

void process(PartitionHandle partition, Batch<Customer>* batch) {
  for (std::size_t i = 0; i < batch->count; ++i) partition->table.insert(batch->records[i]);
  batch->is_with_task.store(false, std::memory_order_release);
}

void process(PartitionHandle partition, Batch<Order>* batch) {
  if (!partition->table.is_empty()) {
    const JoinResult result = probe(partition->table, batch->records.get(), batch->count);
    for (std::size_t i = 0; i < result.sums.size(); ++i) partition->sums[i] += result.sums[i];
  }
  batch->is_with_task.store(false, std::memory_order_release);
}

/// What all scanners of one table share.
template <class Record>
struct Scan {
  const std::vector<Record>& table;
  const std::vector<PartitionHandle>& partitions;
  std::size_t records_per_task;
  TaskGroup* group;  // its tasks belong to it
  alignas(64) std::atomic<std::size_t> next = 0;
};

/// The batches that one scanner fills for one partition.
template <class Record>
class Outbox {
 public:
  /// True when the batch is full.
  bool push(const Record& record, std::size_t capacity) {
    if (filling_ == nullptr) take(capacity);
    filling_->records[filling_->count++] = record;
    return filling_->count == capacity;
  }
  Batch<Record>* filling() const { return filling_; }
  /// Hands the batch to a task.
  Batch<Record>* hand_over() {
    filling_->is_with_task.store(true, std::memory_order_relaxed);
    return std::exchange(filling_, nullptr);
  }

 private:
  /// The batch handed over longest ago is the first to come back: a partition's tasks run one after another.
  void take(std::size_t capacity) {
    if (batches_.empty() || batches_.front()->is_with_task.load(std::memory_order_acquire)) {
      batches_.push_front(std::make_unique<Batch<Record>>(capacity));
    }
    batches_.push_back(std::move(batches_.front()));
    batches_.pop_front();
    filling_ = batches_.back().get();
    filling_->count = 0;
  }

  std::deque<std::unique_ptr<Batch<Record>>> batches_;  // the one that is filled last, the others by age
  Batch<Record>* filling_ = nullptr;
};

template <class Record>
class Scanner {
 public:
  explicit Scanner(Scan<Record>& scan) : scan_(scan), outboxes_(scan.partitions.size()) {}

  /// Sorts the next records. False when there are none left: what remains in batches is on its way then.
  bool step() {
    const std::size_t begin = scan_.next.fetch_add(scan_.records_per_task, std::memory_order_relaxed);
    const std::size_t end = std::min(begin + scan_.records_per_task, scan_.table.size());
    for (std::size_t i = begin; i < end; ++i) {
      const Record& record = scan_.table[i];
      const std::size_t p = partition_of(key_of(record));
      if (outboxes_[p].push(record, scan_.records_per_task)) send(p);
    }
    if (end < scan_.table.size()) return true;
    for (std::size_t p = 0; p < outboxes_.size(); ++p) {
      if (outboxes_[p].filling() != nullptr) send(p);
    }
    return false;
  }
  TaskGroup* group() const { return scan_.group; }

 private:
  static std::uint32_t key_of(const Customer& c) { return c.key; }
  static std::uint32_t key_of(const Order& o) { return o.customer; }
  std::size_t partition_of(std::uint32_t key) const {
    return static_cast<std::size_t>((hash_of(key) >> 32) * outboxes_.size() >> 32);
  }
  void send(std::size_t p) {
    const PartitionHandle partition = scan_.partitions[p];
    create<nonspec>([](PartitionHandle to, Batch<Record>* batch) { process(to, batch); },
                    {.on = partition, .group = scan_.group, .core = static_cast<std::uint32_t>(p)}, partition,
                    outboxes_[p].hand_over());
  }

  Scan<Record>& scan_;
  std::vector<Outbox<Record>> outboxes_;
};

template <class Record>
using ScannerHandle = resource<Scanner<Record>>;

/// Reads on when there is little else to do: what is in batches comes first.
template <class Record>
void scan(ScannerHandle<Record> scanner) {
  if (!scanner->step()) return;
  create<nonspec>(scan<Record>, {.on = scanner, .group = scanner->group(), .priority = Priority::low},
                  scanner);
}

template <class Record>
std::vector<ScannerHandle<Record>> start(Scan<Record>& work, TaskGroup* after) {
  std::vector<ScannerHandle<Record>> scanners;
  for (std::size_t i = 0; i < work.partitions.size(); ++i) {
    scanners.push_back(make_resource<Scanner<Record>>({}, work));
    create<nonspec>(scan<Record>,
                    {.on = scanners.back(), .group = work.group, .after = after, .priority = Priority::low},
                    scanners.back());
  }
  return scanners;
}

}  // namespace

JoinResult join_tasks(const TpchTables& tables, const JoinOptions& options) {
  std::vector<PartitionHandle> partitions;
  for (std::uint32_t p = 0; p < options.parts; ++p) {
    partitions.push_back(make_resource<Partition>(
        {.isolation = Isolation::exclusive, .ratio = Ratio::mostly_writes, .frequency = Frequency::high},
        tables.customers.size() / options.parts));
  }
  TaskGroup built;
  Scan<Customer> customers{tables.customers, partitions, options.records_per_task, &built, {}};
  Scan<Order> orders{tables.orders, partitions, options.records_per_task, nullptr, {}};
  const auto builders = start(customers, nullptr);
  const auto probers = start(orders, &built);
  run();
  JoinResult result;
  for (const PartitionHandle partition : partitions) {
    for (std::size_t i = 0; i < result.sums.size(); ++i) result.sums[i] += partition->sums[i];
    remove(partition);
  }
  for (const auto scanner : builders) remove(scanner);
  for (const auto scanner : probers) remove(scanner);
  return result;
}

}  // namespace rubato::apps

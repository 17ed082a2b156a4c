// SPDX-License-Identifier: MIT
// Scanning tasks read the tables piece by piece and sort the records by partition into batches; a full batch
// becomes a task of its partition that builds or probes the table there. A scanner that is far ahead of a
// partition waits for it (see outbox.hpp).
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "apps/hashjoin/customer_table.hpp"
#include "apps/hashjoin/join.hpp"
#include "apps/hashjoin/outbox.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {
namespace {

struct Partition {
  explicit Partition(std::size_t customers) : table(customers) {}
  PartitionTable table;
  std::array<tracked<std::uint64_t>, JoinResult{}.sums.size()> sums;
};

using PartitionHandle = resource<Partition>;

void process(PartitionHandle partition, Batch<Customer>* batch) {
  for (std::size_t i = 0; i < batch->count; ++i) partition->table.insert(batch->records[i]);
  batch->give_back();
}

void process(PartitionHandle partition, Batch<Order>* batch) {
  if (!partition->table.is_empty()) {
    const JoinResult result = probe(partition->table, batch->records.get(), batch->count);
    for (std::size_t i = 0; i < result.sums.size(); ++i) partition->sums[i] += result.sums[i];
  }
  batch->give_back();
}

/// What all scanners of one table share.
template <class Record>
struct Scan {
  const std::vector<Record>& table;
  const std::vector<PartitionHandle>& partitions;
  std::size_t records_per_task;
  std::size_t records_ahead;
  TaskGroup* group;  // its tasks belong to it
  alignas(64) std::atomic<std::size_t> next = 0;
};

template <class Record>
class Scanner {
 public:
  explicit Scanner(Scan<Record>& scan) : scan_(scan) {
    outboxes_.reserve(scan.partitions.size());
    for (std::size_t p = 0; p < scan.partitions.size(); ++p) {
      outboxes_.emplace_back(scan.records_per_task, scan.records_ahead);
    }
  }

  /// Sorts the next records. False when there are none left: what remains in batches is on its way then.
  bool step() {
    const std::size_t begin = scan_.next.fetch_add(scan_.records_per_task, std::memory_order_relaxed);
    const std::size_t end = std::min(begin + scan_.records_per_task, scan_.table.size());
    for (std::size_t i = begin; i < end; ++i) {
      const Record& record = scan_.table[i];
      const std::size_t p = partition_of(key_of(record));
      if (outboxes_[p].push(record)) send(p);
    }
    if (end < scan_.table.size()) return true;
    for (std::size_t p = 0; p < outboxes_.size(); ++p) {
      if (outboxes_[p].filling() != nullptr) send(p);
    }
    return false;
  }
  TaskGroup* group() const { return scan_.group; }
  /// A partition to wait for, if there is one.
  std::optional<std::uint32_t> partition_behind() const {
    for (std::size_t p = 0; p < outboxes_.size(); ++p) {
      if (outboxes_[p].is_far_ahead()) return static_cast<std::uint32_t>(p);
    }
    return std::nullopt;
  }
  PartitionHandle partition(std::uint32_t p) const { return scan_.partitions[p]; }

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

template <class Record>
void scan(ScannerHandle<Record> scanner);

/// Reads on when there is little else to do: what is in batches comes first.
template <class Record>
void read_on(ScannerHandle<Record> scanner, TaskGroup* group, TaskGroup* after) {
  create<nonspec>(scan<Record>, {.on = scanner, .group = group, .after = after, .priority = Priority::low},
                  scanner);
}

template <class Record>
void scan(ScannerHandle<Record> scanner) {
  if (!scanner->step()) return;
  TaskGroup* const group = scanner->group();
  const std::optional<std::uint32_t> behind = scanner->partition_behind();
  if (!behind) return read_on(scanner, group, nullptr);
  // Behind all that is on its way there, since a partition's tasks run in the order of their creation.
  const PartitionHandle partition = scanner->partition(*behind);
  create<nonspec>(
      [](PartitionHandle, ScannerHandle<Record> from, TaskGroup* its) { read_on(from, its, nullptr); },
      {.on = partition, .group = group, .core = *behind}, partition, scanner, group);
}

template <class Record>
std::vector<ScannerHandle<Record>> start(Scan<Record>& work, TaskGroup* after) {
  std::vector<ScannerHandle<Record>> scanners;
  for (std::size_t i = 0; i < work.partitions.size(); ++i) {
    scanners.push_back(make_resource<Scanner<Record>>({}, work));
    read_on(scanners.back(), work.group, after);
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
  Scan<Customer> customers{tables.customers,      partitions, options.records_per_task,
                           options.records_ahead, &built,     {}};
  Scan<Order> orders{tables.orders, partitions, options.records_per_task, options.records_ahead, nullptr, {}};
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

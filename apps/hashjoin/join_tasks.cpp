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
  OrdersAhead ahead;  // of one task's orders the last, until the next task or the end
  JoinResult result;
};

using PartitionHandle = resource<Partition>;

void process(PartitionHandle partition, const Customer* customers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) partition->table.insert(customers[i]);
}

void process(PartitionHandle partition, const Order* orders, std::size_t count) {
  if (partition->table.is_empty()) return;
  partition->ahead.probe(partition->table.slots(), orders, count, adding_to(partition->result));
}

/// State that all scanners of one table share.
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

  /// Takes the next records of the table. @returns how many tasks it takes to sort them; 0: there were none
  /// left, and the rest of the batches is on its way now.
  std::size_t begin_burst() {
    const std::size_t size = std::max(scan_.records_per_task, kBurst);
    next_ = std::min(scan_.next.fetch_add(size, std::memory_order_relaxed), scan_.table.size());
    end_ = std::min(next_ + size, scan_.table.size());
    if (next_ == end_) {
      for (std::size_t p = 0; p < outboxes_.size(); ++p) {
        if (outboxes_[p].filled() != 0) send(p);
      }
    }
    return (end_ - next_ + scan_.records_per_task - 1) / scan_.records_per_task;
  }
  /// Sorts a task's records of the burst.
  void step() {
    const std::size_t end = std::min(next_ + scan_.records_per_task, end_);
    for (; next_ < end; ++next_) {
      const Record& record = scan_.table[next_];
      const std::size_t p = partition_of(key_of(record));
      if (outboxes_[p].push(record)) send(p);
    }
  }
  bool is_burst_over() const { return next_ == end_; }
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
    const Batch<Record> batch = outboxes_[p].hand_over();
    create<nonspec>(
        [](PartitionHandle to, const Record* records, std::size_t count, Returns* returns) {
          process(to, records, count);
          returns->add();
        },
        {.on = partition, .group = scan_.group}, partition, batch.records, batch.count, batch.returns);
  }

  static constexpr std::size_t kBurst = 4096;  // records

  Scan<Record>& scan_;
  std::size_t next_ = 0, end_ = 0;  // of what it has claimed, the records that it has not read
  std::vector<Outbox<Record>> outboxes_;
};

template <class Record>
using ScannerHandle = resource<Scanner<Record>>;

template <class Record>
void scan(ScannerHandle<Record> scanner);

/// Reads a burst, in as many tasks as it takes. The first has low priority: records in batches come first.
/// The others have high priority, and are created together: a partition of another core that gets small
/// batches one by one would become ready, be claimed there and be empty again with each; and so would the
/// scanner.
template <class Record>
void begin_burst(ScannerHandle<Record> scanner) {
  const std::size_t tasks = scanner->begin_burst();
  if (tasks == 0) return;
  for (std::size_t i = 1; i < tasks; ++i) {
    create<nonspec>(scan<Record>, {.on = scanner, .group = scanner->group(), .priority = Priority::high},
                    scanner);
  }
  scan(scanner);
}

template <class Record>
void read_on(ScannerHandle<Record> scanner, TaskGroup* after) {
  create<nonspec>(begin_burst<Record>,
                  {.on = scanner, .group = scanner->group(), .after = after, .priority = Priority::low},
                  scanner);
}

template <class Record>
void scan(ScannerHandle<Record> scanner) {
  scanner->step();
  if (!scanner->is_burst_over()) return;
  const std::optional<std::uint32_t> behind = scanner->partition_behind();
  if (!behind) return read_on<Record>(scanner, nullptr);
  // Behind all that is on its way there, since a partition's tasks run in the order of their creation.
  const PartitionHandle partition = scanner->partition(*behind);
  create<nonspec>([](PartitionHandle, ScannerHandle<Record> from) { read_on<Record>(from, nullptr); },
                  {.on = partition, .group = scanner->group()}, partition, scanner);
}

template <class Record>
std::vector<ScannerHandle<Record>> start(Scan<Record>& work, TaskGroup* after) {
  std::vector<ScannerHandle<Record>> scanners;
  for (std::size_t i = 0; i < work.partitions.size(); ++i) {
    scanners.push_back(make_resource<Scanner<Record>>({}, work));
    read_on(scanners.back(), after);
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
    partition->ahead.finish(partition->table.slots(), adding_to(partition->result));
    result.add(partition->result);
    remove(partition);
  }
  for (const auto scanner : builders) remove(scanner);
  for (const auto scanner : probers) remove(scanner);
  return result;
}

}  // namespace rubato::apps

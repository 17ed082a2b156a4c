// SPDX-License-Identifier: MIT
// The tree on tasks: every visit of a node is a task annotated with it (MxTasking, Sec. 5.1). There is no
// lock here: what a visit does is read() or write() of visit.hpp, and the runtime keeps visits of one node
// apart.
//
// A client is one request under way. Its answer leaves the last visit by on_commit, after which the client
// begins its next request; each worker's share of clients is options.inflight.
//
// Leaves that removals emptied are noted, and when there are many a task that runs alone merges them
// (merge.hpp). Visits that wait may hold links to what it frees: the runtime keeps the memory of a removed
// resource until they and all that they created are done. A request begins at the root, in a task without
// resource, and so holds back nothing that was removed before.
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/ycsb/emptied_leaves.hpp"
#include "apps/ycsb/engine_setup.hpp"
#include "apps/ycsb/merge.hpp"
#include "apps/ycsb/numa_placement.hpp"
#include "apps/ycsb/variant.hpp"
#include "apps/ycsb/visit.hpp"
#include "rubato/numa.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::ycsb {
namespace {

resource<Node> resource_of(Link link) { return std::bit_cast<resource<Node>>(link.handle()); }
Link link_to(resource<Node> node) { return Link(std::bit_cast<std::uint64_t>(node)); }

/// Placement of the next tree's nodes; null: anywhere.
NumaPlacement* placement = nullptr;

struct TaskMemory {
  static constexpr ResourceOptions kInner{Isolation::shared_reads, Ratio::mostly_reads, Frequency::high};
  static constexpr ResourceOptions kLeaf{Isolation::shared_reads, Ratio::balanced, Frequency::normal};

  Link make(unsigned level) { return make(level == 0 ? kLeaf : kInner, level); }
  Link make_root() { return make(kInner, 0); }
  void free(Link link) {
    nodes.fetch_sub(1, std::memory_order_relaxed);
    remove(resource_of(link));
  }

  std::atomic<std::uint64_t> nodes{0};  ///< of the tree; made and freed rarely beside visits

 private:
  Link make(const ResourceOptions& options, unsigned level) {
    nodes.fetch_add(1, std::memory_order_relaxed);
    return link_to(placement == nullptr ? make_resource<Node>(options, level)
                                        : make_resource_on<Node>(placement->next(), options, level));
  }
};

class TaskVariant;

/// A request under way, one after the other; on lines of its own, since other workers' clients lie beside it.
struct alignas(2 * kLineBytes) Client {
  Operation operation;
  std::uint64_t request = 0;  ///< its number
  std::uint64_t next = 0;     ///< the requests that it has taken and not begun: [next, end)
  std::uint64_t end = 0;
  TaskVariant* variant = nullptr;
  std::unique_ptr<ScanBuffer> buffer;
};

// The tree, as the tasks see it: their arguments carry only what differs.
TaskMemory* memory = nullptr;
Link root;
EmptiedLeaves* emptied_leaves = nullptr;
TaskVariant* variant = nullptr;

/// For a client's operation, the client; for the tree's own, the word of a link.
using Payload = std::uint64_t;

void create_visit(Payload payload, Key key, Link node, Cursor cursor);

void begin(const FollowUp& f) { create_visit(f.child.word(), f.key, root, Cursor(f.kind, f.level)); }

void finish(Client* client, Value value, bool is_found);
void merge_emptied_leaves();

struct Visit {
  void operator()(Payload payload, Key key, Link link, Cursor c) const {
    if (c.is_writer()) return write_here(payload, key, link, c);
    const Operation* const scan = c.kind() == Kind::scan ? &client_of(payload, c)->operation : nullptr;
    leave(payload, key, c, read(link, *link.node(), key, c, scan));
  }

  /// Null for the tree's own operations.
  static Client* client_of(Payload payload, Cursor c) {
    return is_internal(c.kind()) ? nullptr : std::bit_cast<Client*>(payload);
  }
  /// Not inlined: a visit that reads needs neither its calls nor its registers.
  [[gnu::noinline]] static void write_here(Payload payload, Key key, Link link, Cursor c) {
    const Client* const client = client_of(payload, c);
    Node& node = *link.node();
    std::optional<FollowUp> follow_up;
    const std::uint64_t argument = client != nullptr ? client->operation.argument : payload;
    const Visited visited = write(link, node, key, argument, c, *memory, follow_up);
    if (follow_up) begin(*follow_up);
    if (c.kind() == Kind::remove && visited.answer.is_found && node.count() == 0 && !node.is_root() &&
        emptied_leaves->note(key)) {
      create<spec>([] { merge_emptied_leaves(); }, {});
    }
    leave(payload, key, c, visited);
  }
  /// To the next node, or with the answer.
  static void leave(Payload payload, Key key, Cursor c, const Visited& visited) {
    if (visited.next) return create_visit(payload, key, visited.next, visited.cursor);
    if (Client* const client = client_of(payload, c))
      on_commit(Finish{}, client, visited.answer.value, visited.answer.is_found);
  }

  struct Finish {
    void operator()(Client* client, Value value, bool is_found) const { finish(client, value, is_found); }
  };
};

inline void create_visit(Payload payload, Key key, Link node, Cursor cursor) {
  const Lines lines = lines_of(cursor);
  create<nonspec>(Visit{},
                  {.on = resource_of(node),
                   .access = cursor.is_writer() ? writes : reads,
                   .prefetch = {lines.offset, lines.bytes}},
                  payload, key, node, cursor);
}

class TaskVariant final : public VariantOf<TaskMemory> {
 public:
  void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) override {
    requests_ = requests;
    recorder_ = &recorder;
    first_value_ = options.first_value;
    taken_ = 0;
    memory = &tree_.memory();
    root = tree_.root();
    emptied_leaves = &emptied_leaves_;
    variant = this;
    const bool has_scans =
        std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.kind == Kind::scan; });
    std::vector<Client> clients(std::size_t{options.workers} * options.inflight);
    for (Client& client : clients) {
      client.variant = this;
      if (has_scans) client.buffer = std::make_unique<ScanBuffer>();
      begin_next(client);
    }
    rubato::run();
    merge();
  }
  std::optional<MemoryPeaks> memory_peaks() const override { return peaks_; }
  /// With nothing beside it.
  void merge() {
    peaks_.nodes = std::max(peaks_.nodes, tree_.memory().nodes.load(std::memory_order_relaxed));
    Merger merger(tree_.root(), tree_.memory());
    emptied_leaves_.take([&](Key key) { merger.merge_at(key); });
    peaks_.unreclaimed_bytes = std::max(peaks_.unreclaimed_bytes, unreclaimed_bytes());
  }

  void begin_next(Client& client) {
    if (client.next == client.end && !take(client)) return;
    client.request = client.next++;
    __builtin_prefetch(requests_.data() + client.next + kAhead);
    const Request& request = requests_[client.request];
    client.operation = operation_of(request, client.request, first_value_, client.buffer.get());
    recorder_->invoke(client.request);
    create_visit(std::bit_cast<Payload>(&client), request.key, root, Cursor(request.kind));
  }

  void finish(Client& client, const Answer& answer) {
    recorder_->respond(client.request, answer, client.operation.buffer);
    begin_next(client);
  }

 private:
  // A client takes a line's worth of requests at once, and has the line of the following ones fetched.
  static constexpr std::uint64_t kTaken = 16, kAhead = 3;

  bool take(Client& client) {
    if (taken_.load(std::memory_order_relaxed) >= requests_.size()) return false;
    client.next = taken_.fetch_add(kTaken, std::memory_order_relaxed);
    client.end = std::min<std::uint64_t>(client.next + kTaken, requests_.size());
    return client.next < client.end;
  }

  std::span<const Request> requests_;
  Recorder* recorder_ = nullptr;
  Value first_value_ = 0;
  EmptiedLeaves emptied_leaves_;
  MemoryPeaks peaks_;
  alignas(2 * kLineBytes) std::atomic<std::uint64_t> taken_{0};
};

void finish(Client* client, Value value, bool is_found) {
  client->variant->finish(*client, {value, is_found});
}
void merge_emptied_leaves() { variant->merge(); }

}  // namespace

std::unique_ptr<Variant> make_task_variant(NumaPlacement* numa) {
  placement = numa;
  return std::make_unique<TaskVariant>();
}

}  // namespace rubato::apps::ycsb

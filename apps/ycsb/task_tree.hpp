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
//
// `Place` says where nodes lie and visits run (places.hpp). Each is used in a source file of its own: in
// one file the compiler would inline less into the visits of both.
// SPDX-License-Identifier: MIT
#pragma once

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
#include "apps/ycsb/places.hpp"
#include "apps/ycsb/variant.hpp"
#include "apps/ycsb/visit.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::ycsb::task_tree {

template <class Place>
struct TaskMemory {
  static constexpr ResourceOptions kInner{Isolation::shared_reads, Ratio::mostly_reads, Frequency::high};
  static constexpr ResourceOptions kLeaf{Isolation::shared_reads, Ratio::balanced, Frequency::normal};

  Link make(unsigned level) { return make(level == 0 ? kLeaf : kInner, level, Use::part); }
  Link make_root() { return make(kInner, 0, Use::root); }
  void free(Link link) {
    nodes.fetch_sub(1, std::memory_order_relaxed);
    remove(Place::resource_of(link));
  }

  std::atomic<std::uint64_t> nodes{0};  ///< of the tree; made and freed rarely beside visits

 private:
  Link make(const ResourceOptions& options, unsigned level, Use use) {
    nodes.fetch_add(1, std::memory_order_relaxed);
    return Place::make(options, level, use);
  }
};

template <class Place>
class TaskVariant;

/// A request under way, one after the other; on lines of its own, since other workers' clients lie beside it.
template <class Place>
struct alignas(2 * kLineBytes) Client {
  Operation operation;
  std::uint64_t request = 0;  ///< its number
  std::uint64_t next = 0;     ///< the requests that it has taken and not begun: [next, end)
  std::uint64_t end = 0;
  TaskVariant<Place>* variant = nullptr;
  std::unique_ptr<ScanBuffer> buffer;
};

/// The tree, as the tasks see it: their arguments carry only what differs.
template <class Place>
struct Seen {
  inline static TaskMemory<Place>* memory = nullptr;
  inline static Link root;
  inline static EmptiedLeaves* emptied_leaves = nullptr;
  inline static TaskVariant<Place>* variant = nullptr;
};

/// For a client's operation, the client; for the tree's own, the word of a link.
using Payload = std::uint64_t;

template <class Place>
void create_visit(Payload payload, Key key, Link node, Cursor cursor);

template <class Place>
void begin(const FollowUp& f) {
  create_visit<Place>(f.child.word(), f.key, Seen<Place>::root, Cursor(f.kind, f.level));
}

template <class Place>
void finish(Client<Place>* client, Value value, bool is_found);
template <class Place>
void merge_emptied_leaves();

template <class Place>
struct Visit {
  void operator()(Payload payload, Key key, Link link, Cursor c) const {
    Place::note_visit(link);
    if (c.is_writer()) return write_here(payload, key, link, c);
    const Operation* const scan = c.kind() == Kind::scan ? &client_of(payload, c)->operation : nullptr;
    leave(payload, key, c, read(link, *link.node(), key, c, scan));
  }

  /// Null for the tree's own operations.
  static Client<Place>* client_of(Payload payload, Cursor c) {
    return is_internal(c.kind()) ? nullptr : std::bit_cast<Client<Place>*>(payload);
  }
  /// Not inlined: a visit that reads needs neither its calls nor its registers.
  [[gnu::noinline]] static void write_here(Payload payload, Key key, Link link, Cursor c) {
    const Client<Place>* const client = client_of(payload, c);
    Node& node = *link.node();
    std::optional<FollowUp> follow_up;
    const std::uint64_t argument = client != nullptr ? client->operation.argument : payload;
    const Visited visited = write(link, node, key, argument, c, *Seen<Place>::memory, follow_up);
    if (follow_up) begin<Place>(*follow_up);
    if (c.kind() == Kind::remove && visited.answer.is_found && node.count() == 0 && !node.is_root() &&
        Seen<Place>::emptied_leaves->note(key)) {
      create<spec>([] { merge_emptied_leaves<Place>(); }, {});
    }
    leave(payload, key, c, visited);
  }
  /// To the next node, or with the answer.
  static void leave(Payload payload, Key key, Cursor c, const Visited& visited) {
    if (visited.next) return create_visit<Place>(payload, key, visited.next, visited.cursor);
    if (Client<Place>* const client = client_of(payload, c))
      on_commit(Finish{}, client, visited.answer.value, visited.answer.is_found);
  }

  struct Finish {
    void operator()(Client<Place>* client, Value value, bool is_found) const {
      finish(client, value, is_found);
    }
  };
};

template <class Place>
inline void create_visit(Payload payload, Key key, Link node, Cursor cursor) {
  const Lines lines = lines_of(cursor);
  create<nonspec>(Visit<Place>{},
                  {.on = Place::resource_of(node),
                   .access = cursor.is_writer() ? writes : reads,
                   .prefetch = {lines.offset, lines.bytes},
                   .numa = Place::numa_of(node)},
                  payload, key, node, cursor);
}

template <class Place>
class TaskVariant final : public VariantOf<TaskMemory<Place>> {
  using VariantOf<TaskMemory<Place>>::tree_;

 public:
  void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) override {
    requests_ = requests;
    recorder_ = &recorder;
    first_value_ = options.first_value;
    taken_ = 0;
    Seen<Place>::memory = &tree_.memory();
    Seen<Place>::root = tree_.root();
    Seen<Place>::emptied_leaves = &emptied_leaves_;
    Seen<Place>::variant = this;
    const bool has_scans =
        std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.kind == Kind::scan; });
    std::vector<Client<Place>> clients(std::size_t{options.workers} * options.inflight);
    for (Client<Place>& client : clients) {
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

  void begin_next(Client<Place>& client) {
    if (client.next == client.end && !take(client)) return;
    client.request = client.next++;
    __builtin_prefetch(requests_.data() + client.next + kAhead);
    const Request& request = requests_[client.request];
    client.operation = operation_of(request, client.request, first_value_, client.buffer.get());
    recorder_->invoke(client.request);
    create_visit<Place>(std::bit_cast<Payload>(&client), request.key, Seen<Place>::root,
                        Cursor(request.kind));
  }

  void finish(Client<Place>& client, const Answer& answer) {
    recorder_->respond(client.request, answer, client.operation.buffer);
    begin_next(client);
  }

 private:
  // A client takes a line's worth of requests at once, and has the line of the following ones fetched.
  static constexpr std::uint64_t kTaken = 16, kAhead = 3;

  bool take(Client<Place>& client) {
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

template <class Place>
void finish(Client<Place>* client, Value value, bool is_found) {
  client->variant->finish(*client, {value, is_found});
}
template <class Place>
void merge_emptied_leaves() {
  Seen<Place>::variant->merge();
}

}  // namespace rubato::apps::ycsb::task_tree

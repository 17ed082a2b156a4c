// SPDX-License-Identifier: MIT
// The tree on oneTBB (MxTasking, Sec. 6.4): a task for every visit, or a task for every operation, with
// oneTBB's mutexes, of which speculative_spin_rw_mutex uses hardware transactions where there are any, or
// versions. A batch of requests is under way for each worker; the task that answers a request begins its next
// one.
#include <atomic>
#include <memory>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "apps/ycsb/latched_visit.hpp"
#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {
namespace {

class TbbSpinLatch {
 public:
  template <class Visit>
  auto read(Visit visit) {
    return write(visit);
  }
  template <class Visit>
  auto write(Visit visit) {
    const tbb::spin_mutex::scoped_lock lock(mutex_);
    return visit();
  }

 private:
  tbb::spin_mutex mutex_;
};

template <class Mutex>
class TbbReaderWriterLatch {
 public:
  template <class Visit>
  auto read(Visit visit) {
    const typename Mutex::scoped_lock lock(mutex_, false);
    return visit();
  }
  template <class Visit>
  auto write(Visit visit) {
    const typename Mutex::scoped_lock lock(mutex_, true);
    return visit();
  }

 private:
  Mutex mutex_;
};

template <class Latch, bool is_task_a_step>
class TbbVariant final : public VariantOf<LatchedMemory<Latch>> {
 public:
  void run(std::span<const Request> requests, const RunOptions& options, Recorder& recorder) override {
    requests_ = requests;
    recorder_ = &recorder;
    first_value_ = options.first_value;
    taken_ = 0;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, options.workers);
    tbb::task_arena arena(static_cast<int>(options.workers));
    std::vector<Client> clients(std::size_t{options.workers} * options.inflight);
    arena.execute([&] {
      tbb::task_group group;
      group_ = &group;
      for (Client& client : clients) {
        client.buffer = std::make_unique<ScanBuffer>();
        begin_next(client);
      }
      group.wait();
    });
  }

 private:
  struct alignas(2 * kLineBytes) Client {
    Operation operation;
    std::uint64_t request = 0, next = 0, end = 0;
    Link link;
    Cursor cursor;
    std::unique_ptr<ScanBuffer> buffer;
  };
  static constexpr std::uint64_t kTaken = 16;

  void begin_next(Client& client) {
    if (client.next == client.end) {
      client.next = taken_.fetch_add(kTaken, std::memory_order_relaxed);
      client.end = std::min<std::uint64_t>(client.next + kTaken, requests_.size());
      if (client.next >= client.end) {
        client.next = client.end;
        return;
      }
    }
    client.request = client.next++;
    client.operation =
        operation_of(requests_[client.request], client.request, first_value_, client.buffer.get());
    client.link = this->tree_.root();
    client.cursor = Cursor(client.operation.kind);
    recorder_->invoke(client.request);
    if constexpr (is_task_a_step) {
      group_->run([this, &client] { step(client); });
    } else {
      group_->run([this, &client] {
        answer(client, execute(this->tree_.root(), client.operation, 0, this->tree_.memory()));
      });
    }
  }

  void step(Client& client) {
    std::optional<FollowUp> follow_up;
    const Visited visited =
        visit_latched(client.link, client.cursor, client.operation, this->tree_.memory(), follow_up);
    if (visited.next) {
      client.link = visited.next;
      client.cursor = visited.cursor;
      group_->run([this, &client] { step(client); });
    } else {
      answer(client, visited.answer);
    }
    // Last, since a worker takes its latest task first: nodes that no parent knows of make every way longer.
    if (follow_up)
      group_->run([this, f = *follow_up] { execute(this->tree_.root(), f, this->tree_.memory()); });
  }

  void answer(Client& client, const Answer& answer) {
    recorder_->respond(client.request, answer, client.operation.buffer);
    begin_next(client);
  }

  std::span<const Request> requests_;
  Recorder* recorder_ = nullptr;
  Value first_value_ = 0;
  alignas(2 * kLineBytes) std::atomic<std::uint64_t> taken_{0};
  tbb::task_group* group_ = nullptr;
};

template <class Latch>
std::unique_ptr<Variant> make(bool is_task_a_step) {
  if (is_task_a_step) return std::make_unique<TbbVariant<Latch, true>>();
  return std::make_unique<TbbVariant<Latch, false>>();
}

}  // namespace

std::unique_ptr<Variant> make_tbb_variant(Sync sync, bool is_task_a_step) {
  if (sync == Sync::spin) return make<TbbSpinLatch>(is_task_a_step);
  if (sync == Sync::rw) return make<TbbReaderWriterLatch<tbb::spin_rw_mutex>>(is_task_a_step);
  if (sync == Sync::speculative) {
    return make<TbbReaderWriterLatch<tbb::speculative_spin_rw_mutex>>(is_task_a_step);
  }
  return make<VersionLatch>(is_task_a_step);
}

}  // namespace rubato::apps::ycsb

// SPDX-License-Identifier: MIT
// A net keeps its changes in a list that its driver alone appends to, and a clock: all earlier changes are in
// the list. A gate reads the lists of its pins, each at its own pace. Advancing a clock without a change is
// what a null message is in the publications. A flip-flop knows its net until after the next clock edge,
// whatever its D pin does. Every cycle has a flip-flop, so no gate waits for ever.
//
// A gate without work is parked at the pin whose clock is least. The driver of that pin wakes it, and no
// other: until that clock advances, the gate could do nothing.
#include "apps/des/des_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "apps/common/thread_team.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint64_t kForever = ~std::uint64_t{0};
constexpr std::uint32_t kNone = ~std::uint32_t{0};
/// Changes that a gate takes in before it lets others see its own: so they can follow.
constexpr unsigned kBatch = 16;
/// Queues of others that a thread without work looks at before it pauses.
constexpr unsigned kVictims = 4;

/// Changes of a net, as twice the time and the value.
struct Chunk {
  static constexpr std::size_t kSize = 7;
  std::uint64_t changes[kSize];
  std::unique_ptr<Chunk> next;
};

struct alignas(64) Net {
  /// A chunk after the other: a chunk that destroyed the next one would need a frame for each.
  ~Net() {
    for (std::unique_ptr<Chunk> chunk = std::move(first.next); chunk != nullptr;)
      chunk = std::move(chunk->next);
  }

  /// Releases all changes before that time to the gates that read it.
  std::atomic<std::uint64_t> clock{0};
  std::atomic<std::uint64_t> count{0};
  Chunk first;
};

/// A place in a net's list.
class Cursor {
 public:
  explicit Cursor(const Net& net) : net_(&net), chunk_(&net.first) {}

  const Net& net() const { return *net_; }
  /// The next change, or kForever if there is none yet. Of those before a clock, loaded earlier, it misses
  /// none.
  std::uint64_t peek() {
    if (index_ == known_) {
      known_ = net_->count.load(std::memory_order_acquire);
      if (index_ == known_) return kForever;
    }
    if (index_ == end_) {
      chunk_ = chunk_->next.get();
      end_ += Chunk::kSize;
    }
    return chunk_->changes[index_ + Chunk::kSize - end_];
  }
  void advance() { ++index_; }

 private:
  const Net* net_;
  const Chunk* chunk_;
  std::uint64_t index_ = 0;
  std::uint64_t known_ = 0;           // changes that are there, as seen last
  std::uint64_t end_ = Chunk::kSize;  // index after the chunk
};

/// A gate or primary input, which one thread at a time simulates.
struct alignas(64) Process {
  /// The net at which it is parked. kNone: it runs or is in a queue. A thread that changes it to kNone owns
  /// it.
  std::atomic<std::uint32_t> parked_at{kNone};
  std::uint32_t next = kNone;  // in a queue
  std::vector<Cursor> pins;
  std::vector<std::uint32_t> sinks;
  std::vector<std::uint64_t> stimuli;  // times at which a primary input changes
  std::size_t stimulus = 0;
  std::uint64_t edge = kForever;  // of a flip-flop: the next one that the clock has
  std::uint64_t values = 0;       // of the pins
  std::uint64_t count = 0;        // changes of the net, which are released later
  Chunk* last = nullptr;
  std::uint64_t pin_events = 0;
  std::uint64_t waveform = 0;
  bool value = false;
};

/// Processes that a thread will run, first in, first out. Others steal from it.
class alignas(64) Queue {
 public:
  void push(std::vector<Process>& processes, std::uint32_t process) {
    processes[process].next = kNone;
    lock();
    const std::uint32_t first = first_.load(std::memory_order_relaxed);
    if (first == kNone) {
      first_.store(process, std::memory_order_relaxed);
    } else {
      processes[last_].next = process;
    }
    last_ = process;
    unlock();
  }
  /// kNone: it is empty, or another thread is at it.
  std::uint32_t take(const std::vector<Process>& processes) {
    if (first_.load(std::memory_order_relaxed) == kNone || !try_lock()) return kNone;
    const std::uint32_t found = first_.load(std::memory_order_relaxed);
    if (found != kNone) first_.store(processes[found].next, std::memory_order_relaxed);
    unlock();
    return found;
  }

 private:
  bool try_lock() {
    return locked_.load(std::memory_order_relaxed) == 0 &&
           locked_.exchange(1, std::memory_order_acquire) == 0;
  }
  void lock() {
    spin_until([this] { return try_lock(); });
  }
  void unlock() { locked_.store(0, std::memory_order_release); }

  std::atomic<std::uint32_t> locked_{0};  // a word: the guest has no atomic bytes
  std::atomic<std::uint32_t> first_{kNone};
  std::uint32_t last_ = kNone;
};

class Simulation {
 public:
  Simulation(const Circuit& circuit, const Stimulus& stimulus, std::uint32_t threads)
      : circuit_(circuit),
        stimulus_(stimulus),
        nets_(circuit.gates()),
        processes_(circuit.gates()),
        queues_(threads) {
    const auto settled = settle_initially(circuit);
    std::uint32_t sources = 0;
    for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
      Process& process = processes_[g];
      process.value = settled[g] != 0;
      process.last = &nets_[g].first;
      for (std::size_t p = 0; p < circuit.pins[g].size(); ++p) {
        const std::uint32_t net = circuit.pins[g][p];
        process.values |= std::uint64_t{settled[net]} << p;
        process.pins.emplace_back(nets_[net]);
        processes_[net].sinks.push_back(g);
      }
      if (!circuit.is_source(g)) {
        process.parked_at = circuit.pins[g][0];  // all clocks are 0
      } else {
        queues_[sources++ % threads].push(processes_, g);
      }
      if (circuit.kinds[g] == GateKind::dff) process.edge = edge_after(stimulus.vector_time(0));
    }
    for (std::size_t i = 0; i < circuit.inputs.size(); ++i) {
      std::uint8_t driven = 0;
      for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
        if (stimulus.vectors[k][i] == driven) continue;
        driven ^= 1;
        processes_[circuit.inputs[i]].stimuli.push_back(stimulus.vector_time(k));
      }
    }
    unfinished_ = circuit.gates();
  }

  /// Loop of a thread, until all processes have finished.
  void work(std::uint32_t thread) {
    std::uint32_t victim = thread;
    for (;;) {
      std::uint32_t found = kNone;
      spin_until([&] {
        found = find(thread, victim);
        return found != kNone || unfinished_.load(std::memory_order_acquire) == 0;
      });
      if (found == kNone) return;
      if (processes_[found].pins.empty()) {
        drive_input(found, queues_[thread]);
      } else if (circuit_.kinds[found] == GateKind::dff) {
        simulate<true>(found, queues_[thread]);
      } else {
        simulate<false>(found, queues_[thread]);
      }
    }
  }

  SimulationResult result(const Stimulus& stimulus, bool with_log) const {
    SimulationResult found;
    for (std::uint32_t g = 0; g < circuit_.gates(); ++g) {
      const Process& process = processes_[g];
      found.pin_events += process.pin_events;
      found.toggles.push_back(static_cast<std::uint32_t>(process.count));
      found.waveforms.push_back(process.waveform);
      found.values.push_back(process.value ? 1 : 0);
      if (!with_log) continue;
      for (Cursor cursor(nets_[g]); cursor.peek() != kForever; cursor.advance()) {
        found.log.push_back({cursor.peek() >> 1, g, static_cast<std::uint32_t>(cursor.peek() & 1)});
      }
    }
    std::sort(found.log.begin(), found.log.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.net < b.net;
    });
    found.settled.assign(stimulus.vectors.size(), std::vector<std::uint8_t>(circuit_.outputs.size()));
    const auto before = settle_initially(circuit_);
    for (std::size_t o = 0; o < circuit_.outputs.size(); ++o) {
      Cursor cursor(nets_[circuit_.outputs[o]]);
      std::uint8_t value = before[circuit_.outputs[o]];
      for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
        for (; cursor.peek() >> 1 < (k + 2) * stimulus.period; cursor.advance()) value = cursor.peek() & 1;
        found.settled[k][o] = value;
      }
    }
    return found;
  }

 private:
  /// A process of this thread's queue, or of the next few in turn. Idle threads on large chips would
  /// otherwise keep the lines of all queues from those that work.
  std::uint32_t find(std::uint32_t thread, std::uint32_t& victim) {
    std::uint32_t found = queues_[thread].take(processes_);
    for (unsigned i = 0; i < kVictims && found == kNone; ++i) {
      victim = victim + 1 < queues_.size() ? victim + 1 : 0;
      found = queues_[victim].take(processes_);
    }
    return found;
  }

  void toggle(std::uint32_t net, std::uint64_t time) {
    Process& process = processes_[net];
    process.value = !process.value;
    process.waveform = next_waveform(process.waveform, time, process.value);
    const std::size_t place = process.count++ % Chunk::kSize;
    if (place == 0 && process.count > 1) {
      process.last->next = std::make_unique<Chunk>();
      process.last = process.last->next.get();
    }
    process.last->changes[place] = time << 1 | (process.value ? 1 : 0);
  }

  /// Releases the net's changes, which are all before `clock`, and wakes gates that wait for them.
  void release(std::uint32_t net, std::uint64_t clock, Queue& queue) {
    nets_[net].count.store(processes_[net].count, std::memory_order_release);
    // Sequentially consistent: either this thread sees that a gate is parked, or the gate sees the new clock.
    nets_[net].clock.store(clock, std::memory_order_seq_cst);
    for (const std::uint32_t sink : processes_[net].sinks) {
      if (processes_[sink].parked_at.load(std::memory_order_seq_cst) == net && claim(sink, net)) {
        queue.push(processes_, sink);
      }
    }
  }

  bool claim(std::uint32_t process, std::uint32_t parked_at) {
    return processes_[process].parked_at.compare_exchange_strong(parked_at, kNone, std::memory_order_acq_rel);
  }

  void drive_input(std::uint32_t input, Queue& queue) {
    Process& process = processes_[input];
    const std::size_t end = std::min(process.stimulus + kBatch, process.stimuli.size());
    for (; process.stimulus < end; ++process.stimulus) toggle(input, process.stimuli[process.stimulus]);
    const bool is_last = end == process.stimuli.size();
    release(input, is_last ? kForever : process.stimuli[end], queue);
    if (is_last) {
      unfinished_.fetch_sub(1, std::memory_order_acq_rel);
    } else {
      queue.push(processes_, input);
    }
  }

  template <bool is_flip_flop>
  void simulate(std::uint32_t gate, Queue& queue) {
    Process& process = processes_[gate];
    const std::uint64_t delay = circuit_.delays[gate];
    for (;;) {
      std::uint64_t known = kForever;
      std::size_t least = 0;
      for (std::size_t p = 0; p < process.pins.size(); ++p) {
        const std::uint64_t clock = process.pins[p].net().clock.load(std::memory_order_acquire);
        if (clock < known) known = clock, least = p;
      }
      const std::uint64_t reached =
          is_flip_flop ? clock_in(gate, process, known) : take_in(gate, process, known);
      const std::uint64_t cause =
          is_flip_flop ? process.edge : reached;  // of the net's next change, at the earliest
      release(gate, cause == kForever ? kForever : cause + delay, queue);
      if (reached == kForever) {
        unfinished_.fetch_sub(1, std::memory_order_acq_rel);
        return;
      }
      if (reached < known) {
        queue.push(processes_, gate);
        return;
      }
      const std::uint32_t net = circuit_.pins[gate][least];
      process.parked_at.store(net, std::memory_order_seq_cst);
      if (nets_[net].clock.load(std::memory_order_seq_cst) == known || !claim(gate, net)) return;
    }
  }

  /// Evaluates the gate at times before `known`. Returns the time that it has reached: `known`, or earlier.
  std::uint64_t take_in(std::uint32_t gate, Process& process, std::uint64_t known) {
    const auto fan_in = static_cast<std::uint32_t>(process.pins.size());
    for (unsigned taken = 0;;) {
      std::uint64_t time = kForever;
      for (Cursor& pin : process.pins) time = std::min(time, pin.peek() >> 1);
      if (time >= std::min(known, kForever >> 1)) return known;
      if (taken >= kBatch) return time;
      for (std::uint32_t p = 0; p < fan_in; ++p) {
        const std::uint64_t change = process.pins[p].peek();
        if (change >> 1 != time) continue;
        process.values = (process.values & ~(std::uint64_t{1} << p)) | (change & 1) << p;
        process.pins[p].advance();
        ++taken;
        ++process.pin_events;
      }
      if (gate_value(circuit_.kinds[gate], process.values, fan_in) != process.value) {
        toggle(gate, time + circuit_.delays[gate]);
      }
    }
  }

  /// The same of a flip-flop, which evaluates at clock edges: each sees the changes before its time.
  std::uint64_t clock_in(std::uint32_t flip_flop, Process& process, std::uint64_t known) {
    Cursor& pin = process.pins.front();
    for (unsigned taken = 0;; ++taken) {
      const std::uint64_t change = pin.peek(), time = change >> 1;
      for (; process.edge <= std::min(time, known); process.edge = edge_after(process.edge)) {
        if ((process.values != 0) != process.value)
          toggle(flip_flop, process.edge + circuit_.delays[flip_flop]);
      }
      if (time >= std::min(known, kForever >> 1)) return known;
      if (taken == kBatch) return time;
      process.values = change & 1;
      pin.advance();
      ++process.pin_events;
    }
  }

  /// The clock edge behind the one at `time`, or kForever.
  std::uint64_t edge_after(std::uint64_t time) const {
    const std::uint64_t next = time + stimulus_.period;
    return next <= stimulus_.last_time() ? next : kForever;
  }

  const Circuit& circuit_;
  const Stimulus& stimulus_;
  std::vector<Net> nets_;
  std::vector<Process> processes_;
  std::vector<Queue> queues_;
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace

SimulationResult simulate_by_threads(const Circuit& circuit, const Stimulus& stimulus, bool with_log,
                                     std::uint32_t threads) {
  Simulation simulation(circuit, stimulus, threads);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) { simulation.work(me.index()); });
  return simulation.result(stimulus, with_log);
}

}  // namespace rubato::apps

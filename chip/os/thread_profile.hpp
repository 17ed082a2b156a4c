// Profile of an ordinary program's threads in detailed simulation. Their cycles are:
// - running, by the reason of each stall;
// - ready, without a core;
// - blocked, by the thing waited for, the place of the wait, and the thread whose call ended it.
//
// Besides, it samples the positions of cores. It watches and changes nothing: its calls come at system calls,
// and samples while the chip is paused.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/os/idle_account.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The reason for which a thread is blocked.
struct ThreadWait {
  enum class Kind : std::uint8_t { none, lock, futex, join, sleep, files, signal, process, region };
  Kind kind = Kind::none;
  Addr word = 0;   ///< of lock, futex and join: the address that the program waits at
  int holder = 0;  ///< of a lock: the thread that has it, 0 if that is not known
};
std::string_view name_of(ThreadWait::Kind kind);

/// Hears of each period when it is over.
class ThreadWatcher {
 public:
  virtual ~ThreadWatcher() = default;
  virtual void on_ran(int thread, CoreId core, Cycle from, Cycle to) = 0;
  /// `chain`: return addresses, the thread's own pc first. `by`: the thread whose call ended it, 0: none's.
  virtual void on_waited(int thread, const ThreadWait& wait, const std::vector<Addr>& chain, Cycle from,
                         Cycle to, int by) = 0;
};

class ThreadProfile {
 public:
  using Parts = std::array<std::uint64_t, kCycleParts>;

  struct Thread {
    Cycle began{}, ended{};
    bool has_ended = false;
    Parts running{};
    std::uint64_t ready = 0;
    std::map<ThreadWait::Kind, std::uint64_t> blocked;  ///< cycles
  };
  /// A place that threads waited at.
  struct Place {
    ThreadWait::Kind kind;
    Addr word;
    std::vector<Addr> chain;
    auto operator<=>(const Place&) const = default;
  };
  struct Waits {
    std::uint64_t count = 0, cycles = 0, longest = 0;
    std::map<int, std::uint64_t> by_thread;  ///< cycles that each waited
    std::map<int, std::uint64_t> ended_by;   ///< waits that a call of each thread ended; 0: no thread's
    std::map<int, std::uint64_t> held_by;    ///< waits that began while each held the lock
    double idle = 0;                         ///< core cycles that were idle because of these waits
  };
  /// The position of a core: the pc, and for threads the return addresses behind it.
  struct Site {
    std::vector<Addr> chain;
    auto operator<=>(const Site&) const = default;
  };
  struct Samples {
    std::map<int, std::uint64_t> by_thread;
    std::map<int, std::uint64_t> alone;  ///< while no other thread ran, but for those that spin in a library
    std::optional<bool> spins;           ///< whether the place is in a wait that spins; unset: not asked yet
  };
  using SpinTest = std::function<bool(const std::vector<Addr>& chain)>;

  explicit ThreadProfile(std::uint32_t cores = 1) : idle_(cores) {}

  /// Null: no watcher. Outlives its use.
  void watch(ThreadWatcher* watcher) { watcher_ = watcher; }

  /// The thread may run: it is new, or the call of thread `by` (0: of none) has ended its wait, or its slice
  /// is over.
  void ready(int thread, Cycle now, int by);
  /// The thread is on `core`, which has spent `parts` so far.
  void runs(int thread, CoreId core, Cycle now, const Parts& parts);
  /// The thread has left its core, which has spent `parts`: blocked, ended, or without a wait ready again.
  void blocks(int thread, Cycle now, const Parts& parts, const ThreadWait& wait, std::vector<Addr> chain);
  void ends(int thread, Cycle now, const Parts& parts);
  void yields(int thread, Cycle now, const Parts& parts);
  /// Detailed simulation begins while it is blocked.
  void was_blocked(int thread, Cycle now, const ThreadWait& wait, std::vector<Addr> chain);
  /// Detailed simulation ends, for now: whatever a thread does from here on is not seen.
  template <class PartsOf>
  void stop(Cycle now, const PartsOf& parts_of) {
    for (auto& [id, state] : states_)
      close(id, state, now, state.is == State::running ? parts_of(state.core) : Parts{}, 0);
    idle_.pause(now);
  }
  /// A sample: `thread` is on some core there. For a task it is the worker's thread, and the chain is the pc
  /// alone.
  void sample(int thread, std::vector<Addr> chain);
  /// The samples since the last call are those of one instant.
  void end_samples(const SpinTest& spins);

  const std::map<int, Thread>& threads() const { return threads_; }
  const std::map<Place, Waits>& waits() const { return waits_; }
  const std::map<Site, Samples>& samples() const { return samples_; }
  std::uint64_t sample_count() const { return sample_count_; }
  const IdleAccount& idle() const { return idle_; }

 private:
  struct State {
    enum Is : std::uint8_t { unseen, ready, running, blocked } is = unseen;
    Cycle since{};  // its periods do not overlap
    CoreId core{};
    Parts before{};  // of the core, when it began to run here
    ThreadWait wait;
    std::vector<Addr> chain;
    double idle_before = 0;  // idle_.per_waiting() when it was blocked
  };
  /// The state is over; `parts`: of its core, if it ran.
  void close(int thread, State& state, Cycle now, const Parts& parts, int by);
  void begin(int thread, State::Is is, Cycle now, const ThreadWait& wait = {});

  std::map<int, Thread> threads_;
  std::map<int, State> states_;
  std::map<Place, Waits> waits_;
  std::map<Site, Samples> samples_;
  std::vector<std::pair<int, std::map<Site, Samples>::iterator>> instant_;
  IdleAccount idle_;
  std::uint64_t sample_count_ = 0;
  ThreadWatcher* watcher_ = nullptr;
};

}  // namespace rubato::chip

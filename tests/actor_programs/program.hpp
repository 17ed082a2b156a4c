// Common part of random actor programs: their counts, and the contents of their messages. All counts are the
// same in every order that A8 allows.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "rubato/actors.hpp"

namespace actor_programs {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

/// Sums of hashes, so that the order of the summands is of no matter.
struct State {
  std::atomic<std::uint64_t> sum{0};      ///< of what was handled
  std::atomic<std::uint64_t> jobs{0};     ///< sent
  std::atomic<std::uint64_t> handled{0};  ///< jobs
  std::atomic<std::uint64_t> dead_jobs{0};
  std::atomic<std::uint64_t> pulses{0}, handled_pulses{0},
      dead_pulses{0};  ///< whether one is dropped is open
  std::atomic<std::uint64_t> asked{0}, answers{0};
  std::atomic<std::uint64_t> watched{0}, downs{0};
  std::atomic<std::uint64_t> timers{0}, due{0};
  std::atomic<std::uint64_t> clocks{0}, ended_clocks{0};
  std::atomic<std::uint64_t> events{0}, handled_events{0}, dead_events{0};
  std::atomic<std::uint64_t> stations{0}, ended_stations{0};  ///< and relays
  std::atomic<std::uint64_t> toils{0}, toiled{0}, crews{0}, ended_crews{0};
  std::atomic<std::uint64_t> made{0}, destroyed{0};  ///< behaviors
  std::atomic<std::uint64_t> violations{0};
  std::mutex mutex;
  std::string first_violation;

  void add(std::uint64_t key) { sum.fetch_add(mix64(key), std::memory_order_relaxed); }
  void violate(const std::string& what) {
    ++violations;
    const std::lock_guard lock(mutex);
    if (first_violation.empty()) first_violation = what;
  }
};
extern State* state;

/// Work: what it does follows from its key.
struct Job {
  std::uint64_t key;
  std::uint32_t depth;   ///< of jobs that it may lead to
  std::uint32_t from;    ///< the member or thread outside that sends it, or kUnnumbered
  std::uint32_t number;  ///< of the messages of that one to this receiver in this lane
  bool is_urgent;
};
constexpr std::uint32_t kUnnumbered = ~std::uint32_t{0};

/// Handled or dropped.
struct Pulse {
  std::uint32_t number;
  std::uint64_t to;  ///< the handle that it is sent to
};
/// Message that lies in memory of its own.
struct Question {
  using reply = std::uint64_t;
  std::uint64_t key;
  std::unique_ptr<std::uint64_t> copy;  ///< of the key: messages are moved, and destroyed once
};
/// Answers what was put off.
struct AnswerNow {};
/// The handler fails.
struct Bad {
  std::uint64_t key;
};
struct Tick {
  std::uint64_t key;
};
/// To itself, until others had their turn.
struct Spin {
  std::shared_ptr<std::atomic<bool>> is_over;
};

/// Fate of a question. It follows from the key, so that the asker knows it.
enum class Fate : std::uint8_t { answered, put_off, unanswered, failed };
inline Fate fate_of(std::uint64_t key) {
  constexpr Fate kFates[] = {Fate::answered, Fate::answered, Fate::put_off,    Fate::put_off,
                             Fate::answered, Fate::put_off,  Fate::unanswered, Fate::failed};
  return kFates[mix64(key + 5) % 8];
}
inline std::uint64_t answer_to(std::uint64_t key) { return mix64(key + 6); }

/// Check that turns of an actor never overlap: beside the flag, a plain member for the thread sanitizer.
class Alone {
 public:
  class Scope {
   public:
    explicit Scope(Alone& alone) : alone_(alone) {
      if (alone_.is_inside_.exchange(true, std::memory_order_relaxed))
        state->violate("two turns of an actor at once");
      ++alone_.entered_;
    }
    ~Scope() { alone_.is_inside_.store(false, std::memory_order_relaxed); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Alone& alone_;
  };

 private:
  std::atomic<bool> is_inside_{false};
  std::uint64_t entered_ = 0;
};

using Member = actor<Job, Question, AnswerNow, Down, Tick, Spin>;
using Sink = actor<Pulse>;

constexpr unsigned kShared = 3;

/// Actors that live as long as the program, and those that come and go in the shared places.
struct Cast {
  std::vector<Member> members;
  std::vector<Sink> sinks;
  bool are_urgent = false;                                   ///< the members have an urgent lane
  bool has_threads = false;                                  ///< threads outside take part
  std::array<std::atomic<std::uint64_t>, kShared> shared{};  ///< with threads
};
extern Cast* cast;

/// Spawns them, as the seed says, and sends the first jobs.
void begin(std::uint64_t seed, bool has_threads);
/// Asks all of them to stop.
void end();

}  // namespace actor_programs

// Actors that members and threads outside spawn and share: children, which fail and are stopped in all ways,
// mortals, which are killed, and sinks with bounded mailboxes. Clocks are in clocks.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/actor_programs/program.hpp"

namespace actor_programs {

constexpr unsigned kMembers = 5, kSinks = 2, kMostThreads = 3;

struct BadJob : std::runtime_error {
  explicit BadJob(std::uint64_t k) : std::runtime_error("a bad job"), key(k) {}
  std::uint64_t key;
};

/// Behaviors are destroyed as often as made.
class Counted {
 public:
  Counted() { ++state->made; }
  ~Counted() { ++state->destroyed; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

/// Numbers that a member or a thread outside gives to its messages to members, for each receiver and lane.
class Numbers {
 public:
  std::uint32_t next(std::size_t receiver, bool is_urgent) {
    return ++sent_[2 * receiver + (is_urgent ? 1 : 0)];
  }

 private:
  std::array<std::uint32_t, std::size_t{2} * kMembers> sent_{};
};

inline void send_unnumbered(std::uint64_t key, std::uint32_t depth) {
  ++state->jobs;
  cast->members[mix64(key) % kMembers].send(Job{key, depth, kUnnumbered, 0, false});
}

inline void send_job(std::uint64_t key, std::uint32_t depth, std::uint32_t from, Numbers& numbers) {
  const std::size_t to = mix64(key) % kMembers;
  const bool is_urgent = cast->are_urgent && mix64(key + 4) % 2 == 0;
  ++state->jobs;
  cast->members[to].send(Job{key, depth, from, numbers.next(to, is_urgent), is_urgent},
                         {.priority = is_urgent ? Priority::high : Priority::normal});
}

/// Why there is no answer to a question; null: there is one.
inline std::optional<AskError> error_of(std::uint64_t key, bool is_alive) {
  if (!is_alive) return AskError::stopped;
  const Fate fate = fate_of(key);
  if (fate == Fate::failed) return AskError::failed;
  if (fate == Fate::unanswered) return AskError::no_answer;
  return std::nullopt;
}
inline void note_answer(std::uint64_t key, bool is_alive, std::uint64_t value) {
  ++state->answers;
  if (error_of(key, is_alive) || value != answer_to(key)) state->violate("an answer that was not given");
}
template <class To>
void ask(const To& to, std::uint64_t key, bool is_alive) {
  ++state->asked;
  // No time limit is reached: each ask has an answer or an error, which ends its timer.
  const Ask options{.timeout = mix64(key + 8) % 4 == 0 ? std::chrono::hours(1) : kForever};
  to.ask(Question{key, std::make_unique<std::uint64_t>(key)}, options)
      .then([key, is_alive](std::uint64_t value) { note_answer(key, is_alive, value); },
            [key, is_alive](AskError error) {
              ++state->answers;
              if (error_of(key, is_alive) != error)
                state->violate("an ask fails for another reason than it should");
            });
}

/// Part of members and children that takes questions and jobs.
class Answering {
 public:
  /// True: one is put off, and AnswerNow is to come.
  bool take(Question question, reply<std::uint64_t> answer) {
    if (question.copy == nullptr || *question.copy != question.key)
      state->violate("a message that is not what was sent");
    state->add(question.key);
    switch (fate_of(question.key)) {
      case Fate::answered:
        answer(answer_to(question.key));
        return false;
      case Fate::put_off:
        late_.emplace_back(question.key, std::move(answer));
        return true;
      case Fate::unanswered:
        return false;
      case Fate::failed:
        answer.fail(AskError::failed);
        return false;
    }
    return false;
  }
  void answer_late() {
    auto& [key, answer] = late_.front();
    answer(answer_to(key));
    late_.erase(late_.begin());
  }

 private:
  std::vector<std::pair<std::uint64_t, reply<std::uint64_t>>> late_;
};

/// Child of a member or of a thread outside. Only its parent sends it jobs; some jobs of a member are bad.
struct Child : behavior<Job, Bad, Question, AnswerNow> {
  static constexpr bool restarts = true;
  explicit Child(std::uint32_t stops_after) : stops_after_(stops_after) {}

  void on(const Job& job) {
    const Alone::Scope scope(alone_);
    ++state->handled;
    state->add(job.key);
    if (job.number <= last_) state->violate("a child's messages overtake each other");
    last_ = job.number;
    if (job.depth > 0) send_unnumbered(mix64(job.key + 1), job.depth - 1);
    if (stops_after_ != 0 && --stops_after_ == 0) stop();
  }
  void on(Bad bad) {
    const Alone::Scope scope(alone_);
    state->add(bad.key);
    throw BadJob(bad.key);
  }
  void on(Question question, reply<std::uint64_t> answer) {
    const Alone::Scope scope(alone_);
    if (answering_.take(std::move(question), std::move(answer))) self().send(AnswerNow{});
  }
  void on(AnswerNow) { answering_.answer_late(); }

  Counted counted_;
  Alone alone_;
  Answering answering_;
  std::uint32_t stops_after_;
  std::uint32_t last_ = 0;
};

inline void take_pulse(const Pulse& pulse, std::uint64_t who) {
  ++state->handled_pulses;
  if (pulse.to != who) state->violate("a message reaches another actor than it was sent to");
}

/// Actor that its parent kills: how many pulses it handles before that is open.
struct Mortal : behavior<Pulse> {
  void on(Pulse pulse) {
    const Alone::Scope scope(alone_);
    take_pulse(pulse, self().id());
    if (pulse.number <= last_) state->violate("a mortal's messages overtake each other");
    last_ = pulse.number;
  }
  Counted counted_;
  Alone alone_;
  std::uint32_t last_ = 0;
};

/// Its mailbox has a bound and drops what is over it.
struct Dropping : behavior<Pulse> {
  void on(Pulse pulse) {
    const Alone::Scope scope(alone_);
    take_pulse(pulse, self().id());
  }
  Counted counted_;
  Alone alone_;
};

/// In one of the shared places, until it is replaced or stops by itself. Actors that have read its handle
/// there send to it meanwhile, and afterwards.
struct Passing : behavior<Pulse> {
  explicit Passing(std::uint32_t stops_after) : stops_after_(stops_after) {}
  void on(Pulse pulse) {
    const Alone::Scope scope(alone_);
    take_pulse(pulse, self().id());
    if (stops_after_ != 0 && --stops_after_ == 0) stop();
  }
  Counted counted_;
  Alone alone_;
  std::uint32_t stops_after_;
};

/// By members and threads outside.
inline void send_to_shared(std::uint64_t key) {
  Rng random(key);
  const Sink to = Sink::of(cast->shared[random.below(kShared)].load());
  for (std::uint64_t left = 1 + random.below(4); left != 0; --left) {
    ++state->pulses;
    to.send(Pulse{0, to.id()});
  }
}
inline void replace_shared(std::uint64_t key) {
  Rng random(key);
  std::atomic<std::uint64_t>& place = cast->shared[random.below(kShared)];
  const auto stops_after = static_cast<std::uint32_t>(random.below(4));
  const Sink before = Sink::of(place.exchange(spawn<Passing>(stops_after).id()));
  if (random.below(2) == 0) return before.stop();
  before.kill();
}
inline void kill_mortal(std::uint64_t key) {
  Rng random(key);
  const auto mortal = spawn<Mortal>();
  for (std::uint32_t left = static_cast<std::uint32_t>(random.below(8)), i = 1; left != 0; --left, ++i) {
    ++state->pulses;
    mortal.send(Pulse{i, mortal.id()});
  }
  mortal.kill();
}
inline void pulse_sink(Rng& random) {
  const Sink& sink = cast->sinks[random.below(kSinks)];
  for (std::uint64_t left = random.below(12); left != 0; --left) {
    ++state->pulses;
    const Pulse pulse{0, sink.id()};
    switch (random.below(3)) {
      case 0:
        sink.send(pulse);
        break;
      case 1:
        if (sink.try_send(pulse) != Sent::accepted) ++state->dead_pulses;
        break;
      default:
        try {
          sink.send(pulse, {.patience = std::chrono::microseconds(random.below(20))});
        } catch (const TaskError&) {  // of a thread outside: there was no room
          ++state->dead_pulses;
        }
    }
  }
}

}  // namespace actor_programs

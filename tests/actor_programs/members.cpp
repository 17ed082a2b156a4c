// The actors of a random program: members, who hand on work to each other, their children, who fail and are
// stopped in all ways, and sinks with bounded mailboxes.
// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tests/actor_programs/program.hpp"

namespace actor_programs {
namespace {

constexpr unsigned kMembers = 5, kSinks = 2;

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

/// What a member gives to others, numbered for each receiver and lane.
class Numbers {
 public:
  std::uint32_t next(std::size_t receiver, bool is_urgent) {
    return ++sent_[2 * receiver + (is_urgent ? 1 : 0)];
  }

 private:
  std::array<std::uint32_t, std::size_t{2} * kMembers> sent_{};
};

void send_unnumbered(std::uint64_t key, std::uint32_t depth) {
  ++state->jobs;
  cast->members[mix64(key) % kMembers].send(Job{key, depth, kUnnumbered, 0, false});
}

/// What takes questions and jobs, of members and of children.
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

/// A member's child. It gets jobs of its parent only, some of which are bad.
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

/// Its parent kills it: how many pulses it handles before is open.
struct Mortal : behavior<Pulse> {
  void on(Pulse pulse) {
    const Alone::Scope scope(alone_);
    ++state->handled_pulses;
    if (pulse.number <= last_) state->violate("a mortal's messages overtake each other");
    last_ = pulse.number;
  }
  Counted counted_;
  Alone alone_;
  std::uint32_t last_ = 0;
};

/// Its mailbox has a bound and drops what is over it.
struct Dropping : behavior<Pulse> {
  void on(Pulse) {
    const Alone::Scope scope(alone_);
    ++state->handled_pulses;
  }
  Counted counted_;
  Alone alone_;
};

struct Worker : behavior<Job, Question, AnswerNow, Down, Tick, Spin> {
  Worker(std::uint32_t index, bool is_urgent) : index_(index), is_urgent_(is_urgent) {}

  void on(Job job) {
    const Alone::Scope scope(alone_);
    // Every second time, put aside and brought back at once: before what waits.
    if (!std::exchange(was_stashed_, false) && mix64(job.key + 2) % 16 == 0) {
      was_stashed_ = true;
      stash(job);
      unstash_all();
      return;
    }
    ++state->handled;
    state->add(job.key);
    check_order(job);
    if (job.depth == 0) return;
    Rng random(job.key);
    for (std::uint64_t left = random.below(4); left != 0; --left) act(random, job.depth - 1);
  }
  void on(Question question, reply<std::uint64_t> answer) {
    const Alone::Scope scope(alone_);
    if (answering_.take(std::move(question), std::move(answer))) self().send(AnswerNow{});
  }
  void on(AnswerNow) { answering_.answer_late(); }
  void on(Down down) {
    const Alone::Scope scope(alone_);
    ++state->downs;
    // It is over for good, whatever else its cell is used for meanwhile.
    ++state->jobs;
    actor<Job, Bad, Question, AnswerNow>::of(down.who.id()).send(Job{0, 0, kUnnumbered, 0, false});
  }
  void on(Tick tick) {
    const Alone::Scope scope(alone_);
    ++state->due;
    state->add(tick.key);
  }
  void on(Spin spin) {
    const Alone::Scope scope(alone_);
    if (!*spin.is_over) self().send(std::move(spin));
  }
  Directive on_failure(const Failure& failure) {
    const Alone::Scope scope(alone_);
    try {
      std::rethrow_exception(failure.error);
    } catch (const BadJob& bad) {
      return directive_of(bad.key);
    } catch (...) {
      return Directive::escalate;
    }
  }

 private:
  static Directive directive_of(std::uint64_t key) {
    constexpr Directive kChoices[] = {Directive::resume, Directive::restart, Directive::stop};
    return kChoices[mix64(key + 3) % 3];
  }

  void check_order(const Job& job) {
    if (job.from == kUnnumbered) return;
    std::uint32_t& seen = seen_[2 * job.from + (job.is_urgent ? 1 : 0)];
    if (job.number != ++seen) state->violate("messages of one sender overtake each other, or are lost");
  }

  void act(Rng& random, std::uint32_t depth) {
    const std::uint64_t key = random();
    switch (random.below(12)) {
      case 0:
        return ask_member(key);
      case 1:
      case 2:
        return spawn_child(key, depth);
      case 3:
        return kill_mortal(key);
      case 4: {
        ++state->timers;
        static_cast<void>(after(std::chrono::microseconds(random.below(40)), Tick{key}));
        timer cancelled = after(std::chrono::hours(1), Tick{key});
        return cancelled.cancel();
      }
      case 5:
        return create<nonspec>(send_unnumbered, {}, key, depth);
      case 6:
        return pulse(random);
      case 7:
        return random.below(8) == 0 ? spin() : send_job(key, depth);
      default:
        return send_job(key, depth);
    }
  }

  void send_job(std::uint64_t key, std::uint32_t depth) {
    const std::size_t to = mix64(key) % kMembers;
    const bool is_urgent = is_urgent_of(to) && mix64(key + 4) % 2 == 0;
    ++state->jobs;
    cast->members[to].send(Job{key, depth, index_, numbers_.next(to, is_urgent), is_urgent},
                           {.priority = is_urgent ? Priority::high : Priority::normal});
  }
  /// All or none of a program's members have an urgent lane.
  bool is_urgent_of(std::size_t) const { return is_urgent_; }

  template <class To>
  static void ask(const To& to, std::uint64_t key, bool is_alive) {
    ++state->asked;
    to.ask(Question{key, std::make_unique<std::uint64_t>(key)})
        .then(
            [key, is_alive](std::uint64_t value) {
              ++state->answers;
              const Fate fate = fate_of(key);
              if (!is_alive || fate == Fate::unanswered || fate == Fate::failed || value != answer_to(key))
                state->violate("an answer that was not given");
            },
            [key, is_alive](AskError error) {
              ++state->answers;
              const Fate fate = fate_of(key);
              const bool is_right = !is_alive                  ? error == AskError::stopped
                                    : fate == Fate::failed     ? error == AskError::failed
                                    : fate == Fate::unanswered ? error == AskError::no_answer
                                                               : false;
              if (!is_right) state->violate("an ask fails for another reason than it should");
            });
  }
  void ask_member(std::uint64_t key) const { ask(cast->members[mix64(key) % kMembers], key, true); }

  void spawn_child(std::uint64_t key, std::uint32_t depth) {
    Rng random(key);
    const auto jobs = static_cast<std::uint32_t>(random.below(6));
    const auto stops_after = static_cast<std::uint32_t>(random.below(3) == 0 ? 1 + random.below(4) : 0);
    const auto child =
        spawn<Child>({.turn_messages = static_cast<std::uint32_t>(random.below(3))}, stops_after);
    ++state->watched;
    watch(child);
    bool may_be_over = false;  // since jobs before end it
    for (std::uint32_t i = 1; i <= jobs; ++i) {
      ++state->jobs;
      child.send(Job{random(), depth, kUnnumbered, i, false});
      may_be_over = may_be_over || stops_after != 0;
      if (random.below(4) == 0) {
        const std::uint64_t bad = random();
        child.send(Bad{bad});
        may_be_over = may_be_over || directive_of(bad) == Directive::stop;
      }
    }
    if (!may_be_over && random.below(2) == 0) {
      std::uint64_t asked = random();
      // One that is put off would come after stop().
      while (fate_of(asked) == Fate::put_off) asked = random();
      ask(child, asked, true);
    }
    child.stop();
    ++state->jobs;
    child.send(Job{random(), depth, kUnnumbered, jobs + 1, false});
    ask(child, random(), false);
  }

  static void kill_mortal(std::uint64_t key) {
    Rng random(key);
    const auto mortal = spawn<Mortal>();
    for (std::uint32_t left = static_cast<std::uint32_t>(random.below(8)), i = 1; left != 0; --left, ++i) {
      ++state->pulses;
      mortal.send(Pulse{i});
    }
    mortal.kill();
  }

  static void pulse(Rng& random) {
    const Sink& sink = cast->sinks[random.below(kSinks)];
    for (std::uint64_t left = random.below(12); left != 0; --left) {
      ++state->pulses;
      if (random.below(2) == 0) {
        sink.send(Pulse{0});
      } else if (sink.try_send(Pulse{0}) != Sent::accepted) {
        ++state->dead_pulses;
      }
    }
  }

  /// Ends only if another actor has a turn meanwhile.
  void spin() {
    struct Other : behavior<Spin> {
      void on(const Spin& spin) {
        *spin.is_over = true;
        stop();
      }
    };
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    self().send(Spin{is_over});
    spawn<Other>().send(Spin{is_over});
  }

  Counted counted_;
  Alone alone_;
  Answering answering_;
  Numbers numbers_;
  std::array<std::uint32_t, std::size_t{2} * kMembers> seen_{};
  const std::uint32_t index_;
  const bool is_urgent_;
  bool was_stashed_ = false;
};

}  // namespace

State* state = nullptr;
Cast* cast = nullptr;

void begin(std::uint64_t seed) {
  Rng random(mix64(seed));
  const bool is_urgent = random.below(3) == 0;
  const bool is_bounded = random.below(3) == 0;
  const auto small_turns = static_cast<std::uint32_t>(random.below(4));
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    const auto capacity =
        static_cast<std::uint32_t>(is_bounded && random.below(2) == 0 ? 1 + random.below(6) : 0);
    cast->members.push_back(
        spawn<Worker>({.mailbox = {.capacity = capacity}, .urgent = is_urgent, .turn_messages = small_turns},
                      i, is_urgent));
  }
  constexpr WhenFull kDropping[] = {WhenFull::refuse, WhenFull::drop_newest, WhenFull::drop_oldest};
  for (unsigned i = 0; i < kSinks; ++i) {
    const auto capacity = static_cast<std::uint32_t>(1 + random.below(4));
    cast->sinks.push_back(
        spawn<Dropping>({.mailbox = {.capacity = capacity, .when_full = kDropping[random.below(3)]}}));
  }
  for (std::uint64_t left = 1 + random.below(6); left != 0; --left)
    send_unnumbered(random(), static_cast<std::uint32_t>(2 + random.below(7)));
}

void end() {
  for (const Member& member : cast->members) member.stop();
  for (const Sink& sink : cast->sinks) sink.stop();
}

}  // namespace actor_programs

// The members of a random program: they hand on work to each other and spawn others.
// SPDX-License-Identifier: MIT
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tests/actor_programs/actors.hpp"
#include "tests/actor_programs/clocks.hpp"
#include "tests/actor_programs/crews.hpp"
#include "tests/actor_programs/stations.hpp"

namespace actor_programs {
namespace {

struct Worker : behavior<Job, Question, AnswerNow, Down, Tick, Spin> {
  explicit Worker(std::uint32_t index) : index_(index) {}

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
    // The watched actor has ended for good, whatever its cell is used for meanwhile.
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
    } catch (const ClockFailed&) {
      return Directive::restart;
    } catch (const StationFailed&) {
      return Directive::restart;
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
    switch (random.below(14)) {
      case 13:
        return random.below(3) == 0 ? spawn_station(key) : send_job(key, depth, index_, numbers_);
      case 12:
        return random.below(3) == 0 ? spawn_clock(key) : send_job(key, depth, index_, numbers_);
      case 0:
        return ask_member(key);
      case 1:
      case 2:
        return spawn_child(key, depth);
      case 3:
        if (!cast->has_threads) return kill_mortal(key);
        return random.below(2) == 0 ? replace_shared(key) : send_to_shared(key);
      case 4: {
        ++state->timers;
        static_cast<void>(after(std::chrono::microseconds(random.below(40)), Tick{key}));
        timer cancelled = after(std::chrono::hours(1), Tick{key});
        return cancelled.cancel();
      }
      case 5:
        return create<nonspec>(send_unnumbered, {}, key, depth);
      case 6:
        return pulse_sink(random);
      case 7:
        return random.below(8) == 0 ? spin() : send_job(key, depth, index_, numbers_);
      default:
        return send_job(key, depth, index_, numbers_);
    }
  }

  static void ask_member(std::uint64_t key) { ask(cast->members[mix64(key) % kMembers], key, true); }

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
      // A question that is put off would be answered after stop().
      while (fate_of(asked) == Fate::put_off) asked = random();
      ask(child, asked, true);
    }
    child.stop();
    ++state->jobs;
    child.send(Job{random(), depth, kUnnumbered, jobs + 1, false});
    ask(child, random(), false);
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
  std::array<std::uint32_t, std::size_t{2} * (kMembers + kMostThreads)> seen_{};
  const std::uint32_t index_;
  bool was_stashed_ = false;
};

}  // namespace

State* state = nullptr;
Cast* cast = nullptr;

void begin(std::uint64_t seed, bool has_threads) {
  Rng random(mix64(seed));
  const bool is_urgent = random.below(3) == 0;
  const bool is_bounded = random.below(3) == 0;
  const auto small_turns = static_cast<std::uint32_t>(random.below(4));
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    const auto capacity =
        static_cast<std::uint32_t>(is_bounded && random.below(2) == 0 ? 1 + random.below(6) : 0);
    cast->members.push_back(spawn<Worker>(
        {.mailbox = {.capacity = capacity}, .urgent = is_urgent, .turn_messages = small_turns}, i));
  }
  cast->are_urgent = is_urgent;
  cast->has_threads = has_threads;
  if (has_threads)
    for (std::atomic<std::uint64_t>& place : cast->shared) place = spawn<Passing>(0u).id();
  constexpr WhenFull kDropping[] = {WhenFull::refuse, WhenFull::drop_newest, WhenFull::drop_oldest,
                                    WhenFull::mute};
  for (unsigned i = 0; i < kSinks; ++i) {
    const auto capacity = static_cast<std::uint32_t>(1 + random.below(4));
    cast->sinks.push_back(
        spawn<Dropping>({.mailbox = {.capacity = capacity, .when_full = kDropping[random.below(4)]}}));
  }
  Rng of_crews(mix64(seed ^ 0x6372657773));
  if (of_crews.below(4) == 0)
    for (std::uint64_t left = 1 + of_crews.below(3); left != 0; --left) spawn_crew(of_crews());
  for (std::uint64_t left = 1 + random.below(6); left != 0; --left)
    send_unnumbered(random(), static_cast<std::uint32_t>(2 + random.below(7)));
}

void end() {
  for (const Member& member : cast->members) member.stop();
  for (const Sink& sink : cast->sinks) sink.stop();
  if (cast->has_threads)
    for (const std::atomic<std::uint64_t>& place : cast->shared) Sink::of(place).stop();
}

}  // namespace actor_programs

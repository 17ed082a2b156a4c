// Crews: a foreman and its hands, children that fail and are made again, alone or all of them, at once or
// after a delay. Hands run on workers or on threads of their own, have bounds and time-outs for idleness, and
// may be asked, made again or told to stop in any of these states. Each task that a hand is given counts
// once.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "tests/actor_programs/actors.hpp"

namespace actor_programs {

struct HandFailed : std::runtime_error {
  explicit HandFailed(std::uint64_t k) : std::runtime_error("a hand fails"), key(k) {}
  std::uint64_t key;
};
struct Toil {
  std::uint64_t key;
  std::uint32_t number;  ///< of the toils of this hand
  bool is_bad;
};
struct Muster {};
struct Finished {};

/// Account of a hand, over its lives.
struct Ledger {
  std::uint32_t left, last = 0;
};

struct Hand : behavior<Toil, Question, Idle> {
  static constexpr bool restarts = true;

  Hand(std::shared_ptr<Ledger> ledger, actor<Finished> foreman, std::uint64_t key)
      : ledger_(std::move(ledger)), foreman_(foreman) {
    if (key % 2 == 0) idle_after(std::chrono::microseconds(1 + mix64(key) % 30));
  }
  void on(const Toil& toil) {
    const Alone::Scope scope(alone_);
    ++state->toiled;
    state->add(toil.key);
    if (toil.number != ++ledger_->last) state->violate("a hand's messages overtake each other, or are lost");
    if (toil.key % 4 == 0) send_unnumbered(mix64(toil.key + 9), static_cast<std::uint32_t>(toil.key / 4 % 3));
    if (--ledger_->left == 0) foreman_.send(Finished{});
    if (toil.is_bad) throw HandFailed(toil.key);
  }
  void on(Question question, reply<std::uint64_t> answer) {
    const Alone::Scope scope(alone_);
    if (answering_.take(std::move(question), std::move(answer))) answering_.answer_late();
  }
  void on(Idle) { const Alone::Scope scope(alone_); }

 private:
  Counted counted_;
  Alone alone_;
  Answering answering_;
  std::shared_ptr<Ledger> ledger_;
  actor<Finished> foreman_;
};

struct Foreman : behavior<Muster, Finished> {
  explicit Foreman(std::uint64_t key) : random_(key) {}
  ~Foreman() { ++state->ended_crews; }

  void on(Muster) {
    const Alone::Scope scope(alone_);
    hands_ = 1 + static_cast<std::uint32_t>(random_.below(4));
    for (std::uint32_t i = 0; i < hands_; ++i) hire();
  }
  void on(Finished) {
    const Alone::Scope scope(alone_);
    ++finished_;
    end_if_done();
  }
  Directive on_failure(const Failure& failure) {
    const Alone::Scope scope(alone_);
    try {
      std::rethrow_exception(failure.error);
    } catch (const HandFailed& failed) {
      constexpr Directive kChoices[] = {Directive::restart, Directive::restart_all, Directive::resume};
      return kChoices[mix64(failed.key + 3) % 3];
    } catch (...) {
      return Directive::escalate;
    }
  }

 private:
  void hire() {
    const auto toils = static_cast<std::uint32_t>(1 + random_.below(8));
    const auto ledger = std::make_shared<Ledger>(Ledger{toils});
    const std::uint64_t key = random_();
    const std::uint64_t delay = random_.below(40);  // half of them wait before they are made again
    const Restarts often{.most = 1000,
                         .delay = std::chrono::microseconds(delay < 20 ? 0 : delay - 19),
                         .most_delay = std::chrono::microseconds(50)};
    const ActorThread thread = random_.below(4) == 0 ? ActorThread::own : ActorThread::any_worker;
    const auto hand = spawn<Hand>({.mailbox = {.capacity = static_cast<std::uint32_t>(random_.below(4))},
                                   .urgent = random_.below(4) == 0,
                                   .turn_messages = static_cast<std::uint32_t>(random_.below(3)),
                                   .restarts = often,
                                   .thread = thread},
                                  ledger, actor<Finished>(self()), key);
    for (std::uint32_t i = 1; i <= toils; ++i) {
      ++state->toils;
      hand.send(Toil{random_(), i, random_.below(4) == 0});
      if (random_.below(4) == 0) question(hand);
    }
  }
  void question(const actor<Toil, Question, Idle>& hand) {
    ++state->asked;
    ++asked_;
    const std::uint64_t key = random_();
    hand.ask(Question{key, std::make_unique<std::uint64_t>(key)})
        .then(
            [this, key](std::uint64_t value) {
              note_answer(key, true, value);
              ++answered_;
              end_if_done();
            },
            [this, key](AskError error) {
              ++state->answers;
              if (error_of(key, true) != error)
                state->violate("a hand's ask fails for another reason than it should");
              ++answered_;
              end_if_done();
            });
  }
  void end_if_done() {
    if (finished_ == hands_ && answered_ == asked_) stop();
  }

  Counted counted_;
  Alone alone_;
  Rng random_;
  std::uint32_t hands_ = 0, finished_ = 0, asked_ = 0, answered_ = 0;
};

/// In the beginning of a program.
inline void spawn_crew(std::uint64_t key) {
  ++state->crews;
  spawn<Foreman>(key).send(Muster{});
}

}  // namespace actor_programs

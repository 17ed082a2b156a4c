// Cost of actors of the native engine: a message, a turn, an answer, an actor's life. RUBATO_WORKERS chooses
// the number of workers.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <cstdint>

#include "rubato/actors.hpp"

namespace {

using namespace rubato;

constexpr std::uint64_t kItems = 1 << 18;

void count_items(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(kItems) * state.iterations());
}

struct Message {};

struct Counter : behavior<Message> {
  void on(Message) { ++count; }
  std::uint64_t count = 0;
};
/// Parts of `range` messages each, sent by a task that then lets the actor handle them.
void send_parts(Counter::address to, std::uint64_t parts, std::uint64_t size) {
  for (std::uint64_t i = 0; i < size; ++i) to.send(Message{});
  if (parts > 1) create<nonspec>(send_parts, {}, to, parts - 1, size);
}
void messages(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const auto counter = spawn<Counter>();
  for (auto _ : state) {
    create<nonspec>(send_parts, {}, counter, kItems / size, size);
    run();
  }
  counter.stop();
  run();
  count_items(state);
}
BENCHMARK(messages)->Arg(50)->Arg(16384);

/// Each message has a turn of its own.
struct Begin {
  std::uint64_t messages;
};
struct Player : behavior<Message, Begin> {
  explicit Player(actor<Message> second) : other(second) {}
  void on(Begin begin) {
    left = begin.messages;
    other.send(Message{});
  }
  void on(Message) {
    if (--left != 0) other.send(Message{});
  }
  actor<Message> other;
  std::uint64_t left = 0;
};
struct Second : behavior<Message, actor<Message>> {
  void on(actor<Message> first) { other = first; }
  void on(Message) { other.send(Message{}); }
  actor<Message> other;
};
void ping_pong(benchmark::State& state) {
  const auto second = spawn<Second>();
  const auto first = spawn<Player>(second);
  second.send(actor<Message>(first));
  for (auto _ : state) {
    first.send(Begin{kItems / 2});
    run();
  }
  first.stop(), second.stop();
  run();
  count_items(state);
}
BENCHMARK(ping_pong);

struct Question {
  using reply = std::uint64_t;
};
struct Answers : behavior<Question> {
  std::uint64_t on(Question) { return ++count; }
  std::uint64_t count = 0;
};
struct Asks : behavior<Begin> {
  explicit Asks(actor<Question> asked) : whom(asked) {}
  void on(Begin begin) {
    left = begin.messages;
    ask();
  }
  void ask() {
    whom.ask(Question{}).then([this](std::uint64_t) {
      if (--left != 0) ask();
    });
  }
  actor<Question> whom;
  std::uint64_t left = 0;
};
void asks(benchmark::State& state) {
  const auto answers = spawn<Answers>();
  const auto asking = spawn<Asks>(answers);
  for (auto _ : state) {
    asking.send(Begin{kItems});
    run();
  }
  answers.stop(), asking.stop();
  run();
  count_items(state);
}
BENCHMARK(asks);

struct Once : behavior<Message> {
  void on(Message) { stop(); }
};
/// Crowds of `range` actors, one crowd after the other: spawned, one message each, stopped.
void spawn_crowds(std::uint64_t crowds, std::uint64_t size) {
  for (std::uint64_t i = 0; i < size; ++i) spawn<Once>().send(Message{});
  if (crowds > 1) create<nonspec>(spawn_crowds, {}, crowds - 1, size);
}
void lives(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    create<nonspec>(spawn_crowds, {}, kItems / size, size);
    run();
  }
  count_items(state);
}
BENCHMARK(lives)->Arg(64)->Arg(4096);

}  // namespace

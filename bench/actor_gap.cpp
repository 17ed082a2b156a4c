// Two actors on a worker each hand a message to and fro, and work for a while before they answer: the gap in
// which the other worker finds nothing. Lagging (native/lag) is about that gap. Prints one JSON object.
//   build/release/bin/bench_actor_gap MICROSECONDS [MESSAGES]
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "bench/number.hpp"
#include "bench/processor_seconds.hpp"
#include "rubato/actors.hpp"

namespace {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do
using Clock = std::chrono::steady_clock;

struct Measured {
  double seconds = 0, processor_seconds = 0;
};

struct Ball {
  std::uint64_t left;  // of all, the first half of which is to warm up
};

struct Player : behavior<Ball, actor<Ball>> {
  Player(Clock::duration work, std::uint64_t messages, Measured& measured)
      : work_(work), measured_at_(messages), measured_(measured) {}
  void on(actor<Ball> other) { other_ = other; }
  void on(Ball ball) {
    if (ball.left == measured_at_) {
      measured_.seconds = -seconds();
      measured_.processor_seconds = -processor_seconds();
    } else if (ball.left == 0) {
      measured_.seconds += seconds();
      measured_.processor_seconds += processor_seconds();
      return;
    }
    for (const Clock::time_point end = Clock::now() + work_; Clock::now() < end;) {
    }
    other_.send(Ball{ball.left - 1});
  }

 private:
  static double seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

  Clock::duration work_;
  std::uint64_t measured_at_;
  Measured& measured_;
  actor<Ball> other_;
};

}  // namespace

int main(int argc, char** argv) {
  const double microseconds = argc > 1 ? number(argv[1], 0.0, 1e6).value_or(-1) : -1;
  const double messages = argc > 2 ? number(argv[2], 1.0, 1e9).value_or(-1) : 20'000;
  if (microseconds < 0 || messages < 0 || argc > 3) {
    std::fputs(
        "usage: bench_actor_gap MICROSECONDS [MESSAGES], with up to a second and at least one message\n",
        stderr);
    return 2;
  }
  if (native::workers() < 2) {
    std::fputs("bench_actor_gap: it needs two workers, for an actor each (RUBATO_WORKERS)\n", stderr);
    return 2;
  }
  const auto work =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(microseconds));
  const auto count = static_cast<std::uint64_t>(messages);
  Measured measured;
  const auto first = spawn<Player>({.core = 0}, work, count, measured);
  const auto second = spawn<Player>({.core = 1}, work, count, measured);
  first.send(actor<Ball>(second));
  second.send(actor<Ball>(first));
  first.send(Ball{2 * count});
  run();
  const native::Counters counters = native::counters();
  std::printf(
      "{\"handler_us\": %.3f, \"messages\": %.0f, \"us_a_message\": %.4f, \"cpu_us_a_message\": %.4f, "
      "\"parks\": %llu, \"samples\": %llu, \"lags\": %llu, \"hits\": %llu, \"switch_us\": %.2f}\n",
      microseconds, messages, 1e6 * measured.seconds / messages, 1e6 * measured.processor_seconds / messages,
      static_cast<unsigned long long>(counters.parks), static_cast<unsigned long long>(counters.lag_samples),
      static_cast<unsigned long long>(counters.lags), static_cast<unsigned long long>(counters.lag_hits),
      static_cast<double>(counters.lag_switch_ns) / 1e3);
  first.stop();
  second.stop();
  run();
  return 0;
}

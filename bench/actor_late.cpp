// How late the message of a long handler is handled, beside an idle worker, when so many short handlers of
// the same actor have come before. The handler sends, then works on for 3 ms; every eighth short one sends to
// the other actor, too. Prints one JSON object.
//   build/release/bin/bench_actor_late SHORT_HANDLERS NANOSECONDS_EACH [LONG_HANDLERS]
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "bench/number.hpp"
#include "bench/processor_seconds.hpp"
#include "rubato/actors.hpp"

namespace {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do
using Clock = std::chrono::steady_clock;

constexpr auto kLong = std::chrono::milliseconds(3);

void work(Clock::duration how_long) {
  for (const Clock::time_point end = Clock::now() + how_long; Clock::now() < end;) {
  }
}

struct Sent {
  Clock::time_point at;
};
struct Step {
  long left;
};

struct Receiver : behavior<Sent, Step> {
  explicit Receiver(std::vector<double>& late) : late_(late) {}
  void on(Sent sent) {
    late_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - sent.at).count());
  }
  void on(Step) {}

 private:
  std::vector<double>& late_;
};

struct Sender : behavior<Step> {
  Sender(actor<Sent, Step> to, Clock::duration each) : to_(to), each_(each) {}
  void on(Step step) {
    if (step.left == 0) {
      to_.send(Sent{Clock::now()});
      return work(kLong);
    }
    work(each_);
    if (step.left % 8 == 0) to_.send(step);
    self().send(Step{step.left - 1});
  }

 private:
  actor<Sent, Step> to_;
  Clock::duration each_;
};

}  // namespace

int main(int argc, char** argv) {
  const long handlers = argc > 1 ? number(argv[1], 0l, 100'000'000l).value_or(-1) : -1;
  const long each = argc > 2 ? number(argv[2], 0l, 1'000'000l).value_or(-1) : -1;
  const long rounds = argc > 3 ? number(argv[3], 1l, 100'000l).value_or(-1) : 60;
  if (handlers < 0 || each < 0 || rounds < 0 || argc > 4) {
    std::fputs(
        "usage: bench_actor_late SHORT_HANDLERS NANOSECONDS_EACH [LONG_HANDLERS], with up to a millisecond "
        "each and at least one long handler\n",
        stderr);
    return 2;
  }
  if (native::workers() < 2) {
    std::fputs("bench_actor_late: it needs two workers, one of which is idle (RUBATO_WORKERS)\n", stderr);
    return 2;
  }
  std::vector<double> late;
  const auto receiver = spawn<Receiver>(late);
  const auto sender = spawn<Sender>(receiver, std::chrono::nanoseconds(each));
  const double processor = processor_seconds();
  const Clock::time_point began = Clock::now();
  for (long round = 0; round < rounds; ++round) {
    sender.send(Step{handlers});
    run();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const double processors = (processor_seconds() - processor) / seconds;
  std::sort(late.begin(), late.end());
  std::printf(
      "{\"short_handlers\": %ld, \"ns_each\": %ld, \"long_handlers\": %ld, \"late_us_least\": %.1f, "
      "\"late_us_median\": %.1f, "
      "\"late_us_p90\": %.1f, \"late_us_most\": %.1f, \"processors\": %.3f}\n",
      handlers, each, rounds, late.front(), late[late.size() / 2], late[late.size() * 9 / 10], late.back(),
      processors);
  sender.stop();
  receiver.stop();
  run();
  return 0;
}

// Creatures meet in pairs at one place and change their colours: all messages go through one mailbox.
// SPDX-License-Identifier: MIT
#include <optional>

#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::chameneos {
namespace {

enum class Color : std::uint8_t { blue, red, yellow, faded };

/// The third colour, or the same.
Color complement(Color a, Color b) {
  if (a == b) return a;
  return static_cast<Color>(3 - static_cast<int>(a) - static_cast<int>(b));
}

struct Change {
  Color color;
};
struct Exit {};
struct Meet;
struct Met;  // the place passes a creature's Meet on to the one that waits
using Creature = actor<Met, Change, Exit>;
struct Met {
  Color color;
  actor<Change> other;
};
struct Meet {
  Color color;
  Creature from;
};
struct Count {
  std::uint64_t meetings;
};

struct Place : behavior<Meet, Count> {
  Place(std::uint64_t& result, std::uint64_t creatures, std::uint64_t meetings)
      : result_(result), creatures_(creatures), left_(meetings) {}
  void on(Meet meet) {
    if (left_ == 0) return meet.from.send(Exit{});
    if (!waiting_) {
      waiting_ = meet.from;
      return;
    }
    --left_;
    waiting_.send(Met{meet.color, meet.from});
    waiting_ = Creature();
  }
  void on(Count count) {
    sum_ += count.meetings;
    if (++faded_ != creatures_) return;
    result_ = sum_;
    stop();
  }
  std::uint64_t& result_;
  std::uint64_t creatures_, left_, sum_ = 0, faded_ = 0;
  Creature waiting_;
};

struct Chameneo : behavior<Met, Change, Exit> {
  Chameneo(actor<Meet, Count> place, Color color) : place_(place), color_(color) {
    place_.send(Meet{color_, self()});
  }
  void on(Met met) {
    color_ = complement(color_, met.color);
    met.other.send(Change{color_});
    go_on();
  }
  void on(Change change) {
    color_ = change.color;
    go_on();
  }
  void on(Exit) {
    color_ = Color::faded;
    place_.send(Count{meetings_});
    stop();
  }
  void go_on() {
    ++meetings_;
    place_.send(Meet{color_, self()});
  }
  actor<Meet, Count> place_;
  Color color_;
  std::uint64_t meetings_ = 0;
};

void iterate(Iteration& it) {
  const std::uint64_t creatures = it["c"], meetings = it["m"];
  std::uint64_t result = 0;
  it.measure([&] {
    const auto place = spawn<Place>(result, creatures, meetings);
    for (std::uint64_t i = 0; i < creatures; ++i) spawn<Chameneo>(place, static_cast<Color>(i % 3));
  });
  it.verify([&] {
    it.expect("meetings of all", result, 2 * meetings);
    it.expect_actors(creatures + 1);
    it.expect_messages(4 * meetings + 3 * creatures);
  });
}

constexpr Parameter kParameters[] = {{"c", 100, 20, 2}, {"m", 200'000, 1'000, 0}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"chameneos", "micro", "creatures meet in pairs at one place", kParameters, iterate};

}  // namespace rubato::apps::savina::chameneos

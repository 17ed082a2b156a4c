// Event streams: a station with two typed channels, one of temperatures and one of alarms, each sealed by its
// sender when it has no more. Standard input has a number a line, or the word "alarm". Prints the warm
// temperatures' running mean until the first alarm, and how many of each there were: bin/streams-native,
// bin/streams-serial.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

#include "rubato/actors.hpp"

using namespace rubato;

struct Alarm {};
struct Mean {
  double sum = 0;
  int count = 0;
};
/// The channels for the reader.
struct Inputs {
  channel<double> temperatures;
  channel<Alarm> alarms;
};
struct Open {
  using reply = Inputs;
};

struct Station : behavior<Open> {
  Station() {
    const auto warm = temperatures_.events.filter([](double t) { return t > 20; });
    warm.scan(Mean{},
              [](Mean mean, double t) {
                return Mean{mean.sum + t, mean.count + 1};
              })
        .until(alarms_.events)
        .on([](const Mean& mean) { std::printf("mean %.1f\n", mean.sum / mean.count); });
    temperatures_.events.on([this](double) { ++temperatures_seen_; });
    alarms_.events.on([this](Alarm) { ++alarms_seen_; });
    // Both are sealed: nothing comes any more.
    temperatures_.events.map([](double) { return 0; })
        .merge(alarms_.events.map([](Alarm) { return 0; }))
        .on([](int) {},
            [this] {
              std::printf("%d temperatures, %d alarms\n", temperatures_seen_, alarms_seen_);
              stop();
            });
  }
  Inputs on(Open) { return {temperatures_.channel, alarms_.channel}; }

  connector<double> temperatures_ = open<double>();
  connector<Alarm> alarms_ = open<Alarm>();
  int temperatures_seen_ = 0, alarms_seen_ = 0;
};

struct Next {};
struct Reader : behavior<Next> {
  explicit Reader(actor<Open> station) {
    station.ask(Open{}).then([this](Inputs inputs) {
      inputs_ = inputs;
      self().send(Next{});
    });
  }
  void on(Next) {
    std::string word;
    if (!(std::cin >> word)) {
      inputs_.temperatures.seal(), inputs_.alarms.seal();
      return stop();
    }
    if (word == "alarm") {
      inputs_.alarms.send(Alarm{});
    } else {
      inputs_.temperatures.send(std::stod(word));
    }
    self().send(Next{});
  }
  Inputs inputs_;
};

int main() {
  spawn<Reader>(spawn<Station>({.mailbox = {.capacity = 64}}));
  run();
}

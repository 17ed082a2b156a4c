// A pipeline with back-pressure: words of standard input are counted by actors, one for each first letter,
// whose mailboxes have bounds. The reader is muted while a counter is behind, so that memory does not grow
// with the input. Prints a line "WORD COUNT" for each word, in order: bin/pipeline-native,
// bin/pipeline-serial.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "rubato/actors.hpp"

using namespace rubato;

struct Word {
  std::string text;
};
struct End {};
struct Counts {
  std::map<std::string, std::uint64_t> of;
};

struct Counter : behavior<Word, End> {
  explicit Counter(actor<Counts> to) : to_(to) {}
  void on(Word word) { ++counts_.of[std::move(word.text)]; }
  void on(End) {
    to_.send(std::move(counts_));
    stop();
  }
  actor<Counts> to_;
  Counts counts_;
};

constexpr unsigned kCounters = 4;

struct Printer : behavior<Counts> {
  void on(Counts counts) {
    all_.merge(counts.of);
    if (++received_ < kCounters) return;
    for (const auto& [word, count] : all_)
      std::printf("%s %llu\n", word.c_str(), static_cast<unsigned long long>(count));
    stop();
  }
  std::map<std::string, std::uint64_t> all_;
  unsigned received_ = 0;
};

struct Next {};
struct Reader : behavior<Next> {
  explicit Reader(actor<Counts> printer) {
    const Spawn bounded{.mailbox = {.capacity = 64, .when_full = WhenFull::mute}};
    for (auto& counter : counters_) counter = spawn<Counter>(bounded, printer);
    self().send(Next{});
  }
  /// A word a message: whether this actor goes on is decided between two of them.
  void on(Next) {
    Word word;
    if (std::cin >> word.text) {
      counters_[static_cast<unsigned char>(word.text[0]) % kCounters].send(std::move(word));
      return self().send(Next{});
    }
    for (const auto& counter : counters_) counter.send(End{});
    stop();  // after the counters, which it has spawned
  }
  std::array<actor<Word, End>, kCounters> counters_;
};

int main() {
  spawn<Reader>(spawn<Printer>());
  run();
}

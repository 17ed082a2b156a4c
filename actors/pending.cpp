// Asks without an answer and stashed messages: how many there are, and what is said of them when a run ends.
// An actor that waits for ever looks like one that has nothing to do.
//
// Each thread counts on a line of its own: an ask that is made on one and answered on another is 1 here and
// -1 there.
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "actors/lifecycle.hpp"
#include "actors/living.hpp"

namespace rubato::inline v0::engine {
namespace {

struct alignas(64) Line {
  std::atomic<std::int64_t> asks{0}, stashed{0};
};
constexpr unsigned kLines = 32;
std::array<Line, kLines> lines;

Line& my_line() {
  static std::atomic<unsigned> threads{0};
  static thread_local Line& line = lines[threads.fetch_add(1, std::memory_order_relaxed) % kLines];
  return line;
}

std::uint64_t size_of(const NodeList& list) {
  std::uint64_t size = 0;
  for (const MessageNode* node = list.first(); node != nullptr;
       node = node->next.load(std::memory_order_relaxed))
    ++size;
  return size;
}

}  // namespace

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

void note_asks(int change) { my_line().asks.fetch_add(change, std::memory_order_relaxed); }
void note_stashed(std::int64_t change) { my_line().stashed.fetch_add(change, std::memory_order_relaxed); }

Unfinished unfinished() {
  Unfinished sum;
  for (const Line& line : lines) {
    sum.asks += line.asks.load(std::memory_order_relaxed);
    sum.stashed += line.stashed.load(std::memory_order_relaxed);
  }
  return sum;
}

std::uint64_t stashed_by(const Cell& cell) {
  return cell.extras == nullptr ? 0 : size_of(cell.extras->stash) + size_of(cell.extras->unstashed);
}

void say_what_is_left(const std::function<void(const std::function<void(const Cell&)>&)>& for_each) {
  static std::mutex mutex;
  static Unfinished said;
  const Unfinished left = unfinished();
  const std::lock_guard lock(mutex);
  const Unfinished before = std::exchange(said, left);
  if (left.asks <= before.asks && left.stashed <= before.stashed) return;
  std::string sentence = "rubato: run() has ended, but";
  if (left.asks > 0) sentence += " " + counted(left.asks, "ask has no answer", "asks have no answer");
  if (left.asks > 0 && left.stashed > 0) sentence += ", and";
  if (left.stashed > 0) {
    sentence += " " + counted(left.stashed, "message is stashed", "messages are stashed");
    std::string most_stashed;
    std::uint64_t most = 0, holders = 0;
    for_each([&](const Cell& cell) {
      const std::uint64_t stashed = stashed_by(cell);
      if (stashed == 0) return;
      ++holders;
      if (stashed <= most) return;
      most = stashed;
      most_stashed = describe(cell);
    });
    if (holders == 1) sentence += " by " + most_stashed;
    if (holders > 1) sentence += " by " + std::to_string(holders) + " actors, most by " + most_stashed;
  }
  sentence += "; living_actors() tells which actors wait";
  std::fprintf(stderr, "%s\n", sentence.c_str());
}

}  // namespace rubato::inline v0::engine

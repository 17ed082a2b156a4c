// Containers in transactions of several threads, and in long random runs, against a serial run of the same
// changes on the containers of the standard library.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "rubato/tm/deque.hpp"
#include "rubato/tm/list.hpp"
#include "rubato/tm/map.hpp"
#include "rubato/tm/string.hpp"
#include "rubato/tm/unordered_map.hpp"
#include "rubato/tm/vector.hpp"
#include "support.hpp"

namespace {

/// Makes a change and returns its answer: for sequences with an order.
template <class C>
long change_sequence(C& c, unsigned kind, int value) {
  const long size = static_cast<long>(c.size());
  const auto nth = [&](long n) {
    auto at = c.begin();
    for (; n > 0; --n) ++at;
    return at;
  };
  switch (kind % 8) {
    case 0:
    case 1:
      c.push_back(value);
      return size;
    case 2:
      c.insert(nth(size == 0 ? 0 : value % size), value);
      return size;
    case 3:
      c.insert(c.begin(), 3, value);
      return size;
    case 4:
      if (size == 0) return -1;
      c.erase(nth(value % size));
      return size;
    case 5:
      if (size < 30) return -2;
      c.erase(c.begin(), nth(size / 2));
      return size;
    case 6:
      if (size == 0) return -3;
      *nth(value % size) = value;
      c.pop_back();
      return size;
    default: {
      long sum = size;
      for (const auto& element : c) sum = (sum * 31 + element) % 1'000'003;
      return sum;
    }
  }
}
template <class C>
long change_ends(C& c, unsigned kind, int value) {
  switch (kind % 6) {
    case 0:
      c.push_front(value);
      return 0;
    case 1:
      c.push_back(value);
      return 1;
    case 2:
    case 3: {
      if (c.empty()) return -1;
      const long front = c.front();
      c.pop_front();
      return front;
    }
    default:
      return change_sequence(c, kind / 6, value);
  }
}
template <class C>
long change_map(C& c, unsigned kind, int value) {
  const int key = value % 61;
  switch (kind % 6) {
    case 0:
      return c.emplace(key, value).second;
    case 1:
      return static_cast<long>(c.erase(key));
    case 2:
      return c[key] += value;
    case 3:
      return c.insert_or_assign(key, value).second;
    case 4: {
      const auto at = c.find(key);
      return at == c.end() ? -1 : at->second;
    }
    default: {
      long sum = static_cast<long>(c.size());
      for (const auto& pair : c) sum += pair.first * pair.second % 1009;
      return sum;
    }
  }
}
template <class C>
long change_string(C& c, unsigned kind, int value) {
  const std::size_t place = static_cast<std::size_t>(value) % (c.size() + 1);
  const char letter = static_cast<char>('a' + value % 26);
  switch (kind % 6) {
    case 0:
      c += letter;
      return 0;
    case 1:
      c.insert(place, 5, letter);
      return 1;
    case 2:
      c.erase(place, 4);
      return 2;
    case 3:
      c.replace(place, 3, "xyz and more");
      return 3;
    case 4:
      if (c.size() > 100) c.resize(10);
      return static_cast<long>(c.find(letter));
    default:
      return static_cast<long>(c.rfind("and"));
  }
}

struct Step {
  std::uint64_t order;
  unsigned kind;
  int value;
  long answer;
};

std::uint32_t next_random(std::uint32_t& state) {
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state;
}

/// Each thread makes its changes, every fourth in a transaction that is cancelled. Each committed change has
/// an order, and in that order a serial run has the same answers.
template <class Ours, class Model, class Change>
void run(int threads, int changes, Change change) {
  const long blocks = containers::blocks_in_use();
  {
    Ours ours;
    std::uint64_t order = 0;
    std::vector<std::vector<Step>> steps(static_cast<std::size_t>(threads));
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        std::uint32_t random = 0x9e37'79b9U * static_cast<std::uint32_t>(t + 1);
        for (int i = 0; i < changes; ++i) {
          const unsigned kind = next_random(random) >> 8, fate = next_random(random) >> 8;
          Step step{0, kind, static_cast<int>(next_random(random) >> 8 & 0xffff), 0};
          const auto make = [&] {
            step.order = order++;
            step.answer = change(ours, step.kind, step.value);
          };
          if (fate % 4 == 0) {
            containers::cancelled(make);
          } else if (fate % 4 == 1) {
            containers::nested(make);
            steps[static_cast<std::size_t>(t)].push_back(step);
          } else {
            containers::committed(make);
            steps[static_cast<std::size_t>(t)].push_back(step);
          }
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    std::vector<Step> all;
    for (const std::vector<Step>& some : steps) all.insert(all.end(), some.begin(), some.end());
    std::sort(all.begin(), all.end(), [](const Step& a, const Step& b) { return a.order < b.order; });
    Model model;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i].order, i);
      ASSERT_EQ(change(model, all[i].kind, all[i].value), all[i].answer)
          << "change " << i << ", kind " << all[i].kind;
    }
    ASSERT_EQ(ours.size(), model.size());
  }
  EXPECT_EQ(containers::blocks_in_use(), blocks);
}

/// A thread alone makes more changes. Three on fewer cores lose the processor within transactions.
template <class Ours, class Model, class Change>
void run_all(Change change) {
  run<Ours, Model>(1, 1500, change);
  run<Ours, Model>(2, 400, change);
  run<Ours, Model>(3, 250, change);
}

TEST(Threads, ChangeAVector) {
  run_all<rubato::tm::vector<int>, std::vector<int>>(
      [](auto& c, unsigned k, int v) { return change_sequence(c, k, v); });
}
TEST(Threads, ChangeAList) {
  run_all<rubato::tm::list<int>, std::list<int>>(
      [](auto& c, unsigned k, int v) { return change_ends(c, k, v); });
}
TEST(Threads, ChangeADeque) {
  run_all<rubato::tm::deque<int>, std::deque<int>>(
      [](auto& c, unsigned k, int v) { return change_ends(c, k, v); });
}
TEST(Threads, ChangeAMap) {
  run_all<rubato::tm::map<int, int>, std::map<int, int>>(
      [](auto& c, unsigned k, int v) { return change_map(c, k, v); });
}
TEST(Threads, ChangeAnUnorderedMap) {
  run_all<rubato::tm::unordered_map<int, int>, std::unordered_map<int, int>>(
      [](auto& c, unsigned k, int v) { return change_map(c, k, v); });
}
TEST(Threads, ChangeAString) {
  run_all<rubato::tm::string, std::string>([](auto& c, unsigned k, int v) { return change_string(c, k, v); });
}

}  // namespace

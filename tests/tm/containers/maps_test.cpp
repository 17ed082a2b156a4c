// map, set, unordered_map, unordered_set and string in transactions.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "rubato/tm/map.hpp"
#include "rubato/tm/set.hpp"
#include "rubato/tm/string.hpp"
#include "rubato/tm/unordered_map.hpp"
#include "rubato/tm/unordered_set.hpp"
#include "support.hpp"

namespace {

using containers::blocks_in_use;
using containers::Element;
using containers::expect_same_effect;

using Map = rubato::tm::map<int, Element>;
using Model = std::map<int, Element>;

/// Values that arrive in no order: 37 generates all numbers below a power of two.
Model numbers(int count) {
  Model model;
  for (int i = 0; i < count; ++i) model.emplace(i * 37 % 128, i);
  return model;
}
template <class Change>
void check(Change change) {
  for (const int count : {0, 1, 2, 7, 100}) {
    SCOPED_TRACE(count);
    expect_same_effect<Map>(numbers(count), change);
  }
}

TEST(Map, InsertsOnceAKey) {
  check([](auto& m) { m[3] = 4, m[200] = 5, m[-1] = 6; });
  check([](auto& m) { m.emplace(37, 8), m.emplace(300, 9), m.try_emplace(37, 1), m.try_emplace(301, 1); });
  check([](auto& m) { m[1] = m.insert({37, 8}).second, m[2] = m.insert({400, 8}).second; });
  check([](auto& m) {
    m.insert_or_assign(37, 8), m.insert_or_assign(38, 9), m[39] = m.insert_or_assign(38, 1).second;
  });
  check([](auto& m) { m.insert({{37, 1}, {38, 2}, {39, 3}, {38, 4}}), m.insert(m.begin(), {-7, 3}); });
  check([](auto& m) {
    for (int i = 0; i < 200; ++i) m[i * 7 % 256] = i;
  });
}

TEST(Map, ErasesByKeyPlaceAndRange) {
  check([](auto& m) { m[0] = static_cast<int>(m.erase(37)), m[1] = static_cast<int>(m.erase(9999)); });
  check([](auto& m) {
    for (int i = 0; i < 128; i += 2) m.erase(i);
  });
  check([](auto& m) {
    for (int i = 127; i >= 0; --i) m.erase(i * 11 % 128);
  });
  check([](auto& m) { m[50] = 1, m[-9] = 2, m.erase(m.begin()), m.erase(m.find(50)); });
  check([](auto& m) { m.erase(m.lower_bound(20), m.upper_bound(70)), m.erase(m.begin(), m.begin()); });
  check([](auto& m) { m.erase(m.begin(), m.end()), m[4] = 4, m.clear(), m[5] = 5; });
}

TEST(Map, FindsAndWalksInOrder) {
  check([](auto& m) {
    int sum = 0;
    for (int i = -1; i < 130; ++i) {
      const auto low = m.lower_bound(i), high = m.upper_bound(i);
      const auto range = m.equal_range(i);
      sum = sum * 3 + (low == high) + 2 * (m.find(i) == m.end()) + 4 * static_cast<int>(m.count(i));
      sum += (low == range.first) + (high == range.second);
      if (low != m.end()) sum += low->first;
      sum %= 1'000'003;
    }
    for (auto at = m.rbegin(); at != m.rend(); ++at) sum = (sum * 5 + at->first) % 1'000'003;
    for (auto at = m.end(); at != m.begin();) sum = (sum * 5 + (--at)->second.number()) % 1'000'003;
    for (auto& pair : m) pair.second = sum;
    m[-5] = sum;
  });
}

TEST(Map, IsCopiedMovedSwappedAndCompared) {
  check([](auto& m) {
    auto copy(m);
    copy[500] = 1;
    const bool is_less = m < copy, is_same = m == copy;
    swap(m, copy);
    copy = m;
    auto moved(std::move(copy));
    copy = std::move(moved);
    m = copy;
    m = *&m;
    m[501] = is_less + 2 * is_same;
    m.swap(copy), m.swap(m);
  });
  check([](auto& m) { m = {{1, 2}, {3, 4}}; });
}

TEST(Map, AtThrowsWithoutTheKey) {
  static Map m;
  m = {{1, 2}};
  EXPECT_THROW(containers::committed([] { m[2] = 1, m.at(3) = 1; }), std::out_of_range);
  EXPECT_EQ(m.size(), 2U);
  const Map& constant = m;
  EXPECT_EQ(constant.at(1).number(), 2);
  EXPECT_THROW(constant.at(4), std::out_of_range);
  EXPECT_EQ(erase_if(m, [](const auto& pair) { return pair.first == 1; }), 1U);
  m.clear();
}

TEST(Map, AThrowingConstructorInsertsNothing) {
  for (const bool is_ordered : {true, false}) {
    const long blocks = blocks_in_use();
    {
      Map ordered{{1, 1}, {2, 2}};
      rubato::tm::unordered_map<int, Element> hashed{{1, 1}, {2, 2}};
      const long before = blocks_in_use();
      Element::fuse = 0;
      EXPECT_THROW(containers::committed([&] {
                     if (is_ordered) {
                       ordered.try_emplace(3, 3);
                     } else {
                       hashed.try_emplace(3, 3);
                     }
                   }),
                   int);
      EXPECT_THROW(containers::committed([&] {
                     if (is_ordered) {
                       ordered[4];
                     } else {
                       hashed[4];
                     }
                   }),
                   int);
      Element::fuse = -1;
      EXPECT_EQ(ordered.size() + hashed.size(), 4U);
      EXPECT_EQ(blocks_in_use(), before);
    }
    EXPECT_EQ(blocks_in_use(), blocks);
  }
}

TEST(Set, HoldsEachKeyOnce) {
  for (const int count : {0, 1, 40}) {
    std::set<int, std::greater<int>> initial;
    for (int i = 0; i < count; ++i) initial.insert(i * 37 % 64);
    const auto check_set = [&](auto change) {
      expect_same_effect<rubato::tm::set<int, std::greater<int>>>(initial, change);
    };
    check_set([](auto& s) { s.insert(7), s.insert(7), s.emplace(100), s.insert({3, 4, 5}); });
    check_set(
        [](auto& s) { s.insert(static_cast<int>(s.erase(37)) + 1000), s.insert(s.contains(7) + 2000); });
    check_set([](auto& s) { s.erase(s.lower_bound(30), s.end()); });
  }
}

TEST(Unordered, ChangesAsTheOrderedOne) {
  using Hashed = rubato::tm::unordered_map<int, Element>;
  const auto check_hashed = [](auto change) {
    for (const int count : {0, 1, 7, 8, 9, 100}) {
      const long blocks = blocks_in_use();
      {
        const std::map<int, Element> initial = numbers(count);
        std::unordered_map<int, Element> model(initial.begin(), initial.end());
        Hashed ours(initial.begin(), initial.end());
        const Hashed before(ours);
        const long held = blocks_in_use();
        containers::cancelled([&] { change(ours); });
        EXPECT_TRUE(ours == before);
        EXPECT_EQ(blocks_in_use(), held);
        containers::nested([&] { change(ours); });
        change(model);
        ASSERT_EQ(ours.size(), model.size());
        std::size_t walked = 0;
        for (const auto& pair : ours) walked += model.at(pair.first) == pair.second;
        EXPECT_EQ(walked, model.size());
        for (const auto& pair : model) EXPECT_TRUE(ours.at(pair.first) == pair.second);
      }
      EXPECT_EQ(blocks_in_use(), blocks);
    }
  };
  check_hashed([](auto& m) {
    m[3] = 4, m[-1] = 5, m.emplace(37, 1), m.insert({38, 2}), m.try_emplace(39, 3);
  });
  check_hashed([](auto& m) {
    m.insert_or_assign(37, 9), m.insert({{1, 1}, {1, 2}}), m.erase(37), m.erase(9999);
  });
  check_hashed([](auto& m) {
    for (int i = 0; i < 300; ++i) m[i * 1024] = i;
    for (int i = 0; i < 300; i += 2) m.erase(i * 1024);
  });
  check_hashed([](auto& m) {
    m[5] = 1;
    m.erase(m.find(5));
    m.rehash(1000), m.reserve(50), m.rehash(0);
    m[6] = m.load_factor() <= m.max_load_factor();
  });
  check_hashed([](auto& m) {
    auto copy(m), moved(std::move(m));
    m = copy;
    copy[700] = 1;
    swap(m, copy);
    m[701] = m == copy;
    m[702] = copy == moved;
  });
  check_hashed([](auto& m) { m.erase(m.begin(), m.end()), m[1] = 1, m.clear(), m[2] = 2; });
  check_hashed([](auto& m) {
    for (auto at = m.begin(); at != m.end();) {
      if (at->first % 2 == 0) {
        at = m.erase(at);
      } else {
        ++at;
      }
    }
  });
}

TEST(Unordered, HashesNumbersAndStrings) {
  static rubato::tm::unordered_map<rubato::tm::string, double> m;
  static rubato::tm::unordered_set<double> s;
  containers::committed([] {
    rubato::tm::string key;
    for (char c = 'a'; c <= 'z'; ++c) {
      key += c;
      m[key] += static_cast<double>(key.size());
    }
    m["abc"] += 0.5;
    s.insert(0.0), s.insert(-0.0), s.insert(1.5);
  });
  EXPECT_EQ(m.size(), 26U);
  EXPECT_EQ(m.at("abc"), 3.5);
  EXPECT_EQ(m.at("abcdefghijklmnopqrstuvwxyz"), 26);
  EXPECT_EQ(m.count("b"), 0U);
  EXPECT_EQ(s.size(), 2U);
  m.clear(), s.clear();
}

/// Makes a change to strings of both libraries.
template <class Change>
void check_string(Change change) {
  for (const char* const text :
       {"", "a", "fifteen letters", "sixteen letters!", "a text that does not fit into the object"}) {
    const std::string initial(text);
    SCOPED_TRACE(initial);
    expect_same_effect<rubato::tm::string>(initial, change);
  }
}

TEST(String, Grows) {
  check_string([](auto& s) { s += 'x', s += "yz", s.push_back('!'), s.append("more"), s.append(20, '-'); });
  check_string([](auto& s) { s.append(s), s += s; });
  check_string([](auto& s) { s.resize(10, 'r'), s.resize(40, 'R'), s.resize(17); });
  check_string([](auto& s) { s = "another", s = s + s + "?" + 'c'; });
  check_string([](auto& s) { s.assign("abc"), s.assign(30, 'd'), s.reserve(200), s.shrink_to_fit(); });
}

TEST(String, IsChangedInTheMiddle) {
  check_string(
      [](auto& s) { s.insert(s.size() / 2, "middle"), s.insert(0, 3, '<'), s.insert(s.begin() + 1, '*'); });
  check_string([](auto& s) { s.insert(s.size() / 2, s), s.insert(0, s); });
  check_string([](auto& s) { s.erase(s.size() / 2), s += "tail", s.erase(1, 2), s.erase(s.begin()); });
  check_string(
      [](auto& s) { s.replace(0, 1, "a long replacement that needs memory"), s.replace(2, 10, ""); });
  check_string([](auto& s) { s += "abcdef", s.replace(1, 3, s), s.replace(0, 2, 5, 'x'), s.pop_back(); });
  check_string([](auto& s) { s.clear(), s += 'z', s.erase(s.begin(), s.end()); });
}

TEST(String, IsSearched) {
  check_string([](auto& s) {
    std::size_t sum = 0;
    const auto add = [&](std::size_t n) { sum = (sum * 31 + n % 1000) % 1'000'003; };
    add(s.find("tt")), add(s.find('e')), add(s.find("e", 5)), add(s.find("")), add(s.find("", 99));
    add(s.rfind("t")), add(s.rfind('e', 6)), add(s.rfind("")), add(s.find_first_of("xyn")),
        add(s.find_last_of("xyn"));
    add(s.find_first_not_of("sixfa")), add(s.find_last_not_of("!tcejbo")), add(s.find_last_of("e", 3));
    add(s.substr(0, 3).size()), add(s.substr(s.size()).size());
    add(s.starts_with("a ")), add(s.ends_with("s!")), add(s.compare("b") < 0), add(s.compare("") == 0);
    add(s == "a"), add(s < "f"), add(s >= s), add("a" == s), add(s != s);
    s.append(1 + sum % 50, 'n');
  });
}

TEST(String, IsMovedSwappedAndCopied) {
  check_string([](auto& s) {
    auto copy(s), moved(std::move(s));
    s = copy, copy += "!", swap(s, copy), s.swap(moved), copy = std::move(s), s = copy;
    s = *&s;
    s += moved;
  });
}

TEST(String, RefusesPlacesBehindTheEnd) {
  static rubato::tm::string s("abc");
  EXPECT_THROW(containers::committed([] { s.at(3) = 'x'; }), std::out_of_range);
  EXPECT_THROW(containers::committed([] { s.insert(4, "x"); }), std::out_of_range);
  EXPECT_THROW(containers::committed([] { s.erase(4); }), std::out_of_range);
  EXPECT_THROW(containers::committed([] { s = s.substr(4); }), std::out_of_range);
  EXPECT_STREQ(s.c_str(), "abc");
  EXPECT_EQ(std::string(s), "abc");
}

}  // namespace

// vector, list and deque in transactions: what they have in common.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <list>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "rubato/tm/deque.hpp"
#include "rubato/tm/list.hpp"
#include "rubato/tm/vector.hpp"
#include "support.hpp"

namespace {

using containers::blocks_in_use;
using containers::Copied;
using containers::Element;
using containers::expect_same;
using containers::expect_same_effect;

template <template <class...> class Container, template <class...> class Standard, class T>
struct Kind {
  using Ours = Container<T>;
  using Model = Standard<T>;
};

template <class T>
struct Sequence : testing::Test {
  using Ours = typename T::Ours;
  using Model = typename T::Model;
  using Value = typename Model::value_type;

  /// From none to several blocks of elements.
  template <class Change>
  void check(Change change, int least = 0) {
    for (const int count : {0, 1, 2, 3, 16, 17, 150}) {
      if (count < least) continue;
      Model initial;
      for (int i = 0; i < count; ++i) initial.push_back(Value((i * 7 + 3) % 11));
      SCOPED_TRACE(count);
      expect_same_effect<Ours>(initial, change);
    }
  }
};
using rubato::tm::deque;
using rubato::tm::list;
using rubato::tm::vector;
using Kinds = testing::Types<Kind<vector, std::vector, int>, Kind<vector, std::vector, Element>,
                             Kind<vector, std::vector, Copied>, Kind<list, std::list, Element>,
                             Kind<deque, std::deque, int>, Kind<deque, std::deque, Element>>;
TYPED_TEST_SUITE(Sequence, Kinds);

template <class C>
auto nth(C& c, long n) {
  auto at = c.begin();
  for (; n > 0; --n) ++at;
  return at;
}
template <class C>
C by_value(C c) {
  c.push_back(5);
  return c;
}

TYPED_TEST(Sequence, EndsTakeAndGiveElements) {
  using Value = typename TestFixture::Value;
  this->check([](auto& c) {
    for (int i = 0; i < 40; ++i) c.push_back(Value(i));
    const Value value(7);
    c.push_back(value);
    c.emplace_back(8);
    c.pop_back();
  });
  this->check([](auto& c) { c.push_back(c.front()), c.push_back(c.back()); }, 1);
  this->check([](auto& c) { c.push_back(std::move(c.front())), c.front() = Value(1); }, 1);
  this->check(
      [](auto& c) {
        while (!c.empty()) c.pop_back();
        c.push_back(Value(4));
      },
      1);
}

TYPED_TEST(Sequence, InsertsAnywhere) {
  using Value = typename TestFixture::Value;
  this->check([](auto& c) { c.insert(c.begin(), Value(1)); });
  this->check([](auto& c) { c.insert(c.end(), Value(1)); });
  this->check([](auto& c) { *c.insert(nth(c, 1), Value(1)) = Value(2); }, 1);
  this->check([](auto& c) { c.insert(nth(c, static_cast<long>(c.size()) - 1), c.front()); }, 2);
  this->check([](auto& c) { c.insert(nth(c, 1), c.back()); }, 2);
  this->check([](auto& c) { c.emplace(nth(c, static_cast<long>(c.size()) / 2), 9); });
  this->check([](auto& c) { c.insert(nth(c, 1), 20, Value(3)); }, 1);
  this->check([](auto& c) { c.insert(nth(c, 1), 30, c.front()); }, 1);
  this->check([](auto& c) { c.insert(c.begin(), 0, Value(3)); });
  this->check([](auto& c) {
    c.insert(nth(c, static_cast<long>(c.size()) / 2), {Value(1), Value(2), Value(3)});
  });
  this->check([](auto& c) {
    const Value values[] = {1, 2, 3, 4, 5};
    *c.insert(c.begin(), values, values + 5) = Value(6);
    c.insert(c.end(), values, values + 5);
    c.insert(c.end(), values, values);
  });
}

TYPED_TEST(Sequence, ErasesAnywhere) {
  this->check([](auto& c) { c.erase(c.begin()); }, 1);
  this->check([](auto& c) { c.erase(nth(c, static_cast<long>(c.size()) - 1)); }, 1);
  this->check(
      [](auto& c) {
        const auto at = c.erase(nth(c, 1));
        *at = c.back();
      },
      3);
  this->check([](auto& c) { c.erase(c.begin(), c.end()); });
  this->check([](auto& c) { c.erase(c.begin(), c.begin()); });
  this->check([](auto& c) { c.erase(nth(c, 1), nth(c, static_cast<long>(c.size()) / 2)); }, 2);
  this->check([](auto& c) { c.erase(nth(c, static_cast<long>(c.size()) / 2), c.end()); });
  this->check([](auto& c) { c.clear(), c.push_back(1), c.clear(), c.clear(); });
}

TYPED_TEST(Sequence, ChangesItsSize) {
  using Value = typename TestFixture::Value;
  this->check([](auto& c) { c.resize(0); });
  this->check([](auto& c) { c.resize(16); });
  this->check([](auto& c) { c.resize(c.size()); });
  this->check([](auto& c) { c.resize(200, Value(4)); });
  this->check([](auto& c) { c.resize(300, c.front()); }, 1);
  this->check([](auto& c) { c.resize(1, Value(4)); });
}

TYPED_TEST(Sequence, IsCopiedMovedAndSwapped) {
  using Value = typename TestFixture::Value;
  this->check([](auto& c) {
    auto copy(c);
    copy.push_back(Value(1));
    c = copy;
    copy.clear();
  });
  this->check([](auto& c) {
    auto moved(std::move(c));
    c = moved;
    c.push_back(Value(2));
    c = std::move(moved);
  });
  this->check([](auto& c) { c = *&c; });
  this->check([](auto& c) { c = by_value(c); });
  this->check([](auto& c) { c = by_value(std::move(c)); });
  this->check([](auto& c) {
    auto other(c);
    other.push_back(Value(1));
    swap(c, other);
    other.swap(c), other.swap(c);
    c.swap(c);
  });
  this->check([](auto& c) { c = {Value(1), Value(2)}, c.push_back(Value(3)); });
  this->check([](auto& c) { c.assign(20, Value(3)); });
  this->check([](auto& c) { c.assign({Value(3), Value(1)}); });
  this->check([](auto& c) {
    const int values[] = {1, 2, 3};
    c.assign(values, values + 3);
  });
}

TYPED_TEST(Sequence, IsWalkedBothWaysAndCompared) {
  using Value = typename TestFixture::Value;
  this->check([](auto& c) {
    int count = 0;
    for (auto at = c.rbegin(); at != c.rend(); ++at) count += *at == Value(3);
    for (auto at = c.end(); at != c.begin();) count += *--at == Value(3);
    for (const auto& value : c) count += value == Value(3);
    for (auto at = c.begin(); at != c.end(); at++) *at = Value(count);
  });
  this->check([](auto& c) {
    auto other(c);
    const int before = (c == other) + 2 * (c != other) + 4 * (c < other) + 8 * (c >= other);
    other.push_back(Value(4));
    const int longer = (c == other) + 2 * (c != other) + 4 * (c < other) + 8 * (c > other);
    c.push_back(Value(5));
    const int larger = (c == other) + 2 * (c <= other) + 4 * (c < other) + 8 * (c > other);
    c.push_back(Value(before * 1000 + longer * 30 + larger));
  });
}

TYPED_TEST(Sequence, IsMadeInATransaction) {
  using Ours = typename TestFixture::Ours;
  using Value = typename TestFixture::Value;
  const long blocks = blocks_in_use(), alive = Element::alive;
  Ours* made = nullptr;
  std::size_t sizes = 0;
  const auto make = [&] {
    Ours one(3), two(4, Value(2)), three{Value(1), Value(2)}, four(three), five(std::move(two));
    Ours six(one.begin(), one.end());
    sizes = one.size() + 10 * two.size() + 100 * three.size() + 1000 * four.size() + 10000 * five.size() +
            100000 * six.size();
    made = new Ours(five);
  };
  containers::cancelled(make);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(sizes, 0U);
  EXPECT_EQ(blocks_in_use(), blocks);
  containers::committed(make);
  EXPECT_EQ(sizes, 342203U);
  EXPECT_TRUE(*made == Ours(4, Value(2)));
  delete made;
  EXPECT_EQ(blocks_in_use(), blocks);
  EXPECT_EQ(Element::alive, alive);
}

TYPED_TEST(Sequence, ReadsItsInputOnce) {
  using Ours = typename TestFixture::Ours;
  std::istringstream numbers("1 2 3 4 5");
  const Ours ours{std::istream_iterator<int>(numbers), std::istream_iterator<int>()};
  expect_same(ours, typename TestFixture::Model{1, 2, 3, 4, 5});
}

/// The change is tried with a constructor that throws: the first, the second ... until none does.
template <class Ours, class Model, class Change>
void expect_same_after_throws(Change change, bool is_strong) {
  const long blocks = blocks_in_use();
  for (long fuse = 0;; ++fuse) {
    bool has_thrown = false, model_has_thrown = false;
    {
      Model model{1, 2, 3, 4};
      Ours* const ours = new Ours(model.begin(), model.end());
      const long alive = Element::alive;
      Element::fuse = fuse;
      try {
        containers::committed([&] { change(*ours); });
      } catch (const int&) {
        has_thrown = true;
      }
      Element::fuse = -1;
      if (!std::is_same_v<typename Model::value_type, int>) {
        EXPECT_EQ(Element::alive - alive, static_cast<long>(ours->size()) - 4) << fuse;
      }
      if (!has_thrown) {
        change(model);
      }
      if (is_strong || !has_thrown) expect_same(*ours, model);
      delete ours;
      model_has_thrown = has_thrown;
    }
    EXPECT_EQ(blocks_in_use(), blocks) << fuse;
    if (!model_has_thrown) break;
    ASSERT_LT(fuse, 100);
  }
}

TYPED_TEST(Sequence, AnExceptionOfAConstructorLosesNothing) {
  using Ours = typename TestFixture::Ours;
  using Model = typename TestFixture::Model;
  using Value = typename TestFixture::Value;
  expect_same_after_throws<Ours, Model>([](auto& c) { c.push_back(Value(7)); }, true);
  expect_same_after_throws<Ours, Model>([](auto& c) { c.emplace_back(7); }, true);
  expect_same_after_throws<Ours, Model>([](auto& c) { c.push_back(c.front()); }, true);
  expect_same_after_throws<Ours, Model>([](auto& c) { c.insert(nth(c, 1), Value(7)); }, false);
  expect_same_after_throws<Ours, Model>([](auto& c) { c.insert(nth(c, 1), 5, c.back()); }, false);
  expect_same_after_throws<Ours, Model>([](auto& c) { c.resize(9); }, false);
  expect_same_after_throws<Ours, Model>(
      [](auto& c) {
        auto copy(c), second(c);
        copy.swap(c);
      },
      true);
  expect_same_after_throws<Ours, Model>([](auto& c) { c = {1, 2, 3, 4, 5, 6}; }, true);
}

template <class T>
struct Indexed : Sequence<T> {};
using IndexedKinds = testing::Types<Kind<vector, std::vector, Element>, Kind<deque, std::deque, Element>>;
TYPED_TEST_SUITE(Indexed, IndexedKinds);

TYPED_TEST(Indexed, IsReadAndWrittenByIndex) {
  this->check(
      [](auto& c) {
        c[c.size() - 1] = c[0];
        c.at(0) = c.at(c.size() / 2);
        c.begin()[1] = *(c.end() - 1);
      },
      2);
}

TYPED_TEST(Indexed, AtThrowsBehindTheEnd) {
  using Ours = typename TestFixture::Ours;
  static Ours c{1, 2, 3};
  static long before = 0;
  EXPECT_THROW(
      {
        containers::committed([] {
          ++before;
          c.at(3) = 1;
          ++before;
        });
      },
      std::out_of_range);
  EXPECT_THROW(
      {
        containers::committed([] {
          const Ours& constant = c;
          before += constant.at(std::size_t(-1)).number();
        });
      },
      std::out_of_range);
  EXPECT_EQ(before, 1);  // an exception that leaves a transaction commits it
  before = 0;
}

TYPED_TEST(Indexed, IteratorsAreComparedAndMoved) {
  this->check(
      [](auto& c) {
        auto first = c.begin(), last = c.end();
        const int order = (first < last) + 2 * (last > first) + 4 * (first <= first) + 8 * (first >= last);
        first += 2;
        first -= 1;
        c.push_back(order * 100 + static_cast<int>(last - first));
      },
      3);
}

TEST(Vector, KeepsItsCapacity) {
  static vector<int> v;
  std::size_t before = 1, reserved = 0, same = 0, shrunk = 0;
  __transaction_atomic {
    before = v.capacity();
    v.reserve(100);
    reserved = v.capacity();
    const int* const data = v.data();
    for (int i = 0; i < 100; ++i) v.push_back(i);
    same = v.data() == data;
    v.resize(7);
    v.shrink_to_fit();
    shrunk = v.capacity();
  }
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(reserved, 100U);
  EXPECT_EQ(same, 1U);
  EXPECT_EQ(shrunk, 7U);
  EXPECT_THROW({ __transaction_atomic { v.reserve(v.max_size() + 1);
}
}, std::length_error);
EXPECT_EQ(erase(v, 3), 1U);
EXPECT_EQ(erase_if(v, [](int x) { return x > 4; }), 2U);
EXPECT_TRUE((v == vector<int>{0, 1, 2, 4}));
v = {};
}

TEST(Vector, HoldsVectors) {
  static vector<vector<Element>> v;
  const long blocks = blocks_in_use();
  __transaction_atomic {
    for (int i = 0; i < 20; ++i) v.emplace_back(static_cast<std::size_t>(i), Element(i));
    v.erase(v.begin() + 3);
    v.insert(v.begin(), v.back());
  }
  ASSERT_EQ(v.size(), 20U);
  EXPECT_EQ(v[0].size(), 19U);
  EXPECT_EQ(v[4].size(), 4U);
  EXPECT_EQ(v[19][18].number(), 19);
  __transaction_atomic { v = vector<vector<Element>>(); }
  EXPECT_EQ(blocks_in_use(), blocks);
}

TEST(Vector, AlignsElements) {
  struct alignas(64) Line {
    long value;
  };
  static vector<Line> v;
  static list<Line> l;
  static deque<Line> d;
  const long blocks = blocks_in_use();
  std::size_t wrong = 0;
  __transaction_atomic {
    for (long i = 0; i < 20; ++i) {
      v.push_back(Line{i}), l.push_back(Line{i}), d.push_front(Line{i});
      wrong += reinterpret_cast<std::size_t>(&v.back()) % 64 + reinterpret_cast<std::size_t>(&l.back()) % 64 +
               reinterpret_cast<std::size_t>(&d.front()) % 64;
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(v[19].value + l.front().value + d[0].value, 38);
  __transaction_atomic { v = {}, l = {}, d = {}; }
  EXPECT_EQ(blocks_in_use(), blocks);
}

TEST(Deque, TakesAndGivesAtBothEnds) {
  std::deque<Element> initial;
  expect_same_effect<deque<Element>>(initial, [](auto& c) {
    for (int i = 0; i < 300; ++i) c.push_front(i);
    for (int i = 0; i < 200; ++i) c.pop_back();
    for (int i = 0; i < 100; ++i) c.emplace_back(i), c.pop_front();
  });
  expect_same_effect<deque<Element>>(initial, [](auto& c) {
    for (int i = 0; i < 1000; ++i) {  // a queue that wanders through its ring
      c.push_back(i);
      if (c.size() > 70) c.pop_front();
    }
  });
  expect_same_effect<deque<Element>>(initial, [](auto& c) {
    for (int i = 0; i < 500; ++i) {
      c.emplace_front(i);
      if (c.size() > 70) c.pop_back();
    }
    c.insert(c.begin() + 3, c[60]), c.insert(c.begin() + 60, c[3]);
    c.erase(c.begin() + 2, c.begin() + 9), c.erase(c.begin() + 50, c.begin() + 55);
  });
}

TEST(Deque, ReferencesAndIteratorsSurviveChangesAtTheEnds) {
  static deque<int> d{1, 2, 3};
  bool is_same = false;
  __transaction_atomic {
    int& two = d[1];
    const auto at = d.begin() + 1;
    for (int i = 0; i < 1000; ++i) d.push_back(i), d.push_front(i);
    two = 7;
    is_same = &*at == &two && d[1001] == 7;
    for (int i = 0; i < 1001; ++i) d.pop_front();
    is_same = is_same && &d.front() == &two;
  }
  EXPECT_TRUE(is_same);
  d = {};
}

TEST(List, SplicesMergesAndSorts) {
  for (const int count : {1, 2, 3, 20}) {
    std::list<Element> initial;
    for (int i = 0; i < count; ++i) initial.emplace_back((i * 7 + 3) % 11);
    const auto check = [&](auto change) { expect_same_effect<list<Element>>(initial, change); };
    check([](auto& c) { c.sort(); });
    check([](auto& c) { c.sort([](const Element& a, const Element& b) { return b < a; }); });
    check([](auto& c) {
      c.sort([](const Element& a, const Element& b) { return a.number() % 3 < b.number() % 3; });
    });
    check([](auto& c) { c.reverse(); });
    check([](auto& c) { c.push_front(4), c.emplace_front(5), c.pop_front(); });
    check([](auto& c) { c.remove(c.front()); });
    check([](auto& c) { c.remove_if([](const Element& e) { return e.number() % 2 == 0; }); });
    check([](auto& c) { c.insert(c.begin(), c.front()), c.insert(c.end(), 3, c.back()), c.unique(); });
    check([](auto& c) {
      auto other(c);
      c.sort(), other.sort(), c.merge(other), c.merge(c);
    });
    check([](auto& c) {
      auto other(c);
      c.splice(c.begin(), other), c.splice(c.end(), other);
      other = c;
      c.splice(nth(c, 1), other, other.begin()),
          c.splice(c.end(), std::move(other), other.begin(), nth(other, 1));
      c.splice(c.end(), c, c.begin()), c.splice(c.begin(), c, c.begin());
      c.splice(c.begin(), c, nth(c, 1), c.end());
    });
  }
}

TEST(List, IteratorsSurviveSwapAndSplice) {
  static list<int> a{1, 2}, b{3};
  int seen = 0;
  __transaction_atomic {
    const auto two = ++a.begin();
    const auto three = b.begin();
    a.swap(b);
    b.splice(b.begin(), a, three);
    seen = *two * 100 + *three * 10 + static_cast<int>(b.size());
    b.erase(two);
  }
  EXPECT_EQ(seen, 233);
  EXPECT_TRUE((b == list<int>{3, 1}));
  EXPECT_TRUE(a.empty());
  b = {};
}

/// A shared iterator, passed by value: GCC would load a trivial class without a barrier.
template <class Iterator>
__attribute__((noinline)) int value_at(Iterator at) {
  return *at;
}

TEST(Iterators, ArePassedByValue) {
  static list<int> l{1, 2, 3};
  static deque<int> d{4, 5, 6};
  static auto in_list = l.begin();
  static auto in_deque = d.begin();
  int first = 0, second = 0;
  __transaction_atomic {
    in_list++, ++in_deque;
    first = value_at(in_list) * 10 + value_at(in_deque);
    ++in_list, in_deque = in_deque + 1;
    second = value_at(in_list) * 10 + value_at(in_deque);
  }
  EXPECT_EQ(first, 25);
  EXPECT_EQ(second, 36);
}

}  // namespace

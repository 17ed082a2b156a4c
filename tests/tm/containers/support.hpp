// Containers in transactions against those of the standard library: the same change is made to both. A change
// that a transaction cancels leaves nothing, not even memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "transactions.hpp"

namespace containers {

/// An element that owns memory. Copies and new values throw when `fuse` of them have been made.
struct Element {
  static inline long alive = 0, fuse = -1;

  [[gnu::always_inline]] Element() : Element(0) {}
  [[gnu::always_inline]] Element(int x) : value(made(x)) {}  // NOLINT: literals in tests
  [[gnu::always_inline]] Element(const Element& other) : value(made(*other.value)) {}
  [[gnu::always_inline]] Element(Element&& other) noexcept : value(other.value) {
    other.value = nullptr;
    ++alive;
  }
  Element& operator=(const Element& other) {
    *value_or_new() = other.value == nullptr ? 0 : *other.value;
    return *this;
  }
  Element& operator=(Element&& other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  [[gnu::always_inline]] ~Element() {
    --alive;
    delete value;
  }
  friend bool operator==(const Element& a, const Element& b) { return a.number() == b.number(); }
  friend bool operator<(const Element& a, const Element& b) { return a.number() < b.number(); }
  int number() const { return value == nullptr ? -1 : *value; }

 private:
  static int* made(int x) {
    if (fuse == 0) throw x;
    if (fuse > 0) --fuse;
    ++alive;
    return new int(x);
  }
  int* value_or_new() {
    if (value == nullptr) value = new int(0);
    return value;
  }
  int* value;
};

/// Moves could throw, so that containers copy it instead.
struct Copied : Element {
  using Element::Element;
  Copied() = default;
  [[gnu::always_inline]] Copied(const Copied& other) : Element(other) {}
  Copied& operator=(const Copied& other) {
    Element::operator=(other);
    return *this;
  }
};

template <class A, class B>
void expect_same(const A& a, const B& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.empty(), b.empty());
  auto right = b.begin();
  for (auto left = a.begin(); left != a.end(); ++left, ++right) EXPECT_TRUE(*left == *right);
  EXPECT_TRUE(right == b.end());
}

/// Makes the change to a container of the standard library, and to one of ours: in a transaction that is
/// cancelled, in a nested one that is cancelled and again in the outer one, in one that commits, and outside.
template <class Ours, class Model, class Change>
void expect_same_effect(const Model& initial, Change change) {
  const long blocks = blocks_in_use();
  {
    Model model(initial);
    change(model);
    Ours* const ours = new Ours(initial.begin(), initial.end());
    const long alive = Element::alive, held = blocks_in_use();
    const auto change_ours = [ours, &change] { change(*ours); };
    cancelled(change_ours);
    expect_same(*ours, initial);
    EXPECT_EQ(Element::alive, alive);
    EXPECT_EQ(blocks_in_use(), held);
    nested(change_ours);
    expect_same(*ours, model);
    committed([ours] { *ours = Ours(); });
    EXPECT_TRUE(ours->empty());
    Ours other(initial.begin(), initial.end());  // on the thread's own stack
    committed([&] { change(other); });
    expect_same(other, model);
    other = Ours(initial.begin(), initial.end());
    change(other);
    expect_same(other, model);
    delete ours;
  }
  EXPECT_EQ(blocks_in_use(), blocks);
}

}  // namespace containers

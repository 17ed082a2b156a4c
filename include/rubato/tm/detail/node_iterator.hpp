// Nodes and iterators of the transactional list, map and set. A container defines its links, and for them
// successor() and predecessor().
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace rubato::tm::detail {

template <class Links, class T>
struct LinkedNode : Links {
  T value;
  template <class... Arguments>
  explicit LinkedNode(Arguments&&... arguments) : Links(), value(std::forward<Arguments>(arguments)...) {}
};

/// A place in a container of linked nodes. Copies are made by functions of the class: GCC passes a trivial
/// class by plain loads.
template <class Links, class T, bool IsConst>
class NodeIterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<IsConst, const T&, T&>;
  using pointer = std::conditional_t<IsConst, const T*, T*>;

  NodeIterator() : at_(nullptr) {}
  explicit NodeIterator(Links* at) : at_(at) {}
  NodeIterator(const NodeIterator& other) : at_(other.self().at_) {}
  template <bool Other, class = std::enable_if_t<IsConst && !Other>>
  NodeIterator(const NodeIterator<Links, T, Other>& other) : at_(other.links()) {}
  NodeIterator& operator=(const NodeIterator& other) {
    at_ = other.self().at_;
    return *this;
  }
  ~NodeIterator() = default;

  reference operator*() const { return static_cast<LinkedNode<Links, T>*>(self().at_)->value; }
  pointer operator->() const { return &static_cast<LinkedNode<Links, T>*>(self().at_)->value; }
  NodeIterator& operator++() {
    at_ = successor(at_);
    return *this;
  }
  NodeIterator operator++(int) {
    NodeIterator old(*this);
    ++*this;
    return old;
  }
  NodeIterator& operator--() {
    at_ = predecessor(at_);
    return *this;
  }
  NodeIterator operator--(int) {
    NodeIterator old(*this);
    --*this;
    return old;
  }
  friend bool operator==(const NodeIterator& a, const NodeIterator& b) {
    return a.self().at_ == b.self().at_;
  }
  friend bool operator!=(const NodeIterator& a, const NodeIterator& b) {
    return a.self().at_ != b.self().at_;
  }
  /// For the containers alone.
  Links* links() const { return self().at_; }

 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  NodeIterator& self() const noexcept { return const_cast<NodeIterator&>(*this); }

  Links* at_;
};

}  // namespace rubato::tm::detail

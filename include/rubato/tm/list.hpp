// A doubly linked list for transactions: std::list's interface, each function safe inside
// `__transaction_atomic` of GCC's -fgnu-tm and usable outside. Iterators and references stay valid as with
// std::list, also over swap and splice.
//
// Left out, besides what std::list has of allocators, ranges and constexpr: nothing. An insertion writes
// size(), so two insertions into one list conflict.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>

#include "rubato/tm/detail/memory.hpp"
#include "rubato/tm/detail/node_iterator.hpp"

namespace rubato::tm {
namespace detail {

struct ListLinks {
  ListLinks* previous;
  ListLinks* next;
};

inline ListLinks* successor(ListLinks* at) { return at->next; }
inline ListLinks* predecessor(ListLinks* at) { return at->previous; }

/// Moves [first, last) in front of `position`, which is not inside.
inline void transfer(ListLinks* position, ListLinks* first, ListLinks* last) {
  if (first == last || position == first || position == last) return;
  ListLinks* const end = last->previous;
  first->previous->next = last;
  last->previous = first->previous;
  position->previous->next = first;
  first->previous = position->previous;
  end->next = position;
  position->previous = end;
}

}  // namespace detail

/// As std::list. The default constructor is constexpr.
template <class T>
class list : detail::Compared<list<T>> {
  using Links = detail::ListLinks;
  using Node = detail::LinkedNode<Links, T>;

 public:
  /// As in std::list.
  /**@{*/
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = detail::NodeIterator<Links, T, false>;
  using const_iterator = detail::NodeIterator<Links, T, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  [[gnu::always_inline]] constexpr list() noexcept : end_{&end_, &end_} { detail::make_at_run_time(); }
  [[gnu::always_inline]] explicit list(size_type count) : list() { resize(count); }
  [[gnu::always_inline]] list(size_type count, const T& value) : list() { insert(end(), count, value); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  [[gnu::always_inline]] list(Iterator first, Iterator last) : list() {
    for (; first != last; ++first) emplace_back(*first);
  }
  [[gnu::always_inline]] list(std::initializer_list<T> values) : list(values.begin(), values.end()) {}
  [[gnu::always_inline]] list(const list& other) : list(other.begin(), other.end()) {}
  [[gnu::always_inline]] list(list&& other) noexcept : list() { splice(end(), other); }
  [[gnu::always_inline]] ~list() { clear(); }

  list& operator=(const list& other) {
    if (this != &other) list(other).swap(*this);
    return *this;
  }
  list& operator=(list&& other) noexcept {
    list(std::move(other)).swap(*this);
    return *this;
  }
  list& operator=(std::initializer_list<T> values) {
    list(values).swap(*this);
    return *this;
  }
  void assign(size_type count, const T& value) { list(count, value).swap(*this); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  void assign(Iterator first, Iterator last) {
    list(std::move(first), std::move(last)).swap(*this);
  }
  void assign(std::initializer_list<T> values) { list(values).swap(*this); }

  iterator begin() noexcept { return iterator(end_.next); }
  const_iterator begin() const noexcept { return const_iterator(self().end_.next); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(&end_); }
  const_iterator end() const noexcept { return const_iterator(const_cast<Links*>(&self().end_)); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  bool empty() const noexcept { return self().end_.next == &self().end_; }
  size_type size() const noexcept { return self().size_; }
  static constexpr size_type max_size() noexcept { return detail::kMaxCount<Node> - 1; }

  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return *iterator(end_.previous); }
  const T& back() const { return *const_iterator(self().end_.previous); }

  template <class... Arguments>
  iterator emplace(const const_iterator& position, Arguments&&... arguments) {
    Node* const node = detail::make_node<Node>(std::forward<Arguments>(arguments)...);
    link(position.links(), node);
    return iterator(node);
  }
  template <class... Arguments>
  T& emplace_front(Arguments&&... arguments) {
    return *emplace(begin(), std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return *emplace(end(), std::forward<Arguments>(arguments)...);
  }
  void push_front(const T& value) { emplace(begin(), value); }
  void push_front(T&& value) { emplace(begin(), std::move(value)); }
  void push_back(const T& value) { emplace(end(), value); }
  void push_back(T&& value) { emplace(end(), std::move(value)); }
  void pop_front() { unlink(end_.next); }
  void pop_back() { unlink(end_.previous); }

  iterator insert(const const_iterator& position, const T& value) { return emplace(position, value); }
  iterator insert(const const_iterator& position, T&& value) { return emplace(position, std::move(value)); }
  iterator insert(const const_iterator& position, size_type count, const T& value) {
    list added;
    for (; count > 0; --count) added.emplace_back(value);
    return join(position, added);
  }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  iterator insert(const const_iterator& position, Iterator first, Iterator last) {
    list added(std::move(first), std::move(last));
    return join(position, added);
  }
  iterator insert(const const_iterator& position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }

  iterator erase(const const_iterator& position) {
    Links* const next = position.links()->next;
    unlink(position.links());
    return iterator(next);
  }
  iterator erase(const const_iterator& first, const const_iterator& last) {
    Links* const end = last.links();
    for (Links* at = first.links(); at != end;) {
      Links* const next = at->next;
      unlink(at);
      at = next;
    }
    return iterator(end);
  }
  void clear() noexcept { erase(begin(), end()); }
  void resize(size_type count) {
    while (size_ > count) pop_back();
    list added;
    while (size_ + added.size_ < count) added.emplace_back();
    splice(end(), added);
  }
  void resize(size_type count, const T& value) {
    if (count > size_) insert(end(), count - size_, value);
    while (size_ > count) pop_back();
  }

  void splice(const const_iterator& position, list& other) {
    if (&other == this) return;
    move_over(other, other.size_);
    detail::transfer(position.links(), other.end_.next, &other.end_);
  }
  void splice(const const_iterator& position, list&& other) { splice(position, other); }
  void splice(const const_iterator& position, list& other, const const_iterator& element) {
    Links* const at = element.links();
    if (position.links() == at || position.links() == at->next) return;
    if (&other != this) move_over(other, 1);
    detail::transfer(position.links(), at, at->next);
  }
  void splice(const const_iterator& position, list&& other, const const_iterator& element) {
    splice(position, other, element);
  }
  void splice(const const_iterator& position, list& other, const const_iterator& first,
              const const_iterator& last) {
    if (&other != this) {
      size_type count = 0;
      for (Links* at = first.links(); at != last.links(); at = at->next) ++count;
      move_over(other, count);
    }
    detail::transfer(position.links(), first.links(), last.links());
  }
  void splice(const const_iterator& position, list&& other, const const_iterator& first,
              const const_iterator& last) {
    splice(position, other, first, last);
  }

  size_type remove(const T& value) {
    return remove_if([&](const T& element) { return element == value; });
  }
  /// The elements are destroyed at the end, since the value looked for may be one of them.
  template <class Predicate>
  size_type remove_if(Predicate predicate) {
    list removed;
    for (Links* at = end_.next; at != &end_;) {
      Links* const next = at->next;
      if (predicate(value_of(at))) removed.splice(removed.end(), *this, const_iterator(at));
      at = next;
    }
    return removed.size_;
  }
  size_type unique() { return unique(std::equal_to<T>()); }
  template <class Equal>
  size_type unique(Equal is_equal) {
    list removed;
    for (Links* at = end_.next; at != &end_ && at->next != &end_;) {
      if (is_equal(value_of(at), value_of(at->next))) {
        removed.splice(removed.end(), *this, const_iterator(at->next));
      } else {
        at = at->next;
      }
    }
    return removed.size_;
  }
  void merge(list& other) { merge(other, std::less<T>()); }
  void merge(list&& other) { merge(other, std::less<T>()); }
  template <class Less>
  void merge(list&& other, Less is_less) {
    merge(other, std::move(is_less));
  }
  template <class Less>
  void merge(list& other, Less is_less) {
    if (&other == this) return;
    for (Links* at = end_.next; at != &end_ && !other.empty();) {
      if (is_less(other.front(), value_of(at))) {
        splice(const_iterator(at), other, other.begin());
      } else {
        at = at->next;
      }
    }
    splice(end(), other);
  }
  void sort() { sort(std::less<T>()); }
  /// Stable. If the comparison throws, all elements are still there, in some order.
  template <class Less>
  void sort(Less is_less) {
    sort_run(end_.next, size_, is_less);
  }
  void reverse() noexcept {
    Links* at = &end_;
    do {
      std::swap(at->previous, at->next);
      at = at->previous;
    } while (at != &end_);
  }
  void swap(list& other) noexcept {
    if (&other == this) return;
    Links* const first = other.end_.next;
    detail::transfer(first, end_.next, &end_);
    detail::transfer(&end_, first, &other.end_);
    const size_type size = size_;
    size_ = other.size_;
    other.size_ = size;
  }
  friend void swap(list& a, list& b) noexcept { a.swap(b); }
  /**@}*/
 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  list& self() const noexcept { return const_cast<list&>(*this); }
  static T& value_of(Links* at) { return static_cast<Node*>(at)->value; }
  void link(Links* position, Links* node) {
    node->previous = position->previous;
    node->next = position;
    position->previous->next = node;
    position->previous = node;
    ++size_;
  }
  void unlink(Links* node) {
    node->previous->next = node->next;
    node->next->previous = node->previous;
    --size_;
    detail::free_node(static_cast<Node*>(node));
  }
  void move_over(list& other, size_type count) {
    other.size_ -= count;
    size_ += count;
  }
  iterator join(const const_iterator& position, list& added) {
    Links* const first = added.empty() ? position.links() : added.end_.next;
    splice(position, added);
    return iterator(first);
  }
  /// Sorts `count` elements from `first` on, and answers the first of them: halves, then a merge by
  /// relinking.
  template <class Less>
  static Links* sort_run(Links* first, size_type count, Less& is_less) {
    if (count < 2) return first;
    size_type left = count / 2, right = count - left;
    first = sort_run(first, left, is_less);
    Links* second = first;
    for (size_type i = 0; i < left; ++i) second = second->next;
    second = sort_run(second, right, is_less);
    for (Links* at = first; left > 0 && right > 0;) {
      if (is_less(value_of(second), value_of(at))) {
        Links* const moved = second;
        second = second->next;
        detail::transfer(at, moved, second);
        if (at == first) first = moved;
        --right;
      } else {
        at = at->next;
        --left;
      }
    }
    return first;
  }

  Links end_;
  size_type size_ = 0;
};

}  // namespace rubato::tm

// Memory and element lifetimes of the transactional containers. Every function here is inline, so that GCC
// finds it safe for transactions. Allocation goes through operator new, which a rollback gives back.
//
// Two forms of one address crash GCC 12's optimizer of transactions (pass tmmemopt): that of a member of a
// named object, and the same by `this` of an inlined function. It finds them equal, but gives them different
// hashes. The flag -fdisable-tree-tmmemopt avoids that. Without it the crash is rarer, since constant
// functions read members by self(), which is not constant, and functions that store constants are not
// inlined.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato::tm::detail {

inline void at_run_time() {}
/// Called by constant constructors, so that only static objects are constants. GCC would make a local object
/// by `object = {}`, and GCC 12 crashes on that in a transaction if the class has a destructor or a copy
/// constructor.
constexpr void make_at_run_time() {
  if (!__builtin_is_constant_evaluated()) at_run_time();
}

/// The largest number of objects whose bytes a difference of pointers can count.
template <class T>
inline constexpr std::size_t kMaxCount = static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);

/// Whether operator new without an alignment is enough. GCC has no transactional form of the other one.
template <class T>
inline constexpr bool kPlainAlignment = alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Memory for `count` objects, none of them constructed. With a larger alignment than that of operator new,
/// the word in front of the first object holds the address to be freed.
template <class T>
T* allocate(std::size_t count) {
  if (count > kMaxCount<T> - 1) throw std::length_error("rubato::tm: a container's size exceeds max_size()");
  if constexpr (kPlainAlignment<T>) {
    return static_cast<T*>(::operator new(count * sizeof(T)));
  } else {
    void* const raw = ::operator new(count * sizeof(T) + alignof(T));
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(raw) / alignof(T) + 1) * alignof(T);
    reinterpret_cast<void**>(first)[-1] = raw;
    return reinterpret_cast<T*>(first);
  }
}

template <class T>
void deallocate(T* first) {
  if constexpr (kPlainAlignment<T>) {
    ::operator delete(static_cast<void*>(first));
  } else if (first != nullptr) {
    ::operator delete(reinterpret_cast<void**>(first)[-1]);
  }
}

template <class T, class... Arguments>
void construct(T* at, Arguments&&... arguments) {
  ::new (static_cast<void*>(at)) T(std::forward<Arguments>(arguments)...);
}

template <class T>
void destroy(T* first, T* last) {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (; first != last; ++first) first->~T();
  }
}

/// Memory of one object that is freed unless release() is called: the constructor may throw. A destructor
/// cleans up, since GCC's libitm has no working handler inside a transaction.
template <class T>
class Fresh {
 public:
  Fresh() : at_(allocate<T>(1)) {}
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  ~Fresh() { deallocate(at_); }
  T* get() const { return at_; }
  T* release() {
    T* const at = at_;
    at_ = nullptr;
    return at;
  }

 private:
  T* at_;
};

template <class Node, class... Arguments>
Node* make_node(Arguments&&... arguments) {
  Fresh<Node> fresh;
  detail::construct(fresh.get(), std::forward<Arguments>(arguments)...);
  return fresh.release();
}

template <class Node>
void free_node(Node* node) {
  node->~Node();
  deallocate(node);
}

/// A node that is freed unless it is released.
template <class Node>
struct MadeNode {
  Node* node;
  Node* release() {
    Node* const made = node;
    node = nullptr;
    return made;
  }
  ~MadeNode() {
    if (node != nullptr) free_node(node);
  }
};

/// Whether elements are moved to other memory rather than copied: a move cannot throw, or a copy is
/// impossible.
template <class T>
inline constexpr bool kMovesOver =
    std::is_nothrow_move_constructible_v<T> || !std::is_copy_constructible_v<T>;

template <class Iterator>
using if_iterator = typename std::iterator_traits<Iterator>::iterator_category;

template <class Iterator>
inline constexpr bool kIsForward = std::is_convertible_v<if_iterator<Iterator>, std::forward_iterator_tag>;

template <class Iterator>
void reverse(Iterator first, Iterator last) {
  using std::swap;
  while (first != last) {
    --last;
    if (first == last) return;
    swap(*first, *last);
    ++first;
  }
}

/// Brings [middle, last) in front of [first, middle).
template <class Iterator>
void rotate(const Iterator& first, const Iterator& middle, const Iterator& last) {
  if (first == middle || middle == last) return;
  detail::reverse(first, middle);
  detail::reverse(middle, last);
  detail::reverse(first, last);
}

template <class A, class B>
bool equal(const A& a, const B& b) {
  if (a.size() != b.size()) return false;
  auto right = b.begin();
  for (auto left = a.begin(); left != a.end(); ++left, ++right) {
    if (!(*left == *right)) return false;
  }
  return true;
}

/// Whether `a` is before `b` in the lexicographic order of elements.
template <class A, class B>
bool before(const A& a, const B& b) {
  auto left = a.begin();
  auto right = b.begin();
  for (; right != b.end(); ++left, ++right) {
    if (left == a.end() || *left < *right) return true;
    if (*right < *left) return false;
  }
  return false;
}

/// Comparisons of containers by their elements.
template <class Container>
struct Compared {
  friend bool operator==(const Container& a, const Container& b) { return detail::equal(a, b); }
  friend bool operator!=(const Container& a, const Container& b) { return !detail::equal(a, b); }
  friend bool operator<(const Container& a, const Container& b) { return detail::before(a, b); }
  friend bool operator>(const Container& a, const Container& b) { return detail::before(b, a); }
  friend bool operator<=(const Container& a, const Container& b) { return !detail::before(b, a); }
  friend bool operator>=(const Container& a, const Container& b) { return !detail::before(a, b); }
};

}  // namespace rubato::tm::detail

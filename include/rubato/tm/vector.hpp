// A vector for transactions: std::vector's interface, each function safe inside `__transaction_atomic` of
// GCC's -fgnu-tm and usable outside. A rollback undoes what a function did, its allocations included.
//
// Left out, besides what std::vector has of allocators, ranges and constexpr: the packed vector<bool> (an
// element is a bool here, since GCC breaks bit-fields in transactions), and iterators of a class (they are
// pointers). Another thread's transactions see a vector as a whole: two pushes on one vector conflict, and so
// do a push and size().
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "rubato/tm/detail/memory.hpp"

namespace rubato::tm {

/// As std::vector. The default constructor is constexpr: a global one needs no code at the program's start.
template <class T>
class vector : detail::Compared<vector<T>> {
 public:
  /// As in std::vector.
  /**@{*/
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  [[gnu::always_inline]] constexpr vector() noexcept { detail::make_at_run_time(); }
  [[gnu::always_inline]] explicit vector(size_type count) : vector() { resize(count); }
  [[gnu::always_inline]] vector(size_type count, const T& value) : vector() { append(count, value); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  [[gnu::always_inline]] vector(Iterator first, Iterator last) : vector() {
    append(std::move(first), last);
  }
  [[gnu::always_inline]] vector(std::initializer_list<T> values) : vector(values.begin(), values.end()) {}
  [[gnu::always_inline]] vector(const vector& other) : vector(other.self().first_, other.self().last_) {}
  [[gnu::always_inline]] vector(vector&& other) noexcept { swap(other); }
  [[gnu::always_inline]] ~vector() { free(); }

  vector& operator=(const vector& other) {
    if (this != &other) vector(other).swap(*this);
    return *this;
  }
  vector& operator=(vector&& other) noexcept {
    vector(std::move(other)).swap(*this);
    return *this;
  }
  vector& operator=(std::initializer_list<T> values) {
    vector(values).swap(*this);
    return *this;
  }
  void assign(size_type count, const T& value) { vector(count, value).swap(*this); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  void assign(Iterator first, Iterator last) {
    vector(std::move(first), std::move(last)).swap(*this);
  }
  void assign(std::initializer_list<T> values) { vector(values).swap(*this); }

  iterator begin() noexcept { return first_; }
  const_iterator begin() const noexcept { return self().first_; }
  const_iterator cbegin() const noexcept { return self().first_; }
  iterator end() noexcept { return last_; }
  const_iterator end() const noexcept { return self().last_; }
  const_iterator cend() const noexcept { return self().last_; }
  reverse_iterator rbegin() noexcept { return reverse_iterator(last_); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(self().last_); }
  reverse_iterator rend() noexcept { return reverse_iterator(first_); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(self().first_); }

  bool empty() const noexcept { return self().first_ == self().last_; }
  size_type size() const noexcept { return static_cast<size_type>(self().last_ - self().first_); }
  size_type capacity() const noexcept { return static_cast<size_type>(self().end_ - self().first_); }
  static constexpr size_type max_size() noexcept { return detail::kMaxCount<T> - 1; }

  T& operator[](size_type i) { return first_[i]; }
  const T& operator[](size_type i) const { return self().first_[i]; }
  T& at(size_type i) { return first_[checked(i)]; }
  const T& at(size_type i) const { return self().first_[checked(i)]; }
  T& front() { return *first_; }
  const T& front() const { return *self().first_; }
  T& back() { return last_[-1]; }
  const T& back() const { return self().last_[-1]; }
  T* data() noexcept { return first_; }
  const T* data() const noexcept { return self().first_; }

  void reserve(size_type count) {
    if (count > capacity()) move_to(count);
  }
  void shrink_to_fit() {
    if (last_ != end_) move_to(size());
  }
  void resize(size_type count) {
    shorten(count);
    reserve(count);
    while (size() < count) add();
  }
  void resize(size_type count, const T& value) {
    if (count > size()) append(count - size(), value);
    shorten(count);
  }
  void clear() noexcept { shorten(0); }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (last_ == end_) {
      add_growing(std::forward<Arguments>(arguments)...);
    } else {
      add(std::forward<Arguments>(arguments)...);
    }
    return last_[-1];
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { shorten(size() - 1); }

  template <class... Arguments>
  iterator emplace(const_iterator position, Arguments&&... arguments) {
    const difference_type place = position - first_;
    if (position == last_) {
      emplace_back(std::forward<Arguments>(arguments)...);
      return first_ + place;
    }
    T value(std::forward<Arguments>(arguments)...);  // the arguments may be elements that are moved
    reserve_for(1);
    add(std::move(last_[-1]));
    for (T* at = last_ - 2; at != first_ + place; --at) *at = std::move(at[-1]);
    first_[place] = std::move(value);
    return first_ + place;
  }
  iterator insert(const_iterator position, const T& value) { return emplace(position, value); }
  iterator insert(const_iterator position, T&& value) { return emplace(position, std::move(value)); }
  iterator insert(const_iterator position, size_type count, const T& value) {
    const difference_type place = position - first_, before = last_ - first_;
    append(count, value);
    return turn(place, before);
  }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  iterator insert(const_iterator position, Iterator first, Iterator last) {
    const difference_type place = position - first_, before = last_ - first_;
    append(std::move(first), last);
    return turn(place, before);
  }
  iterator insert(const_iterator position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }

  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    T* const place = first_ + (first - first_);
    if (first == last) return place;
    T* to = place;
    for (T* from = first_ + (last - first_); from != last_; ++from, ++to) *to = std::move(*from);
    shorten(static_cast<size_type>(to - first_));
    return place;
  }

  void swap(vector& other) noexcept {
    T* const first = first_;
    T* const last = last_;
    T* const end = end_;
    first_ = other.first_;
    last_ = other.last_;
    end_ = other.end_;
    other.first_ = first;
    other.last_ = last;
    other.end_ = end;
  }
  friend void swap(vector& a, vector& b) noexcept { a.swap(b); }
  /**@}*/
 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  vector& self() const noexcept { return const_cast<vector&>(*this); }
  size_type checked(size_type i) const {
    if (i >= size()) throw std::out_of_range("rubato::tm::vector::at: the index is not below size()");
    return i;
  }
  void free() noexcept {
    detail::destroy(first_, last_);
    detail::deallocate(first_);
  }
  /// Constructs an element behind the last one, where there is room.
  template <class... Arguments>
  void add(Arguments&&... arguments) {
    detail::construct(last_, std::forward<Arguments>(arguments)...);
    ++last_;
  }
  /// The same with new memory. If a constructor throws, nothing has changed.
  template <class... Arguments>
  void add_growing(Arguments&&... arguments) {
    vector grown;
    T value(std::forward<Arguments>(arguments)...);
    grown.obtain(enough_for(size() + 1));
    grown.take(*this);
    grown.add(std::move_if_noexcept(value));
    swap(grown);
  }
  void obtain(size_type count) {
    if (count == 0) return;
    first_ = last_ = detail::allocate<T>(count);
    end_ = first_ + count;
  }
  /// Moves the elements of `other` here, or copies them if a move could throw. They fit.
  void take(vector& other) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (other.self().first_ == other.self().last_) return;
      std::memcpy(static_cast<void*>(last_), static_cast<const void*>(other.self().first_),
                  other.size() * sizeof(T));
      last_ += other.size();
    } else {
      for (T* from = other.self().first_; from != other.self().last_; ++from) {
        if constexpr (detail::kMovesOver<T>) {
          add(std::move(*from));
        } else {
          add(static_cast<const T&>(*from));
        }
      }
    }
  }
  void move_to(size_type count) {
    vector other;
    other.obtain(count);
    other.take(*this);
    swap(other);
  }
  size_type enough_for(size_type count) const { return count > 2 * capacity() ? count : 2 * capacity(); }
  void reserve_for(size_type more) {
    if (static_cast<size_type>(end_ - last_) < more) move_to(enough_for(size() + more));
  }
  void append(size_type count, const T& value) {
    if (count == 0) return;
    if (static_cast<size_type>(end_ - last_) >= count) {
      for (; count > 0; --count) add(value);
      return;
    }
    const T copy(value);  // the value may be an element, and elements move
    reserve_for(count);
    for (; count > 0; --count) add(copy);
  }
  template <class Iterator>
  void append(Iterator first, const Iterator& last) {
    if constexpr (detail::kIsForward<Iterator>) {
      size_type count = 0;
      for (Iterator at = first; at != last; ++at) ++count;
      reserve_for(count);
    }
    for (; first != last; ++first) emplace_back(*first);
  }
  /// Brings what was appended behind the first `before` elements to `place`.
  iterator turn(difference_type place, difference_type before) {
    detail::rotate(first_ + place, first_ + before, last_);
    return first_ + place;
  }
  void shorten(size_type count) noexcept {
    if (count >= size()) return;
    T* const end = first_ + count;
    detail::destroy(end, last_);
    last_ = end;
  }

  T* first_ = nullptr;
  T* last_ = nullptr;
  T* end_ = nullptr;
};

/// As in the standard library.
template <class T, class U>
std::size_t erase(vector<T>& from, const U& value) {
  return erase_if(from, [&](const T& element) { return element == value; });
}
/// As in the standard library.
template <class T, class Predicate>
std::size_t erase_if(vector<T>& from, Predicate predicate) {
  T* to = from.begin();
  for (T* at = from.begin(); at != from.end(); ++at) {
    if (predicate(*at)) continue;
    if (to != at) *to = std::move(*at);
    ++to;
  }
  const std::size_t erased = static_cast<std::size_t>(from.end() - to);
  from.erase(to, from.end());
  return erased;
}

}  // namespace rubato::tm

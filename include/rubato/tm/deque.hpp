// A double-ended queue for transactions: std::deque's interface, each function safe inside
// `__transaction_atomic` of GCC's -fgnu-tm and usable outside. References stay valid over pushes and pops at
// the ends, as with std::deque. Iterators do so, too, which is more than std::deque promises.
//
// Left out, besides what std::deque has of allocators, ranges and constexpr: iterators that stay valid over
// swap and move. A push at one end writes what a push at the other end reads, so the two conflict.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "rubato/tm/detail/memory.hpp"

namespace rubato::tm {
template <class T>
class deque;

namespace detail {

/// A deque and a position in it. Copies are made by functions of the class: GCC passes a trivial class by
/// plain loads.
template <class T, bool IsConst>
class DequeIterator {
  using Owner = std::conditional_t<IsConst, const deque<T>, deque<T>>;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<IsConst, const T&, T&>;
  using pointer = std::conditional_t<IsConst, const T*, T*>;

  DequeIterator() : owner_(nullptr), position_(0) {}
  DequeIterator(Owner* owner, std::size_t position) : owner_(owner), position_(position) {}
  DequeIterator(const DequeIterator& other)
      : owner_(other.self().owner_), position_(other.self().position_) {}
  template <bool Other, class = std::enable_if_t<IsConst && !Other>>
  DequeIterator(const DequeIterator<T, Other>& other) : owner_(other.owner()), position_(other.position()) {}
  DequeIterator& operator=(const DequeIterator& other) {
    owner_ = other.self().owner_;
    position_ = other.self().position_;
    return *this;
  }
  ~DequeIterator() = default;

  reference operator*() const { return self().owner_->element(self().position_); }
  pointer operator->() const { return &self().owner_->element(self().position_); }
  reference operator[](difference_type n) const { return self().owner_->element(moved(n)); }
  DequeIterator& operator++() { return *this += 1; }
  DequeIterator& operator--() { return *this += -1; }
  DequeIterator operator++(int) {
    DequeIterator old(*this);
    *this += 1;
    return old;
  }
  DequeIterator operator--(int) {
    DequeIterator old(*this);
    *this += -1;
    return old;
  }
  DequeIterator& operator+=(difference_type n) {
    position_ = moved(n);
    return *this;
  }
  DequeIterator& operator-=(difference_type n) { return *this += -n; }
  friend DequeIterator operator+(const DequeIterator& i, difference_type n) {
    return DequeIterator(i.self().owner_, i.moved(n));
  }
  friend DequeIterator operator+(difference_type n, const DequeIterator& i) { return i + n; }
  friend DequeIterator operator-(const DequeIterator& i, difference_type n) { return i + -n; }
  friend difference_type operator-(const DequeIterator& a, const DequeIterator& b) {
    return static_cast<difference_type>(a.self().position_ - b.self().position_);
  }
  friend bool operator==(const DequeIterator& a, const DequeIterator& b) {
    return a.self().position_ == b.self().position_;
  }
  friend bool operator!=(const DequeIterator& a, const DequeIterator& b) {
    return a.self().position_ != b.self().position_;
  }
  friend bool operator<(const DequeIterator& a, const DequeIterator& b) { return a - b < 0; }
  friend bool operator>(const DequeIterator& a, const DequeIterator& b) { return b - a < 0; }
  friend bool operator<=(const DequeIterator& a, const DequeIterator& b) { return a - b <= 0; }
  friend bool operator>=(const DequeIterator& a, const DequeIterator& b) { return b - a <= 0; }
  /// For the deque alone.
  /**@{*/
  Owner* owner() const { return self().owner_; }
  std::size_t position() const { return self().position_; }
  /**@}*/

 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  DequeIterator& self() const noexcept { return const_cast<DequeIterator&>(*this); }
  std::size_t moved(difference_type n) const { return self().position_ + static_cast<std::size_t>(n); }

  Owner* owner_;
  std::size_t position_;
};

}  // namespace detail

/// As std::deque. Blocks of elements hang in a ring of pointers. A position counts elements from an origin
/// that never moves, in both directions and modulo 2^64; its block is in the same place of the ring until the
/// ring grows. The default constructor is constexpr.
template <class T>
class deque : detail::Compared<deque<T>> {
 public:
  /// As in std::deque.
  /**@{*/
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = detail::DequeIterator<T, false>;
  using const_iterator = detail::DequeIterator<T, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  [[gnu::always_inline]] constexpr deque() noexcept { detail::make_at_run_time(); }
  [[gnu::always_inline]] explicit deque(size_type count) : deque() { resize(count); }
  [[gnu::always_inline]] deque(size_type count, const T& value) : deque() { append(count, value); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  [[gnu::always_inline]] deque(Iterator first, Iterator last) : deque() {
    for (; first != last; ++first) emplace_back(*first);
  }
  [[gnu::always_inline]] deque(std::initializer_list<T> values) : deque(values.begin(), values.end()) {}
  [[gnu::always_inline]] deque(const deque& other) : deque(other.begin(), other.end()) {}
  [[gnu::always_inline]] deque(deque&& other) noexcept { swap(other); }
  [[gnu::always_inline]] ~deque() {
    clear();
    detail::deallocate(ring_);
  }

  deque& operator=(const deque& other) {
    if (this != &other) deque(other).swap(*this);
    return *this;
  }
  deque& operator=(deque&& other) noexcept {
    deque(std::move(other)).swap(*this);
    return *this;
  }
  deque& operator=(std::initializer_list<T> values) {
    deque(values).swap(*this);
    return *this;
  }
  void assign(size_type count, const T& value) { deque(count, value).swap(*this); }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  void assign(Iterator first, Iterator last) {
    deque(std::move(first), std::move(last)).swap(*this);
  }
  void assign(std::initializer_list<T> values) { deque(values).swap(*this); }

  iterator begin() noexcept { return iterator(this, head_); }
  const_iterator begin() const noexcept { return const_iterator(this, self().head_); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(this, head_ + size_); }
  const_iterator end() const noexcept { return const_iterator(this, self().head_ + self().size_); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  bool empty() const noexcept { return self().size_ == 0; }
  size_type size() const noexcept { return self().size_; }
  static constexpr size_type max_size() noexcept { return detail::kMaxCount<T> - 1; }

  T& operator[](size_type i) { return element(head_ + i); }
  const T& operator[](size_type i) const { return element(self().head_ + i); }
  T& at(size_type i) { return element(head_ + checked(i)); }
  const T& at(size_type i) const { return element(self().head_ + checked(i)); }
  T& front() { return element(head_); }
  const T& front() const { return element(self().head_); }
  T& back() { return element(head_ + size_ - 1); }
  const T& back() const { return element(self().head_ + self().size_ - 1); }

  /// Frees the ring of an empty deque. Blocks without elements are freed anyway.
  void shrink_to_fit() {
    if (size_ == 0) deque().swap(*this);
  }
  void resize(size_type count) {
    shorten(count);
    while (size_ < count) emplace_back();
  }
  void resize(size_type count, const T& value) {
    if (count > size_) append(count - size_, value);
    shorten(count);
  }
  void clear() noexcept { shorten(0); }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    const size_type position = head_ + size_;
    construct_at(position, std::forward<Arguments>(arguments)...);
    ++size_;
    return element(position);
  }
  template <class... Arguments>
  T& emplace_front(Arguments&&... arguments) {
    const size_type position = head_ - 1;
    construct_at(position, std::forward<Arguments>(arguments)...);
    head_ = position;
    ++size_;
    return element(position);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void push_front(const T& value) { emplace_front(value); }
  void push_front(T&& value) { emplace_front(std::move(value)); }
  void pop_back() {
    --size_;
    const size_type position = head_ + size_;
    element(position).~T();
    if (size_ == 0 || position % kBlock == 0) free_block(position);
  }
  void pop_front() {
    const size_type position = head_;
    element(position).~T();
    --size_;
    ++head_;
    if (size_ == 0 || head_ % kBlock == 0) free_block(position);
  }

  template <class... Arguments>
  iterator emplace(const const_iterator& position, Arguments&&... arguments) {
    const size_type place = position.position() - head_;
    if (place == size_) {
      emplace_back(std::forward<Arguments>(arguments)...);
    } else if (place == 0) {
      emplace_front(std::forward<Arguments>(arguments)...);
    } else {
      T value(std::forward<Arguments>(arguments)...);  // the arguments may be elements that are moved
      if (place < size_ / 2) {
        emplace_front(std::move(front()));
        for (size_type i = 1; i < place; ++i) (*this)[i] = std::move((*this)[i + 1]);
      } else {
        emplace_back(std::move(back()));
        for (size_type i = size_ - 2; i > place; --i) (*this)[i] = std::move((*this)[i - 1]);
      }
      (*this)[place] = std::move(value);
    }
    return iterator(this, head_ + place);
  }
  iterator insert(const const_iterator& position, const T& value) { return emplace(position, value); }
  iterator insert(const const_iterator& position, T&& value) { return emplace(position, std::move(value)); }
  iterator insert(const const_iterator& position, size_type count, const T& value) {
    const size_type place = position.position() - head_, before = size_;
    append(count, value);
    return turn(place, before);
  }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  iterator insert(const const_iterator& position, Iterator first, Iterator last) {
    const size_type place = position.position() - head_, before = size_;
    for (; first != last; ++first) emplace_back(*first);
    return turn(place, before);
  }
  iterator insert(const const_iterator& position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }

  iterator erase(const const_iterator& position) { return erase(position, position + 1); }
  iterator erase(const const_iterator& first, const const_iterator& last) {
    const size_type place = first.position() - head_, count = static_cast<size_type>(last - first);
    if (count == 0) return iterator(this, head_ + place);
    if (place < (size_ - count) / 2) {
      for (size_type i = place; i > 0; --i) (*this)[i - 1 + count] = std::move((*this)[i - 1]);
      for (size_type i = 0; i < count; ++i) pop_front();
    } else {
      for (size_type i = place + count; i < size_; ++i) (*this)[i - count] = std::move((*this)[i]);
      shorten(size_ - count);
    }
    return iterator(this, head_ + place);
  }

  void swap(deque& other) noexcept {
    T** const ring = ring_;
    const size_type slots = slots_;
    const size_type head = head_;
    const size_type size = size_;
    ring_ = other.ring_;
    slots_ = other.slots_;
    head_ = other.head_;
    size_ = other.size_;
    other.ring_ = ring;
    other.slots_ = slots;
    other.head_ = head;
    other.size_ = size;
  }
  friend void swap(deque& a, deque& b) noexcept { a.swap(b); }
  /**@}*/
 private:
  template <class U, bool IsConst>
  friend class detail::DequeIterator;

  /// Elements a block: a power of two near 512 bytes.
  static constexpr size_type block_size() {
    size_type count = 1;
    while (2 * count * sizeof(T) <= 512) count *= 2;
    return count;
  }
  static constexpr size_type kBlock = block_size();

  /// Access for constant functions, too: see detail/memory.hpp.
  deque& self() const noexcept { return const_cast<deque&>(*this); }
  size_type checked(size_type i) const {
    if (i >= self().size_) throw std::out_of_range("rubato::tm::deque::at: the index is not below size()");
    return i;
  }
  T*& block(size_type position) const { return self().ring_[position / kBlock % self().slots_]; }
  T& element(size_type position) const { return block(position)[position % kBlock]; }

  /// Constructs an element at a position next to the first or the last one. If the constructor throws,
  /// nothing has changed but the capacity.
  template <class... Arguments>
  void construct_at(size_type position, Arguments&&... arguments) {
    grow_for(position);
    T* const old = block(position);
    NewBlock added{old == nullptr ? detail::allocate<T>(kBlock) : nullptr};
    T* const target = old == nullptr ? added.first : old;
    detail::construct(target + position % kBlock, std::forward<Arguments>(arguments)...);
    if (old == nullptr) block(position) = target;
    added.first = nullptr;
  }
  struct NewBlock {
    T* first;
    ~NewBlock() {
      if (first != nullptr) detail::deallocate(first);
    }
  };
  /// Makes room in the ring for all blocks, that of `position` included.
  void grow_for(size_type position) {
    if (slots_ > 0 && (size_ == 0 || blocks_with(position) <= slots_)) return;
    const size_type slots = slots_ == 0 ? 4 : 2 * slots_;
    T** const ring = detail::allocate<T*>(slots);
    for (size_type i = 0; i < slots; ++i) ring[i] = nullptr;
    const size_type used = size_ == 0 ? 0 : (head_ % kBlock + size_ - 1) / kBlock + 1;
    for (size_type i = 0; i < used; ++i) {
      const size_type at = head_ + i * kBlock;
      ring[at / kBlock % slots] = block(at);
    }
    detail::deallocate(ring_);
    ring_ = ring;
    slots_ = slots;
  }
  /// How many blocks the elements need with one more, next to the first or the last one.
  size_type blocks_with(size_type position) const {
    const size_type first = position == self().head_ - 1 ? position : self().head_;
    return (first % kBlock + self().size_) / kBlock + 1;
  }
  void free_block(size_type position) {
    detail::deallocate(block(position));
    block(position) = nullptr;
  }
  void append(size_type count, const T& value) {  // the value may be an element: elements stay where they are
    for (; count > 0; --count) emplace_back(value);
  }
  /// Brings what was appended behind the first `before` elements to `place`.
  iterator turn(size_type place, size_type before) {
    const iterator first = begin();
    detail::rotate(first + static_cast<difference_type>(place), first + static_cast<difference_type>(before),
                   end());
    return first + static_cast<difference_type>(place);
  }
  void shorten(size_type count) noexcept {
    while (size_ > count) pop_back();
  }

  T** ring_ = nullptr;
  size_type slots_ = 0;
  size_type head_ = 0;
  size_type size_ = 0;
};

}  // namespace rubato::tm

// A string of characters for transactions: std::string's interface, each function safe inside
// `__transaction_atomic` of GCC's -fgnu-tm and usable outside. Up to 15 characters are kept without
// allocation.
//
// Left out, besides what std::string has of allocators, ranges and constexpr: other types of characters,
// streams, and conversions of numbers (rubato/tm/library.h has tm_snprintf and tm_strtol). A std::string or a
// literal converts, since it converts to text_view. Functions with loops over texts are not inlined: GCC 12
// crashes on a loop over a literal in a transaction.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "rubato/tm/detail/memory.hpp"
#include "rubato/tm/hash.hpp"

namespace rubato::tm {
class string;

namespace detail {

/// strlen, which transactions cannot call.
[[gnu::noinline]] constexpr std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

/// As memcmp, eight bytes at a time: a barrier costs the same for each of them as for one.
[[gnu::noinline]] inline int compare_bytes(const char* a, const char* b, std::size_t count) {
  std::uint64_t left = 0, right = 0;
  for (; count >= 8; count -= 8, a += 8, b += 8) {
    std::memcpy(&left, a, 8);
    std::memcpy(&right, b, 8);
    if (left != right) break;
  }
  for (; count > 0; --count, ++a, ++b) {
    if (*a != *b) return static_cast<unsigned char>(*a) < static_cast<unsigned char>(*b) ? -1 : 1;
  }
  return 0;
}

}  // namespace detail

/// Characters that belong to something else, as std::string_view. It is made from that, from a literal and
/// from strings. Copies are made by functions of the class: GCC passes a trivial class by plain loads.
class text_view {
 public:
  /// As in std::string_view.
  /**@{*/
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  constexpr text_view() : first_(nullptr), size_(0) {}
  constexpr text_view(const char* first, std::size_t size) : first_(first), size_(size) {}
  constexpr text_view(const char* text) : first_(text), size_(detail::length_of(text)) {}  // NOLINT: converts
  text_view(const std::string& text) : first_(text.data()), size_(text.size()) {}          // NOLINT: converts
  constexpr text_view(const std::string_view& text) : first_(text.data()), size_(text.size()) {}  // NOLINT
  inline text_view(const string& text);                                                           // NOLINT
  constexpr text_view(const text_view& other) : first_(other.self().first_), size_(other.self().size_) {}
  text_view& operator=(const text_view& other) {
    first_ = other.self().first_;
    size_ = other.self().size_;
    return *this;
  }
  ~text_view() = default;

  constexpr const char* data() const { return self().first_; }
  constexpr std::size_t size() const { return self().size_; }
  constexpr std::size_t length() const { return self().size_; }
  constexpr bool empty() const { return self().size_ == 0; }
  constexpr const char* begin() const { return self().first_; }
  constexpr const char* end() const { return self().first_ + self().size_; }
  constexpr const char& operator[](std::size_t i) const { return self().first_[i]; }
  explicit operator std::string_view() const { return {self().first_, self().size_}; }

  /// From `position` on, at most `count` characters.
  text_view substr(std::size_t position, std::size_t count = npos) const {
    if (position > self().size_)
      throw std::out_of_range("rubato::tm::string: the position is behind the end");
    const std::size_t rest = self().size_ - position;
    return text_view(self().first_ + position, count < rest ? count : rest);
  }
  int compare(const text_view& other) const {
    const std::size_t common = self().size_ < other.self().size_ ? self().size_ : other.self().size_;
    const int order = detail::compare_bytes(self().first_, other.self().first_, common);
    if (order != 0) return order;
    return self().size_ == other.self().size_ ? 0 : self().size_ < other.self().size_ ? -1 : 1;
  }
  bool equals(const text_view& other) const {
    return self().size_ == other.self().size_ &&
           detail::compare_bytes(self().first_, other.self().first_, self().size_) == 0;
  }
  bool starts_with(const text_view& text) const {
    return self().size_ >= text.size() && detail::compare_bytes(self().first_, text.data(), text.size()) == 0;
  }
  bool ends_with(const text_view& text) const {
    return self().size_ >= text.size() &&
           detail::compare_bytes(end() - text.size(), text.data(), text.size()) == 0;
  }
  bool contains(const text_view& text) const { return find(text) != npos; }

  std::size_t find(const text_view& text, std::size_t from = 0) const {
    for (std::size_t at = from; at <= self().size_ && text.size() <= self().size_ - at; ++at) {
      if (is_at(at, text)) return at;
    }
    return npos;
  }
  std::size_t rfind(const text_view& text, std::size_t from = npos) const {
    if (text.size() > self().size_) return npos;
    std::size_t at = self().size_ - text.size() < from ? self().size_ - text.size() : from;
    for (;; --at) {
      if (is_at(at, text)) return at;
      if (at == 0) return npos;
    }
  }
  /// The first character from `from` on that is among `set`, or is not.
  [[gnu::noinline]] std::size_t find_first(const text_view& set, std::size_t from, bool is_wanted) const {
    for (std::size_t at = from; at < self().size_; ++at) {
      if (set.has(self().first_[at]) == is_wanted) return at;
    }
    return npos;
  }
  /// The last character up to `from` that is among `set`, or is not.
  [[gnu::noinline]] std::size_t find_last(const text_view& set, std::size_t from, bool is_wanted) const {
    for (std::size_t at = from < self().size_ ? from + 1 : self().size_; at > 0; --at) {
      if (set.has(self().first_[at - 1]) == is_wanted) return at - 1;
    }
    return npos;
  }
  /**@}*/
 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  constexpr text_view& self() const noexcept { return const_cast<text_view&>(*this); }
  bool is_at(std::size_t at, const text_view& text) const {
    return detail::compare_bytes(self().first_ + at, text.data(), text.size()) == 0;
  }
  [[gnu::noinline]] bool has(char c) const {
    for (std::size_t i = 0; i < self().size_; ++i) {
      if (self().first_[i] == c) return true;
    }
    return false;
  }

  const char* first_;
  std::size_t size_;
};

/// As std::string. The default constructor is constexpr.
class string {
 public:
  /// As in std::string.
  /**@{*/
  using value_type = char;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = char&;
  using const_reference = const char&;
  using iterator = char*;
  using const_iterator = const char*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  static constexpr size_type npos = text_view::npos;

  [[gnu::always_inline]] constexpr string() noexcept : first_(own_), size_(0), capacity_(kOwn), own_{} {
    detail::make_at_run_time();
  }
  [[gnu::always_inline]] string(const char* text) : string() {
    append(text);
  }  // NOLINT: converts, as std::string does
  [[gnu::always_inline]] string(const char* text, size_type count) : string() {
    append(text_view(text, count));
  }
  [[gnu::always_inline]] explicit string(const text_view& text) : string() { append(text); }
  [[gnu::always_inline]] explicit string(const std::string& text) : string(text.data(), text.size()) {}
  [[gnu::always_inline]] string(size_type count, char c) : string() { append(count, c); }
  [[gnu::always_inline]] string(const string& other, size_type position, size_type count = npos) : string() {
    append(text_view(other).substr(position, count));
  }
  template <class Iterator, class = detail::if_iterator<Iterator>>
  string(Iterator first, Iterator last) : string() {
    for (; first != last; ++first) push_back(*first);
  }
  [[gnu::always_inline]] string(std::initializer_list<char> characters)
      : string(characters.begin(), characters.size()) {}
  [[gnu::always_inline]] string(const string& other) : string(other.self().first_, other.self().size_) {}
  [[gnu::always_inline]] string(string&& other) noexcept : string() { take(other); }
  [[gnu::always_inline]] ~string() { free(); }

  string& operator=(const string& other) { return assign(text_view(other)); }
  string& operator=(string&& other) noexcept {
    if (this != &other) {
      free();
      take(other);
    }
    return *this;
  }
  string& operator=(const text_view& text) { return assign(text); }
  string& operator=(const char* text) { return assign(text_view(text)); }
  string& operator=(char c) { return assign(1, c); }
  string& assign(const text_view& text) { return replace(0, size_, text); }
  string& assign(const char* text, size_type count) { return assign(text_view(text, count)); }
  string& assign(size_type count, char c) { return replace(0, size_, count, c); }

  iterator begin() noexcept { return first_; }
  const_iterator begin() const noexcept { return self().first_; }
  const_iterator cbegin() const noexcept { return self().first_; }
  iterator end() noexcept { return first_ + size_; }
  const_iterator end() const noexcept { return self().first_ + self().size_; }
  const_iterator cend() const noexcept { return self().first_ + self().size_; }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  bool empty() const noexcept { return self().size_ == 0; }
  size_type size() const noexcept { return self().size_; }
  size_type length() const noexcept { return self().size_; }
  size_type capacity() const noexcept { return self().capacity_; }
  static constexpr size_type max_size() noexcept { return detail::kMaxCount<char> - 2; }
  void reserve(size_type count) {
    if (count > capacity_) move_to(count);
  }
  void shrink_to_fit() {
    if (capacity_ > size_ && capacity_ > kOwn) {
      string copy(*this);
      swap(copy);
    }
  }
  void resize(size_type count, char c = '\0') {
    if (count > size_) append(count - size_, c);
    set_size(count);
  }
  [[gnu::noinline]] void clear() noexcept { set_size(0); }

  char& operator[](size_type i) { return first_[i]; }
  const char& operator[](size_type i) const { return self().first_[i]; }
  char& at(size_type i) { return first_[checked(i)]; }
  const char& at(size_type i) const { return self().first_[checked(i)]; }
  char& front() { return first_[0]; }
  const char& front() const { return self().first_[0]; }
  char& back() { return first_[size_ - 1]; }
  const char& back() const { return self().first_[self().size_ - 1]; }
  char* data() noexcept { return first_; }
  const char* data() const noexcept { return self().first_; }
  const char* c_str() const noexcept { return self().first_; }
  /// A copy for code outside of transactions.
  explicit operator std::string() const { return std::string(self().first_, self().size_); }

  string& append(const text_view& text) { return replace(size_, 0, text); }
  string& append(const char* text, size_type count) { return append(text_view(text, count)); }
  string& append(size_type count, char c) { return replace(size_, 0, count, c); }
  void push_back(char c) {
    if (size_ == capacity_) move_to(enough_for(size_ + 1));
    first_[size_] = c;
    set_size(size_ + 1);
  }
  void pop_back() { set_size(size_ - 1); }
  string& operator+=(const text_view& text) { return append(text); }
  string& operator+=(char c) {
    push_back(c);
    return *this;
  }

  string& insert(size_type position, const text_view& text) { return replace(position, 0, text); }
  string& insert(size_type position, size_type count, char c) { return replace(position, 0, count, c); }
  iterator insert(const_iterator position, char c) {
    const size_type place = static_cast<size_type>(position - first_);
    replace(place, 0, 1, c);
    return first_ + place;
  }
  string& erase(size_type position = 0, size_type count = npos) {
    close(position, text_view(*this).substr(position, count).size(), 0);
    return *this;
  }
  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const size_type place = static_cast<size_type>(first - first_);
    close(place, static_cast<size_type>(last - first), 0);
    return first_ + place;
  }
  /// The text may be a part of this string.
  string& replace(size_type position, size_type count, const text_view& text) {
    if (!text.empty() && !std::less<const char*>()(text.data(), first_) &&
        std::less<const char*>()(text.data(), first_ + size_)) {
      const string copy(text.data(), text.size());
      return replace(position, count, text_view(copy));
    }
    close(position, text_view(*this).substr(position, count).size(), text.size());
    if (!text.empty()) std::memcpy(first_ + position, text.data(), text.size());
    return *this;
  }
  string& replace(size_type position, size_type count, size_type copies, char c) {
    close(position, text_view(*this).substr(position, count).size(), copies);
    std::memset(first_ + position, c, copies);
    return *this;
  }
  void swap(string& other) noexcept {
    if (this == &other) return;
    string held(std::move(other));
    other.take(*this);
    take(held);
  }
  friend void swap(string& a, string& b) noexcept { a.swap(b); }

  string substr(size_type position = 0, size_type count = npos) const {
    return string(*this, position, count);
  }
  size_type copy(char* to, size_type count, size_type position = 0) const {
    const text_view part = text_view(*this).substr(position, count);
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    return part.size();
  }
  int compare(const text_view& other) const { return text_view(*this).compare(other); }
  int compare(size_type position, size_type count, const text_view& other) const {
    return text_view(*this).substr(position, count).compare(other);
  }
  bool starts_with(const text_view& text) const { return text_view(*this).starts_with(text); }
  bool ends_with(const text_view& text) const { return text_view(*this).ends_with(text); }
  bool contains(const text_view& text) const { return text_view(*this).contains(text); }
  bool contains(char c) const { return find(c) != npos; }

  size_type find(const text_view& text, size_type from = 0) const {
    return text_view(*this).find(text, from);
  }
  size_type find(char c, size_type from = 0) const { return find(text_view(&c, 1), from); }
  size_type rfind(const text_view& text, size_type from = npos) const {
    return text_view(*this).rfind(text, from);
  }
  size_type rfind(char c, size_type from = npos) const { return rfind(text_view(&c, 1), from); }
  size_type find_first_of(const text_view& set, size_type from = 0) const {
    return text_view(*this).find_first(set, from, true);
  }
  size_type find_first_not_of(const text_view& set, size_type from = 0) const {
    return text_view(*this).find_first(set, from, false);
  }
  size_type find_last_of(const text_view& set, size_type from = npos) const {
    return text_view(*this).find_last(set, from, true);
  }
  size_type find_last_not_of(const text_view& set, size_type from = npos) const {
    return text_view(*this).find_last(set, from, false);
  }
  /**@}*/
 private:
  static constexpr size_type kOwn = 15;

  /// Access for constant functions, too: see detail/memory.hpp.
  string& self() const noexcept { return const_cast<string&>(*this); }
  size_type checked(size_type i) const {
    if (i >= self().size_) throw std::out_of_range("rubato::tm::string::at: the index is not below size()");
    return i;
  }
  bool is_own() const { return self().first_ == self().own_; }
  void free() noexcept {
    if (!is_own()) detail::deallocate(first_);
  }
  void set_size(size_type count) {
    size_ = count;
    first_[count] = '\0';
  }
  size_type enough_for(size_type count) const {
    return count > 2 * self().capacity_ ? count : 2 * self().capacity_;
  }
  void move_to(size_type count) {
    char* const grown = detail::allocate<char>(count + 1);
    std::memcpy(grown, first_, size_ + 1);
    free();
    first_ = grown;
    capacity_ = count;
  }
  /// Takes the characters of `other` and leaves it empty. What this string has is given up.
  [[gnu::noinline]] void take(string& other) noexcept {
    if (other.is_own()) {
      first_ = own_;
      capacity_ = kOwn;
      std::memcpy(own_, other.own_, sizeof(own_));
    } else {
      first_ = other.first_;
      capacity_ = other.capacity_;
      other.first_ = other.own_;
      other.capacity_ = kOwn;
    }
    size_ = other.size_;
    other.set_size(0);
  }
  /// Moves what is behind `count` characters at `position`, so that there is room for `wanted` instead.
  void close(size_type position, size_type count, size_type wanted) {
    if (wanted > max_size() - size_ + count)
      throw std::length_error("rubato::tm::string: the text is too long");
    const size_type size = size_ - count + wanted;
    if (size > capacity_) move_to(enough_for(size));
    if (wanted != count) {
      std::memmove(first_ + position + wanted, first_ + position + count, size_ - position - count);
    }
    set_size(size);
  }

  char* first_;
  size_type size_;
  size_type capacity_;
  char own_[kOwn + 1];
};

inline text_view::text_view(const string& text) : first_(text.data()), size_(text.size()) {}

namespace detail {

/// Enabled if one is a string, and the other is a string or converts to text_view.
template <class A, class B>
using if_string_and_text =
    std::enable_if_t<(std::is_same_v<A, string> && std::is_convertible_v<const B&, text_view>) ||
                     (std::is_same_v<B, string> && std::is_convertible_v<const A&, text_view>)>;

}  // namespace detail

/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator==(const A& a, const B& b) {
  return text_view(a).equals(b);
}
/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator!=(const A& a, const B& b) {
  return !text_view(a).equals(b);
}
/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator<(const A& a, const B& b) {
  return text_view(a).compare(b) < 0;
}
/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator>(const A& a, const B& b) {
  return text_view(a).compare(b) > 0;
}
/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator<=(const A& a, const B& b) {
  return text_view(a).compare(b) <= 0;
}
/// As in std::string.
template <class A, class B, class = detail::if_string_and_text<A, B>>
bool operator>=(const A& a, const B& b) {
  return text_view(a).compare(b) >= 0;
}

/// As in std::string.
inline string operator+(const string& a, const text_view& b) {
  string sum;
  sum.reserve(a.size() + b.size());
  sum.append(a).append(b);
  return sum;
}
/// As in std::string.
inline string operator+(string&& a, const text_view& b) { return std::move(a.append(b)); }
/// As in std::string.
inline string operator+(const char* a, const string& b) { return string(a) + text_view(b); }
/// As in std::string.
inline string operator+(const string& a, char b) { return a + text_view(&b, 1); }

/// Hash of the characters.
template <>
struct hash<string> {
  /// The hash of a key.
  std::size_t operator()(const string& key) const { return detail::hash_bytes(key.data(), key.size()); }
};

}  // namespace rubato::tm

// Answers that wait to be sent: bytes in one piece, and between them pinned items whose data is sent from
// where it is (T76).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/uio.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cached/core/engine.hpp"

namespace rubato::cached {

class Output {
 public:
  explicit Output(CacheEngine& engine) : engine_(engine) {}
  ~Output() {
    clear();
    std::free(bytes_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// At least n bytes of room at the end; `added` makes them part of the output.
  char* room(std::size_t n) {
    if (size_ + n > capacity_) grow(n);
    return bytes_ + size_;
  }
  void added(std::size_t n) { size_ += n; }
  void append(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  /// The item's data comes next, without its last `less` bytes; the output releases the pin.
  void pin(Item* item, std::size_t less) {
    pins_.push_back({size_, item, item->bytes - less});
    pinned_bytes_ += item->bytes - less;
  }

  struct Mark {
    std::size_t size, pins;
  };
  Mark mark() const { return {size_, pins_.size()}; }
  /// Takes back what was added since the mark.
  void rewind(Mark mark) {
    while (pins_.size() > mark.pins) {
      pinned_bytes_ -= pins_.back().length;
      engine_.release(pins_.back().item);
      pins_.pop_back();
    }
    size_ = mark.size;
  }
  char* at(std::size_t position) { return bytes_ + position; }

  std::size_t pending() const { return size_ - sent_ + pinned_bytes_ - pin_sent_; }
  bool contiguous() const { return pins_.size() == first_pin_; }
  const char* begin() const { return bytes_ + sent_; }

  /// Fills `pieces` with what is to be sent next; returns how many.
  int gather(iovec* pieces, int most) const {
    int n = 0;
    std::size_t from = sent_, skip = pin_sent_;
    const auto add = [&](const char* data, std::size_t length) {
      if (length && n < most) pieces[n++] = {const_cast<char*>(data), length};
    };
    for (std::size_t p = first_pin_; p < pins_.size() && n < most; ++p) {
      add(bytes_ + from, pins_[p].position - from);
      from = pins_[p].position;
      std::size_t left = pins_[p].length;
      for_each_piece(*pins_[p].item, [&](const char* data, std::size_t length) {
        length = length < left ? length : left;
        left -= length;
        const std::size_t skipped = skip < length ? skip : length;
        skip -= skipped;
        add(data + skipped, length - skipped);
      });
    }
    add(bytes_ + from, size_ - from);
    return n;
  }
  void sent(std::size_t n) {
    while (n) {
      const std::size_t until = first_pin_ < pins_.size() ? pins_[first_pin_].position : size_;
      const std::size_t part = n < until - sent_ ? n : until - sent_;
      sent_ += part, n -= part;
      if (!n || first_pin_ == pins_.size()) break;
      const std::size_t left = pins_[first_pin_].length - pin_sent_;
      const std::size_t of_pin = n < left ? n : left;
      pin_sent_ += of_pin, n -= of_pin;
      if (of_pin == left) drop_first_pin();
    }
    if (first_pin_ < pins_.size() && pins_[first_pin_].length == pin_sent_) drop_first_pin();
    if (!pending()) clear();
  }
  void clear() {
    while (first_pin_ < pins_.size()) drop_first_pin();
    pins_.clear();
    first_pin_ = size_ = sent_ = 0;
    if (bytes_) give_back();
  }

 private:
  static constexpr std::size_t kKept = 64 << 10;
  struct Pin {
    std::size_t position;
    Item* item;
    std::size_t length;
  };
  void drop_first_pin() {
    pinned_bytes_ -= pins_[first_pin_].length;
    pin_sent_ = 0;
    engine_.release(pins_[first_pin_++].item);
  }
  /// Memory for answers that are all sent: the thread keeps it for its next connections that answer, so that
  /// connections which do nothing have none.
  class Spares {
   public:
    Spares() = default;
    ~Spares() {
      while (first_) std::free(take().first);
    }
    Spares(const Spares&) = delete;
    Spares& operator=(const Spares&) = delete;
    bool has_room(std::size_t capacity) const { return bytes_ + capacity <= kMost; }
    void keep(char* bytes, std::size_t capacity) {
      first_ = new (bytes) Spare{first_, capacity};
      bytes_ += capacity;
    }
    /// Null and 0: there is none.
    std::pair<char*, std::size_t> take() {
      if (!first_) return {nullptr, 0};
      Spare* const spare = std::exchange(first_, first_->next);
      bytes_ -= spare->capacity;
      return {reinterpret_cast<char*>(spare), spare->capacity};
    }

   private:
    static constexpr std::size_t kMost = 256 << 10;
    struct Spare {
      Spare* next;
      std::size_t capacity;
    };
    Spare* first_ = nullptr;
    std::size_t bytes_ = 0;
  };
  static Spares& spares() {
    static thread_local Spares of_this_thread;
    return of_this_thread;
  }
  // Not inlined, as the address of the thread's must not be kept over calls of the engine.
  [[gnu::noinline]] void give_back() {
    Spares& kept = spares();
    if (capacity_ > kKept || !kept.has_room(capacity_))  // a large multiget is over
      std::free(bytes_);
    else
      kept.keep(bytes_, capacity_);
    bytes_ = nullptr, capacity_ = 0;
  }
  [[gnu::noinline]] void take_spare() { std::tie(bytes_, capacity_) = spares().take(); }
  void grow(std::size_t n) {
    if (!bytes_) take_spare();
    if (size_ + n <= capacity_) return;
    std::size_t wanted = capacity_ ? capacity_ * 2 : 2048;
    while (wanted < size_ + n) wanted *= 2;
    void* larger = std::realloc(bytes_, wanted);
    if (!larger) throw std::bad_alloc();
    bytes_ = static_cast<char*>(larger), capacity_ = wanted;
  }

  CacheEngine& engine_;
  char* bytes_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0, sent_ = 0, pinned_bytes_ = 0, pin_sent_ = 0, first_pin_ = 0;
  std::vector<Pin> pins_;
};

}  // namespace rubato::cached

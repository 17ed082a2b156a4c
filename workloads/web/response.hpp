// Response: words go through the connection's buffer, and the network reads them from there. Both sides sum
// up all words, so that --verify can compare the words that arrive with those that were to be sent.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rubato::workloads::web {

struct Buffer {
  std::array<std::uint64_t, 1024> words;
  Buffer* next = nullptr;  ///< in a pool
};

class Response {
 public:
  explicit Response(Buffer& buffer) : buffer_(&buffer) {}
  void use(Buffer& buffer) { buffer_ = &buffer; }

  void put(std::uint64_t word) {
    if (used_ == buffer_->words.size()) transmit();
    buffer_->words[used_++] = word;
  }
  void put(const std::uint64_t* words, std::uint64_t count) {
    while (count > 0) {
      if (used_ == buffer_->words.size()) transmit();
      const std::uint64_t n = count < buffer_->words.size() - used_ ? count : buffer_->words.size() - used_;
      std::memcpy(&buffer_->words[used_], words, n * sizeof *words);
      used_ += n;
      words += n;
      count -= n;
    }
  }
  /// Text in words of eight characters, filled with blanks. @returns the sum of the words
  std::uint64_t put_text(std::string_view text) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0x2020202020202020ULL;
      std::memcpy(&word, text.data() + at, text.size() - at < 8 ? text.size() - at : 8);
      put(word);
      sum += word;
    }
    return sum;
  }
  /// Hands the buffer to the network.
  void transmit() {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < used_; ++i) sum += buffer_->words[i];
    sum_ += sum;
    sent_ += used_;
    used_ = 0;
  }
  /// Data that have arrived since the last end; taking them ends a response.
  struct Arrived {
    std::uint64_t words, sum;
  };
  Arrived end() {
    transmit();
    const Arrived arrived{sent_, sum_};
    sent_ = sum_ = 0;
    return arrived;
  }

 private:
  Buffer* buffer_;
  std::uint64_t used_ = 0, sent_ = 0, sum_ = 0;
};

}  // namespace rubato::workloads::web

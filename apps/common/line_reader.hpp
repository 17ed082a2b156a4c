// Lines and numbers of a text file, with the place of each error.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/byte_source.hpp"

namespace rubato::apps {

class LineReader {
 public:
  /// @throws InputError if the file cannot be opened.
  explicit LineReader(const std::string& path);

  /// The next line without its end ("\n" or "\r\n") and without a byte-order mark, valid until the next call;
  /// false at the end of the file.
  bool next(std::string_view& line);
  /// Number of the line that next() gave last; counts from 1.
  std::uint64_t line_number() const { return line_number_; }
  const std::string& path() const { return path_; }
  /// @throws InputError at the current line.
  [[noreturn]] void fail(const std::string& sentence) const;

 private:
  bool refill();

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // buffer_[begin_, end_) is not used yet
  std::uint64_t line_number_ = 0;
};

/// Takes the words of one line apart. Words are separated by blanks and tabs.
class Words {
 public:
  Words(const LineReader& reader, std::string_view line) : reader_(reader), rest_(line) {}

  /// The next word; empty at the end of the line.
  std::string_view word();
  bool at_end();
  /// The next word as a number of at most `limit`; `what` names it in the sentence if it is not one.
  std::uint64_t number(const char* what, std::uint64_t limit);
  /// A finite decimal number that is not negative.
  double real(const char* what);
  /// Nothing may follow.
  void end(const char* expected);

 private:
  const LineReader& reader_;
  std::string_view rest_;
};

}  // namespace rubato::apps

// SPDX-License-Identifier: MIT
// Lines are cut out of one buffer that grows to the longest line, at most kLongestLine.
#include "apps/common/line_reader.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "apps/common/input_error.hpp"

namespace rubato::apps {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::size_t kLongestLine = 16 * 1024 * 1024;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// For messages: long or binary words are cut.
std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  if (word.size() > 40) text += "...";
  return text + "'";
}

}  // namespace

LineReader::LineReader(const std::string& path)
    : path_(path), bytes_(open_bytes(path)), buffer_(kBufferBytes) {}

void LineReader::fail(const std::string& sentence) const {
  throw InputError(path_, line_number_ == 0 ? 1 : line_number_, sentence);
}

bool LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestLine) {
      ++line_number_;
      fail("the line is longer than 16 MiB: this is not a text file");
    }
    buffer_.resize(buffer_.size() * 2);
  }
  try {
    const std::size_t got = bytes_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += got;
    return got != 0;
  } catch (const DamagedFile& e) {
    ++line_number_;
    fail(e.what());
  }
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  while (true) {
    const char* const start = buffer_.data() + begin_;
    const void* const newline = std::memchr(start + searched, '\n', end_ - begin_ - searched);
    if (newline != nullptr) {
      line = std::string_view(start, static_cast<std::size_t>(static_cast<const char*>(newline) - start));
      begin_ += line.size() + 1;
      break;
    }
    searched = end_ - begin_;
    if (refill()) continue;
    if (begin_ == end_) return false;
    line = std::string_view(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    break;
  }
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line_number_ == 0 && line.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    line.remove_prefix(kByteOrderMark.size());
  ++line_number_;
  return true;
}

std::string_view Words::word() {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  std::size_t size = 0;
  while (size < rest_.size() && !is_blank(rest_[size])) ++size;
  const std::string_view found = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return found;
}

bool Words::at_end() {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  return rest_.empty();
}

std::uint64_t Words::number(const char* what, std::uint64_t limit) {
  const std::string_view text = word();
  if (text.empty()) reader_.fail(std::string("the ") + what + " is missing");
  if (text.size() > 1 && text.front() == '-' && text[1] >= '0' && text[1] <= '9') {
    reader_.fail("negative " + std::string(what) + " " + quoted(text));
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || (error == std::errc{} && end != text.data() + text.size())) {
    reader_.fail(quoted(text) + " is not a " + what + ": a whole number was expected");
  }
  if (error == std::errc::result_out_of_range || value > limit) {
    reader_.fail(std::string(what) + " " + quoted(text) + " is too large: at most " + std::to_string(limit) +
                 " is possible");
  }
  return value;
}

double Words::real(const char* what) {
  const std::string_view text = word();
  if (text.empty()) reader_.fail(std::string("the ") + what + " is missing");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    reader_.fail(quoted(text) + " is not a " + what + ": a finite number was expected");
  }
  if (value < 0) reader_.fail("negative " + std::string(what) + " " + quoted(text));
  return value;
}

void Words::end(const char* expected) {
  if (!at_end())
    reader_.fail(quoted(word()) + " follows where the line should end: " + expected + " was expected");
}

}  // namespace rubato::apps

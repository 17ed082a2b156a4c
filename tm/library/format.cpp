// SPDX-License-Identifier: MIT
#include "tm/library/format.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tm/library/itm.hpp"
#include "tm/library/text.hpp"

namespace rubato::tm::library {
namespace {

constexpr int kNone = -1;

struct Directive {
  char flags[8] = "";
  int width = kNone;
  int precision = kNone;
  char length[3] = "";
  char conversion = '\0';
  bool has_length(const char* name) const { return std::strcmp(length, name) == 0; }
};

[[noreturn]] void refuse(const char* format) {
  std::fprintf(
      stderr,
      "librubato_tm: the format \"%s\" has %%n$, %%ls, %%lc or an unknown conversion, which transactions "
      "cannot print\n",
      format);
  std::abort();
}

class Formatter {
 public:
  Formatter(char* to, std::size_t room, const char* format, std::va_list arguments)
      : to_(to), room_(room), format_(format), at_(format) {
    va_copy(arguments_, arguments);
  }
  Formatter(const Formatter&) = delete;
  Formatter& operator=(const Formatter&) = delete;
  ~Formatter() { va_end(arguments_); }

  std::size_t run() {
    for (;;) {
      const std::size_t plain = std::strcspn(at_, "%");
      put(at_, plain);
      at_ += plain;
      if (*at_ == '\0') return size_;
      ++at_;
      print(parse());
    }
  }

 private:
  Directive parse() {
    Directive d;
    const std::size_t flags = std::strspn(at_, "-+ #0'I");
    copy(d.flags, at_, std::min(flags, sizeof d.flags - 2));
    at_ += flags;
    d.width = number(d);
    if (*at_ == '.') {
      ++at_;
      const bool is_argument = *at_ == '*';
      d.precision = is_argument ? argument_number() : std::max(digits(), 0);
      if (d.precision < 0) d.precision = kNone;
    }
    const std::size_t length = std::strspn(at_, "hlqLjzt");
    if (length >= sizeof d.length) refuse(format_);
    copy(d.length, at_, length);
    at_ += length;
    d.conversion = *at_;
    if (d.conversion == '\0') refuse(format_);
    ++at_;
    return d;
  }
  static void copy(char* to, const char* from, std::size_t n) {
    std::memcpy(to, from, n);
    to[n] = '\0';
  }
  /// A width: of an argument if it is negative, then to the left.
  int number(Directive& d) {
    if (*at_ != '*') return digits();
    const int width = argument_number();
    if (width >= 0) return width;
    if (std::strchr(d.flags, '-') == nullptr) std::strcat(d.flags, "-");
    return width == INT_MIN ? INT_MAX : -width;
  }
  int argument_number() {
    ++at_;
    if (*at_ >= '0' && *at_ <= '9') refuse(format_);  // *n$
    return va_arg(arguments_, int);
  }
  int digits() {
    if (*at_ < '0' || *at_ > '9') return kNone;
    char* end = nullptr;
    const long value = std::strtol(at_, &end, 10);
    if (*end == '$') refuse(format_);
    at_ = end;
    return static_cast<int>(std::min<long>(value, INT_MAX));
  }

  void print(const Directive& d) {
    switch (d.conversion) {
      case '%':
        return put("%", 1);
      case 'd':
      case 'i':
        return print_integer<true>(d);
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return print_integer<false>(d);
      case 'c':
        if (d.has_length("l")) refuse(format_);
        return emit(d, "", va_arg(arguments_, int));
      case 's':
        return print_text(d);
      case 'p':
        return emit(d, "", va_arg(arguments_, void*));
      case 'm':
        return emit(d, "");
      case 'n':
        return store_size(d);
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return d.has_length("L") ? emit(d, "L", va_arg(arguments_, long double))
                                 : emit(d, "", va_arg(arguments_, double));
      default:
        refuse(format_);
    }
  }
  template <bool is_signed>
  void print_integer(const Directive& d) {
    const auto print_as = [&](auto value) {
      using Value = decltype(value);
      emit(d, d.length,
           static_cast<std::conditional_t<is_signed, Value, std::make_unsigned_t<Value>>>(value));
    };
    if (d.has_length("") || d.has_length("h") || d.has_length("hh")) return print_as(va_arg(arguments_, int));
    if (d.has_length("l")) return print_as(va_arg(arguments_, long));
    if (d.has_length("ll") || d.has_length("q") || d.has_length("L"))
      return print_as(va_arg(arguments_, long long));
    if (d.has_length("j")) return print_as(va_arg(arguments_, std::intmax_t));
    if (d.has_length("z")) return print_as(va_arg(arguments_, ssize_t));
    if (d.has_length("t")) return print_as(va_arg(arguments_, std::ptrdiff_t));
    refuse(format_);
  }
  void print_text(const Directive& d) {
    if (d.has_length("l")) refuse(format_);
    const char* const s = va_arg(arguments_, const char*);
    if (s == nullptr) return emit(d, "", s);
    Text text(s, d.precision == kNone ? kUnbounded : static_cast<std::size_t>(d.precision));
    emit(d, "", text.c_str());
  }
  void store_size(const Directive& d) {
    void* const to = va_arg(arguments_, void*);
    if (to_ != nullptr || to == nullptr) return;  // once: when it is measured
    const std::size_t bytes = d.has_length("")     ? sizeof(int)
                              : d.has_length("h")  ? sizeof(short)
                              : d.has_length("hh") ? sizeof(char)
                                                   : sizeof(long);
    _ITM_memcpyRnWt(to, &size_, bytes);  // little-endian
  }

  /// Formats a directive by libc, with the length that the value has.
  template <class... Value>
  void emit(const Directive& d, const char* length, Value... value) {
    char spec[64];
    char* end = spec;
    end += std::sprintf(end, "%%%s", d.flags);
    if (d.width != kNone) end += std::sprintf(end, "%d", d.width);
    if (d.precision != kNone) end += std::sprintf(end, ".%d", d.precision);
    std::sprintf(end, "%s%c", length, d.conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    const int size = std::snprintf(nullptr, 0, spec, value...);
    if (size <= 0) return;
    const auto bytes = static_cast<std::size_t>(size);
    if (room_ > 0) {
      Buffer buffer(bytes + 1);
      if (!buffer.is_there()) refuse(format_);
      std::snprintf(buffer.data(), bytes + 1, spec, value...);
      put(buffer.data(), bytes);
      return;
    }
#pragma GCC diagnostic pop
    size_ += bytes;
  }
  void put(const char* text, std::size_t bytes) {
    const std::size_t fits = std::min(bytes, room_);
    if (fits > 0) std::memcpy(to_ + size_, text, fits);
    room_ -= fits;
    size_ += bytes;
  }

  char* to_;  // null: measures
  std::size_t room_;
  const char* format_;
  const char* at_;
  std::va_list arguments_;
  std::size_t size_ = 0;
};

}  // namespace

std::size_t format_to(char* to, std::size_t room, const char* format, std::va_list arguments) {
  return Formatter(to, room, format, arguments).run();
}

}  // namespace rubato::tm::library

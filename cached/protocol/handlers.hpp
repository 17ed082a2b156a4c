// The commands of the protocols: each class borrows a session for one request.
// SPDX-License-Identifier: MIT
#pragma once

#include "cached/protocol/session.hpp"

namespace rubato::cached {

/// The text commands that touch items.
class TextProtocol {
 public:
  explicit TextProtocol(Session& session) : s_(session) {}
  void line(std::string_view line);
  void value_complete();

  // ---- By commands.cpp ----
  void get(std::string_view rest, bool with_cas, bool touch);
  void store(const Words& words, StoreMode mode, bool cas);
  void remove(const Words& words);
  void count(const Words& words, bool increment);
  void touch(const Words& words);

 private:
  bool get_one(std::string_view name, const Lookup& lookup, bool with_cas);
  void log_in(const Words& words);
  void note_no_reply(const Words& words);

  Session& s_;
};

/// mg ms md ma me mn.
class MetaProtocol {
 public:
  explicit MetaProtocol(Session& session) : s_(session) {}
  void value_complete();

  // ---- By commands.cpp ----
  void get(const Words& words);
  void set(const Words& words);
  void remove(const Words& words);
  void arithmetic(const Words& words);
  void debug(const Words& words);
  /// Says that all before it has been answered.
  void nothing(const Words&) { s_.answer("MN"); }

 private:
  struct Flags;
  /// Whether each error of flags has its sentence, or all have one.
  enum class Errors : std::uint8_t { each, one };
  bool has_shape(const Words& words, std::string_view too_many);
  bool read(const Words& words, unsigned first, Errors errors, Flags& flags);
  std::uint32_t expiry_at(const Flags& flags, unsigned at, std::uint32_t before, bool is_new) const;
  std::uint32_t expiry_of(const Flags& flags, char flag) const;
  std::string time_left(std::uint32_t expiry) const;
  void append_common(const Flags& flags, std::string_view key, bool key_is_binary);
  void finish(std::string_view code, const Flags& flags);

  Session& s_;
};

/// Statistics, maintenance, logging.
class AdminCommands {
 public:
  explicit AdminCommands(Session& session) : s_(session) {}

  // ---- By commands.cpp ----
  void stats(const Words& words);
  void version(const Words& words);
  void quit(const Words&) { s_.close(Session::End::left); }
  void verbosity(const Words& words);
  void slabs(const Words& words);
  void lru(const Words& words);
  void lru_crawler(const Words& words);
  void flush_all(const Words& words);
  void cache_memlimit(const Words& words);
  void shutdown(const Words& words);
  void watch(const Words& words);
  void debug_time(const Words& words);
  void misbehave(const Words& words);
  void refresh_certs(const Words& words);

 private:
  void note_no_reply(const Words& words);
  void cachedump(const Words& words);

  Session& s_;
};

/// The binary protocol (T78).
class BinaryProtocol {
 public:
  explicit BinaryProtocol(Session& session) : s_(session) {}
  std::size_t consume(const char* data, std::size_t n);
  void value_complete();

 private:
  struct Header;
  void handle(const Header& h, const char* body);
  void get(const Header& h, const char* body);
  void store(const Header& h, const char* body, std::size_t available);
  void count(const Header& h, const char* body);
  void remove(const Header& h, const char* body);
  void flush(const Header& h, const char* body);
  void stats(const Header& h, const char* body);
  void log_in(const Header& h, const char* body);
  bool is_user(std::string_view plain) const;
  void answer(const Header& h, std::uint16_t status, std::uint64_t cas, std::string_view extras,
              std::string_view key, std::string_view value);
  void error(const Header& h, std::uint16_t status);
  void begin(const Header& h, std::uint16_t status, std::uint64_t cas, std::size_t extras, std::size_t key,
             std::size_t value);

  Session& s_;
};

}  // namespace rubato::cached

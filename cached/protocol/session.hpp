// The protocol state of one connection: bytes in, answers into an Output. No socket here.
//
// `consume` works through whole requests. A value that has not arrived is awaited in its item: the connection
// may receive straight into `wanted()` (T73).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cached/protocol/awaited_value.hpp"
#include "cached/protocol/output.hpp"
#include "cached/protocol/service.hpp"

namespace rubato::cached {

constexpr std::size_t kMostKey = 250;
constexpr std::string_view kBadFormat = "CLIENT_ERROR bad command line format";
constexpr unsigned kMostTokens = 24;

/// Words of a text line, at most kMostTokens.
struct Words {
  std::array<std::string_view, kMostTokens> word;
  unsigned count = 0;
  std::string_view operator[](unsigned n) const { return n < count ? word[n] : std::string_view{}; }
};

class Session {
 public:
  /// @param descriptor  the client's, for the lines of those that watch
  Session(Context& context, ThreadCounters& counters, Output& output, int descriptor = -1);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Works through complete requests, at most `budget`, which it counts down; returns how many bytes it used.
  std::size_t consume(const char* data, std::size_t n, int& budget);
  /// The space into which the next bytes may be received directly; empty if they are not part of a value.
  std::span<char> wanted();
  void received(std::size_t n);

  bool closing() const { return closing_; }
  /// Why a connection ends: its client broke the protocol, has left, or has ended the server.
  enum class End : std::uint8_t { error, left, shutdown };
  void close(End why = End::error) { closing_ = true, end_ = why; }
  End end() const { return end_; }
  /// A dump that the connection has to run and append (`lru_crawler metadump`): bits of classes.
  std::uint64_t take_dump(Dump& kind) {
    kind = dump_kind_;
    return std::exchange(dump_, 0);
  }
  /// Kinds of events that the client wants to see from now on (EventLog), and nothing else; 0: it does not.
  unsigned take_watch() { return std::exchange(watch_, std::uint8_t{0}); }
  /// The second of the last request, or of its start; from any thread.
  std::uint32_t last_request() const { return __atomic_load_n(&last_request_, __ATOMIC_RELAXED); }
  bool awaits_value() const { return value_left_ != 0; }
  bool swallows() const { return swallow_ != 0; }

 private:
  friend class TextProtocol;
  friend class MetaProtocol;
  friend class AdminCommands;
  friend class BinaryProtocol;

  enum class Value : std::uint8_t { none, text, meta, binary, login };

  std::size_t consume_all(const char* data, std::size_t n, int& budget);
  std::size_t consume_text(const char* data, std::size_t n);
  std::size_t consume_binary(const char* data, std::size_t n);
  void value_complete();
  void await(Value kind, Item* item, std::size_t bytes);

  // Helpers for the handlers of all protocols.
  /// Stores the item that has been awaited, and notifies watchers.
  StoreAnswer store_awaited(Item* item, std::uint32_t hash, const StoreRequest& request);
  Key key(std::string_view bytes) const { return {bytes, context_.hash(bytes)}; }
  void answer(std::string_view text) {
    if (no_reply_) {
      no_reply_ = false;
      return;
    }
    output_.append(text);
    output_.append("\r\n");
  }
  /// For a line that is no command or has a wrong number of words, and for meta commands: answered even with
  /// `noreply`. All else that `noreply` came with takes `answer`, whatever went wrong.
  void error(std::string_view text) {
    no_reply_ = false;
    answer(text);
  }

  // For those that watch; each is called only if `context_.log` wants it.
  void log_get(std::string_view name, const Found& found);
  /// A store looks for the item first, which is a line of its own.
  void log_store(std::string_view name, const StoreRequest& request, const StoreAnswer& answer,
                 std::uint32_t expiry, std::uint32_t length);
  /// Logs a store that was refused before it was tried.
  void log_refused_store(std::string_view name, const StoreRequest& request, bool too_large);

  Context& context_;
  CacheEngine& engine_;
  ThreadCounters& counters_;
  Output& output_;

  enum class Protocol : std::uint8_t { unknown, text, binary } protocol_ = Protocol::unknown;
  bool closing_ = false, no_reply_ = false, logged_in_ = false, login_has_begun_ = false;
  End end_ = End::error;
  std::uint8_t watch_ = 0;
  int descriptor_;
  Dump dump_kind_ = Dump::metadump;
  Value value_ = Value::none;
  std::uint32_t last_request_;  ///< accessed atomically
  std::uint64_t dump_ = 0;

  AwaitedSlot awaited_;
  std::size_t value_left_ = 0, swallow_ = 0;
};

}  // namespace rubato::cached

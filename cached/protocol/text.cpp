// The text commands that touch items.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "cached/protocol/commands.hpp"
#include "cached/protocol/event_log.hpp"
#include "cached/protocol/handlers.hpp"
#include "cached/protocol/numbers.hpp"

namespace rubato::cached {

namespace {

constexpr std::uint32_t kMostLogin = 4096;  // bytes of user and password

Words split(std::string_view line) {
  Words words;
  while (words.count < kMostTokens) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == line.npos) break;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find(' '), line.size());
    // The last word holds the rest of a line that has more.
    words.word[words.count] = words.count + 1 < kMostTokens ? line.substr(0, end) : line;
    ++words.count;
    line.remove_prefix(end);
  }
  return words;
}

unsigned put(char* to, std::uint64_t value) {
  return static_cast<unsigned>(std::to_chars(to, to + 20, value).ptr - to);
}

/// Whether the data of an item ends as it has to.
bool ends_with_newline(const Item& item) {
  char last[2] = {0, 0};
  for_each_piece(item, [&](const char* piece, std::size_t n) {
    if (n >= 2)
      last[0] = piece[n - 2], last[1] = piece[n - 1];
    else if (n == 1)
      last[0] = last[1], last[1] = piece[0];
  });
  return last[0] == '\r' && last[1] == '\n';
}

}  // namespace

void TextProtocol::line(std::string_view line) {
  // The common commands first, without splitting the line.
  if (line.substr(0, 4) == "get " && s_.logged_in_) return get(line.substr(4), false, false);
  if (line.substr(0, 5) == "gets " && s_.logged_in_) return get(line.substr(5), true, false);
  const Words words = split(line);
  if (!s_.logged_in_) return log_in(words);
  if (words.count == 0) return s_.error("ERROR");
  if (words.count > 1 && words[words.count - 1].substr(0, 5) == "HTTP/") return s_.close();
  if (!run_command(s_, words, line)) s_.error("ERROR");
}

void TextProtocol::note_no_reply(const Words& words) { s_.no_reply_ = words[words.count - 1] == "noreply"; }

void TextProtocol::get(std::string_view rest, bool with_cas, bool touch) {
  Lookup lookup;
  const auto next = [&rest]() -> std::string_view {
    const std::size_t start = rest.find_first_not_of(' ');
    if (start == rest.npos) return {};
    rest.remove_prefix(start);
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    return word;
  };
  std::string_view word = next();
  if (word.empty()) return s_.error("ERROR");
  if (touch) {
    std::int32_t expiry = 0;
    const std::string_view time = word;
    word = next();
    if (!to_time(time, expiry)) return s_.error("CLIENT_ERROR invalid exptime argument");
    lookup.touch = true, lookup.expiry = s_.context_.clock.expiry(expiry);
  }
  const Output::Mark start = s_.output_.mark();
  for (; !word.empty(); word = next()) {
    if (word.size() > kMostKey) {
      s_.output_.rewind(start);
      return s_.error(kBadFormat);
    }
    if (!get_one(word, lookup, with_cas)) {
      s_.output_.rewind(start);
      return s_.error("SERVER_ERROR out of memory writing get response");
    }
  }
  s_.output_.append("END\r\n");
}

bool TextProtocol::get_one(std::string_view name, const Lookup& lookup, bool with_cas) {
  // "VALUE ", " flags bytes[ unique]\r\n": the value is copied behind the room for the longest header, and
  // moved down when the header is known.
  constexpr std::size_t kNumbers = 3 + 10 + 10 + 20 + 2;
  const std::size_t header_room = 6 + name.size() + kNumbers, copied = s_.context_.settings.item_copy_max + 2;
  char* const at = s_.output_.room(header_room + copied);
  const Found found = s_.engine_.get(s_.counters_, s_.key(name), lookup, at + header_room, copied);
  if (s_.context_.settings.detail) [[unlikely]]
    s_.context_.prefixes.get(name, found.hit);
  if (s_.context_.log.wants(EventLog::kFetchers)) [[unlikely]]
    s_.log_get(name, found);
  if (found.no_memory) return false;
  if (!found.hit) return true;
  char* p = at;
  std::memcpy(p, "VALUE ", 6), p += 6;
  std::memcpy(p, name.data(), name.size()), p += name.size();
  *p++ = ' ', p += put(p, found.flags);
  *p++ = ' ', p += put(p, found.length);
  if (with_cas) *p++ = ' ', p += put(p, found.cas);
  *p++ = '\r', *p++ = '\n';
  if (found.pinned) {
    s_.output_.added(static_cast<std::size_t>(p - at));
    s_.output_.pin(found.pinned, 0);
  } else {
    std::memmove(p, at + header_room, found.length + 2);
    s_.output_.added(static_cast<std::size_t>(p - at) + found.length + 2);
  }
  return true;
}

void TextProtocol::store(const Words& words, StoreMode mode, bool cas) {
  const unsigned least = cas ? 6 : 5;
  if (words.count != least && words.count != least + 1) return s_.error("ERROR");
  note_no_reply(words);
  const std::string_view name = words[1];
  std::uint32_t flags = 0;
  std::int32_t expiry = 0;
  std::uint32_t length = 0;
  std::uint64_t unique = 0;
  if (name.size() > kMostKey || !to_flags(words[2], flags) || !to_time(words[3], expiry) ||
      !to_number(words[4], length) || length > kLongestValue || (cas && !to_number(words[5], unique)))
    return s_.answer(kBadFormat);
  if (s_.context_.settings.detail) [[unlikely]]
    s_.context_.prefixes.set(name);
  const Key key = s_.key(name);
  AwaitedValue& awaited = s_.awaited_.fill();  // before there is an item to lose
  const bool fits = s_.engine_.fits(name.size(), flags, length);
  Item* item = fits ? s_.engine_.allocate(key, flags, s_.context_.clock.expiry(expiry), length) : nullptr;
  if (!item) {
    s_.counters_.add(fits ? Count::store_no_memory : Count::store_too_large);
    if (s_.context_.log.wants(EventLog::kMutations))
      s_.log_refused_store(name, {.mode = mode, .must_match = cas}, !fits);
    s_.answer(fits ? "SERVER_ERROR out of memory storing object" : "SERVER_ERROR object too large for cache");
    s_.swallow_ = std::size_t{length} + 2;
    // The old value must not stay, or a client would read what it believes to have replaced.
    if (mode == StoreMode::set && !cas) s_.engine_.remove(s_.counters_, key, {.counted = false});
    return;
  }
  awaited.store = {.mode = mode, .cas = unique, .must_match = cas};
  awaited.hash = key.hash;
  s_.await(Session::Value::text, item, std::size_t{length} + 2);
}

void TextProtocol::value_complete() {
  AwaitedValue& awaited = *s_.awaited_;
  if (!awaited.item) {  // the data of a login
    std::string_view data = awaited.login;
    const auto wrong = [&](std::string_view sentence) {
      s_.counters_.add(Count::auth_errors);
      s_.error(sentence);
    };
    s_.counters_.add(Count::auth_commands);
    if (data.substr(data.size() - 2) != "\r\n") return wrong("CLIENT_ERROR bad command line termination");
    data.remove_suffix(2);
    const std::size_t space = data.find(' ');
    if (space == data.npos) return wrong("CLIENT_ERROR bad authentication token format");
    if (!s_.context_.service.authenticates(data.substr(0, space), data.substr(space + 1)))
      return wrong("CLIENT_ERROR authentication failure");
    s_.logged_in_ = true;
    return s_.answer("STORED");
  }
  Item* item = std::exchange(awaited.item, nullptr);
  if (!ends_with_newline(*item)) {
    s_.engine_.release(item);
    return s_.answer("CLIENT_ERROR bad data chunk");
  }
  switch (s_.store_awaited(item, awaited.hash, awaited.store).stored) {
    case Stored::stored:
      return s_.answer("STORED");
    case Stored::not_stored:
      return s_.answer("NOT_STORED");
    case Stored::exists:
      return s_.answer("EXISTS");
    case Stored::not_found:
      return s_.answer("NOT_FOUND");
  }
}

void TextProtocol::remove(const Words& words) {
  const bool zero = words[2] == "0";
  if (words.count < 2 || words.count > 4) return s_.error("ERROR");
  if (words.count > 2) {
    note_no_reply(words);
    const bool valid =
        (words.count == 3 && (zero || s_.no_reply_)) || (words.count == 4 && zero && s_.no_reply_);
    if (!valid) return s_.answer("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
  }
  if (words[1].size() > kMostKey) return s_.answer(kBadFormat);
  if (s_.context_.settings.detail) s_.context_.prefixes.remove(words[1]);
  const Deleted deleted = s_.engine_.remove(s_.counters_, s_.key(words[1]), {});
  s_.answer(deleted == Deleted::deleted ? "DELETED" : "NOT_FOUND");
}

void TextProtocol::count(const Words& words, bool increment) {
  if (words.count != 3 && words.count != 4) return s_.error("ERROR");
  note_no_reply(words);
  if (words[1].size() > kMostKey) return s_.answer(kBadFormat);
  CountRequest request{.increment = increment};
  if (!to_number(words[2], request.delta)) return s_.answer("CLIENT_ERROR invalid numeric delta argument");
  const CountAnswer counted = s_.engine_.count(s_.counters_, s_.key(words[1]), request);
  char digits[20];
  switch (counted.counted) {
    case Counted::ok:
      return s_.answer({digits, put(digits, counted.value)});
    case Counted::non_numeric:
      return s_.answer("CLIENT_ERROR cannot increment or decrement non-numeric value");
    case Counted::no_memory:
      return s_.answer("SERVER_ERROR out of memory");
    case Counted::not_found:
    case Counted::exists:
      return s_.answer("NOT_FOUND");
  }
}

void TextProtocol::touch(const Words& words) {
  if (words.count != 3 && words.count != 4) return s_.error("ERROR");
  note_no_reply(words);
  if (words[1].size() > kMostKey) return s_.answer(kBadFormat);
  std::int32_t expiry = 0;
  if (!to_time(words[2], expiry)) return s_.answer("CLIENT_ERROR invalid exptime argument");
  Lookup lookup{.with_value = false, .touch = true, .expiry = s_.context_.clock.expiry(expiry)};
  lookup.is_get = false;
  const Found found = s_.engine_.get(s_.counters_, s_.key(words[1]), lookup, nullptr, 0);
  if (s_.context_.log.wants(EventLog::kFetchers)) s_.log_get(words[1], found);
  s_.answer(found.hit ? "TOUCHED" : "NOT_FOUND");
}

// Before a login the only command is `set`, whose data is user and password. Another one is refused, and the
// connection stays: clients begin with `version` or `mn`.
void TextProtocol::log_in(const Words& words) {
  std::uint32_t length = 0;
  if (words[0] != "set" || words.count < 5 || !to_number(words[4], length))
    return s_.error("CLIENT_ERROR unauthenticated");
  if (length > kMostLogin) {  // no user and password: its data is not worth being read
    s_.error("CLIENT_ERROR unauthenticated");
    return s_.close();
  }
  s_.awaited_.fill().login.clear();
  s_.await(Session::Value::login, nullptr, std::size_t{length} + 2);
}

}  // namespace rubato::cached

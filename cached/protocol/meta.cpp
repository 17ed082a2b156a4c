// The meta commands mg ms md ma me mn.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cached/protocol/base64.hpp"
#include "cached/protocol/event_log.hpp"
#include "cached/protocol/handlers.hpp"
#include "cached/protocol/numbers.hpp"

namespace rubato::cached {

namespace {

std::string key_text(std::string_view key, bool is_binary) {
  return is_binary ? fmt::format(" k{} b", to_base64(key)) : fmt::format(" k{}", key);
}
void append_key(Output& output, std::string_view key, bool is_binary) {
  output.append(key_text(key, is_binary));
}

constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format";
constexpr std::string_view kTooMany = "CLIENT_ERROR options flags too long";
/// Flags without a token that has to be read; every command takes all. P and L are for proxies.
constexpr std::string_view kOtherFlags = "cfhklstuvIOPL";

}  // namespace

/// Flags and key of a meta command.
struct MetaProtocol::Flags {
  Words words;
  unsigned first = 0;
  std::string storage;  ///< a key that was given in base64, decoded
  std::string_view key;
  bool binary_key = false, quiet = false;
  std::string_view token(char flag) const {
    for (unsigned n = first; n < words.count; ++n)
      if (words[n][0] == flag) return words[n].substr(1);
    return {};
  }
  /// The token of a flag with a number; 0 without the flag.
  std::uint64_t number(char flag) const {
    std::uint64_t value = 0;
    if (const std::string_view text = token(flag); !text.empty()) to_number(text, value);
    return value;
  }
  bool has(char flag) const {
    for (unsigned n = first; n < words.count; ++n)
      if (words[n][0] == flag) return true;
    return false;
  }
};

// False after it has answered an error. Some errors end the reading; others are said at its end, the last one
// of them.
bool MetaProtocol::read(const Words& words, unsigned first, Errors errors, Flags& flags) {
  const auto refuse = [&](std::string_view sentence) {
    s_.error(errors == Errors::one ? "CLIENT_ERROR invalid or duplicate flag" : sentence);
    return false;
  };
  flags.words = words, flags.first = first;
  flags.key = words[1];
  bool seen[128] = {};
  std::string_view wrong;
  for (unsigned n = first; n < words.count; ++n) {
    const auto flag = static_cast<unsigned char>(words[n][0]);
    const std::string_view token = words[n].substr(1);
    if (flag >= 127 || seen[flag]) return refuse("CLIENT_ERROR duplicate flag");
    seen[flag] = true;
    std::int32_t time;
    std::uint32_t client_flags;
    std::uint64_t number;
    switch (flag) {
      case 'b':
        if (!from_base64(flags.key, flags.storage) || flags.storage.size() > kMostKey ||
            flags.storage.empty())
          wrong = "CLIENT_ERROR error decoding key";
        flags.binary_key = true;
        break;
      case 'q':
        flags.quiet = true;
        break;
      case 'N':
      case 'T':
      case 'R':
        if (!to_time(token, time)) wrong = kBadToken;
        break;
      case 'C':
      case 'E':
        if (!to_number(token, number)) wrong = kBadToken;
        break;
      case 'F':
        if (!to_flags(token, client_flags) && wrong.empty()) wrong = kBadFormat;
        break;
      case 'M':
        if (token.size() != 1) wrong = "CLIENT_ERROR incorrect length for M token";
        break;
      case 'J':
        if (!to_number(token, number)) wrong = "CLIENT_ERROR invalid numeric initial value";
        break;
      case 'D':
        if (!to_number(token, number)) wrong = "CLIENT_ERROR invalid numeric delta value";
        break;
      default:
        if (kOtherFlags.find(static_cast<char>(flag)) == kOtherFlags.npos)
          return refuse("CLIENT_ERROR invalid flag");
        break;
    }
  }
  if (!wrong.empty()) return refuse(wrong);
  if (flags.token('O').size() > 32) return s_.error("CLIENT_ERROR opaque token too long"), false;
  if (flags.binary_key) flags.key = flags.storage;
  return true;
}

// False after it has answered an error: of the words before the flags, or that there are too many of them.
bool MetaProtocol::has_shape(const Words& words, std::string_view too_many) {
  constexpr unsigned kMostWords = 19;
  if (words.count < 2) return s_.error("ERROR"), false;
  if (words[1].size() > kMostKey) return s_.error(kBadFormat), false;
  if (words.count > kMostWords) return s_.error(too_many), false;
  return true;
}

// The expiry that is shown for `t` is what it is there: T and N, if the item is new, change it in their
// places.
std::uint32_t MetaProtocol::expiry_at(const Flags& flags, unsigned at, std::uint32_t before,
                                      bool is_new) const {
  for (unsigned n = flags.first; n < at; ++n) {
    const char flag = flags.words[n][0];
    if (flag == 'T' || (flag == 'N' && is_new)) before = expiry_of(flags, flag);
  }
  return before;
}
std::uint32_t MetaProtocol::expiry_of(const Flags& flags, char flag) const {
  std::int32_t number = 0;
  to_time(flags.token(flag), number);
  return s_.context_.clock.expiry(number);
}

void MetaProtocol::append_common(const Flags& flags, std::string_view key, bool key_is_binary) {
  for (unsigned n = flags.first; n < flags.words.count; ++n) {
    const char flag = flags.words[n][0];
    if (flag == 'O') s_.output_.append(" "), s_.output_.append(flags.words[n]);
    if (flag == 'k') append_key(s_.output_, key, key_is_binary);
  }
}

std::string MetaProtocol::time_left(std::uint32_t expiry) const {
  return expiry ? fmt::format(" t{}", expiry - s_.context_.clock.now()) : " t-1";
}

void MetaProtocol::finish(std::string_view code, const Flags& flags) {
  s_.output_.append(code);
  append_common(flags, flags.key, flags.binary_key);
  s_.output_.append("\r\n");
}

void MetaProtocol::get(const Words& words) {
  s_.counters_.add(Count::meta_commands);
  Flags flags;
  if (!has_shape(words, "CLIENT_ERROR options flags are too long") || !read(words, 2, Errors::each, flags))
    return;
  const Clock& clock = s_.context_.clock;
  Lookup lookup;
  lookup.with_value = flags.has('v');
  lookup.bump = !flags.has('u');
  lookup.decides = true;
  if ((lookup.touch = flags.has('T'))) lookup.expiry = expiry_of(flags, 'T');
  if ((lookup.vivify = flags.has('N'))) lookup.vivify_expiry = expiry_at(flags, words.count, 0, true);
  if ((lookup.recache = flags.has('R'))) {
    std::int32_t least = 0;
    to_time(flags.token('R'), least);
    lookup.recache_below = least;
  }
  lookup.key_is_binary = flags.binary_key;
  lookup.new_cas = flags.number('E');

  // The value is copied behind the room for the longest header, and moved down when the header is known.
  constexpr std::size_t kHeader = 1024;
  const std::size_t copied = s_.context_.settings.item_copy_max + 2;
  char* const at = s_.output_.room(kHeader + copied);
  const Found found = s_.engine_.get(s_.counters_, s_.key(flags.key), lookup, at + kHeader, copied);
  if (s_.context_.log.wants(EventLog::kFetchers)) [[unlikely]]
    s_.log_get(flags.key, found);
  if (found.no_memory)
    return s_.error(lookup.vivify && !found.hit ? "SERVER_ERROR out of memory allocating new item"
                                                : "SERVER_ERROR refcount overflow during fetch");
  if (!found.hit && !found.vivified) {
    if (!flags.quiet) finish("EN", flags);
    return;
  }
  std::string header = lookup.with_value ? fmt::format("VA {}", found.length) : "HD";
  for (unsigned n = 2; n < words.count; ++n) {
    switch (words[n][0]) {
      case 'c':
        header += fmt::format(" c{}", found.cas);
        break;
      case 'f':
        header += fmt::format(" f{}", found.flags);
        break;
      case 'h':
        header += found.fetched ? " h1" : " h0";
        break;
      case 'k':
        header += key_text(flags.key, found.key_is_binary);
        break;
      case 'l':
        header += fmt::format(" l{}", clock.now() - found.time);
        break;
      case 'O':
        header += ' ', header += words[n];
        break;
      case 's':
        header += fmt::format(" s{}", found.length);
        break;
      case 't':
        header += time_left(expiry_at(flags, n, found.vivified ? 0 : found.expiry, found.vivified));
        break;
      default:
        break;
    }
  }
  if (found.token_sent) header += " Z";
  if (found.stale) header += " X";
  if (found.won) header += " W";
  header += "\r\n";
  std::memcpy(at, header.data(), header.size());
  if (found.pinned) {
    s_.output_.added(header.size());
    s_.output_.pin(found.pinned, 0);
  } else if (lookup.with_value) {
    std::memmove(at + header.size(), at + kHeader, found.length + 2);
    s_.output_.added(header.size() + found.length + 2);
  } else {
    s_.output_.added(header.size());
  }
}

void MetaProtocol::set(const Words& words) {
  std::uint32_t length = 0;
  const bool sized = words.count >= 3 && to_number(words[2], length) && length <= kLongestValue;
  const auto refuse = [&](std::string_view sentence) {
    s_.error(sentence);
    if (sized) s_.swallow_ = std::size_t{length} + 2;
  };
  if (!has_shape(words, kTooMany)) return;
  if (!sized) return s_.error(kBadFormat);
  Flags flags;
  if (!read(words, 3, Errors::each, flags)) {
    s_.swallow_ = std::size_t{length} + 2;
    return;
  }
  StoreRequest request;
  if (flags.has('M')) {
    const std::string_view mode = flags.token('M');
    switch (mode[0] | 32) {
      case 's':
        break;
      case 'e':
        request.mode = StoreMode::add;
        break;
      case 'a':
        request.mode = StoreMode::append;
        break;
      case 'p':
        request.mode = StoreMode::prepend;
        break;
      case 'r':
        request.mode = StoreMode::replace;
        break;
      default:
        return refuse("CLIENT_ERROR invalid mode for ms M token");
    }
  }
  request.cas = flags.number('C'), request.new_cas = flags.number('E');
  // Modes that store over an item match only with its unique, and no item has 0.
  const bool replaces = request.mode == StoreMode::set || request.mode == StoreMode::replace;
  request.must_match = flags.has('C') && replaces;
  request.invalidate = flags.has('I');
  std::uint32_t client_flags = 0;
  if (flags.has('F')) to_flags(flags.token('F'), client_flags);

  const Key key = s_.key(flags.key);
  AwaitedValue& awaited = s_.awaited_.fill();  // before there is an item to lose
  const bool fits = s_.engine_.fits(flags.key.size(), client_flags, length);
  Item* item = fits ? s_.engine_.allocate(key, client_flags, expiry_of(flags, 'T'), length) : nullptr;
  if (!item) {
    s_.counters_.add(fits ? Count::store_no_memory : Count::store_too_large);
    if (s_.context_.log.wants(EventLog::kMutations)) s_.log_refused_store(flags.key, request, !fits);
    s_.engine_.remove(s_.counters_, key, {.counted = false});
    return refuse(fits ? "SERVER_ERROR out of memory storing object"
                       : "SERVER_ERROR object too large for cache");
  }
  if (flags.binary_key) item->set(Item::kKeyBinary);
  s_.counters_.add(Count::meta_commands);
  awaited.store = request;
  awaited.hash = key.hash;
  // The answer repeats words of this line, which will be gone.
  awaited.meta_flags.clear();
  for (unsigned n = 1; n < words.count; ++n) awaited.meta_flags.append(words[n]).append(" ");
  s_.await(Session::Value::meta, item, std::size_t{length} + 2);
}

void MetaProtocol::value_complete() {
  AwaitedValue& awaited = *s_.awaited_;
  Item* item = std::exchange(awaited.item, nullptr);
  char last[2] = {0, 0};
  for_each_piece(*item, [&](const char* piece, std::size_t n) {
    for (std::size_t i = n > 2 ? n - 2 : 0; i < n; ++i) last[0] = last[1], last[1] = piece[i];
  });
  if (last[0] != '\r' || last[1] != '\n') {
    s_.engine_.release(item);
    return s_.error("CLIENT_ERROR bad data chunk");
  }
  Flags flags;
  flags.first = 2;
  std::string_view rest = awaited.meta_flags;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    flags.words.word[flags.words.count++] = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  const std::string key(item->key());
  flags.key = key, flags.binary_key = flags.has('b'), flags.quiet = flags.has('q');
  const StoreAnswer answer = s_.store_awaited(item, awaited.hash, awaited.store);
  std::string_view code;
  switch (answer.stored) {
    case Stored::stored:
      code = "HD";
      break;
    case Stored::not_stored:
      code = "NS";
      break;
    case Stored::exists:
      code = "EX";
      break;
    case Stored::not_found:
      code = "NF";
      break;
  }
  if (flags.quiet && answer.stored == Stored::stored) return;
  s_.output_.append(code);
  for (unsigned n = 2; n < flags.words.count; ++n) {
    const char flag = flags.words[n][0];
    if (flag == 'O') s_.output_.append(" "), s_.output_.append(flags.words[n]);
    if (flag == 'k') append_key(s_.output_, key, flags.binary_key);
    if (flag == 'c') s_.output_.append(fmt::format(" c{}", answer.cas));
    // The stored item's size: more than was sent, if it was appended.
    if (flag == 's' && answer.stored == Stored::stored) s_.output_.append(fmt::format(" s{}", answer.length));
  }
  s_.output_.append("\r\n");
}

void MetaProtocol::remove(const Words& words) {
  s_.counters_.add(Count::meta_commands);
  Flags flags;
  if (!has_shape(words, kTooMany) || !read(words, 2, Errors::one, flags)) return;
  DeleteRequest request;
  request.must_match = flags.has('C');
  request.cas = flags.number('C'), request.new_cas = flags.number('E');
  request.mark_stale = flags.has('I');
  if ((request.set_expiry = flags.has('T'))) request.expiry = expiry_of(flags, 'T');
  switch (s_.engine_.remove(s_.counters_, s_.key(flags.key), request)) {
    case Deleted::deleted:
      if (!flags.quiet) finish("HD", flags);
      return;
    case Deleted::not_found:
      return finish("NF", flags);
    case Deleted::exists:
      return finish("EX", flags);
  }
}

void MetaProtocol::arithmetic(const Words& words) {
  s_.counters_.add(Count::meta_commands);
  Flags flags;
  if (!has_shape(words, kTooMany) || !read(words, 2, Errors::one, flags)) return;
  CountRequest request;
  const std::uint64_t initial = flags.number('J');
  if (flags.has('D')) to_number(flags.token('D'), request.delta);
  if (flags.has('M')) {
    const std::string_view mode = flags.token('M');
    if (mode == "I" || mode == "i" || mode == "+")
      request.increment = true;
    else if (mode == "D" || mode == "d" || mode == "-")
      request.increment = false;
    else
      return s_.error("CLIENT_ERROR invalid mode for ma M token");
  }
  request.cas = flags.number('C'), request.new_cas = flags.number('E');
  if ((request.set_expiry = flags.has('T'))) request.expiry = expiry_of(flags, 'T');
  const Key key = s_.key(flags.key);
  CountAnswer answer = s_.engine_.count(s_.counters_, key, request);
  const bool created = answer.counted == Counted::not_found && flags.has('N');
  if (created) {
    const std::string digits = fmt::format("{}", initial);
    const std::uint32_t expiry = expiry_at(flags, words.count, 0, true);
    Item* item = s_.engine_.allocate(key, 0, expiry, static_cast<std::uint32_t>(digits.size()));
    if (!item) return s_.error("SERVER_ERROR Out of memory allocating new item");
    if (flags.binary_key && keeps_base64(flags.key)) item->set(Item::kKeyBinary);
    std::memcpy(item->data(), digits.data(), digits.size());
    std::memcpy(item->data() + digits.size(), "\r\n", 2);
    const StoreAnswer stored =
        s_.engine_.store(s_.counters_, item, key.hash, {.mode = StoreMode::add, .new_cas = request.new_cas});
    if (stored.stored != Stored::stored) return finish("NS", flags);
    answer = {Counted::ok, initial, stored.cas};
  }
  switch (answer.counted) {
    case Counted::ok:
      break;
    case Counted::not_found:
      return finish("NF", flags);
    case Counted::exists:
      return finish("EX", flags);
    case Counted::non_numeric:
      return s_.error("CLIENT_ERROR cannot increment or decrement non-numeric value");
    case Counted::no_memory:
      return s_.error("SERVER_ERROR out of memory");
  }
  if (flags.quiet && !created) return;
  const bool value = flags.has('v');
  const std::string digits = fmt::format("{}", answer.value);
  s_.output_.append(value ? fmt::format("VA {}", digits.size()) : "HD");
  for (unsigned n = 2; n < words.count; ++n) {
    switch (words[n][0]) {
      case 'c':
        s_.output_.append(fmt::format(" c{}", answer.cas));
        break;
      case 't':
        s_.output_.append(time_left(expiry_at(flags, n, answer.expiry, created)));
        break;
      case 'O':
        s_.output_.append(" "), s_.output_.append(words[n]);
        break;
      case 'k':
        append_key(s_.output_, flags.key, flags.binary_key);
        break;
      default:
        break;
    }
  }
  s_.output_.append("\r\n");
  if (value) s_.output_.append(digits), s_.output_.append("\r\n");
}

void MetaProtocol::debug(const Words& words) {
  if (words.count < 2 || words[1].size() > kMostKey) return s_.error(kBadFormat);
  std::string decoded;
  std::string_view name = words[1];
  if (words.count > 2 && words[2] == "b") {
    if (!from_base64(name, decoded)) return s_.error(kBadFormat);
    name = decoded;
  }
  const Lookup lookup{.with_value = false, .is_get = false, .counted = false, .bump = false};
  const Found found = s_.engine_.get(s_.counters_, s_.key(name), lookup, nullptr, 0);
  if (!found.hit) return s_.answer("EN");
  const Clock& clock = s_.context_.clock;
  // Seconds since expiry, as memcached shows it: negative for what lives.
  const std::int64_t left = found.expiry ? std::int64_t{clock.now()} - found.expiry : -1;
  s_.answer(fmt::format("ME {} exp={} la={} cas={} fetch={} cls={} size={}",
                        found.key_is_binary ? to_base64(name) : name, left, clock.now() - found.time,
                        found.cas, found.fetched ? "yes" : "no", found.lru & kClassMask, found.size));
}

}  // namespace rubato::cached

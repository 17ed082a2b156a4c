// The meta commands mg ms md ma me mn.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cached/protocol/base64.hpp"
#include "cached/protocol/handlers.hpp"
#include "cached/protocol/numbers.hpp"

namespace rubato::cached {

/// The errors of flags, which differ between the commands.
struct MetaProtocol::Sentences {
  std::string_view repeated, unknown, token;
};

namespace {

std::string key_text(std::string_view key, bool is_binary) {
  return is_binary ? fmt::format(" k{} b", to_base64(key)) : fmt::format(" k{}", key);
}
void append_key(Output& output, std::string_view key, bool is_binary) {
  output.append(key_text(key, is_binary));
}

}  // namespace

const MetaProtocol::Sentences MetaProtocol::kGetSentences{"CLIENT_ERROR duplicate flag",
                                                          "CLIENT_ERROR invalid flag",
                                                          "CLIENT_ERROR bad token in command line format"};
const MetaProtocol::Sentences MetaProtocol::kSetSentences{
    "CLIENT_ERROR duplicate flag", "CLIENT_ERROR invalid flag", "CLIENT_ERROR bad command line format"};
const MetaProtocol::Sentences MetaProtocol::kOtherSentences{"CLIENT_ERROR invalid or duplicate flag",
                                                            "CLIENT_ERROR invalid or duplicate flag",
                                                            "CLIENT_ERROR invalid or duplicate flag"};

/// What the words after the key say.
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
  bool has(char flag) const {
    for (unsigned n = first; n < words.count; ++n)
      if (words[n][0] == flag) return true;
    return false;
  }
};

bool MetaProtocol::line(const Words& words) {
  const std::string_view name = words[0];
  if (name.size() != 2 || name[0] != 'm') return false;
  switch (name[1]) {
    case 'g':
      get(words);
      break;
    case 's':
      set(words);
      break;
    case 'd':
      remove(words);
      break;
    case 'a':
      arithmetic(words);
      break;
    case 'e':
      debug(words);
      break;
    case 'n':
      s_.answer("MN");
      return true;
    default:
      return false;
  }
  return true;
}

// False after it has answered an error.
bool MetaProtocol::read(const Words& words, unsigned first, std::string_view allowed, const Sentences& wrong,
                        Flags& flags) {
  flags.words = words, flags.first = first;
  if (words.count < 2) return s_.error("ERROR"), false;
  if (words[1].size() > kMostKey) return s_.error("CLIENT_ERROR bad command line format"), false;
  flags.key = words[1];
  bool seen[128] = {};
  for (unsigned n = first; n < words.count; ++n) {
    const auto flag = static_cast<unsigned char>(words[n][0]);
    if (flag >= 127 || flag <= ' ') return s_.error(wrong.unknown), false;
    if (seen[flag]) return s_.error(wrong.repeated), false;
    seen[flag] = true;
  }
  for (unsigned n = first; n < words.count; ++n) {
    const char flag = words[n][0];
    if (flag == 'P' || flag == 'L') continue;  // for proxies
    if (allowed.find(flag) == allowed.npos) return s_.error(wrong.unknown), false;
    const std::string_view token = words[n].substr(1);
    if (flag == 'O' && token.size() > 32) return s_.error("CLIENT_ERROR opaque token too long"), false;
    if (flag == 'b') flags.binary_key = true;
    if (flag == 'q') flags.quiet = true;
    std::int32_t number;
    std::uint32_t client_flags;
    std::uint64_t unique;
    // md and ma check every word's number before they look at what it is for.
    const bool takes_time = flag == 'T' || flag == 'N' || flag == 'R';
    if ((takes_time && !to_number(token, number)) || (flag == 'F' && !to_number(token, client_flags)) ||
        ((flag == 'C' || flag == 'D' || flag == 'J') && !to_number(token, unique)) ||
        (flag == 'M' && &wrong == &kOtherSentences && token.size() != 1))
      return s_.error(wrong.token), false;
  }
  if (flags.binary_key) {
    if (!from_base64(flags.key, flags.storage) || flags.storage.size() > kMostKey || flags.storage.empty())
      return s_.error("CLIENT_ERROR error decoding key"), false;
    flags.key = flags.storage;
  }
  return true;
}

void MetaProtocol::append_common(const Flags& flags, std::string_view key, bool key_is_binary) {
  for (unsigned n = flags.first; n < flags.words.count; ++n) {
    const char flag = flags.words[n][0];
    if (flag == 'O') s_.output_.append(" "), s_.output_.append(flags.words[n]);
    if (flag == 'k') append_key(s_.output_, key, key_is_binary);
  }
}

void MetaProtocol::finish(std::string_view code, const Flags& flags) {
  s_.output_.append(code);
  append_common(flags, flags.key, flags.binary_key);
  s_.output_.append("\r\n");
}

void MetaProtocol::get(const Words& words) {
  s_.counters_.add(Count::meta_commands);
  Flags flags;
  if (!read(words, 2, "bcfhklOqstuvNRT", kGetSentences, flags)) return;
  const Clock& clock = s_.context_.clock;
  const auto time = [&](char flag) {
    std::int32_t number = 0;
    to_number(flags.token(flag), number);
    return number;
  };
  Lookup lookup;
  lookup.with_value = flags.has('v');
  lookup.bump = !flags.has('u');
  if ((lookup.touch = flags.has('T'))) lookup.expiry = clock.expiry(time('T'));
  if ((lookup.vivify = flags.has('N'))) lookup.vivify_expiry = clock.expiry(time('N'));
  if ((lookup.recache = flags.has('R'))) lookup.recache_below = time('R');
  lookup.key_is_binary = flags.binary_key;

  // The value is copied behind the room for the longest header, and moved down when the header is known.
  constexpr std::size_t kHeader = 1024;
  const std::size_t copied = s_.context_.settings.item_copy_max + 2;
  char* const at = s_.output_.room(kHeader + copied);
  const Found found = s_.engine_.get(s_.counters_, s_.key(flags.key), lookup, at + kHeader, copied);
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
        if (found.expiry)
          header += fmt::format(" t{}", found.expiry - clock.now());
        else
          header += " t-1";
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
  const bool sized = words.count >= 3 && to_number(words[2], length) && length < 0x7ffffff0u;
  const auto refuse = [&](std::string_view sentence) {
    s_.error(sentence);
    if (sized) s_.swallow_ = std::size_t{length} + 2;
  };
  if (words.count < 2) return s_.error("ERROR");
  if (!sized) return s_.error("CLIENT_ERROR bad command line format");
  Flags flags;
  const Output::Mark mark = s_.output_.mark();
  if (!read(words, 3, "bcCFIkMOqTS", kSetSentences, flags)) {
    if (s_.output_.mark().size > mark.size) s_.swallow_ = std::size_t{length} + 2;
    return;
  }
  StoreRequest request;
  if (flags.has('M')) {
    const std::string_view mode = flags.token('M');
    switch (mode.size() == 1 ? mode[0] | 32 : 0) {
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
        return refuse(mode.size() == 1 ? "CLIENT_ERROR invalid mode for ms M token"
                                       : "CLIENT_ERROR incorrect length for M token");
    }
  }
  if (flags.has('C')) to_number(flags.token('C'), request.cas);
  request.invalidate = flags.has('I');
  std::uint32_t client_flags = 0;
  std::int32_t expiry = 0;
  if (flags.has('F')) to_number(flags.token('F'), client_flags);
  if (flags.has('T')) to_number(flags.token('T'), expiry);

  const Key key = s_.key(flags.key);
  const bool fits = s_.engine_.fits(flags.key.size(), client_flags, length);
  Item* item =
      fits ? s_.engine_.allocate(key, client_flags, s_.context_.clock.expiry(expiry), length) : nullptr;
  if (!item) {
    s_.counters_.add(fits ? Count::store_no_memory : Count::store_too_large);
    ThreadCounters uncounted;
    s_.engine_.remove(uncounted, key, {});
    return refuse(fits ? "SERVER_ERROR out of memory storing object"
                       : "SERVER_ERROR object too large for cache");
  }
  if (flags.binary_key) item->set(Item::kKeyBinary);
  s_.counters_.add(Count::meta_commands);
  s_.store_ = request;
  s_.value_hash_ = key.hash;
  // The answer repeats words of this line, which will be gone.
  s_.meta_flags_.clear();
  for (unsigned n = 1; n < words.count; ++n) s_.meta_flags_.append(words[n]).append(" ");
  s_.await(Session::Value::meta, item, std::size_t{length} + 2);
}

void MetaProtocol::value_complete() {
  Item* item = std::exchange(s_.item_, nullptr);
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
  std::string_view rest = s_.meta_flags_;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    flags.words.word[flags.words.count++] = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  const std::string key(item->key());
  flags.key = key, flags.binary_key = flags.has('b'), flags.quiet = flags.has('q');
  const StoreAnswer answer = s_.engine_.store(s_.counters_, item, s_.value_hash_, s_.store_);
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
    case Stored::no_memory:
      return s_.error("SERVER_ERROR out of memory storing object");
    case Stored::too_large:
      return s_.error("SERVER_ERROR object too large for cache");
  }
  if (flags.quiet && answer.stored == Stored::stored) return;
  s_.output_.append(code);
  for (unsigned n = 2; n < flags.words.count; ++n) {
    const char flag = flags.words[n][0];
    if (flag == 'O') s_.output_.append(" "), s_.output_.append(flags.words[n]);
    if (flag == 'k') append_key(s_.output_, key, flags.binary_key);
    if (flag == 'c') s_.output_.append(fmt::format(" c{}", answer.cas));
  }
  s_.output_.append("\r\n");
}

void MetaProtocol::remove(const Words& words) {
  s_.counters_.add(Count::meta_commands);
  Flags flags;
  if (!read(words, 2, "bcfhklstuvCDFIJMNOqRST", kOtherSentences, flags)) return;
  DeleteRequest request;
  if (flags.has('C')) to_number(flags.token('C'), request.cas);
  request.mark_stale = flags.has('I');
  if ((request.set_expiry = flags.has('T'))) {
    std::int32_t expiry = 0;
    to_number(flags.token('T'), expiry);
    request.expiry = s_.context_.clock.expiry(expiry);
  }
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
  if (!read(words, 2, "bcfhklsuCDFIJMNOqRStTv", kOtherSentences, flags)) return;
  CountRequest request;
  std::uint64_t initial = 0;
  if (flags.has('J')) to_number(flags.token('J'), initial);
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
  const Clock& clock = s_.context_.clock;
  const auto time = [&](char flag) {
    std::int32_t number = 0;
    to_number(flags.token(flag), number);
    return clock.expiry(number);
  };
  if (flags.has('C')) to_number(flags.token('C'), request.cas);
  if ((request.set_expiry = flags.has('T'))) request.expiry = time('T');
  const Key key = s_.key(flags.key);
  CountAnswer answer = s_.engine_.count(s_.counters_, key, request);
  if (answer.counted == Counted::not_found && flags.has('N')) {
    const std::string digits = fmt::format("{}", initial);
    Item* item = s_.engine_.allocate(key, 0, time('N'), static_cast<std::uint32_t>(digits.size()));
    if (!item) return s_.error("SERVER_ERROR Out of memory allocating new item");
    if (flags.binary_key) item->set(Item::kKeyBinary);
    std::memcpy(item->data(), digits.data(), digits.size());
    std::memcpy(item->data() + digits.size(), "\r\n", 2);
    const std::uint32_t expiry = item->expiry;
    const StoreAnswer stored = s_.engine_.store(s_.counters_, item, key.hash, {.mode = StoreMode::add});
    if (stored.stored != Stored::stored) return finish("NS", flags);
    answer = {Counted::ok, initial, stored.cas, expiry};
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
  if (flags.quiet) return;
  const bool value = flags.has('v');
  const std::string digits = fmt::format("{}", answer.value);
  s_.output_.append(value ? fmt::format("VA {}", digits.size()) : "HD");
  for (unsigned n = 2; n < words.count; ++n) {
    switch (words[n][0]) {
      case 'c':
        s_.output_.append(fmt::format(" c{}", answer.cas));
        break;
      case 't':
        s_.output_.append(answer.expiry ? fmt::format(" t{}", answer.expiry - clock.now()) : " t-1");
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
  if (words.count < 2 || words.count > 3 || words[1].size() > kMostKey)
    return s_.error("CLIENT_ERROR bad command line format");
  std::string decoded;
  std::string_view name = words[1];
  if (words.count > 2 && words[2] == "b") {
    if (!from_base64(name, decoded)) return s_.error("CLIENT_ERROR error decoding key");
    name = decoded;
  }
  Lookup lookup{.with_value = false, .is_get = false, .bump = false};
  ThreadCounters uncounted;
  const Found found = s_.engine_.get(uncounted, s_.key(name), lookup, nullptr, 0);
  if (!found.hit) return s_.answer("EN");
  const Clock& clock = s_.context_.clock;
  // Seconds since expiry, as memcached shows it: negative for what lives.
  const std::int64_t left = found.expiry ? std::int64_t{clock.now()} - found.expiry : -1;
  s_.answer(fmt::format("ME {} exp={} la={} cas={} fetch={} cls={} size={}", words[1], left,
                        clock.now() - found.time, found.cas, found.fetched ? "yes" : "no",
                        found.lru & kClassMask, found.size));
}

}  // namespace rubato::cached

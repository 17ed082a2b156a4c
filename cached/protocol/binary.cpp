// The binary protocol (T78): a header of 24 bytes, extras, key, value; numbers in network order. Times have
// no sign here: those from 2^31 on are after January 2038, not in the past.
// SPDX-License-Identifier: MIT
#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cached/protocol/event_log.hpp"
#include "cached/protocol/handlers.hpp"

namespace rubato::cached {

namespace {

enum Opcode : std::uint8_t {
  kGet = 0x00,
  kSet = 0x01,
  kAdd = 0x02,
  kReplace = 0x03,
  kDelete = 0x04,
  kIncrement = 0x05,
  kDecrement = 0x06,
  kQuit = 0x07,
  kFlush = 0x08,
  kGetQuiet = 0x09,
  kNoop = 0x0a,
  kVersion = 0x0b,
  kGetKey = 0x0c,
  kGetKeyQuiet = 0x0d,
  kAppend = 0x0e,
  kPrepend = 0x0f,
  kStat = 0x10,
  kSetQuiet = 0x11,
  kAddQuiet = 0x12,
  kReplaceQuiet = 0x13,
  kDeleteQuiet = 0x14,
  kIncrementQuiet = 0x15,
  kDecrementQuiet = 0x16,
  kQuitQuiet = 0x17,
  kFlushQuiet = 0x18,
  kAppendQuiet = 0x19,
  kPrependQuiet = 0x1a,
  kTouch = 0x1c,
  kGat = 0x1d,
  kGatQuiet = 0x1e,
  kListMechanisms = 0x20,
  kAuthenticate = 0x21,
  kAuthenticateStep = 0x22,
  kGatKey = 0x23,
  kGatKeyQuiet = 0x24
};

enum Status : std::uint16_t {
  kOk = 0,
  kNotFound = 1,
  kExists = 2,
  kTooLarge = 3,
  kInvalid = 4,
  kNotStored = 5,
  kNonNumeric = 6,
  kAuth = 0x20,
  kAuthContinue = 0x21,
  kUnknown = 0x81,
  kNoMemory = 0x82
};

constexpr std::string_view kPlain = "PLAIN";  // the mechanism of SASL
constexpr std::uint16_t kMostMechanism = 32;  // bytes of a mechanism's name

std::string_view sentence(std::uint16_t status) {
  switch (status) {
    case kNotFound:
      return "Not found";
    case kExists:
      return "Data exists for key.";
    case kTooLarge:
      return "Too large.";
    case kInvalid:
      return "Invalid arguments";
    case kNotStored:
      return "Not stored.";
    case kNonNumeric:
      return "Non-numeric server-side value for incr or decr";
    case kAuth:
      return "Auth failure.";
    case kUnknown:
      return "Unknown command";
    case kNoMemory:
      return "Out of memory";
    default:
      return "";
  }
}

struct Form {
  std::uint8_t loud;  ///< the form that answers always
  bool quiet, with_key, touches;
};

Form form_of(std::uint8_t opcode) {
  switch (opcode) {
    case kGetQuiet:
      return {kGet, true, false, false};
    case kGetKey:
      return {kGet, false, true, false};
    case kGetKeyQuiet:
      return {kGet, true, true, false};
    case kGat:
      return {kGet, false, false, true};
    case kGatQuiet:
      return {kGet, true, false, true};
    case kGatKey:
      return {kGet, false, true, true};
    case kGatKeyQuiet:
      return {kGet, true, true, true};
    case kTouch:
      return {kTouch, false, false, true};
    case kQuitQuiet:
      return {kQuit, true, false, false};
    case kFlushQuiet:
      return {kFlush, true, false, false};
    case kAppendQuiet:
      return {kAppend, true, false, false};
    case kPrependQuiet:
      return {kPrepend, true, false, false};
    case kSetQuiet:
    case kAddQuiet:
    case kReplaceQuiet:
    case kDeleteQuiet:
    case kIncrementQuiet:
    case kDecrementQuiet:
      return {static_cast<std::uint8_t>(opcode - kSetQuiet + kSet), true, false, false};
    default:
      return {opcode, false, false, false};
  }
}

template <class N>
N load(const char* from) {
  N value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof value == 2)
    return be16toh(value);
  else if constexpr (sizeof value == 4)
    return be32toh(value);
  else
    return be64toh(value);
}

void put32(char* to, std::uint32_t value) {
  value = htobe32(value);
  std::memcpy(to, &value, 4);
}

}  // namespace

struct BinaryProtocol::Header {
  static constexpr std::size_t kSize = 24;
  std::uint8_t magic, opcode, extras;
  std::uint16_t key;
  std::uint32_t body, opaque;
  std::uint64_t cas;
  Form form;
  explicit Header(const char* data)
      : magic(static_cast<std::uint8_t>(data[0])),
        opcode(static_cast<std::uint8_t>(data[1])),
        extras(static_cast<std::uint8_t>(data[4])),
        key(load<std::uint16_t>(data + 2)),
        body(load<std::uint32_t>(data + 8)),
        opaque(load<std::uint32_t>(data + 12)),
        cas(load<std::uint64_t>(data + 16)),
        form(form_of(opcode)) {}
  std::uint32_t value() const { return body - key - extras; }
  bool is_of_sasl() const { return opcode >= kListMechanisms && opcode <= kAuthenticateStep; }
  /// A command of SASL whose parts are wrong: an error of another kind, with -S or without.
  bool is_malformed_login() const {
    if (opcode == kListMechanisms) return body != 0;
    return (opcode == kAuthenticate || opcode == kAuthenticateStep) && (extras != 0 || key == 0);
  }
  std::string_view key_in(const char* content) const { return {content + extras, key}; }
  bool stores() const {
    return (form.loud >= kSet && form.loud <= kReplace) || form.loud == kAppend || form.loud == kPrepend;
  }
};

std::size_t BinaryProtocol::consume(const char* data, std::size_t n) {
  if (static_cast<unsigned char>(data[0]) != 0x80) {
    s_.close();
    return 0;
  }
  if (n < Header::kSize) return 0;
  const Header h(data);
  const bool has_sasl = s_.context_.settings.sasl;
  const bool known = h.opcode <= kPrependQuiet || (h.opcode >= kTouch && h.opcode <= kGatQuiet) ||
                     h.opcode == kGatKey || h.opcode == kGatKeyQuiet || (has_sasl && h.is_of_sasl());
  const bool is_short = std::uint32_t{h.key} + h.extras > h.body;
  const bool may_ask = s_.logged_in_ || (has_sasl && (h.is_of_sasl() || h.opcode == kVersion));
  if (has_sasl && !is_short && !may_ask) {
    error(h, kAuth);
    s_.close();
    return Header::kSize;
  }
  if (is_short || h.key > kMostKey || h.is_malformed_login()) {
    error(h, is_short ? kUnknown : kInvalid);
    s_.close();
    return Header::kSize;
  }
  if (!known || !may_ask) {
    error(h, known ? kAuth : kUnknown);
    s_.swallow_ = h.body;
    if (known) s_.close();
    return Header::kSize;
  }
  // All but the value of a store has to be here.
  const std::size_t wanted = Header::kSize + (h.stores() ? std::size_t{h.extras} + h.key : h.body);
  if (!h.stores() && h.body > 64 * 1024) {
    error(h, kInvalid);
    s_.close();
    return Header::kSize;
  }
  if (n < wanted) return 0;
  handle(h, data + Header::kSize);
  return wanted;
}

void BinaryProtocol::handle(const Header& h, const char* body) {
  // The required parts of a request: bytes of extras, key, value.
  const auto shape = [&](unsigned extras, bool key, bool value_allowed) {
    const bool right = h.extras == extras && (h.key != 0) == key && (value_allowed || h.value() == 0);
    if (right) return true;
    error(h, kInvalid);
    s_.swallow_ = h.stores() ? h.value() : 0;
    s_.close();
    return false;
  };
  switch (h.form.loud) {
    case kGet:
    case kTouch:
      if (shape(h.form.touches ? 4 : 0, true, false)) get(h, body);
      return;
    case kSet:
    case kAdd:
    case kReplace:
      if (shape(8, true, true)) store(h, body, 0);
      return;
    case kAppend:
    case kPrepend:
      if (shape(0, true, true)) store(h, body, 0);
      return;
    case kDelete:
      if (shape(0, true, false)) remove(h, body);
      return;
    case kIncrement:
    case kDecrement:
      if (shape(20, true, false)) count(h, body);
      return;
    case kFlush:
      if (shape(h.extras == 4 ? 4 : 0, false, false)) flush(h, body);
      return;
    case kNoop:
      if (shape(0, false, false)) answer(h, kOk, 0, {}, {}, {});
      return;
    case kVersion:
      if (shape(0, false, false)) answer(h, kOk, 0, {}, {}, version_text());
      return;
    case kStat:
      if (h.extras == 0 && h.value() == 0) return stats(h, body);
      shape(0, false, false);
      return;
    case kListMechanisms:
      s_.logged_in_ = false;  // as memcached: it begins a login
      return answer(h, kOk, 0, {}, {}, kPlain);
    case kAuthenticate:
    case kAuthenticateStep:
      return log_in(h, body);
    case kQuit:
      if (!shape(0, false, false)) return;
      if (!h.form.quiet) answer(h, kOk, 0, {}, {}, {});
      return s_.close(Session::End::left);
    default:
      return error(h, kUnknown);
  }
}

// A login by SASL (T103). The data of PLAIN: the user to act as (none, or the same), the user and the
// password, with bytes 0 between. It comes with the request to begin, or with the next step if that request
// had none.
void BinaryProtocol::log_in(const Header& h, const char* body) {
  if (h.key > kMostMechanism) return error(h, kInvalid);
  const std::string_view data(body + h.key, h.value());
  const bool has_begun = std::exchange(s_.login_has_begun_, false);
  const bool is_plain = h.opcode == kAuthenticate ? h.key_in(body) == kPlain : has_begun;
  s_.logged_in_ = false;
  if (h.opcode == kAuthenticate && is_plain && data.empty()) {
    s_.login_has_begun_ = true;
    return answer(h, kAuthContinue, 0, {}, {}, {});
  }
  s_.counters_.add(Count::auth_commands);
  s_.logged_in_ = is_plain && is_user(data);
  if (s_.logged_in_) return answer(h, kOk, 0, {}, {}, "Authenticated");
  s_.counters_.add(Count::auth_errors);
  error(h, kAuth);
}

bool BinaryProtocol::is_user(std::string_view plain) const {
  const std::size_t first = plain.find('\0');
  const std::size_t second = first == plain.npos ? first : plain.find('\0', first + 1);
  if (second == plain.npos) return false;
  const std::string_view as = plain.substr(0, first), user = plain.substr(first + 1, second - first - 1);
  return (as.empty() || as == user) && s_.context_.service.authenticates(user, plain.substr(second + 1));
}

void BinaryProtocol::begin(const Header& h, std::uint16_t status, std::uint64_t cas, std::size_t extras,
                           std::size_t key, std::size_t value) {
  char* to = s_.output_.room(Header::kSize);
  std::memset(to, 0, Header::kSize);
  to[0] = static_cast<char>(0x81), to[1] = static_cast<char>(h.opcode);
  to[2] = static_cast<char>(key >> 8), to[3] = static_cast<char>(key);
  to[4] = static_cast<char>(extras);
  to[6] = static_cast<char>(status >> 8), to[7] = static_cast<char>(status);
  put32(to + 8, static_cast<std::uint32_t>(extras + key + value));
  put32(to + 12, h.opaque);
  cas = htobe64(cas);
  std::memcpy(to + 16, &cas, 8);
  s_.output_.added(Header::kSize);
}

void BinaryProtocol::answer(const Header& h, std::uint16_t status, std::uint64_t cas, std::string_view extras,
                            std::string_view key, std::string_view value) {
  begin(h, status, cas, extras.size(), key.size(), value.size());
  s_.output_.append(extras);
  s_.output_.append(key);
  s_.output_.append(value);
}

void BinaryProtocol::error(const Header& h, std::uint16_t status) {
  answer(h, status, 0, {}, {}, sentence(status));
}

void BinaryProtocol::get(const Header& h, const char* body) {
  const std::string_view name = h.key_in(body);
  Lookup lookup;
  lookup.with_value = h.form.loud == kGet;
  if ((lookup.touch = h.form.touches)) lookup.expiry = s_.context_.clock.expiry(load<std::uint32_t>(body));
  lookup.is_get = h.form.loud == kGet;
  const std::size_t copied = s_.context_.settings.item_copy_max + 2;
  const std::size_t front = Header::kSize + 4 + (h.form.with_key ? name.size() : 0);
  char* const value = s_.output_.room(front + copied) + front;
  const Found found = s_.engine_.get(s_.counters_, s_.key(name), lookup, value, copied);
  if (s_.context_.settings.detail) [[unlikely]]
    s_.context_.prefixes.get(name, found.hit);
  if (s_.context_.log.wants(EventLog::kFetchers)) [[unlikely]]
    s_.log_get(name, found);
  if (found.no_memory) return error(h, kNoMemory);
  if (!found.hit) {
    if (h.form.quiet) return;
    if (h.form.with_key) return answer(h, kNotFound, 0, {}, name, {});
    return error(h, kNotFound);
  }
  char flags[4];
  put32(flags, found.flags);
  const std::size_t length = lookup.with_value ? found.length : 0;
  // Nothing here moves the output: there was room for all of it.
  begin(h, kOk, found.cas, 4, h.form.with_key ? name.size() : 0, length);
  s_.output_.append({flags, 4});
  if (h.form.with_key) s_.output_.append(name);
  if (!lookup.with_value) return;
  if (found.pinned)
    s_.output_.pin(found.pinned, 2);
  else
    s_.output_.added(length);
}

void BinaryProtocol::store(const Header& h, const char* body, std::size_t) {
  const std::string_view name = h.key_in(body);
  std::uint32_t flags = 0, expiry = 0;
  if (h.extras == 8) flags = load<std::uint32_t>(body), expiry = load<std::uint32_t>(body + 4);
  StoreRequest request{.cas = h.cas};
  switch (h.form.loud) {
    case kAdd:
      request.mode = StoreMode::add;
      break;
    case kReplace:
      request.mode = StoreMode::replace;
      break;
    case kAppend:
      request.mode = StoreMode::append;
      break;
    case kPrepend:
      request.mode = StoreMode::prepend;
      break;
    default:
      break;
  }
  // With a unique there must be an item, whichever of the three it is.
  if (h.cas && (request.mode == StoreMode::add || request.mode == StoreMode::replace))
    request.mode = StoreMode::set;
  if (s_.context_.settings.detail) [[unlikely]]
    s_.context_.prefixes.set(name);
  const Key key = s_.key(name);
  AwaitedValue& awaited = s_.awaited_.fill();  // before there is an item to lose
  const bool fits = s_.engine_.fits(name.size(), flags, h.value());
  Item* item = fits ? s_.engine_.allocate(key, flags, s_.context_.clock.expiry(expiry), h.value()) : nullptr;
  if (!item) {
    s_.counters_.add(fits ? Count::store_no_memory : Count::store_too_large);
    if (s_.context_.log.wants(EventLog::kMutations)) s_.log_refused_store(name, request, !fits);
    error(h, fits ? kNoMemory : kTooLarge);
    s_.swallow_ = h.value();
    if (h.form.loud == kSet) s_.engine_.remove(s_.counters_, key, {.counted = false});
    return;
  }
  awaited.store = request;
  awaited.hash = key.hash;
  std::memcpy(awaited.binary_header.data(), body - Header::kSize, Header::kSize);
  s_.await(Session::Value::binary, item, h.value());
  if (!h.value()) s_.value_complete();
}

void BinaryProtocol::value_complete() {
  AwaitedValue& awaited = *s_.awaited_;
  const Header h(awaited.binary_header.data());
  Item* item = std::exchange(awaited.item, nullptr);
  awaited.cursor.write("\r\n", 2);
  const StoreAnswer stored = s_.store_awaited(item, awaited.hash, awaited.store);
  switch (stored.stored) {
    case Stored::stored:
      if (!h.form.quiet) answer(h, kOk, stored.cas, {}, {}, {});
      return;
    case Stored::exists:
      return error(h, kExists);
    case Stored::not_found:
      return error(h, kNotFound);
    case Stored::not_stored:
      return error(h, h.form.loud == kAdd ? kExists : h.form.loud == kReplace ? kNotFound : kNotStored);
  }
}

void BinaryProtocol::count(const Header& h, const char* body) {
  const Key key = s_.key(h.key_in(body));
  const CountRequest request{
      .increment = h.form.loud == kIncrement, .delta = load<std::uint64_t>(body), .cas = h.cas};
  const auto initial = load<std::uint64_t>(body + 8);
  const auto expiry = load<std::uint32_t>(body + 16);
  CountAnswer counted = s_.engine_.count(s_.counters_, key, request);
  if (counted.counted == Counted::not_found && expiry != ~std::uint32_t{0}) {
    const std::string digits = fmt::format("{}", initial);
    Item* item = s_.engine_.allocate(key, 0, s_.context_.clock.expiry(expiry),
                                     static_cast<std::uint32_t>(digits.size()));
    if (!item) return error(h, kNoMemory);
    std::memcpy(item->data(), digits.data(), digits.size());
    std::memcpy(item->data() + digits.size(), "\r\n", 2);
    const StoreAnswer stored = s_.engine_.store(s_.counters_, item, key.hash, {.mode = StoreMode::add});
    if (stored.stored != Stored::stored) return error(h, kNotStored);
    counted = {Counted::ok, initial, stored.cas};
  }
  switch (counted.counted) {
    case Counted::ok:
      break;
    case Counted::not_found:
      return error(h, kNotFound);
    case Counted::non_numeric:
      return error(h, kNonNumeric);
    case Counted::exists:
      return error(h, kExists);
    case Counted::no_memory:
      return error(h, kNoMemory);
  }
  if (h.form.quiet) return;
  const std::uint64_t value = htobe64(counted.value);
  char bytes[8];
  std::memcpy(bytes, &value, 8);
  answer(h, kOk, counted.cas, {}, {}, {bytes, 8});
}

void BinaryProtocol::remove(const Header& h, const char* body) {
  if (s_.context_.settings.detail) s_.context_.prefixes.remove(h.key_in(body));
  switch (s_.engine_.remove(s_.counters_, s_.key(h.key_in(body)), {.cas = h.cas})) {
    case Deleted::deleted:
      if (!h.form.quiet) answer(h, kOk, 0, {}, {}, {});
      return;
    case Deleted::not_found:
      return error(h, kNotFound);
    case Deleted::exists:
      return error(h, kExists);
  }
}

void BinaryProtocol::flush(const Header& h, const char* body) {
  if (!s_.context_.settings.flush) return error(h, kAuth);
  s_.counters_.add(Count::flush_commands);
  const std::uint32_t delay = h.extras ? load<std::uint32_t>(body) : 0;
  const Clock& clock = s_.context_.clock;
  s_.engine_.flush(delay ? clock.expiry(delay) : clock.now());
  if (!h.form.quiet) answer(h, kOk, 0, {}, {}, {});
}

void BinaryProtocol::stats(const Header& h, const char* body) {
  const std::string_view group = h.key_in(body);
  if (group == "reset") {
    s_.context_.service.reset_statistics();
  } else if (group == "detail on" || group == "detail off") {
    s_.context_.settings.detail = group == "detail on";
  } else if (group == "detail dump") {
    answer(h, kOk, 0, {}, "detailed", s_.context_.prefixes.dump() + "END\r\n");
  } else {
    const bool known = s_.context_.service.report(
        group, [&](std::string_view name, std::string_view value) { answer(h, kOk, 0, {}, name, value); });
    if (!known) return error(h, kNotFound);
    if (is_switch_of_sizes(group)) return;
  }
  answer(h, kOk, 0, {}, {}, {});
}

}  // namespace rubato::cached

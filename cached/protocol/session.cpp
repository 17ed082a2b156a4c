// SPDX-License-Identifier: MIT
#include "cached/protocol/session.hpp"

#include <algorithm>
#include <cstring>

#include "cached/protocol/event_log.hpp"
#include "cached/protocol/handlers.hpp"

namespace rubato::cached {

Session::Session(Context& context, ThreadCounters& counters, Output& output, int descriptor)
    : context_(context),
      engine_(context.engine),
      counters_(counters),
      output_(output),
      descriptor_(descriptor),
      last_request_(context.clock.now()) {
  if (context.settings.binding == Binding::ascii) protocol_ = Protocol::text;
  if (context.settings.binding == Binding::binary) protocol_ = Protocol::binary;
  logged_in_ = context.settings.auth_file.empty();
}

Session::~Session() {
  if (awaited_ && awaited_->item) engine_.release(awaited_->item);
}

void Session::await(Value kind, Item* item, std::size_t bytes) {
  AwaitedValue& awaited = awaited_.fill();
  value_ = kind, awaited.item = item, value_left_ = bytes;
  if (item) awaited.cursor = Cursor(*item);
}

std::span<char> Session::wanted() {
  if (!value_left_ || !awaited_->item) return {};
  Cursor& cursor = awaited_->cursor;
  return {cursor.at(), std::min(cursor.contiguous(), value_left_)};
}

void Session::received(std::size_t n) {
  awaited_->cursor.advance(n);
  value_left_ -= n;
  if (value_left_) return;
  value_complete();
  // The value may have come slowly: only now its client is idle.
  __atomic_store_n(&last_request_, context_.clock.now(), __ATOMIC_RELAXED);
  awaited_.give_back();
}

void Session::value_complete() {
  const Value kind = std::exchange(value_, Value::none);
  switch (kind) {
    case Value::text:
    case Value::login:
      TextProtocol(*this).value_complete();
      break;
    case Value::meta:
      MetaProtocol(*this).value_complete();
      break;
    case Value::binary:
      BinaryProtocol(*this).value_complete();
      break;
    case Value::none:
      break;
  }
}

std::size_t Session::consume(const char* data, std::size_t n, int& budget) {
  const std::size_t used = consume_all(data, n, budget);
  if (awaited_ && !value_left_) awaited_.give_back();
  return used;
}

std::size_t Session::consume_all(const char* data, std::size_t n, int& budget) {
  std::size_t used = 0;
  // Requests behind a dump wait for its end.
  while (!closing_ && !watch_ && !dump_ && budget > 0 && used < n) {
    const std::size_t left = n - used;
    if (value_left_) {
      const std::size_t part = std::min(left, value_left_);
      if (awaited_->item) {
        awaited_->cursor.write(data + used, part);
      } else {
        awaited_->login.append(data + used, part);
      }
      used += part, value_left_ -= part;
      if (!value_left_) value_complete();
      continue;
    }
    if (swallow_) {
      const std::size_t part = std::min(left, swallow_);
      used += part, swallow_ -= part;
      continue;
    }
    if (protocol_ == Protocol::unknown)
      protocol_ = static_cast<unsigned char>(data[used]) == 0x80 ? Protocol::binary : Protocol::text;
    const std::size_t part =
        protocol_ == Protocol::binary ? consume_binary(data + used, left) : consume_text(data + used, left);
    if (!part) break;
    used += part, --budget;
    __atomic_store_n(&last_request_, context_.clock.now(), __ATOMIC_RELAXED);
  }
  return used;
}

std::size_t Session::consume_text(const char* data, std::size_t n) {
  const auto* end = static_cast<const char*>(std::memchr(data, '\n', n));
  if (!end) {
    // A line of that length can only be a multiget; else it is no client of ours.
    if (n > 2048) {
      std::string_view start(data, n);
      start.remove_prefix(std::min(start.find_first_not_of(' '), std::size_t{100}));
      if (!logged_in_ || (start.substr(0, 4) != "get " && start.substr(0, 5) != "gets ")) closing_ = true;
    }
    return 0;
  }
  std::string_view line(data, static_cast<std::size_t>(end - data));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  no_reply_ = false;
  TextProtocol(*this).line(line);
  return static_cast<std::size_t>(end - data) + 1;
}

StoreAnswer Session::store_awaited(Item* item, std::uint32_t hash, const StoreRequest& request) {
  if (!context_.log.wants(EventLog::kFetchersOrMutations)) [[likely]]
    return engine_.store(counters_, item, hash, request);
  const std::string name(item->key());  // the item is another's afterwards
  const std::uint32_t expiry = item->expiry, length = item->bytes - 2;
  const StoreAnswer answer = engine_.store(counters_, item, hash, request);
  log_store(name, request, answer, expiry, length);
  return answer;
}

void Session::log_get(std::string_view name, const Found& found) {
  EventLog& log = context_.log;
  if (found.hit) return log.get({name, "found", found.lru & unsigned{kClassMask}, descriptor_, found.length});
  log.get({name, found.flushed ? "flushed" : found.expired ? "expired" : "not_found", 0, descriptor_, 0});
}

namespace {
std::string_view command_of(const StoreRequest& request) {
  const bool compares = request.cas != 0 || request.must_match;
  switch (request.mode) {
    case StoreMode::set:
      return compares ? "cas" : "set";
    case StoreMode::replace:
      return compares ? "cas" : "replace";
    case StoreMode::add:
      return "add";
    case StoreMode::append:
      return "append";
    case StoreMode::prepend:
      return "prepend";
  }
  return "na";
}
std::string_view status_of(Stored stored) {
  switch (stored) {
    case Stored::stored:
      return "stored";
    case Stored::not_stored:
      return "not_stored";
    case Stored::exists:
      return "exists";
    case Stored::not_found:
      return "not_found";
  }
  return "na";
}
}  // namespace

void Session::log_store(std::string_view name, const StoreRequest& request, const StoreAnswer& answer,
                        std::uint32_t expiry, std::uint32_t length) {
  EventLog& log = context_.log;
  const unsigned slab_class = answer.lru & kClassMask;
  const bool was_there = answer.old_length != StoreAnswer::kNone;
  if (log.wants(EventLog::kFetchers))
    log.get({name, was_there ? "found" : "not_found", was_there ? slab_class : 0, descriptor_,
             was_there ? answer.old_length : 0});
  if (!log.wants(EventLog::kMutations)) return;
  const std::uint32_t now = context_.clock.now();
  log.store({name, status_of(answer.stored), command_of(request), expiry > now ? expiry - now : 0, slab_class,
             descriptor_, length});
}

void Session::log_refused_store(std::string_view name, const StoreRequest& request, bool too_large) {
  context_.log.store(
      {name, too_large ? "too_large" : "no_memory", command_of(request), 0, 0, descriptor_, 0});
}

std::size_t Session::consume_binary(const char* data, std::size_t n) {
  return BinaryProtocol(*this).consume(data, n);
}

}  // namespace rubato::cached

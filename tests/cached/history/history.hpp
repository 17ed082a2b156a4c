// Histories of a cache: what some threads asked for a few keys, when, and what was answered; and whether
// there is an order that explains it (T91). Meanwhile the table grows and pages move.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/order_search.hpp"
#include "base/rng.hpp"
#include "cached/core/engine.hpp"

namespace rubato::cached::history {

enum class Kind : std::uint8_t { get, set, add, cas, append, count, remove, touch };

struct Event {
  std::uint64_t invoked = 0, responded = 0;
  Kind kind = Kind::get;
  std::string argument;
  std::uint64_t number = 0;  ///< to add, or the unique to compare with
  // The answer.
  bool done = false;     ///< hit, stored, deleted ...
  bool differs = false;  ///< EXISTS
  std::string value;
  std::uint64_t unique = 0;
};

struct Entry {
  std::string value;
  std::uint64_t unique = 0;
  bool operator==(const Entry&) const = default;
};
using State = std::optional<Entry>;

/// The key's state after the event; nothing if the answer is wrong. Uniques come from the answers: of what
/// was stored, and then of all that find it.
inline std::optional<State> state_after(const State& state, const Event& e) {
  const auto stored = [&](std::string value) { return State(Entry{std::move(value), e.unique}); };
  const auto unchanged = [&](bool right) { return right ? std::optional<State>(state) : std::nullopt; };
  switch (e.kind) {
    case Kind::get:
      if (!e.done) return unchanged(!state);
      return unchanged(state && state->value == e.value && state->unique == e.unique);
    case Kind::touch:
      return unchanged(e.done == state.has_value());
    case Kind::set:
      return e.done ? std::optional<State>(stored(e.argument)) : std::nullopt;
    case Kind::add:
      if (e.done == state.has_value()) return std::nullopt;
      return e.done ? stored(e.argument) : state;
    case Kind::cas:
      if (e.done != (state && state->unique == e.number)) return std::nullopt;
      if (!e.done && e.differs != state.has_value()) return std::nullopt;
      return e.done ? stored(e.argument) : state;
    case Kind::append:
      if (e.done != state.has_value()) return std::nullopt;
      return e.done ? stored(state->value + e.argument) : state;
    case Kind::count: {
      if (e.done != state.has_value()) return std::nullopt;
      if (!e.done) return state;
      const std::string sum = std::to_string(std::stoull(state->value) + e.number);
      return sum == e.value ? std::optional<State>(stored(sum)) : std::nullopt;
    }
    case Kind::remove:
      if (e.done != state.has_value()) return std::nullopt;
      return State();
  }
  return std::nullopt;
}

struct Plan {
  unsigned threads = 3, requests = 800, keys = 4;
  std::uint64_t seed = 1;
};

class History {
 public:
  History(CacheEngine& cache, const Plan& plan) : cache_(cache), plan_(plan), events_(plan.threads) {}

  /// Records one, beside maintenance; says what no order explains, or nothing.
  std::optional<std::string> run() {
    fill();
    std::atomic<unsigned> left{plan_.threads};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < plan_.threads; ++t)
      threads.emplace_back([&, t] {
        ask(t);
        --left;
      });
    for (unsigned turn = 0; left; ++turn) maintain(turn);
    for (std::thread& thread : threads) thread.join();
    return judge();
  }

 private:
  // Keys with an even number hold numbers, the others values that are larger than the room, so they are
  // pinned.
  static constexpr std::size_t kRoom = 40;
  static bool counts(unsigned key) { return key % 2 == 0; }
  static std::string name(unsigned key) { return "key" + std::to_string(key); }
  static Key named(const std::string& text) { return {text, hash_murmur3(text)}; }
  static std::string value_of(std::uint64_t id) {
    std::string text;
    while (text.size() < 500) text += std::to_string(id) + "/";
    return text;
  }

  Item* made(const std::string& key, const std::string& value) {
    Item* item = cache_.allocate(named(key), 0, 0, static_cast<std::uint32_t>(value.size()));
    if (item) Cursor(*item).write((value + "\r\n").data(), value.size() + 2);
    return item;
  }
  StoreAnswer store(ThreadCounters& counters, const std::string& key, const std::string& value,
                    const StoreRequest& request) {
    Item* item = made(key, value);
    return item ? cache_.store(counters, item, named(key).hash, request) : StoreAnswer{Stored::not_stored};
  }

  /// Fills pages of the class of the values in each shard, so that the mover has something to do.
  void fill() {
    ThreadCounters counters;
    for (unsigned n = 0; n < 10'000; ++n) store(counters, "fill" + std::to_string(n), value_of(n), {});
  }
  void maintain(unsigned turn) {
    while (cache_.wants_expansion() && cache_.expand()) {
    }
    const std::size_t bytes = sizeof(Item) + 8 + 5 + value_of(1).size() + 2;
    cache_.move_page(cache_.sizes().class_for(bytes), 0);
    for (unsigned c = 1; c <= cache_.sizes().last(); ++c) cache_.juggle(c);
    cache_.crawl(turn * 64 % 4096, ~std::uint64_t{0}, {});
  }

  void ask(unsigned thread) {
    Rng random(plan_.seed * 1000 + thread);
    ThreadCounters counters;
    std::vector<std::uint64_t> unique(plan_.keys, 1);  // last seen
    events_[thread].resize(plan_.keys);
    for (unsigned n = 0; n < plan_.requests; ++n) {
      const auto key = static_cast<unsigned>(random.below(plan_.keys));
      Event e;
      e.kind = static_cast<Kind>(random.below(8));
      if (e.kind == Kind::count && !counts(key)) e.kind = Kind::get;
      if (e.kind == Kind::append && random.below(4)) e.kind = Kind::set;  // values stay short
      if (e.kind == Kind::append && counts(key)) e.kind = Kind::get;
      const std::uint64_t id = n * plan_.threads + thread;
      e.argument = counts(key) ? std::to_string(id) : value_of(id);
      if (e.kind == Kind::append) e.argument = "+" + std::to_string(id);
      e.number = e.kind == Kind::cas ? unique[key] : 1 + id % 3;
      e.invoked = now_.fetch_add(1);
      perform(counters, name(key), e);
      e.responded = now_.fetch_add(1);
      if (e.unique) unique[key] = e.unique;
      events_[thread][key].push_back(std::move(e));
      if (n % 8 == 0)
        store(counters, std::to_string(thread) + "-" + std::to_string(n), "x", {});  // the table grows
    }
  }

  void perform(ThreadCounters& counters, const std::string& text, Event& e) {
    const Key key = named(text);
    switch (e.kind) {
      case Kind::get: {
        char room[kRoom];
        const Found found = cache_.get(counters, key, {}, room, sizeof room);
        e.done = found.hit, e.unique = found.cas;
        if (!found.hit) return;
        if (!found.pinned) return e.value.assign(room, found.length), void();
        std::this_thread::yield();  // sent a little later
        e.value.assign(found.pinned->data(), found.length);
        return cache_.release(found.pinned);
      }
      case Kind::touch:
        e.done = cache_.get(counters, key, {.with_value = false, .touch = true}, nullptr, 0).hit;
        return;
      case Kind::set:
      case Kind::add:
      case Kind::append:
      case Kind::cas: {
        StoreRequest request;
        if (e.kind == Kind::add) request.mode = StoreMode::add;
        if (e.kind == Kind::append) request.mode = StoreMode::append;
        if (e.kind == Kind::cas) request.cas = e.number, request.must_match = true;
        const StoreAnswer answer = store(counters, text, e.argument, request);
        e.done = answer.stored == Stored::stored, e.differs = answer.stored == Stored::exists;
        if (e.done) e.unique = answer.cas;
        return;
      }
      case Kind::count: {
        const CountAnswer answer = cache_.count(counters, key, {.delta = e.number});
        e.done = answer.counted == Counted::ok;
        if (e.done) e.value = std::to_string(answer.value), e.unique = answer.cas;
        return;
      }
      case Kind::remove:
        e.done = cache_.remove(counters, key, {}) == Deleted::deleted;
        return;
    }
  }

  std::optional<std::string> judge() const {
    const auto hash = [](const State& state) { return state ? state->unique : ~std::uint64_t{0}; };
    for (unsigned key = 0; key < plan_.keys; ++key) {
      std::vector<Event> all;
      for (const auto& of_thread : events_)
        all.insert(all.end(), of_thread[key].begin(), of_thread[key].end());
      const OrderFound found =
          find_order<1024>(std::span<const Event>(all), State(), state_after, hash, std::uint64_t{1'000'000});
      if (found != OrderFound::yes)
        return name(key) + (found == OrderFound::no ? ": no order of its requests explains their answers"
                                                    : ": too many orders are possible to try them all");
    }
    return std::nullopt;
  }

  CacheEngine& cache_;
  Plan plan_;
  std::atomic<std::uint64_t> now_{1};
  std::vector<std::vector<std::vector<Event>>> events_;  ///< by thread and key
};

inline EngineOptions options() {
  EngineOptions options;
  options.hash_power = 4, options.limit = 32 << 20, options.evict = false;
  return options;
}

}  // namespace rubato::cached::history

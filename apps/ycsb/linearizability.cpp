// SPDX-License-Identifier: MIT
#include "apps/ycsb/linearizability.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/order_search.hpp"

namespace rubato::apps::ycsb {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

Judgement wrong(std::string reason) { return {Verdict::not_linearizable, std::move(reason)}; }

// ---- Registers ----

/// The requests that write or read one value. A zone is the time from the first response to the last
/// invocation: forward if that is positive, backward else.
struct Cluster {
  bool is_written = false;
  std::uint64_t write_invoked = 0;
  std::uint64_t first_response = kNever;
  std::uint64_t last_invocation = 0;

  void add(std::uint64_t invoked, std::uint64_t responded) {
    first_response = std::min(first_response, responded);
    last_invocation = std::max(last_invocation, invoked);
  }
  void add_write(std::uint64_t invoked, std::uint64_t responded) {
    is_written = true;
    write_invoked = invoked;
    add(invoked, responded);
  }
  bool is_forward() const { return first_response < last_invocation; }
};

class RegisterCheck {
 public:
  explicit RegisterCheck(KeyState initial) : initial_(initial) {
    if (initial) {
      values_[*initial].add_write(0, 0);
    } else {
      absent_.add_write(0, 0);
    }
  }

  static bool applies(std::span<const KeyEvent> events, KeyState initial) {
    std::unordered_set<Value> written;
    if (initial) written.insert(*initial);
    return std::all_of(events.begin(), events.end(), [&](const KeyEvent& e) {
      if (e.kind == Kind::lookup) return true;
      if (e.kind == Kind::update) return !e.answer.is_found || written.insert(e.argument).second;
      return e.kind == Kind::insert && (e.answer.is_found || written.insert(e.argument).second);
    });
  }

  Judgement judge(std::span<const KeyEvent> events) {
    for (const KeyEvent& e : events) {
      if (std::string error = add(e); !error.empty()) return wrong(std::move(error));
    }
    if (!is_present_ever()) return absent_only();
    if (std::string error = check_reads(events); !error.empty()) return wrong(std::move(error));
    if (inserted_ && others_precede_insertion()) {
      return wrong("a request that found a later value ended before one that found the inserted value began");
    }
    return check_zones();
  }

 private:
  /// Adds the reads and writes of the event, cluster by cluster.
  std::string add(const KeyEvent& e) {
    const bool writes =
        e.kind == Kind::update ? e.answer.is_found : e.kind == Kind::insert && !e.answer.is_found;
    if (writes) {
      if (e.kind == Kind::insert && initial_) return "an insertion found no value, but there always was one";
      if (e.kind == Kind::insert && inserted_) return "two insertions found no value";
      if (e.kind == Kind::insert) inserted_ = e.argument;
      values_[e.argument].add_write(e.invoked, e.responded);
    } else if (e.answer.is_found) {
      values_[e.answer.value].add(e.invoked, e.responded);
    } else {
      if (initial_) return "a request found no value, but there always was one";
      absent_.add(e.invoked, e.responded);
    }
    return "";
  }

  bool is_present_ever() const { return initial_ || inserted_; }

  Judgement absent_only() const {
    return values_.empty() ? Judgement{} : wrong("a value was found, but none was ever inserted");
  }

  std::string check_reads(std::span<const KeyEvent> events) const {
    for (const KeyEvent& e : events) {
      if (!e.answer.is_found || e.kind == Kind::update) continue;
      const Cluster& cluster = values_.at(e.answer.value);
      const std::string value = std::to_string(e.answer.value);
      if (!cluster.is_written) return "value " + value + " was found, but never written to this key";
      if (e.responded < cluster.write_invoked) return "value " + value + " was found before it was written";
    }
    return "";
  }

  /// The inserted value is the first one.
  bool others_precede_insertion() const {
    const std::uint64_t last = values_.at(*inserted_).last_invocation;
    return std::any_of(values_.begin(), values_.end(), [&](const auto& v) {
      return v.first != *inserted_ && v.second.first_response < last;
    });
  }

  Judgement check_zones() const {
    std::vector<const Cluster*> forward;
    const auto add_forward = [&](const Cluster& c) {
      if (c.is_forward()) forward.push_back(&c);
    };
    for (const auto& [value, cluster] : values_) add_forward(cluster);
    if (absent_.is_written) add_forward(absent_);
    std::sort(forward.begin(), forward.end(),
              [](const Cluster* a, const Cluster* b) { return a->first_response < b->first_response; });
    for (std::size_t i = 1; i < forward.size(); ++i) {
      if (forward[i]->first_response < forward[i - 1]->last_invocation) {
        return wrong("a value was found again after another one had been found or written");
      }
    }
    for (const auto& [value, cluster] : values_) {
      if (!cluster.is_forward() && is_inside(cluster, forward)) {
        return wrong("value " + std::to_string(value) +
                     " was written while an older value had been found, and that was still found afterwards");
      }
    }
    return {};
  }

  /// Forward zones do not overlap: only the last one that begins before the cluster can contain it.
  static bool is_inside(const Cluster& c, const std::vector<const Cluster*>& forward) {
    const auto after = std::partition_point(forward.begin(), forward.end(), [&](const Cluster* f) {
      return f->first_response < c.last_invocation;
    });
    return after != forward.begin() && c.first_response < (*(after - 1))->last_invocation;
  }

  KeyState initial_;
  KeyState inserted_;
  Cluster absent_;
  std::unordered_map<Value, Cluster> values_;
};

// ---- Counters ----

bool is_counter(std::span<const KeyEvent> events, KeyState initial) {
  return initial && std::all_of(events.begin(), events.end(), [](const KeyEvent& e) {
           return e.kind == Kind::lookup || (e.kind == Kind::add && e.argument == 1);
         });
}

Judgement check_counter(std::span<const KeyEvent> events, Value initial) {
  // The k-th addition (answer initial + k) has place 2k + 1; an operation that finds initial + k comes before
  // it, at place 2k.
  struct Placed {
    std::uint64_t place;
    const KeyEvent* event;
  };
  std::vector<Placed> order;
  const auto additions = static_cast<std::uint64_t>(
      std::count_if(events.begin(), events.end(), [](const KeyEvent& e) { return e.kind == Kind::add; }));
  for (const KeyEvent& e : events) {
    if (!e.answer.is_found) return wrong("a request found no value, but there always was one");
    const std::uint64_t k = e.answer.value - initial;
    if (k > additions || (e.kind == Kind::add && k == additions)) {
      return wrong("value " + std::to_string(e.answer.value) + " was found, which no addition made");
    }
    order.push_back({2 * k + (e.kind == Kind::add ? 1 : 0), &e});
  }
  std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) { return a.place < b.place; });
  std::uint64_t last_invocation = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    std::uint64_t invoked = last_invocation;
    for (; end < order.size() && order[end].place == order[i].place; ++end) {
      if (order[end].event->responded < last_invocation) {
        return wrong("value " + std::to_string(order[end].event->answer.value) +
                     " was found after a request that found a smaller one had not yet begun");
      }
      invoked = std::max(invoked, order[end].event->invoked);
    }
    if (order[i].place % 2 == 1 && end - i > 1)
      return wrong("two additions found the same value: one is lost");
    last_invocation = invoked;
    i = end;
  }
  return {};
}

// ---- One life ----

/// History of a key that comes at most once and then goes at most once. A request that finds it is right if
/// it can be after the birth and before the death. A request that does not find it is right if it can be
/// before the birth or after the death. So the requests that find it bound the birth from above and the death
/// from below. No other choice is better for the other requests.
class LifeCheck {
 public:
  explicit LifeCheck(KeyState initial) : value_(initial) {
    if (initial) birth_ = Moment{0, 0};
  }

  static bool applies(std::span<const KeyEvent> events, KeyState initial) {
    std::uint64_t births = initial ? 1 : 0, deaths = 0;
    for (const KeyEvent& e : events) {
      if (e.kind == Kind::update || e.kind == Kind::add) return false;
      if (is_birth(e)) ++births;
      if (is_death(e)) ++deaths;
    }
    return births <= 1 && deaths <= 1;
  }

  Judgement judge(std::span<const KeyEvent> events) {
    for (const KeyEvent& e : events) {
      if (is_birth(e)) {
        birth_ = Moment{e.invoked, e.responded};
        value_ = e.argument;
      } else if (is_death(e)) {
        death_ = Moment{e.invoked, e.responded};
      }
    }
    for (const KeyEvent& e : events) {
      if (e.answer.is_found && (!value_ || e.answer.value != *value_)) {
        return wrong("value " + std::to_string(e.answer.value) + " was found, but never written to this key");
      }
    }
    return value_ ? judge_life(events) : Judgement{};
  }

 private:
  /// Sometime from `first` to `last`.
  struct Moment {
    std::uint64_t first = kNever;
    std::uint64_t last = kNever;
  };

  static bool is_birth(const KeyEvent& e) { return e.kind == Kind::insert && !e.answer.is_found; }
  static bool is_death(const KeyEvent& e) { return e.kind == Kind::remove && e.answer.is_found; }
  static bool finds(const KeyEvent& e) { return e.answer.is_found && e.kind != Kind::remove; }

  Judgement judge_life(std::span<const KeyEvent> events) {
    for (const KeyEvent& e : events) {
      if (!finds(e)) continue;
      if (e.responded < birth_.first) return wrong("the key was found before it was inserted");
      if (e.invoked > death_.last) return wrong("the key was found after it had been removed");
      birth_.last = std::min(birth_.last, e.responded);
      death_.first = std::max(death_.first == kNever ? 0 : death_.first, e.invoked);
    }
    if (death_.last < birth_.first) return wrong("the key was removed before it was inserted");
    if (death_.last == kNever) death_.first = kNever;  // it lives on
    if (birth_.last >= death_.first) return {};        // the life may be too short for any request to see it
    for (const KeyEvent& e : events) {
      if (!e.answer.is_found && e.kind != Kind::insert && e.invoked > birth_.last &&
          e.responded < death_.first) {
        return wrong("a request did not find the key while it was there");
      }
    }
    return {};
  }

  KeyState value_;
  Moment birth_, death_;
};

// ---- Everything else ----

/// The state after the event, or nothing if its answer is wrong in `state`.
std::optional<KeyState> state_after(const KeyState& state, const KeyEvent& e) {
  if (e.answer.is_found != state.has_value()) return std::nullopt;
  if (state && e.kind != Kind::update && e.answer.value != *state)
    return std::nullopt;  // as the zones have it
  switch (e.kind) {
    case Kind::insert:
      return state ? state : KeyState(e.argument);
    case Kind::update:
      return state ? KeyState(e.argument) : state;
    case Kind::add:
      return state ? KeyState(*state + e.argument) : state;
    case Kind::remove:
      return KeyState();
    default:
      return state;
  }
}

}  // namespace

Judgement check_key_by_search(std::span<const KeyEvent> events, KeyState initial, std::uint64_t budget) {
  const auto hash = [](const KeyState& state) { return state ? *state : kNever; };
  switch (find_order(events, initial, state_after, hash, budget)) {
    case OrderFound::yes:
      return {};
    case OrderFound::no:
      return wrong("no order of its requests explains their answers");
    case OrderFound::too_many_orders:
      return {Verdict::undecided, "too many orders are possible to try them all"};
    case OrderFound::too_many_at_a_time:
      return {Verdict::undecided, "more than 64 requests for one key at a time"};
  }
  return {};
}

Judgement check_key(std::span<const KeyEvent> events, KeyState initial) {
  if (is_counter(events, initial)) return check_counter(events, *initial);
  if (RegisterCheck::applies(events, initial)) return RegisterCheck(initial).judge(events);
  if (LifeCheck::applies(events, initial)) return LifeCheck(initial).judge(events);
  return check_key_by_search(events, initial);
}

}  // namespace rubato::apps::ycsb

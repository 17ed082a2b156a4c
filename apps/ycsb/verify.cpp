// SPDX-License-Identifier: MIT
#include "apps/ycsb/verify.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <vector>

#include "apps/common/output_file.hpp"
#include "apps/ycsb/linearizability.hpp"

namespace rubato::apps::ycsb {
namespace {

constexpr std::uint64_t kAfterwards = std::numeric_limits<std::uint64_t>::max();

struct Located {
  Key key;
  KeyEvent event;
};

std::string key_text(Key key, const KeySpace& space) {
  return "key " + std::to_string(key) + " (record " + std::to_string(space.record_of(key)) + ")";
}

/// All requests and scanned pairs as events of their keys.
std::vector<Located> events_of(std::span<const Request> requests, const Recorder& recorder) {
  std::vector<Located> all;
  all.reserve(requests.size());
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    const Event& e = recorder.events()[i];
    if (requests[i].kind == Kind::scan) {
      for (const ScannedPair& pair : recorder.scan(i)) {
        all.push_back({pair.key, {e.invoked, e.responded, Kind::lookup, 0, {pair.value, true}}});
      }
    } else {
      const Operation operation = operation_of(requests[i], i, kFirstWritten, nullptr);
      all.push_back({operation.key, {e.invoked, e.responded, operation.kind, operation.argument, e.answer}});
    }
  }
  return all;
}

std::string check_answered(std::span<const Request> requests, const Recorder& recorder) {
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    if (recorder.events()[i].responded == 0) return "request " + std::to_string(i) + " was never answered";
  }
  return "";
}

/// When a key was there for certain: after `from`, before `until`. Workloads insert every record at most
/// once, and remove it at most once.
struct Life {
  Key key;
  std::uint64_t from;                 ///< its insertion ended; 0: it was loaded
  std::uint64_t until = kAfterwards;  ///< its removal began
  bool has_removal = false;           ///< was asked for, and may have come before the insertion
};

/// In `lives`, ascending: where those of `key` and larger ones begin.
template <class Lives>
auto first_life_from(Lives& lives, Key key) {
  return std::lower_bound(lives.begin(), lives.end(), key, [](const Life& l, Key k) { return l.key < k; });
}

/// Lives of all keys that were ever to be there, ascending.
std::vector<Life> lives_of(const WorkloadOptions& workload, std::span<const Request> requests,
                           const Recorder& recorder) {
  const auto inserted = static_cast<std::uint64_t>(std::count_if(
      requests.begin(), requests.end(), [](const Request& r) { return r.kind == Kind::insert; }));
  std::vector<Life> lives;
  for (const Key key : sorted_keys(KeySpace(workload.key_order), workload.records + inserted))
    lives.push_back({.key = key, .from = 0});
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != Kind::insert && requests[i].kind != Kind::remove) continue;
    const Event& event = recorder.events()[i];
    Life& life = *first_life_from(lives, requests[i].key);
    if (requests[i].kind == Kind::insert) {
      life.from = event.responded;
    } else {
      life.has_removal = true;
      if (event.answer.is_found) life.until = event.invoked;
    }
  }
  return lives;
}

/// Adds the final state of the tree as lookups after everything else: keys that are there, and removed keys
/// that are not. The histories of the keys then say whether that is right. Keys without removal must be
/// there. @returns an error, or nothing.
std::string check_keys(const std::vector<Life>& lives, const Variant& variant, const KeySpace& space,
                       std::vector<Located>& events) {
  std::string error;
  auto next = lives.begin();
  const auto end_with = [&](Key key, Answer answer) {
    events.push_back({key, {kAfterwards, kAfterwards, Kind::lookup, 0, answer}});
  };
  const auto skip_until = [&](Key end) {
    for (; next != lives.end() && next->key < end && error.empty(); ++next) {
      if (!next->has_removal) error = key_text(next->key, space) + " is missing";
      end_with(next->key, {});
    }
  };
  variant.for_each([&](const leaf::Pair& pair) {
    skip_until(pair.key);
    if (!error.empty()) return;
    if (next == lives.end() || next->key != pair.key) {
      error = key_text(pair.key, space) + " is in the tree, but was never inserted";
    } else {
      ++next;
      end_with(pair.key, {pair.value, true});
    }
  });
  skip_until(kNoKey);
  return error;
}

std::string check_histories(std::vector<Located>& events, const WorkloadOptions& workload,
                            const KeySpace& space) {
  std::sort(events.begin(), events.end(), [](const Located& a, const Located& b) { return a.key < b.key; });
  std::vector<KeyEvent> history;
  for (std::size_t i = 0; i < events.size();) {
    const Key key = events[i].key;
    history.clear();
    for (; i < events.size() && events[i].key == key; ++i) history.push_back(events[i].event);
    const std::uint64_t record = space.record_of(key);
    const Judgement judgement =
        check_key(history, record < workload.records ? KeyState(record) : std::nullopt);
    if (judgement.verdict == Verdict::undecided) {
      return "the history of " + key_text(key, space) + " could not be judged: " + judgement.reason;
    }
    if (judgement.verdict == Verdict::not_linearizable) {
      return "the history of " + key_text(key, space) + " is not linearizable: " + judgement.reason;
    }
  }
  return "";
}

/// The pairs of one scan against all keys: ascending, and none left out that was there all the time.
std::string check_scan(const Request& request, const Event& scan, const std::vector<ScannedPair>& pairs,
                       const std::vector<Life>& lives) {
  auto life = first_life_from(lives, request.key);
  const auto skip_until = [&](Key end) {  // keys before `end` may be missing only if they came or went
    for (; life != lives.end() && life->key < end; ++life) {
      if (life->from < scan.invoked && life->until > scan.responded) return false;
    }
    return true;
  };
  for (const ScannedPair& pair : pairs) {
    if (!skip_until(pair.key)) return "left out key " + std::to_string(life->key);
    if (life == lives.end() || life->key != pair.key)
      return "is not ascending, or found a key never inserted";
    ++life;
  }
  if (pairs.size() > request.length) return "found more pairs than it was asked for";
  if (pairs.size() < request.length && !skip_until(kNoKey))
    return "ended before key " + std::to_string(life->key);
  return "";
}

std::string check_scans(std::span<const Request> requests, const Recorder& recorder,
                        const std::vector<Life>& lives) {
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != Kind::scan) continue;
    const std::string error = check_scan(requests[i], recorder.events()[i], recorder.scan(i), lives);
    if (!error.empty()) return "the scan of request " + std::to_string(i) + " " + error;
  }
  return "";
}

}  // namespace

std::string verify(const WorkloadOptions& workload, std::span<const Request> requests,
                   const Recorder& recorder, const Variant& variant) {
  const KeySpace space(workload.key_order);
  if (std::string error = check_answered(requests, recorder); !error.empty()) return error;
  if (const TreeShape shape = variant.check(); !shape.error.empty()) return "the tree has " + shape.error;
  const std::vector<Life> lives = lives_of(workload, requests, recorder);
  std::vector<Located> events = events_of(requests, recorder);
  if (std::string error = check_keys(lives, variant, space, events); !error.empty()) return error;
  if (std::string error = check_scans(requests, recorder, lives); !error.empty()) return error;
  return check_histories(events, workload, space);
}

void write_history(const std::string& file, std::span<const Request> requests, const Recorder& recorder) {
  static constexpr const char* kNames[] = {"lookup", "scan", "insert", "update", "remove", "add"};
  OutputFile out(file);
  std::fprintf(out.get(), "request,kind,key,argument,invoked_ns,responded_ns,found,value\n");
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    const Operation operation = operation_of(requests[i], i, kFirstWritten, nullptr);
    const Event& e = recorder.events()[i];
    std::fprintf(out.get(), "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%" PRIu64 "\n",
                 i, kNames[static_cast<int>(operation.kind)], operation.key, operation.argument, e.invoked,
                 e.responded, e.answer.is_found, e.answer.value);
  }
  out.finish();
}

}  // namespace rubato::apps::ycsb

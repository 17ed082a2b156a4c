// SPDX-License-Identifier: MIT
#include "apps/ycsb/verify.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "apps/common/input_error.hpp"
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

/// The keys that a serial run leaves: workloads insert every record once and remove none.
std::vector<Key> expected_keys(const WorkloadOptions& workload, std::span<const Request> requests) {
  const auto inserted = static_cast<std::uint64_t>(std::count_if(
      requests.begin(), requests.end(), [](const Request& r) { return r.kind == Kind::insert; }));
  return sorted_keys(KeySpace(workload.key_order), workload.records + inserted);
}

/// The tree's pairs, as events after everything else. Empty `error` if the keys are right.
std::string check_keys(const std::vector<Key>& expected, const Variant& variant, const KeySpace& space,
                       std::vector<Located>& events) {
  std::string error;
  auto next = expected.begin();
  variant.for_each([&](const leaf::Pair& pair) {
    if (!error.empty()) return;
    if (next == expected.end() || *next > pair.key) {
      error = key_text(pair.key, space) + " is in the tree, but was never inserted";
    } else if (*next < pair.key) {
      error = key_text(*next, space) + " is missing";
    } else {
      ++next;
      events.push_back({pair.key, {kAfterwards, kAfterwards, Kind::lookup, 0, {pair.value, true}}});
    }
  });
  if (error.empty() && next != expected.end()) error = key_text(*next, space) + " is missing";
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

/// When each key of `expected` was there at the latest: 0 from the beginning, else when its insertion ended.
std::vector<std::uint64_t> insertion_ends(const std::vector<Key>& expected, std::span<const Request> requests,
                                          const Recorder& recorder) {
  std::vector<std::uint64_t> ends(expected.size());
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != Kind::insert) continue;
    const auto found = std::lower_bound(expected.begin(), expected.end(), requests[i].key);
    ends[static_cast<std::size_t>(found - expected.begin())] = recorder.events()[i].responded;
  }
  return ends;
}

/// The pairs of one scan against all keys: ascending, and none left out that was there when it began.
std::string check_scan(const Request& request, std::uint64_t invoked, const std::vector<ScannedPair>& pairs,
                       const std::vector<Key>& keys, const std::vector<std::uint64_t>& ends) {
  auto key = std::lower_bound(keys.begin(), keys.end(), request.key);
  const auto skip_until = [&](Key end) {  // keys before `end` may be missing only if they came later
    for (; key != keys.end() && *key < end; ++key) {
      if (ends[static_cast<std::size_t>(key - keys.begin())] < invoked) return false;
    }
    return true;
  };
  for (const ScannedPair& pair : pairs) {
    if (!skip_until(pair.key)) return "left out key " + std::to_string(*key);
    if (key == keys.end() || *key != pair.key) return "is not ascending, or found a key never inserted";
    ++key;
  }
  if (pairs.size() > request.length) return "found more pairs than it was asked for";
  if (pairs.size() < request.length && !skip_until(kNoKey)) return "ended before key " + std::to_string(*key);
  return "";
}

std::string check_scans(std::span<const Request> requests, const Recorder& recorder,
                        const std::vector<Key>& keys) {
  const bool has_scans =
      std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.kind == Kind::scan; });
  if (!has_scans) return "";
  const std::vector<std::uint64_t> ends = insertion_ends(keys, requests, recorder);
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != Kind::scan) continue;
    const std::string error =
        check_scan(requests[i], recorder.events()[i].invoked, recorder.scan(i), keys, ends);
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
  const std::vector<Key> keys = expected_keys(workload, requests);
  std::vector<Located> events = events_of(requests, recorder);
  if (std::string error = check_keys(keys, variant, space, events); !error.empty()) return error;
  if (std::string error = check_scans(requests, recorder, keys); !error.empty()) return error;
  return check_histories(events, workload, space);
}

void write_history(const std::string& file, std::span<const Request> requests, const Recorder& recorder) {
  static constexpr const char* kNames[] = {"lookup", "scan", "insert", "update", "remove", "add"};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(file.c_str(), "w"), std::fclose);
  if (out == nullptr) throw InputError("--history: " + file + " cannot be written");
  std::fprintf(out.get(), "request,kind,key,argument,invoked_ns,responded_ns,found,value\n");
  for (std::uint64_t i = 0; i < requests.size(); ++i) {
    const Operation operation = operation_of(requests[i], i, kFirstWritten, nullptr);
    const Event& e = recorder.events()[i];
    std::fprintf(out.get(), "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%" PRIu64 "\n",
                 i, kNames[static_cast<int>(operation.kind)], operation.key, operation.argument, e.invoked,
                 e.responded, e.answer.is_found, e.answer.value);
  }
  if (std::ferror(out.get()) != 0) throw InputError("--history: " + file + " cannot be written");
}

}  // namespace rubato::apps::ycsb

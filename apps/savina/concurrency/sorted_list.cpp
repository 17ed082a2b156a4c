// Concurrent sorted list: some actors look up and insert values in a linked list, which is one actor.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <forward_list>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::sorted_list {
namespace {

enum class Kind : std::uint8_t { lookup, insertion, size };

struct Operation {
  Kind kind;
  std::uint32_t value;
};

/// Operations of one worker, in its order.
class Operations {
 public:
  Operations(const Iteration& it, std::uint64_t worker)
      : random_(worker + it["m"] + it["w"] + it["s"] + it.seed()), writes_(it["w"]), sizes_(it["s"]) {}
  Operation next() {
    const std::uint32_t drawn = random_.below(100);
    if (drawn < sizes_) return {Kind::size, 0};
    const Kind kind = drawn < sizes_ + writes_ ? Kind::insertion : Kind::lookup;
    return {kind, random_.next()};
  }

 private:
  SuiteRandom random_;
  std::uint64_t writes_, sizes_;
};

struct Answer {
  std::uint64_t value;
};
struct Request {
  actor<Answer> from;
  Operation operation;
};
struct Begin {};
struct End {};

struct Result {
  std::vector<std::uint32_t> list{};
  std::uint64_t lookups = 0, sizes = 0;
};

struct List : behavior<Request, End> {
  explicit List(Result& result) : result_(result) {}
  void on(Request request) { request.from.send(Answer{apply(request.operation)}); }
  void on(End) {
    result_.list.assign(list_.begin(), list_.end());
    result_.lookups = lookups_;
    result_.sizes = sizes_;
    stop();
  }
  std::uint64_t apply(Operation operation) {
    const std::uint32_t value = operation.value;
    if (operation.kind == Kind::size) {
      ++sizes_;
      return static_cast<std::uint64_t>(std::distance(list_.begin(), list_.end()));
    }
    auto before = list_.before_begin();
    auto at = list_.begin();
    while (at != list_.end() && *at < value) before = at++;
    if (operation.kind == Kind::insertion) {
      list_.insert_after(before, value);
      return value;
    }
    ++lookups_;
    return at != list_.end() && *at == value ? 1 : 0;
  }
  Result& result_;
  std::forward_list<std::uint32_t> list_;
  std::uint64_t lookups_ = 0, sizes_ = 0;
};

struct Worker : behavior<Begin, Answer> {
  Worker(actor<End> master, actor<Request> list, Operations operations, std::uint64_t count)
      : master_(master), list_(list), operations_(operations), left_(count) {}
  void on(Begin) { go_on(); }
  void on(Answer) { go_on(); }
  void go_on() {
    if (left_ == 0) {
      master_.send(End{});
      return stop();
    }
    --left_;
    list_.send(Request{self(), operations_.next()});
  }
  actor<End> master_;
  actor<Request> list_;
  Operations operations_;
  std::uint64_t left_;
};

struct Master : behavior<End> {
  Master(Result& result, const Iteration& it) : left_(it["e"]) {
    list_ = spawn<List>(result);
    for (std::uint64_t i = 0; i < left_; ++i)
      spawn<Worker>(self(), list_, Operations(it, i), it["m"]).send(Begin{});
  }
  void on(End) {
    if (--left_ != 0) return;
    list_.send(End{});
    stop();
  }
  std::uint64_t left_;
  actor<Request, End> list_;
};

void check(Iteration& it, const Result& result) {
  std::vector<std::uint32_t> inserted;
  std::uint64_t lookups = 0, sizes = 0;
  for (std::uint64_t worker = 0; worker < it["e"]; ++worker) {
    Operations operations(it, worker);
    for (std::uint64_t i = 0; i < it["m"]; ++i) {
      const Operation operation = operations.next();
      if (operation.kind == Kind::insertion) inserted.push_back(operation.value);
      lookups += operation.kind == Kind::lookup ? 1 : 0;
      sizes += operation.kind == Kind::size ? 1 : 0;
    }
  }
  std::sort(inserted.begin(), inserted.end());
  it.expect("length", result.list.size(), inserted.size());
  it.expect_that("the list is not the inserted values in order", result.list == inserted);
  it.expect("lookups", result.lookups, lookups);
  it.expect("requests for the size", result.sizes, sizes);
}

void iterate(Iteration& it) {
  Result result;
  it.measure([&] { spawn<Master>(result, it); });
  it.verify([&] {
    check(it, result);
    it.expect_actors(it["e"] + 2);
    it.expect_messages(it["e"] * (2 * it["m"] + 2) + 1);
  });
}

constexpr Parameter kParameters[] = {
    {"e", 20, 5}, {"m", 8'000, 100, 0}, {"w", 10, 10, 0, 100}, {"s", 1, 1, 0, 100}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"concsll", "concurrency", "actors read and write a sorted list, which is one actor",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::sorted_list

// Fibonacci numbers, an actor a call: actors made and ended by the thousand.
// SPDX-License-Identifier: MIT
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::fibonacci {
namespace {

struct Request {
  std::uint64_t n;
};
struct Response {
  std::uint64_t value;
};

struct Call : behavior<Request, Response> {
  /// For the first call `parent` is empty.
  Call(std::uint64_t& result, actor<Response> parent) : result_(result), parent_(parent) {}
  void on(Request request) {
    if (request.n <= 2) return end(1);
    spawn<Call>(result_, self()).send(Request{request.n - 1});
    spawn<Call>(result_, self()).send(Request{request.n - 2});
  }
  void on(Response response) {
    sum_ += response.value;
    if (++responses_ == 2) end(sum_);
  }
  void end(std::uint64_t value) {
    if (parent_) {
      parent_.send(Response{value});
    } else {
      result_ = value;
    }
    stop();
  }
  std::uint64_t& result_;
  actor<Response> parent_;
  std::uint64_t sum_ = 0;
  unsigned responses_ = 0;
};

void iterate(Iteration& it) {
  std::uint64_t result = 0;
  it.measure([&] { spawn<Call>(result, actor<Response>()).send(Request{it["n"]}); });
  it.verify([&] {
    const std::uint64_t expected = reference::fibonacci(it["n"]);
    it.expect("Fibonacci number", result, expected);
    it.expect_actors(2 * expected - 1);
    it.expect_messages(4 * expected - 3);
  });
}

constexpr Parameter kParameters[] = {{"n", 25, 15, 1, 40}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"fib", "parallelism", "Fibonacci numbers, an actor a call", kParameters, iterate};

}  // namespace rubato::apps::savina::fibonacci

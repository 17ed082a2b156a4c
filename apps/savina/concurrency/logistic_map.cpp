// Logistic map: workers compute series term by term, each term by another actor; requests for the next term
// wait while one is computed.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::logistic_map {
namespace {

constexpr double kStartRate = 3.46, kIncrement = 0.0025;

double next_term(double term, double rate) { return rate * term * (1 - term); }
double rate_of(std::uint64_t series) { return kStartRate + static_cast<double>(series) * kIncrement; }
double start_of(std::uint64_t series) { return static_cast<double>(series) * kIncrement; }

struct Start {};
struct NextTerm {};
struct GetTerm {};
struct Stop {};
struct Term {
  double term;
};
struct Compute {
  double term;
  actor<Term> from;
};
struct Total {
  double term;
  std::uint64_t series;
};

struct Computer : behavior<Compute, Stop> {
  explicit Computer(double rate) : rate_(rate) {}
  void on(Compute compute) { compute.from.send(Term{next_term(compute.term, rate_)}); }
  void on(Stop) { stop(); }
  double rate_;
};

struct Worker : behavior<NextTerm, GetTerm, Term, Stop> {
  Worker(actor<Total> master, actor<Compute> computer, std::uint64_t series)
      : master_(master), computer_(computer), series_(series), term_(start_of(series)) {}
  void on(NextTerm) {
    if (is_waiting_) {
      ++put_aside_;
    } else {
      ask();
    }
  }
  void on(Term term) {
    is_waiting_ = false;
    term_ = term.term;
    if (put_aside_ != 0) {
      --put_aside_;
      ask();
    } else if (is_asked_) {
      answer();
    }
  }
  void on(GetTerm) {
    is_asked_ = true;
    if (!is_waiting_) answer();
  }
  void on(Stop) { stop(); }
  void ask() {
    is_waiting_ = true;
    computer_.send(Compute{term_, self()});
  }
  void answer() {
    is_asked_ = false;
    master_.send(Total{term_, series_});
  }
  actor<Total> master_;
  actor<Compute> computer_;
  std::uint64_t series_, put_aside_ = 0;
  double term_;
  bool is_waiting_ = false, is_asked_ = false;
};

struct Master : behavior<Start, Total> {
  Master(std::vector<double>& result, std::uint64_t terms)
      : result_(result), terms_(terms), left_(result.size()) {
    for (std::uint64_t i = 0; i < result.size(); ++i) {
      computers_.push_back(spawn<Computer>(rate_of(i)));
      workers_.push_back(spawn<Worker>(self(), computers_.back(), i));
    }
  }
  void on(Start) {
    for (std::uint64_t i = 0; i < terms_; ++i) {
      for (const auto worker : workers_) worker.send(NextTerm{});
    }
    for (const auto worker : workers_) worker.send(GetTerm{});
  }
  void on(Total total) {
    result_[total.series] = total.term;
    if (--left_ != 0) return;
    for (const auto computer : computers_) computer.send(Stop{});
    for (const auto worker : workers_) worker.send(Stop{});
    stop();
  }
  std::vector<double>& result_;
  std::uint64_t terms_, left_;
  std::vector<actor<Compute, Stop>> computers_;
  std::vector<actor<NextTerm, GetTerm, Stop>> workers_;
};

void iterate(Iteration& it) {
  const std::uint64_t terms = it["t"], series = it["s"];
  std::vector<double> result(series, -1);
  it.measure([&] { spawn<Master>(result, terms).send(Start{}); });
  it.verify([&] {
    for (std::uint64_t i = 0; i < series; ++i) {
      double term = start_of(i);
      for (std::uint64_t t = 0; t < terms; ++t) term = next_term(term, rate_of(i));
      it.expect("last term of a series", result[i], term);
    }
    it.expect_actors(2 * series + 1);
    it.expect_messages(3 * terms * series + 4 * series + 1);
  });
}

constexpr Parameter kParameters[] = {{"t", 25'000, 200, 0}, {"s", 10, 4}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"logmap", "concurrency", "series computed term by term by two actors each",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::logistic_map

// Online facility location: customers come to squares, which open facilities and divide themselves into four
// when their customers cost too much.
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::facilities {
namespace {

constexpr std::uint64_t kSeed = 74'755;

struct Place {
  double x, y;
  double distance(Place other) const { return std::hypot(x - other.x, y - other.y); }
};
struct Square {
  double left, bottom, right, top;
  Place middle() const { return {(left + right) / 2, (bottom + top) / 2}; }
  /// Quarter that a place belongs to; each place belongs to one.
  std::size_t quarter_of(Place place) const {
    const Place m = middle();
    return (place.x < m.x ? 0u : 1u) + (place.y >= m.y ? 0u : 2u);
  }
  Square quarter(std::size_t index) const {
    const Place m = middle();
    const bool is_left = index % 2 == 0, is_top = index < 2;
    return {is_left ? left : m.x, is_top ? m.y : bottom, is_left ? m.x : right, is_top ? top : m.y};
  }
};

struct NextCustomer {};
struct Customer {
  actor<NextCustomer> producer;
  Place place;
};
constexpr std::uint8_t kFromParent = 4;
struct Facility {
  Place place;
  std::uint8_t child;  // whose; or kFromParent
};
struct RequestExit {};
struct Exited {
  std::uint64_t facilities, customers;
};
using Quadrant = actor<Customer, Facility, RequestExit, Exited>;

struct Result {
  std::uint64_t facilities = 0, customers = 0;
  std::atomic<std::uint64_t> opened{0}, quadrants{0};
};

struct QuadrantActor : behavior<Customer, Facility, RequestExit, Exited> {
  QuadrantActor(Result& result, Quadrant parent, std::size_t position, Square square, double threshold,
                std::vector<Place> known, const std::vector<Place>& customers)
      : result_(result),
        parent_(parent),
        position_(static_cast<std::uint8_t>(position)),
        square_(square),
        threshold_(threshold),
        known_(std::move(known)) {
    result.quadrants.fetch_add(1, std::memory_order_relaxed);
    known_.push_back(square.middle());
    for (const Place customer : customers) add(customer);
  }
  void on(Customer customer) {
    if (children_) {
      (*children_)[square_.quarter_of(customer.place)].send(customer);
    } else {
      add(customer.place);
      if (cost_ > threshold_) open();
    }
    if (!parent_) customer.producer.send(NextCustomer{});
  }
  void on(Facility facility) {
    known_.push_back(facility.place);
    const Facility passed_on{facility.place, kFromParent};
    if (facility.child != kFromParent) {
      tell_parent(facility.place);
      (*children_)[3u - facility.child].send(passed_on);  // across
    } else if (children_) {
      for (const Quadrant child : *children_) child.send(passed_on);
    }
  }
  void on(RequestExit) {
    if (!children_) return end();
    for (const Quadrant child : *children_) child.send(RequestExit{});
  }
  void on(Exited exited) {
    sum_.facilities += exited.facilities;
    sum_.customers += exited.customers;
    if (++exits_ == children_->size()) end();
  }
  void add(Place customer) {
    customers_.push_back(customer);
    double least = std::numeric_limits<double>::max();
    for (const Place facility : known_) least = std::min(least, facility.distance(customer));
    cost_ += least;
  }
  void tell_parent(Place facility) {
    if (parent_) parent_.send(Facility{facility, position_});
  }
  void open() {
    result_.opened.fetch_add(1, std::memory_order_relaxed);
    tell_parent(square_.middle());
    std::array<std::vector<Place>, 4> shares;
    for (const Place customer : customers_) shares[square_.quarter_of(customer)].push_back(customer);
    customers_.clear();
    children_.emplace();
    for (std::size_t i = 0; i < children_->size(); ++i) {
      (*children_)[i] =
          spawn<QuadrantActor>(result_, self(), i, square_.quarter(i), threshold_, known_, shares[i]);
    }
  }
  void end() {
    const Exited all{sum_.facilities + (children_ ? 1 : 0), sum_.customers + customers_.size()};
    if (parent_) {
      parent_.send(Exited{all});
    } else {
      result_.facilities = all.facilities;
      result_.customers = all.customers;
    }
    stop();
  }
  Result& result_;
  Quadrant parent_;
  std::uint8_t position_;
  Square square_;
  double threshold_, cost_ = 0;
  std::vector<Place> known_, customers_;
  std::optional<std::array<Quadrant, 4>> children_;
  Exited sum_{0, 0};
  std::size_t exits_ = 0;
};

struct Producer : behavior<NextCustomer> {
  Producer(Quadrant root, std::uint64_t customers, double length, std::uint64_t seed)
      : root_(root), left_(customers), length_(length), random_(seed) {
    produce();
  }
  void on(NextCustomer) {
    if (left_ != 0) return produce();
    root_.send(RequestExit{});
    stop();
  }
  void produce() {
    --left_;
    const double x = random_.fraction() * length_, y = random_.fraction() * length_;
    root_.send(Customer{self(), Place{x, y}});
  }
  Quadrant root_;
  std::uint64_t left_;
  double length_;
  SuiteRandom random_;
};

void iterate(Iteration& it) {
  Result result;
  const auto length = static_cast<double>(it["g"]);
  const double threshold = static_cast<double>(it["a"]) * std::numbers::sqrt2 * length;
  it.measure([&] {
    const Quadrant root =
        spawn<QuadrantActor>(result, Quadrant(), std::size_t{0}, Square{0, 0, length, length}, threshold,
                             std::vector<Place>(), std::vector<Place>());
    spawn<Producer>(root, it["n"], length, kSeed + it.seed());
  });
  it.allow_dead_letters();  // a facility that opens last may be told to squares that have stopped
  it.verify([&] {
    it.expect("customers", result.customers, it["n"]);
    it.expect("open facilities", result.facilities, result.opened.load());
    it.expect("squares", result.quadrants.load(), 4 * result.opened.load() + 1);
    it.expect_actors(result.quadrants.load() + 1);
  });
}

constexpr Parameter kParameters[] = {
    {"n", 100'000, 2'000}, {"g", 500, 500, 1, 1'000'000}, {"a", 2, 2, 1, 1'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"facloc", "parallelism", "facilities open where customers are far from all",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::facilities

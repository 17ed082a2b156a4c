// vacation: clients of a travel agency reserve, leave, and change the offers; each action is one transaction
// over several tables. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <string>

#include "apps/stamp/common/program.hpp"
#include "apps/stamp/vacation/manager.hpp"
#include "base/rng.hpp"

namespace rubato::apps::stamp::vacation {
namespace {

constexpr unsigned kMostQueries = 32;

Count up_to(Rng& rng, std::uint64_t most) { return static_cast<Count>(1 + rng.below(most)); }
Count price_of(Rng& rng) { return 40 + 10 * up_to(rng, 5); }

/// Query of a client in one session, drawn before its transaction: a retry asks the same again.
struct Query {
  unsigned kind;
  Id id;
  Count price;
  bool is_offer;
};
struct Session {
  Id customer;
  unsigned queries;
  Query query[kMostQueries];
};

class Vacation final : public Program {
 public:
  explicit Vacation(const Settings& settings)
      : tasks_(settings["tasks"]),
        relations_(settings["relations"]),
        range_(1 + relations_ * settings["queried"] / 100),
        most_queries_(static_cast<unsigned>(settings["queries"])),
        reserving_(settings["reserving"]),
        seed_(settings.seed) {
    Rng rng(seed_);
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      for (Id id = 1; id <= relations_; ++id) {
        manager_.add(kind, id, 100 * up_to(rng, 5), price_of(rng));
      }
    }
    for (Id id = 1; id <= relations_; ++id) manager_.add_customer(id);
  }

  void work(Worker& worker) override {
    const auto [first, last] = worker.share(tasks_);
    Rng rng(mix64(seed_) + worker.index());
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint64_t action = rng.below(100);
      const Session session = draw(rng);
      if (action < reserving_) {
        reserve(session);
      } else if (action & 1) {
        leave(session);
      } else {
        change_offers(session);
      }
    }
  }

  std::string check() override {
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      if (!manager_.resources(kind).is_valid()) return "a table of resources is no red-black tree";
    }
    if (!manager_.customers().is_valid()) return "the table of customers is no red-black tree";
    RedBlackTree<Booking, Count> reserved;  // counted from the customers
    manager_.customers().for_each([&](Id, Bookings* bookings) {
      bookings->for_each([&](const Booking& booking, Count) {
        if (Count* const count = reserved.find(booking)) {
          ++*count;
        } else {
          reserved.insert(booking, 1);
        }
      });
    });
    std::string wrong;
    Count used = 0;
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      manager_.resources(kind).for_each([&](Id id, const Resource& resource) {
        const Count* const count = reserved.find({kind, id});
        used += resource.used;
        if (resource.used != (count == nullptr ? 0 : *count) ||
            resource.used + resource.free != resource.total)
          wrong = "resource " + std::to_string(id) + " of kind " + std::to_string(kind) +
                  " counts other reservations than its customers have";
      });
    }
    Count had = 0;
    reserved.for_each([&](const Booking&, Count count) { had += count; });
    return wrong.empty() && used != had ? "customers have reserved resources that are gone" : wrong;
  }

  std::uint64_t digest() override {
    std::uint64_t hash = 0;
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      manager_.resources(kind).for_each([&](Id id, const Resource& r) {
        hash = mix64(hash ^ mix64(id) ^ static_cast<std::uint64_t>(r.used * 1'000 + r.price) ^
                     mix64(static_cast<std::uint64_t>(r.total)));
      });
    }
    manager_.customers().for_each(
        [&](Id id, Bookings* bookings) { hash = mix64(hash ^ mix64(id + (bookings->size() << 40))); });
    return hash;
  }

 private:
  Session draw(Rng& rng) const {
    Session session{};
    session.customer = 1 + rng.below(range_);
    session.queries = 1 + static_cast<unsigned>(rng.below(most_queries_));
    for (unsigned i = 0; i < session.queries; ++i) {
      session.query[i] = {static_cast<unsigned>(rng.below(kKinds)), 1 + rng.below(range_), price_of(rng),
                          rng.below(2) == 1};
    }
    return session;
  }

  /// Looks at several resources, and reserves the dearest free one of each kind.
  void reserve(const Session& session) {
    __transaction_atomic {
      Count dearest[kKinds] = {};
      Id chosen[kKinds] = {};
      for (unsigned i = 0; i < session.queries; ++i) {
        const Query& query = session.query[i];
        const Resource* const resource = manager_.resources(query.kind).find(query.id);
        if (resource == nullptr || resource->free == 0 || resource->price <= dearest[query.kind]) continue;
        dearest[query.kind] = resource->price;
        chosen[query.kind] = query.id;
      }
      if ((chosen[0] | chosen[1] | chosen[2]) != 0) manager_.add_customer(session.customer);
      for (unsigned kind = 0; kind < kKinds; ++kind) {
        if (chosen[kind] != 0) manager_.reserve(session.customer, kind, chosen[kind]);
      }
    }
  }
  void leave(const Session& session) {
    __transaction_atomic { manager_.remove_customer(session.customer); }
  }
  void change_offers(const Session& session) {
    __transaction_atomic {
      for (unsigned i = 0; i < session.queries; ++i) {
        const Query& query = session.query[i];
        if (query.is_offer) {
          manager_.add(query.kind, query.id, 100, query.price);
        } else {
          manager_.take_away(query.kind, query.id, 100);
        }
      }
    }
  }

  Manager manager_;
  std::uint64_t tasks_, relations_, range_;
  unsigned most_queries_;
  std::uint64_t reserving_, seed_;
};

const Description kDescription{
    .name = "vacation",
    .summary = "STAMP's travel agency: reservations over several tables in one transaction.",
    .parameters = {{"tasks", 400'000, 4'000, 1, 1'000'000'000, "sessions of clients"},
                   {"relations", 16'384, 1'024, 1, 100'000'000, "resources of each kind, and customers"},
                   {"queries", 2, 2, 1, kMostQueries, "most resources that a session looks at", 4},
                   {"queried", 90, 90, 0, 100, "percentage of the resources that sessions look at", 60},
                   {"reserving", 98, 98, 0, 100, "percentage of sessions that reserve", 90}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      return std::make_unique<Vacation>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::vacation

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::vacation::kDescription, argc, argv);
}

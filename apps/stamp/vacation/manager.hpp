// The database of a travel agency: tables of cars, flights and rooms, and customers with their reservations.
// Each function is called inside a transaction, and changes either everything that it names or nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/stamp/structure/list.hpp"
#include "apps/stamp/structure/red_black_tree.hpp"

namespace rubato::apps::stamp::vacation {

using Id = std::uint64_t;
inline constexpr unsigned kKinds = 3;  // cars, flights, rooms

using Count = std::int64_t;

/// Invariant: used + free == total.
struct Resource {
  Count used;
  Count free;
  Count total;
  Count price;
};

/// Reservation of a customer: at most one of each resource.
struct Booking {
  unsigned kind;
  Id id;
  bool operator==(const Booking&) const = default;
  bool operator<(const Booking& other) const {
    return kind != other.kind ? kind < other.kind : id < other.id;
  }
};
using Bookings = List<Booking, Count>;  // with the price that was paid

class Manager {
 public:
  using Resources = RedBlackTree<Id, Resource>;
  using Customers = RedBlackTree<Id, Bookings*>;

  Manager() = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    customers_.for_each([](Id, Bookings* bookings) { delete bookings; });
  }

  Resources& resources(unsigned kind) { return resources_[kind]; }
  Customers& customers() { return customers_; }

  /// `count` more of a resource, which may be new, at a new price.
  void add(unsigned kind, Id id, Count count, Count price) {
    if (Resource* const found = resources_[kind].find(id)) {
      found->free += count;
      found->total += count;
      found->price = price;
    } else {
      resources_[kind].insert(id, Resource{0, count, count, price});
    }
  }
  /// `count` fewer, if so many are free; the last ones take the resource with them.
  bool take_away(unsigned kind, Id id, Count count) {
    Resource* const found = resources_[kind].find(id);
    if (found == nullptr || found->free < count) return false;
    if (found->total == count) return resources_[kind].remove(id);
    found->free -= count;
    found->total -= count;
    return true;
  }

  bool add_customer(Id customer) {
    if (customers_.contains(customer)) return false;
    return customers_.insert(customer, new Bookings);
  }
  /// Gives back all that the customer has reserved. @returns false if there is no such customer.
  bool remove_customer(Id customer) {
    Bookings** const found = customers_.find(customer);
    if (found == nullptr) return false;
    Bookings* const bookings = *found;
    bookings->for_each([this](const Booking& booking, Count) {
      Resource& resource = resources_[booking.kind].at(booking.id);
      --resource.used;
      ++resource.free;
    });
    customers_.remove(customer);
    delete bookings;
    return true;
  }
  bool reserve(Id customer, unsigned kind, Id id) {
    Bookings** const bookings = customers_.find(customer);
    Resource* const resource = resources_[kind].find(id);
    if (bookings == nullptr || resource == nullptr || resource->free == 0) return false;
    if (!(*bookings)->insert(Booking{kind, id}, resource->price)) return false;
    ++resource->used;
    --resource->free;
    return true;
  }

 private:
  Resources resources_[kKinds];
  Customers customers_;
};

}  // namespace rubato::apps::stamp::vacation

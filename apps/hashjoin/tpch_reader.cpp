// SPDX-License-Identifier: MIT
// dbgen ends every field with a bar, the last one of a line too.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "apps/common/input_error.hpp"
#include "apps/common/line_reader.hpp"
#include "apps/hashjoin/tpch.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kMax32 = std::numeric_limits<std::uint32_t>::max();

/// Takes the fields of one line apart.
class Fields {
 public:
  Fields(const LineReader& reader, std::string_view line) : reader_(reader), rest_(line) {}

  std::string_view next(const char* what) {
    const std::size_t bar = rest_.find('|');
    if (bar == std::string_view::npos) {
      reader_.fail(std::string("the field ") + what + " with a '|' behind it is missing");
    }
    const std::string_view field = rest_.substr(0, bar);
    rest_.remove_prefix(bar + 1);
    return field;
  }
  std::uint64_t number(const char* what, std::uint64_t least, std::uint64_t most) {
    return parse(next(what), what, least, most);
  }
  /// An amount with two decimals ("1234.56"), in cents.
  std::uint32_t cents(const char* what) {
    const std::string_view field = next(what);
    const std::size_t point = field.find('.');
    if (point == std::string_view::npos || field.size() - point != 3) {
      reader_.fail(std::string(what) + " '" + std::string(field) + "' is not an amount such as 1234.56");
    }
    const std::uint64_t whole = parse(field.substr(0, point), what, 0, kMax32 / 100 - 1);
    return static_cast<std::uint32_t>(whole * 100 + parse(field.substr(point + 1), what, 0, 99));
  }

 private:
  std::uint64_t parse(std::string_view text, const char* what, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < least || value > most) {
      reader_.fail(std::string(what) + " '" + std::string(text) + "' is not a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }

  const LineReader& reader_;
  std::string_view rest_;
};

std::vector<Customer> read_customers(const std::string& path) {
  std::vector<Customer> customers;
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
    Fields fields(lines, line);
    Customer c{};
    c.key = static_cast<std::uint32_t>(fields.number("c_custkey", 1, kMax32));
    fields.next("c_name");
    fields.next("c_address");
    c.nation = static_cast<std::uint32_t>(fields.number("c_nationkey", 0, kNations - 1));
    customers.push_back(c);
  }
  std::vector<std::uint32_t> keys;
  keys.reserve(customers.size());
  for (const Customer& c : customers) keys.push_back(c.key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) {
    throw InputError(path + ": customer " + std::to_string(*twice) + " is there more than once");
  }
  return customers;
}

std::vector<Order> read_orders(const std::string& path) {
  std::vector<Order> orders;
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
    Fields fields(lines, line);
    Order o{};
    o.key = fields.number("o_orderkey", 0, std::numeric_limits<std::uint64_t>::max());
    o.customer = static_cast<std::uint32_t>(fields.number("o_custkey", 1, kMax32));
    fields.next("o_orderstatus");
    o.price = fields.cents("o_totalprice");
    orders.push_back(o);
  }
  return orders;
}

}  // namespace

TpchTables read_tpch(const std::string& customers, const std::string& orders) {
  return {read_customers(customers), read_orders(orders)};
}

}  // namespace rubato::apps

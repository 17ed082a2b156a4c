// SPDX-License-Identifier: MIT
#include "apps/cf/movielens.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "apps/common/input_error.hpp"
#include "apps/common/line_reader.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint64_t kMostRatings = std::uint64_t{1}
                                       << 30;  // such that both sides' lists have 32-bit indices
constexpr std::uint64_t kMostId = 0xffff'ffff;
constexpr std::string_view kHeader = "userId,movieId,rating,timestamp";

struct Line {
  std::uint64_t user;
  std::uint64_t item;
  double rating;
};

/// Separator of the words of a line; all lines of a file have the same.
std::string_view separator_of(std::string_view line) {
  for (const std::string_view separator : {"::", ","}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return "\t";
}

std::string with_blanks(std::string_view line, std::string_view separator) {
  std::string text;
  while (true) {
    const std::size_t at = line.find(separator);
    text += line.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += ' ';
    line.remove_prefix(at + separator.size());
  }
}

Line parse(LineReader& reader, const std::string& text) {
  Words words(reader, text);
  Line line{};
  line.user = words.number("user", kMostId);
  line.item = words.number("movie", kMostId);
  line.rating = words.real("rating");
  words.number("time", ~std::uint64_t{0});
  words.end("'USER::ITEM::RATING::TIME'");
  if (line.rating == 0) reader.fail("the rating is 0: one above 0 was expected");
  return line;
}

void sort_unique(std::vector<std::uint64_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::uint32_t index_of(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
  return static_cast<std::uint32_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
}

}  // namespace

RatingSet read_movielens(const std::string& path) {
  LineReader reader(path);
  std::vector<Line> lines;
  RatingSet set;
  std::string_view separator;
  double largest = 0;
  for (std::string_view line; reader.next(line);) {
    if (reader.line_number() == 1) {
      separator = separator_of(line);
      if (line == kHeader) continue;
    }
    if (line.empty()) continue;
    lines.push_back(parse(reader, with_blanks(line, separator)));
    if (lines.size() > kMostRatings) reader.fail("the file has too many ratings: at most 2^30 are possible");
    set.user_ids.push_back(lines.back().user);
    set.item_ids.push_back(lines.back().item);
    largest = std::max(largest, lines.back().rating);
  }
  if (lines.empty()) reader.fail("the file has no ratings: lines 'USER::ITEM::RATING::TIME' were expected");
  sort_unique(set.user_ids);
  sort_unique(set.item_ids);
  set.ratings.reserve(lines.size());
  for (const Line& line : lines) {
    const auto value = static_cast<Fixed>(std::lround(line.rating / largest * kOne));
    set.ratings.push_back({index_of(set.user_ids, line.user), set.users() + index_of(set.item_ids, line.item),
                           std::max<Fixed>(value, 1)});
  }
  return set;
}

}  // namespace rubato::apps

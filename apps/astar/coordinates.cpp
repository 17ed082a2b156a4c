// SPDX-License-Identifier: MIT
// Reader of coordinates, in one pass over the lines.
#include "apps/astar/coordinates.hpp"

#include <charconv>
#include <string_view>

#include "apps/common/line_reader.hpp"

namespace rubato::apps {
namespace {

std::int32_t coordinate(LineReader& reader, Words& words, const char* what) {
  const std::string_view text = words.word();
  if (text.empty()) reader.fail(std::string("the ") + what + " is missing");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    reader.fail(std::string("the ") + what + " is not a whole number");
  }
  if (error != std::errc{} || value > kMaxCoordinate || value < -kMaxCoordinate) {
    reader.fail(std::string("the ") + what + " is too large: at most " + std::to_string(kMaxCoordinate) +
                " from 0 is possible");
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::vector<Point> read_coordinates(const std::string& path, std::uint32_t vertices) {
  constexpr const char* kProblem = "'p aux sp co VERTICES'";
  LineReader reader(path);
  std::vector<Point> points(vertices);
  std::vector<bool> is_known(vertices, false);
  std::uint64_t known = 0;
  bool has_problem_line = false;
  std::string_view line;
  while (reader.next(line)) {
    Words words(reader, line);
    const std::string_view kind = words.word();
    if (kind.empty() || kind == "c") continue;
    if (kind == "p") {
      if (has_problem_line)
        reader.fail(std::string("a second problem line: one ") + kProblem + " was expected");
      if (words.word() != "aux" || words.word() != "sp" || words.word() != "co") {
        reader.fail(std::string("these are no coordinates: ") + kProblem + " was expected");
      }
      const std::uint64_t count = words.number("number of vertices", kMaxVertices);
      words.end(kProblem);
      if (count != vertices) {
        reader.fail("coordinates of " + std::to_string(count) + " vertices, but the graph has " +
                    std::to_string(vertices));
      }
      has_problem_line = true;
    } else if (kind == "v") {
      if (!has_problem_line) reader.fail(std::string("a vertex before the problem line ") + kProblem);
      const std::uint64_t id = words.number("vertex", kMaxVertices);
      if (id == 0 || id > vertices) {
        reader.fail("vertex " + std::to_string(id) + " is out of range: vertices are 1 to " +
                    std::to_string(vertices));
      }
      if (is_known[id - 1]) reader.fail("vertex " + std::to_string(id) + " appears a second time");
      is_known[id - 1] = true;
      ++known;
      points[id - 1].x = coordinate(reader, words, "x coordinate");
      points[id - 1].y = coordinate(reader, words, "y coordinate");
      words.end("'v VERTEX X Y'");
    } else {
      reader.fail("a line must start with 'c', 'p' or 'v'");
    }
  }
  if (!has_problem_line) reader.fail(std::string("the file ends without a problem line ") + kProblem);
  if (known != vertices) {
    reader.fail("the file ends after " + std::to_string(known) + " of " + std::to_string(vertices) +
                " vertices");
  }
  return points;
}

}  // namespace rubato::apps

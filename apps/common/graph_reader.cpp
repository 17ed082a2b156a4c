// SPDX-License-Identifier: MIT
// Readers of graphs: a function for each format, which checks every line it accepts.
#include "apps/common/graph_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "apps/common/input_error.hpp"
#include "apps/common/line_reader.hpp"

namespace rubato::apps {
namespace {

std::string count_text(std::uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// Reserves room for as many edges as a header announces. A damaged header gets no more than a bounded amount
/// before its lines are seen.
void reserve(std::vector<Edge>& edges, std::uint64_t announced) {
  edges.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(announced, 1u << 24)));
}

/// Vertices are an array, whether or not an arc ever names them: a number that arcs do not account for is
/// more likely a mistake than a graph, and could cost all the memory there is.
std::uint64_t most_vertices(std::uint64_t arcs) { return 1'000'000 + 1000 * arcs; }

void check_announced(LineReader& reader, std::uint64_t vertices, std::uint64_t arcs, const char* arc) {
  if (vertices == 0) reader.fail("the graph has no vertices: at least one was expected");
  if (vertices <= most_vertices(arcs)) return;
  reader.fail(std::to_string(vertices) + " vertices are too many for " + count_text(arcs, arc) +
              ": at most " + std::to_string(most_vertices(arcs)) + " were expected");
}

std::uint32_t vertex(LineReader& reader, Words& words, const char* what, std::uint64_t vertices) {
  const std::uint64_t id = words.number(what, kMaxVertices);
  if (id == 0 || id > vertices) {
    reader.fail(std::string(what) + " " + std::to_string(id) + " is out of range: vertices are 1 to " +
                std::to_string(vertices));
  }
  return static_cast<std::uint32_t>(id - 1);
}

/// A length may be written with a point or an exponent: what counts is whether its value, scaled, is whole.
std::uint32_t length_of(LineReader& reader, Words& words, const GraphReaderOptions& options) {
  const std::string_view text = Words(words).word();
  const bool is_real = text.find_first_of(".eE") != std::string_view::npos;
  if (!is_real && (options.unit_lengths || options.scale <= 0)) {
    const auto length = static_cast<std::uint32_t>(words.number("length", kMaxLength));
    return options.unit_lengths ? 1 : length;
  }
  const double value = words.real("length");
  if (options.unit_lengths) return 1;
  const double length = options.scale > 0 ? std::round(value * options.scale) : value;
  if (length != std::floor(length)) {
    reader.fail("length " + std::string(text.substr(0, 40)) +
                " is not a whole number: choose --scale FACTOR to multiply and round, or --unit-lengths");
  }
  if (length > static_cast<double>(kMaxLength)) {
    const char* const scaled = options.scale > 0 ? ", scaled," : "";
    reader.fail("length " + std::string(text.substr(0, 40)) + scaled + " is too large: at most " +
                std::to_string(kMaxLength) + " is possible");
  }
  return static_cast<std::uint32_t>(length);
}

Graph read_gr(LineReader& reader, const GraphReaderOptions& options) {
  std::uint64_t vertices = 0, arcs = 0;
  bool has_problem_line = false;
  std::vector<Edge> edges;
  std::string_view line;
  while (reader.next(line)) {
    Words words(reader, line);
    const std::string_view kind = words.word();
    if (kind.empty() || kind == "c") continue;
    if (kind == "p") {
      if (has_problem_line) reader.fail("a second problem line: one 'p sp VERTICES ARCS' was expected");
      if (words.word() != "sp")
        reader.fail("the problem is not a shortest-path one: 'p sp VERTICES ARCS' was expected");
      vertices = words.number("number of vertices", kMaxVertices);
      arcs = words.number("number of arcs", kMaxArcs);
      words.end("'p sp VERTICES ARCS'");
      check_announced(reader, vertices, arcs, "arc");
      has_problem_line = true;
      reserve(edges, arcs);
    } else if (kind == "a") {
      if (!has_problem_line) reader.fail("an arc before the problem line 'p sp VERTICES ARCS'");
      if (edges.size() == arcs)
        reader.fail("more arcs than the " + std::to_string(arcs) + " of the problem line");
      const std::uint32_t tail = vertex(reader, words, "tail", vertices);
      const std::uint32_t head = vertex(reader, words, "head", vertices);
      const std::uint32_t length = length_of(reader, words, options);
      words.end("'a TAIL HEAD LENGTH'");
      edges.push_back({tail, head, length});
    } else {
      reader.fail("a line must start with 'c', 'p' or 'a'");
    }
  }
  if (!has_problem_line) reader.fail("the file ends without a problem line 'p sp VERTICES ARCS'");
  if (edges.size() != arcs) {
    reader.fail("the file ends after " + count_text(edges.size(), "arc") + " of " + std::to_string(arcs));
  }
  return make_graph(static_cast<std::uint32_t>(vertices), edges, 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct MatrixHeader {
  bool has_lengths;
  bool is_symmetric;
};

MatrixHeader matrix_header(LineReader& reader) {
  std::string_view line;
  if (!reader.next(line))
    reader.fail("the file is empty: '%%MatrixMarket matrix coordinate ...' was expected");
  Words words(reader, line);
  if (lower(words.word()) != "%%matrixmarket" || lower(words.word()) != "matrix") {
    reader.fail("the header is missing: '%%MatrixMarket matrix coordinate ...' was expected");
  }
  if (lower(words.word()) != "coordinate")
    reader.fail("the matrix is not sparse: format 'coordinate' was expected");
  MatrixHeader header{};
  const std::string field = lower(words.word());
  const bool is_number =
      field == "integer" || field == "unsigned-integer" || field == "real" || field == "double";
  if (field != "pattern" && !is_number)
    reader.fail("values '" + field + "' cannot be lengths: pattern, integer or real was expected");
  header.has_lengths = is_number;
  const std::string symmetry = lower(words.word());
  if (symmetry != "general" && symmetry != "symmetric") {
    reader.fail("symmetry '" + symmetry + "' is not one of a graph: general or symmetric was expected");
  }
  header.is_symmetric = symmetry == "symmetric";
  words.end("'%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  return header;
}

Graph read_mtx(LineReader& reader, const GraphReaderOptions& options) {
  const MatrixHeader header = matrix_header(reader);
  std::uint64_t vertices = 0, entries = 0, seen = 0;
  bool has_size = false;
  std::vector<Edge> edges;
  std::string_view line;
  while (reader.next(line)) {
    Words words(reader, line);
    if (words.at_end() || line.front() == '%') continue;
    if (!has_size) {
      vertices = words.number("number of rows", kMaxVertices);
      const std::uint64_t columns = words.number("number of columns", kMaxVertices);
      entries = words.number("number of entries", header.is_symmetric ? kMaxArcs / 2 : kMaxArcs);
      words.end("'ROWS COLUMNS ENTRIES'");
      if (columns != vertices) {
        reader.fail("a matrix of " + std::to_string(vertices) + " x " + std::to_string(columns) +
                    " is no graph: a square one was expected");
      }
      check_announced(reader, vertices, entries, "value");
      has_size = true;
      reserve(edges, header.is_symmetric ? 2 * entries : entries);
      continue;
    }
    if (seen == entries)
      reader.fail("more entries than the " + std::to_string(entries) + " of the size line");
    ++seen;
    const std::uint32_t tail = vertex(reader, words, "row", vertices);
    const std::uint32_t head = vertex(reader, words, "column", vertices);
    std::uint32_t length = 1;
    if (header.has_lengths) length = length_of(reader, words, options);
    words.end(header.has_lengths ? "'ROW COLUMN VALUE'" : "'ROW COLUMN'");
    edges.push_back({tail, head, length});
    if (header.is_symmetric) {
      if (head > tail)
        reader.fail("an entry above the diagonal of a symmetric matrix: only row >= column was expected");
      if (head != tail) edges.push_back({head, tail, length});
    }
  }
  if (!has_size) reader.fail("the file ends without the size line 'ROWS COLUMNS ENTRIES'");
  if (seen != entries) {
    reader.fail("the file ends after " + std::to_string(seen) + " of " + std::to_string(entries) +
                " entries");
  }
  return make_graph(static_cast<std::uint32_t>(vertices), edges, 1);
}

Graph read_edges(LineReader& reader, const GraphReaderOptions& options) {
  std::vector<Edge> edges;
  std::uint64_t largest = 0;
  std::string_view line;
  while (reader.next(line)) {
    Words words(reader, line);
    if (words.at_end() || line.front() == '#' || line.front() == '%') continue;
    if (edges.size() == kMaxArcs) reader.fail("more than " + std::to_string(kMaxArcs) + " edges");
    const auto tail = static_cast<std::uint32_t>(words.number("tail", kMaxVertices - 1));
    const auto head = static_cast<std::uint32_t>(words.number("head", kMaxVertices - 1));
    const std::uint32_t length = words.at_end() ? 1 : length_of(reader, words, options);
    if (!words.at_end()) words.real("time");
    words.end("'TAIL HEAD [LENGTH [TIME]]'");
    edges.push_back({tail, head, length});
    largest = std::max<std::uint64_t>({largest, tail, head});
    if (largest > most_vertices(edges.size())) {
      reader.fail("vertex " + std::to_string(largest) +
                  " is far beyond the number of edges so far: vertices must be " + "numbered densely from 0");
    }
  }
  if (edges.empty()) reader.fail("the file holds no edges: lines 'TAIL HEAD [LENGTH]' were expected");
  return make_graph(static_cast<std::uint32_t>(largest + 1), edges, 0);
}

struct MetisHeader {
  std::uint64_t vertices = 0, edges = 0;
  bool has_lengths = false;
  std::uint64_t skipped = 0;  ///< numbers before a vertex's neighbours: its size and its weights
};

/// The next line that is no comment. @returns whether there is one.
bool next_metis_line(LineReader& reader, std::string_view& line) {
  while (reader.next(line))
    if (line.empty() || line.front() != '%') return true;
  return false;
}

MetisHeader metis_header(LineReader& reader) {
  std::string_view line;
  if (!next_metis_line(reader, line))
    reader.fail("the file is empty: 'VERTICES EDGES [FORMAT]' was expected");
  Words words(reader, line);
  MetisHeader header;
  header.vertices = words.number("number of vertices", kMaxVertices);
  header.edges = words.number("number of edges", kMaxArcs / 2);
  if (!words.at_end()) {
    const std::string_view format = words.word();
    if (format.empty() || format.size() > 3 || format.find_first_not_of("01") != std::string_view::npos)
      reader.fail("format '" + std::string(format) +
                  "' is not one of METIS: up to three digits 0 or 1 were expected");
    const auto digit = [&](std::size_t from_end) {
      return format.size() >= from_end && format[format.size() - from_end] == '1';
    };
    header.has_lengths = digit(1);
    header.skipped =
        (digit(2) ? (words.at_end() ? 1 : words.number("number of weights", 1000)) : 0) + (digit(3) ? 1 : 0);
  }
  words.end("'VERTICES EDGES [FORMAT [WEIGHTS]]'");
  check_announced(reader, header.vertices, header.edges, "edge");
  return header;
}

Graph read_metis(LineReader& reader, const GraphReaderOptions& options) {
  const MetisHeader header = metis_header(reader);
  std::vector<Edge> edges;
  reserve(edges, 2 * header.edges);
  std::string_view line;
  for (std::uint64_t tail = 0; tail < header.vertices; ++tail) {
    if (!next_metis_line(reader, line))
      reader.fail("the file ends after the lines of " + std::to_string(tail) + " of " +
                  count_text(header.vertices, "vertex line"));
    Words words(reader, line);
    for (std::uint64_t i = 0; i < header.skipped; ++i) words.number("weight", kMaxLength);
    while (!words.at_end()) {
      const std::uint32_t head = vertex(reader, words, "neighbour", header.vertices);
      const std::uint32_t length = header.has_lengths ? length_of(reader, words, options) : 1;
      if (edges.size() == 2 * header.edges)
        reader.fail("more neighbours than the " + count_text(header.edges, "edge") +
                    " of the header, which each have two");
      edges.push_back({static_cast<std::uint32_t>(tail), head, length});
    }
  }
  while (next_metis_line(reader, line)) {
    Words words(reader, line);
    if (!words.at_end())
      reader.fail("a line behind that of the last vertex: the header says " +
                  std::to_string(header.vertices) + " vertices");
  }
  if (edges.size() != 2 * header.edges)
    reader.fail("the file has " + count_text(edges.size(), "neighbour") + ", where " +
                count_text(header.edges, "edge") + " have " + std::to_string(2 * header.edges));
  return make_graph(static_cast<std::uint32_t>(header.vertices), edges, 1);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

GraphFormat recognize(const std::string& path) {
  std::string name = path;
  if (ends_with(name, ".gz")) name.resize(name.size() - 3);
  if (ends_with(name, ".gr")) return GraphFormat::gr;
  if (ends_with(name, ".mtx")) return GraphFormat::mtx;
  for (const char* end : {".el", ".wel", ".edges", ".txt", ".tsv"}) {
    if (ends_with(name, end)) return GraphFormat::edges;
  }
  for (const char* end : {".graph", ".metis"}) {
    if (ends_with(name, end)) return GraphFormat::metis;
  }
  LineReader reader(path);
  std::string_view line;
  if (!reader.next(line)) reader.fail("the file is empty");
  if (ends_with(name, ".adjlist") || ends_with(name, ".adj"))
    reader.fail("adjacency lists are not read: write an edge list, lines 'TAIL HEAD [LENGTH]'");
  Words words(reader, line);
  const std::string_view first = words.word();
  if (lower(first) == "%%matrixmarket") return GraphFormat::mtx;
  if (first == "c" || first == "p") return GraphFormat::gr;
  if (!first.empty() && (first.front() == '#' || (first.front() >= '0' && first.front() <= '9'))) {
    return GraphFormat::edges;
  }
  reader.fail(
      "neither the file's name nor its first line tells the format: say --format gr, mtx, edges or metis");
}

}  // namespace

Graph read_graph(const std::string& path, const GraphReaderOptions& options) {
  const GraphFormat format = options.format == GraphFormat::automatic ? recognize(path) : options.format;
  LineReader reader(path);
  switch (format) {
    case GraphFormat::mtx:
      return read_mtx(reader, options);
    case GraphFormat::edges:
      return read_edges(reader, options);
    case GraphFormat::metis:
      return read_metis(reader, options);
    default:
      return read_gr(reader, options);
  }
}

}  // namespace rubato::apps

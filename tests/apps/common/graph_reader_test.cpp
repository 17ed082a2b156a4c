// Formats, and every way in which a file can be malformed: file, line and sentence.
// SPDX-License-Identifier: MIT
#include "apps/common/graph_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "apps/common/input_error.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GraphReader : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) { return folder_.write(name, text); }
  std::string write_gzip(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    gzFile file = gzopen(path.c_str(), "wb9");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }
  static std::string read_bytes(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  /// The sentence without the folder.
  std::string error_of(const std::string& name, const std::string& text,
                       const GraphReaderOptions& options = {}) {
    return error_of_file(write(name, text), options);
  }
  std::string error_of_file(const std::string& path, const GraphReaderOptions& options = {}) {
    try {
      read_graph(path, options);
    } catch (const InputError& e) {
      const std::string what = e.what();
      const std::string prefix = folder_.path().string() + "/";
      return what.rfind(prefix, 0) == 0 ? what.substr(prefix.size()) : what;
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
};

const char kTriangle[] = "c a comment\np sp 3 4\na 1 2 5\na 2 3 7\n\na 3 1 0\na 1 3 4294967295\n";

TEST_F(GraphReader, ReadsDimacs) {
  const Graph g = read_graph(write("g.gr", kTriangle), {});
  EXPECT_EQ(g.vertices(), 3u);
  EXPECT_EQ(g.first_id, 1u);
  EXPECT_THAT(g.first_arc, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(g.arcs, ElementsAre(Arc{1, 5}, Arc{2, 4294967295u}, Arc{2, 7}, Arc{0, 0}));
}

TEST_F(GraphReader, ReadsLinesWithCarriageReturnsAndWithoutALastNewline) {
  const Graph g = read_graph(write("g.gr", "p sp 2 1\r\na 1\t2  9"), {});
  EXPECT_THAT(g.arcs, ElementsAre(Arc{1, 9}));
}

TEST_F(GraphReader, ReadsMatrices) {
  Graph g = read_graph(
      write("g.mtx", "%%MatrixMarket matrix coordinate integer general\n% c\n3 3 2\n1 2 5\n3 1 6\n"), {});
  EXPECT_THAT(g.first_arc, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(g.arcs, ElementsAre(Arc{1, 5}, Arc{0, 6}));
  g = read_graph(write("s.mtx", "%%MatrixMarket MATRIX Coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"), {});
  EXPECT_THAT(g.arcs, ElementsAre(Arc{1, 1}, Arc{0, 1}, Arc{2, 1}));
  const std::string real =
      write("r.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3.0\n2 1 1e2\n");
  EXPECT_THAT(read_graph(real, {}).arcs, ElementsAre(Arc{1, 3}, Arc{0, 100}));
  EXPECT_THAT(read_graph(real, {.scale = 0.5}).arcs, ElementsAre(Arc{1, 2}, Arc{0, 50}));
  EXPECT_THAT(read_graph(real, {.unit_lengths = true}).arcs, ElementsAre(Arc{1, 1}, Arc{0, 1}));
}

TEST_F(GraphReader, ReadsEdgeLists) {
  const Graph g = read_graph(write("g.txt", "# from\n0 2\n% more\n2 1 8\n"), {});
  EXPECT_EQ(g.first_id, 0u);
  EXPECT_THAT(g.first_arc, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(g.arcs, ElementsAre(Arc{2, 1}, Arc{1, 8}));
}

TEST_F(GraphReader, ReadsLengthsWithAPointInEveryFormat) {
  const GraphReaderOptions tenfold{.scale = 10};
  EXPECT_THAT(read_graph(write("g.wel", "0 1 1.0\n1 0 2e2\n"), {}).arcs, ElementsAre(Arc{1, 1}, Arc{0, 200}));
  EXPECT_THAT(read_graph(write("g.wel", "0 1 1.26\n1 0 2\n"), tenfold).arcs,
              ElementsAre(Arc{1, 13}, Arc{0, 20}));
  EXPECT_THAT(read_graph(write("g.wel", "0 1 0.5\n"), {.unit_lengths = true}).arcs, ElementsAre(Arc{1, 1}));
  EXPECT_THAT(read_graph(write("g.gr", "p sp 2 1\na 1 2 0.5\n"), tenfold).arcs, ElementsAre(Arc{1, 5}));
  EXPECT_THAT(read_graph(write("g.graph", "2 1 1\n2 0.5\n1 0.5\n"), tenfold).arcs,
              ElementsAre(Arc{1, 5}, Arc{0, 5}));
  const std::string matrix = "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 7\n";
  EXPECT_THAT(read_graph(write("g.mtx", matrix), {}).arcs, ElementsAre(Arc{1, 7}));
  EXPECT_THAT(read_graph(write("g.mtx", matrix), tenfold).arcs, ElementsAre(Arc{1, 70}));
  EXPECT_EQ(error_of("g.wel", "0 1 1e30\n"),
            "g.wel:1: length 1e30 is too large: at most 4294967295 is possible");
  EXPECT_EQ(error_of("g.wel", "0 1 4294967295\n", tenfold),
            "g.wel:1: length 4294967295, scaled, is too large: at most 4294967295 is possible");
}

TEST_F(GraphReader, LeavesTimesAndByteOrderMarksOut) {
  EXPECT_THAT(read_graph(write("out.txt", "% asym positive\n0 1 3 1167609600\n"), {}).arcs,
              ElementsAre(Arc{1, 3}));
  EXPECT_EQ(error_of("out.txt", "0 1 3 monday\n"),
            "out.txt:1: 'monday' is not a time: a finite number was expected");
  EXPECT_EQ(read_graph(write("b.gr", "\xef\xbb\xbfp sp 1 0\n"), {}).vertices(), 1u);
  EXPECT_EQ(
      read_graph(write("b", "\xef\xbb\xbf%%MatrixMarket matrix coordinate pattern general\n2 2 0\n"), {})
          .vertices(),
      2u);
}

TEST_F(GraphReader, RecognizesFormatsByNameElseByTheFirstLine) {
  EXPECT_EQ(read_graph(write("a", kTriangle), {}).vertices(), 3u);
  EXPECT_EQ(
      read_graph(write("b", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n"), {}).vertices(), 2u);
  EXPECT_EQ(read_graph(write("c", "0 1\n"), {}).first_id, 0u);
  EXPECT_EQ(read_graph(write("d.gr", "p sp 1 0\n"), {}).vertices(), 1u);
  EXPECT_EQ(error_of("e", "hello\n"),
            "e:1: neither the file's name nor its first line tells the format: say --format gr, mtx, edges "
            "or metis");
  EXPECT_EQ(read_graph(write("f.gr", "0 1\n"), {.format = GraphFormat::edges}).vertices(), 2u);
}

TEST_F(GraphReader, RefusesMalformedDimacsWithFileAndLine) {
  EXPECT_EQ(error_of("a.gr", "a 1 2 3\n"), "a.gr:1: an arc before the problem line 'p sp VERTICES ARCS'");
  EXPECT_EQ(error_of("a.gr", "c only\n"),
            "a.gr:1: the file ends without a problem line 'p sp VERTICES ARCS'");
  EXPECT_EQ(error_of("a.gr", ""), "a.gr:1: the file ends without a problem line 'p sp VERTICES ARCS'");
  EXPECT_EQ(error_of("a.gr", "p max 2 1\n"),
            "a.gr:1: the problem is not a shortest-path one: 'p sp VERTICES ARCS' was expected");
  EXPECT_EQ(error_of("a.gr", "p sp 2\n"), "a.gr:1: the number of arcs is missing");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\np sp 2 1\n"),
            "a.gr:2: a second problem line: one 'p sp VERTICES ARCS' was expected");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 3 1\n"), "a.gr:2: head 3 is out of range: vertices are 1 to 2");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 0 1 1\n"), "a.gr:2: tail 0 is out of range: vertices are 1 to 2");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 -1\n"), "a.gr:2: negative length '-1'");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 4294967296\n"),
            "a.gr:2: length '4294967296' is too large: at most 4294967295 is possible");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 99999999999999999999999\n"),
            "a.gr:2: length '99999999999999999999999' is too large: at most 4294967295 is possible");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 1.5\n"),
            "a.gr:2: length 1.5 is not a whole number: choose --scale FACTOR to multiply and round, or "
            "--unit-lengths");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2\n"), "a.gr:2: the length is missing");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 3 4\n"),
            "a.gr:2: '4' follows where the line should end: 'a TAIL HEAD LENGTH' was expected");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\nx 1 2\n"), "a.gr:2: a line must start with 'c', 'p' or 'a'");
  EXPECT_EQ(error_of("a.gr", "p sp 2 2\na 1 2 1\n"), "a.gr:2: the file ends after 1 arc of 2");
  EXPECT_EQ(error_of("a.gr", "p sp 2 1\na 1 2 1\na 2 1 1\n"),
            "a.gr:3: more arcs than the 1 of the problem line");
  EXPECT_EQ(error_of("a.gr", "p sp 4294967295 1\n"),
            "a.gr:1: number of vertices '4294967295' is too large: at most 4294967294 is possible");
}

TEST_F(GraphReader, RefusesMalformedMatricesWithFileAndLine) {
  const std::string head = "%%MatrixMarket matrix coordinate integer ";
  EXPECT_EQ(error_of("m.mtx", "3 3 1\n1 2 3\n"),
            "m.mtx:1: the header is missing: '%%MatrixMarket matrix coordinate ...' was expected");
  EXPECT_THAT(error_of("m.mtx", ""), HasSubstr("m.mtx:1: the file is empty"));
  EXPECT_EQ(error_of("m.mtx", "%%MatrixMarket matrix array real general\n"),
            "m.mtx:1: the matrix is not sparse: format 'coordinate' was expected");
  EXPECT_EQ(error_of("m.mtx", "%%MatrixMarket matrix coordinate complex general\n"),
            "m.mtx:1: values 'complex' cannot be lengths: pattern, integer or real was expected");
  EXPECT_EQ(error_of("m.mtx", head + "skew-symmetric\n"),
            "m.mtx:1: symmetry 'skew-symmetric' is not one of a graph: general or symmetric was expected");
  EXPECT_EQ(error_of("m.mtx", head + "general\n"),
            "m.mtx:1: the file ends without the size line 'ROWS COLUMNS ENTRIES'");
  EXPECT_EQ(error_of("m.mtx", head + "general\n3 4 1\n"),
            "m.mtx:2: a matrix of 3 x 4 is no graph: a square one was expected");
  EXPECT_EQ(error_of("m.mtx", head + "general\n3 3 1\n1 4 1\n"),
            "m.mtx:3: column 4 is out of range: vertices are 1 to 3");
  EXPECT_EQ(error_of("m.mtx", head + "general\n3 3 2\n1 2 1\n"),
            "m.mtx:3: the file ends after 1 of 2 entries");
  EXPECT_EQ(error_of("m.mtx", head + "general\n3 3 1\n1 2 1\n1 3 1\n"),
            "m.mtx:4: more entries than the 1 of the size line");
  EXPECT_EQ(error_of("m.mtx", head + "general\n3 3 1\n1 2\n"), "m.mtx:3: the length is missing");
  EXPECT_EQ(error_of("m.mtx", head + "symmetric\n3 3 1\n1 2 1\n"),
            "m.mtx:3: an entry above the diagonal of a symmetric matrix: only row >= column was expected");
  const std::string real = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 ";
  EXPECT_THAT(error_of("m.mtx", real + "0.25\n"), HasSubstr("m.mtx:3: length 0.25"));
  EXPECT_THAT(error_of("m.mtx", real + "0.25\n"), HasSubstr("choose --scale FACTOR"));
  EXPECT_EQ(error_of("m.mtx", real + "-2\n"), "m.mtx:3: negative length '-2'");
  EXPECT_EQ(error_of("m.mtx", real + "nan\n"), "m.mtx:3: 'nan' is not a length: a whole number was expected");
  EXPECT_THAT(error_of("m.mtx", real + "1e12\n"), HasSubstr("is too large"));
}

TEST_F(GraphReader, RefusesMalformedEdgeListsWithFileAndLine) {
  EXPECT_EQ(error_of("e.txt", "# nothing\n"),
            "e.txt:1: the file holds no edges: lines 'TAIL HEAD [LENGTH]' were expected");
  EXPECT_EQ(error_of("e.txt", "0 1\n1\n"), "e.txt:2: the head is missing");
  EXPECT_EQ(error_of("e.txt", "0 x\n"), "e.txt:1: 'x' is not a head: a whole number was expected");
  EXPECT_EQ(error_of("e.txt", "0 1 -3\n"), "e.txt:1: negative length '-3'");
  EXPECT_EQ(error_of("e.txt", "0 1 2 3 4\n"),
            "e.txt:1: '4' follows where the line should end: 'TAIL HEAD [LENGTH [TIME]]' was expected");
  EXPECT_THAT(error_of("e.txt", "0 4000000000\n"), HasSubstr("e.txt:1: vertex 4000000000 is far beyond"));
}

TEST_F(GraphReader, RefusesGraphsWithoutVertices) {
  const std::string sentence = "the graph has no vertices: at least one was expected";
  EXPECT_EQ(error_of("a.gr", "c nothing\np sp 0 0\n"), "a.gr:2: " + sentence);
  EXPECT_EQ(error_of("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n"),
            "m.mtx:2: " + sentence);
}

// A thousand vertices an arc and a million more; tested from both sides, and without allocating anything.
TEST_F(GraphReader, RefusesMoreVerticesThanArcsAccountFor) {
  EXPECT_EQ(error_of("a.gr", "p sp 4000000000 1\na 1 2 3\n"),
            "a.gr:1: 4000000000 vertices are too many for 1 arc: at most 1001000 were expected");
  EXPECT_EQ(error_of("a.gr", "p sp 1002001 2\na 1 2 3\na 2 1 3\n"),
            "a.gr:1: 1002001 vertices are too many for 2 arcs: at most 1002000 were expected");
  EXPECT_EQ(read_graph(write("b.gr", "p sp 1001000 1\na 1 1001000 3\n"), {}).vertices(), 1001000u);
  const std::string head = "%%MatrixMarket matrix coordinate pattern symmetric\n";
  EXPECT_EQ(error_of("m.mtx", head + "4000000000 4000000000 1\n2 1\n"),
            "m.mtx:2: 4000000000 vertices are too many for 1 value: at most 1001000 were expected");
  EXPECT_EQ(read_graph(write("n.mtx", head + "1001000 1001000 1\n1001000 1\n"), {}).vertices(), 1001000u);
  // Announced arcs that the file does not hold cost nothing either.
  EXPECT_EQ(error_of("c.gr", "p sp 4000000000 4000000000\na 1 2 3\n"),
            "c.gr:2: the file ends after 1 arc of 4000000000");
}

TEST_F(GraphReader, ReadsGzipWhateverTheFileIsCalled) {
  std::string text = "p sp 1000 1000\n";
  for (int v = 1; v <= 1000; ++v)
    text += "a " + std::to_string(v) + " " + std::to_string(v * 7 % 1000 + 1) + " " + std::to_string(v * v) +
            "\n";
  const Graph plain = read_graph(write("plain.gr", text), {});
  EXPECT_EQ(read_graph(write_gzip("packed.gr.gz", text), {}).arcs, plain.arcs);
  EXPECT_EQ(read_graph(write_gzip("packed.gr", text), {}).arcs, plain.arcs);
  // Two members one after the other are one stream.
  const std::string first = read_bytes(write_gzip("1.gz", text.substr(0, 5000)));
  const std::string second = read_bytes(write_gzip("2.gz", text.substr(5000)));
  EXPECT_EQ(read_graph(write("both.gr.gz", first + second), {}).arcs, plain.arcs);
}

TEST_F(GraphReader, RefusesDamagedGzip) {
  std::string text = "p sp 2 3000\n";
  for (int i = 0; i < 3000; ++i) text += "a 1 2 " + std::to_string(i * 7919 % 100003) + "\n";
  const std::string whole = read_bytes(write_gzip("g.gr.gz", text));
  ASSERT_EQ(error_of("whole.gr.gz", whole), "accepted");
  for (const std::size_t cut : {std::size_t{1}, std::size_t{8}, whole.size() / 2, whole.size() - 12}) {
    EXPECT_THAT(error_of("cut.gr.gz", whole.substr(0, whole.size() - cut)),
                HasSubstr("the gzip file is truncated"));
  }
  EXPECT_THAT(error_of("head.gr.gz", whole.substr(0, 6)), HasSubstr("the gzip file is truncated"));
  std::string damaged = whole;
  damaged[damaged.size() - 5] = static_cast<char>(damaged[damaged.size() - 5] ^ 1);  // the checksum
  EXPECT_THAT(error_of("crc.gr.gz", damaged), HasSubstr("its checksum differs"));
  damaged = whole;
  damaged[damaged.size() - 1] = static_cast<char>(damaged[damaged.size() - 1] ^ 1);
  EXPECT_THAT(error_of("length.gr.gz", damaged), HasSubstr("its length differs"));
  EXPECT_THAT(error_of("tail.gr.gz", whole + "xx"), HasSubstr("bytes that are not gzip follow"));
  damaged = whole;
  damaged[2] = 9;
  EXPECT_THAT(error_of("method.gr.gz", damaged), HasSubstr("unknown compression method"));
}

TEST_F(GraphReader, RefusesWhatIsNoFile) {
  EXPECT_THAT(error_of_file((folder_ / "absent").string()), HasSubstr("cannot open"));
  EXPECT_THAT(error_of_file(folder_.path().string()), HasSubstr("it is a directory"));
}

TEST_F(GraphReader, RefusesBinaryFiles) {
  EXPECT_THAT(error_of("b.gr", std::string("\x7f"
                                           "ELF\0\1\2\3",
                                           8)),
              HasSubstr("b.gr:1: a line must start with"));
}

// A cycle of four, whose every line looks like one of an edge list.
TEST_F(GraphReader, ReadsMetisByItsName) {
  const Graph g = read_graph(write("cycle.graph", "% a comment\n4 4\n2 4\n1 3\n2 4\n1 3\n"), {});
  EXPECT_EQ(g.vertices(), 4u);
  EXPECT_EQ(g.first_id, 1u);
  EXPECT_THAT(g.first_arc, ElementsAre(0, 2, 4, 6, 8));
  EXPECT_EQ(g.arcs[0].head, 1u);
  EXPECT_EQ(g.arcs[1].head, 3u);
  EXPECT_EQ(g.arcs[7].head, 2u);
  EXPECT_EQ(g.arcs[7].length, 1u);
}

TEST_F(GraphReader, ReadsMetisWithLengthsWeightsSizesAndAVertexWithoutNeighbours) {
  // Format 111: a size, two weights, then neighbours with lengths; the second line of a vertex is empty but
  // for those.
  const Graph g = read_graph(write("w.metis", "3 1 111 2\n7 8 9 3 50\n7 8 9\n7 8 9 1 50\n"), {});
  EXPECT_THAT(g.first_arc, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(g.arcs[0].head, 2u);
  EXPECT_EQ(g.arcs[0].length, 50u);
  const Graph lonely = read_graph(write("l.graph", "3 1\n3\n\n1\n"), {});
  EXPECT_THAT(lonely.first_arc, ElementsAre(0, 1, 1, 2));
}

TEST_F(GraphReader, RefusesMalformedMetis) {
  EXPECT_THAT(error_of("a.graph", "4 4\n2 4\n1 3\n2 4\n"),
              HasSubstr("the file ends after the lines of 3 of 4"));
  EXPECT_THAT(error_of("b.graph", "2 1\n2\n1\n1\n"),
              HasSubstr("b.graph:4: a line behind that of the last vertex"));
  EXPECT_THAT(error_of("c.graph", "2 1\n2 2\n1\n"), HasSubstr("c.graph:3: more neighbours than the 1 edge"));
  EXPECT_THAT(error_of("d.graph", "2 2\n2\n1\n"), HasSubstr("2 neighbours, where 2 edges have 4"));
  EXPECT_THAT(error_of("e.graph", "2 1\n3\n1\n"), HasSubstr("e.graph:2: neighbour 3 is out of range"));
  EXPECT_THAT(error_of("f.graph", "2 1 7\n2\n1\n"), HasSubstr("format '7' is not one of METIS"));
  EXPECT_THAT(error_of("g.graph", ""), HasSubstr("the file is empty"));
}

TEST_F(GraphReader, RefusesAdjacencyListsByTheirName) {
  EXPECT_THAT(error_of("n.adjlist", "1 2 3\n2 3\n"), HasSubstr("adjacency lists are not read"));
}

}  // namespace
}  // namespace rubato::apps

// SPDX-License-Identifier: MIT
#include "native/trace/gzip.hpp"

#ifdef RUBATO_HAS_ZLIB
#include <zlib.h>

namespace rubato::inline v0::native {

bool has_gzip() { return true; }

std::string gzip(std::string_view text) {
  constexpr int kFast = 3, kWindow = 15, kWithGzipHeader = 16, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kFast, Z_DEFLATED, kWindow + kWithGzipHeader, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return {};
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // it reads only
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  packed.resize(deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace rubato::inline v0::native

#else

namespace rubato::inline v0::native {

bool has_gzip() { return false; }

std::string gzip(std::string_view) { return {}; }

}  // namespace rubato::inline v0::native

#endif

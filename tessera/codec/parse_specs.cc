#include "tessera/codec/parse_specs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::codec {
namespace {

// A codec, and the levels that it has; none where both are equal.
struct Row {
  std::string_view name;
  int least = 0;
  int most = 0;
  BytesSpec spec = {};
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"zstd", -131072, 22, ZstdSpec{}},
      {"gzip", 0, 9, DeflateSpec{}},
      {"zlib", 0, 9, DeflateSpec{.wrapping = DeflateSpec::Wrapping::kZlib}},
      {"bz2", 1, 9, Bz2Spec{}},
      {"blosc", 0, 9, BloscSpec{}},
      {"crc32c", 0, 0, Crc32cSpec{}},
  };
  return rows;
}

constexpr std::string_view kNone = "none";
constexpr std::string_view kBloscWith = "blosc-";
constexpr std::array<std::string_view, 6> kBloscCompressors = {"blosclz", "lz4",  "lz4hc",
                                                               "snappy",  "zlib", "zstd"};

struct SetLevel {
  int level;
  void operator()(Crc32cSpec&) const {}
  void operator()(auto& spec) const { spec.level = level; }
};

absl::Status Unknown(std::string_view name) {
  const std::vector<std::string_view> names = SpecNames();
  const std::string meant = DidYouMean(name, names);
  std::string known;
  for (size_t i = 0; i < names.size(); ++i) {
    known += Concat(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return InvalidArgument("unknown codec ", Quoted(name), meant, "; known are ", known,
                         ", with a level as in zstd:3");
}

absl::StatusOr<BytesSpec> WithLevel(const Row& row, std::string_view text) {
  int level = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, level);
  if (row.least == row.most) {
    return InvalidArgument("codec ", row.name, " has no levels; found ", Quoted(text));
  }
  if (error != std::errc() || last != end || level < row.least || level > row.most) {
    return InvalidArgument("codec ", row.name, " has levels from ", row.least, " to ", row.most,
                           "; found ", Quoted(text));
  }
  BytesSpec spec = row.spec;
  std::visit(SetLevel{level}, spec);
  return spec;
}

absl::StatusOr<BytesSpec> ParseOne(std::string_view text) {
  const size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  std::optional<std::string_view> compressor;
  if (name.starts_with(kBloscWith)) {
    compressor = name.substr(kBloscWith.size());
    if (std::find(kBloscCompressors.begin(), kBloscCompressors.end(), *compressor) ==
        kBloscCompressors.end()) {
      return InvalidArgument("blosc has no compressor ", Quoted(*compressor),
                             DidYouMean(*compressor, kBloscCompressors),
                             "; it has blosclz, lz4, lz4hc, snappy, zlib and zstd");
    }
    name = "blosc";
  }
  const auto row = std::find_if(Rows().begin(), Rows().end(),
                                [&](const Row& candidate) { return candidate.name == name; });
  if (row == Rows().end()) return Unknown(name);
  BytesSpec spec = row->spec;
  if (colon != std::string_view::npos) {
    TESSERA_ASSIGN_OR_RETURN(spec, WithLevel(*row, text.substr(colon + 1)));
  }
  if (compressor.has_value()) std::get<BloscSpec>(spec).compressor = *compressor;
  return spec;
}

}  // namespace

std::vector<std::string_view> SpecNames() {
  std::vector<std::string_view> names = {kNone};
  for (const Row& row : Rows()) names.push_back(row.name);
  return names;
}

absl::StatusOr<std::vector<BytesSpec>> ParseSpecs(std::string_view text) {
  std::vector<BytesSpec> specs;
  if (text == kNone) return specs;
  while (true) {
    const size_t plus = text.find('+');
    TESSERA_ASSIGN_OR_RETURN(specs.emplace_back(), ParseOne(text.substr(0, plus)));
    if (plus == std::string_view::npos) return specs;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace tessera::codec

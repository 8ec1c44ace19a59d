#include "tessera/convert/convert.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/convert.h"
#include "tessera/core/sha256.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

using ::tessera::convert::testing::ContentOf;
using ::tessera::convert::testing::ZarrFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Content = std::map<std::string, std::string>;

class ConvertTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }

  absl::StatusOr<ConvertReport> Run(const std::string& source, const std::string& destination,
                                    const ConvertRequest& request, std::stop_token stop = {}) {
    return Convert(source, destination, request, {.io = io_}, nullptr, std::move(stop));
  }

  std::string TextOf(std::string_view name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The elements of an array of int32.
  std::vector<int32_t> Ints(const std::string& location, std::string_view key) {
    const auto opened = checkpoint::Checkpoint::OpenAt(location, io_);
    if (!opened.ok()) return {};
    for (const checkpoint::CheckpointArray& array : opened->arrays()) {
      if (array.name != key) continue;
      const Dims shape = array.shape_dtype().shape;
      std::vector<int32_t> values(static_cast<size_t>(*NumElements(shape)));
      const auto reader = checkpoint::ArrayReader::Make(*opened, array, {});
      const auto memory = std::as_writable_bytes(std::span(values));
      EXPECT_THAT(reader->ReadBox(Box::Whole(shape), RowMajorView(memory.data(), shape, 4), io_),
                  IsOk());
      return values;
    }
    return {};
  }

  // What lies in the folder of the test, by name.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<std::string> Problems(const std::string& path) {
    const auto store = store::OpenFileStore(path, {.create_root = false});
    const auto report = checkpoint::VerifyCheckpoint(**store, io_);
    if (!report.ok()) return {report.status().ToString()};
    std::vector<std::string> problems;
    for (const auto& problem : report->problems) {
      problems.push_back(problem.key + " " + problem.file + ": " + problem.problem);
    }
    if (report->unsealed_arrays > 0) problems.push_back("not sealed");
    return problems;
  }

  store::testing::TemporaryFolder folder_;
  IoContext io_{{.in_flight = 4, .budget_bytes = int64_t{64} << 20}};
};

ConvertRequest To(TargetFormat format) { return {.target = {.format = format}}; }

TEST_F(ConvertTest, MakesACheckpointOfAFolderOfArrays) {
  ZarrFolder source(Path("source"));
  source.Add({"a/kernel", {{64, 48}, DType::kFloat32}, {16, 48}})
      .Add({"a/bias", {{48}, DType::kBfloat16}, {48}})
      .Add({"step", {{}, DType::kInt64}, {}})
      .Add({"none", {{0, 4}, DType::kUint8}, {1, 4}});
  ConvertRequest request = To(TargetFormat::kTensorstore);
  request.target.prefix = "model";
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                               Run(source.path(), Path("made"), request));
  EXPECT_EQ(report.arrays, 4);
  EXPECT_EQ(report.nbytes, 64 * 48 * 4 + 96 + 8);
  EXPECT_EQ(report.copied_arrays, 4);
  EXPECT_EQ(report.resumed_arrays, 0);
  EXPECT_THAT(Names(), ElementsAre("made", "source"));
  Content expected;
  for (const auto& [key, hash] : ContentOf(source.path(), io_)) expected["model." + key] = hash;
  EXPECT_EQ(ContentOf(Path("made"), io_), expected);
  EXPECT_THAT(Problems(Path("made")), IsEmpty());
}

TEST_F(ConvertTest, KeepsPrefixesMetadataAndStructureOfACheckpoint) {
  ZarrFolder arrays(Path("arrays"));
  arrays.Add({"a", {{6, 4}, DType::kFloat32}, {2, 4}}).Add({"b/c", {{3}, DType::kInt32}, {3}});
  ConvertRequest request = To(TargetFormat::kTensorstore);
  request.target.prefix = "model";
  ASSERT_THAT(Run(arrays.path(), Path("source"), request), IsOk());
  std::ofstream(Path("source/checkpoint_metadata.json"))
      << R"({"version": "1", "timestamp": "2026-01-31T12:00:00", "checksum": {"a": ")"
      << std::string(64, '0') << R"(", "b.c": ")" << std::string(64, '1')
      << R"("}, "array_metadata": {"a": {"dtype": "float32", "shape": [6, 4]}}, "custom": 1})";
  request.target.prefix = {};
  ASSERT_THAT(Run(Path("source"), Path("made"), request), IsOk());
  EXPECT_EQ(ContentOf(Path("made"), io_), ContentOf(Path("source"), io_));
  EXPECT_EQ(TextOf("made/checkpoint_metadata.json"), TextOf("source/checkpoint_metadata.json"));
  EXPECT_THAT(Problems(Path("made")), IsEmpty());
  request.renames = {{"^a$", "kernel"}};
  request.float_dtype = DType::kFloat16;
  ASSERT_THAT(Run(Path("source"), Path("changed"), request), IsOk());
  const auto metadata =
      ledger::DecodeCheckpointMetadata(TextOf("changed/checkpoint_metadata.json"));
  ASSERT_THAT(metadata, IsOk());
  EXPECT_THAT(metadata->checksum, ElementsAre(Pair("b.c", std::string(64, '1'))));
  EXPECT_THAT(metadata->array_metadata,
              ElementsAre(Pair("kernel", ledger::SavedArrayType{"float16", {6, 4}})));
  EXPECT_THAT(Problems(Path("changed")), IsEmpty());
}

TEST_F(ConvertTest, TransposesElementByElement) {
  ZarrFolder source(Path("source"));
  std::vector<int32_t> plane(7 * 5), cube(4 * 3 * 5);
  std::iota(plane.begin(), plane.end(), 0);
  std::iota(cube.begin(), cube.end(), 100);
  const auto bytes_of = [](const std::vector<int32_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  source.AddBytes({"plane", {{7, 5}, DType::kInt32}, {3, 2}}, bytes_of(plane))
      .AddBytes({"cube", {{4, 3, 5}, DType::kInt32}, {3, 2, 4}}, bytes_of(cube))
      .AddBytes({"other", {{4, 3, 5}, DType::kInt32}, {4, 3, 5}}, bytes_of(cube));
  for (const TargetFormat format : {TargetFormat::kZarr2, TargetFormat::kSafetensors}) {
    ConvertRequest request = To(format);
    request.transposes = {{"plane"}, {"cube", Dims{2, 0, 1}}, {"other"}};
    const std::string made = Path(Concat("made-", TargetFormatName(format)));
    ASSERT_THAT(Run(source.path(), made, request), IsOk());
    const std::vector<int32_t> new_plane = Ints(made, "plane");
    const std::vector<int32_t> new_cube = Ints(made, "cube"), new_other = Ints(made, "other");
    for (int i = 0; i < 7; ++i) {
      for (int j = 0; j < 5; ++j) EXPECT_EQ(new_plane[j * 7 + i], plane[i * 5 + j]);
    }
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 5; ++k) {
          const int32_t value = cube[(i * 3 + j) * 5 + k];
          EXPECT_EQ(new_cube[(k * 4 + i) * 3 + j], value);
          EXPECT_EQ(new_other[(i * 5 + k) * 3 + j], value);
        }
      }
    }
  }
}

TEST_F(ConvertTest, CastsFloatsOnly) {
  ZarrFolder source(Path("source"));
  std::vector<float> floats(50);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 0.3F - 5;
  const auto bytes = std::as_bytes(std::span(floats));
  source.AddBytes({"f", {{10, 5}, DType::kFloat32}, {3, 5}}, {bytes.begin(), bytes.end()})
      .Add({"i", {{4}, DType::kInt64}, {4}});
  ConvertRequest request = To(TargetFormat::kZarr3);
  request.float_dtype = DType::kBfloat16;
  ASSERT_THAT(Run(source.path(), Path("made"), request), IsOk());
  std::vector<std::byte> expected(100);
  ASSERT_THAT(ConvertElements(DType::kFloat32, bytes, DType::kBfloat16, expected), IsOk());
  const Content before = ContentOf(source.path(), io_), after = ContentOf(Path("made"), io_);
  EXPECT_EQ(after.at("f"), "bfloat16[10,5] " + Sha256Text(expected));
  EXPECT_EQ(after.at("i"), before.at("i"));
}

TEST_F(ConvertTest, StaysWithinTheBudgetWhateverTheChunks) {
  ZarrFolder source(Path("source"));
  // Each array is larger than the budget; chunks are columns, rows, tiles and one larger than all.
  source.Add({"columns", {{2048, 2048}, DType::kFloat32}, {2048, 16}})
      .Add({"rows", {{2048, 2048}, DType::kFloat32}, {16, 2048}})
      .Add({"tiles", {{2000, 2000}, DType::kFloat32}, {300, 700}})
      .Add({"one", {{2048, 2048}, DType::kFloat32}, {2048, 2048}});
  const Content expected = ContentOf(source.path(), io_);
  for (const TargetFormat format : {TargetFormat::kZarr2, TargetFormat::kSafetensors}) {
    for (const bool transpose : {false, true}) {
      IoContext io({.in_flight = 4, .budget_bytes = int64_t{12} << 20});
      ConvertRequest request = To(format);
      if (transpose) request.transposes = {{""}};
      const std::string made = Path(Concat(TargetFormatName(format), transpose ? "-t" : ""));
      TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                                   Convert(source.path(), made, request, {.io = io}));
      EXPECT_LE(report.peak_bytes, int64_t{12} << 20) << report.plan;
      EXPECT_EQ(io.budget().in_use(), 0);
      EXPECT_THAT(Problems(made), IsEmpty());
      if (!transpose) {
        EXPECT_EQ(ContentOf(made, io_), expected) << report.plan;
        continue;
      }
      ASSERT_THAT(Convert(made, made + "-back", request, {.io = io}), IsOk());
      EXPECT_EQ(ContentOf(made + "-back", io_), expected);
    }
  }
}

TEST_F(ConvertTest, RefusesADestinationThatIsThere) {
  ZarrFolder source(Path("source"));
  source.Add({"a", {{4}, DType::kInt32}, {4}});
  std::filesystem::create_directories(Path("made"));
  EXPECT_THAT(Run(source.path(), Path("made"), To(TargetFormat::kZarr2)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("replaced only when asked to overwrite")));
  std::ofstream(Path("made/letter.txt")) << "text";
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.overwrite = true;
  EXPECT_THAT(Run(source.path(), Path("made"), request),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("holds no checkpoint, so it is not overwritten")));
  EXPECT_EQ(TextOf("made/letter.txt"), "text");
  EXPECT_THAT(Names(), ElementsAre("made", "source"));
}

TEST_F(ConvertTest, RefusesADestinationInsideTheSourceAndTheOtherWayRound) {
  ZarrFolder source(Path("outer/source"));
  source.Add({"a", {{4}, DType::kInt32}, {4}});
  EXPECT_THAT(Run(source.path(), Path("outer/source/made"), To(TargetFormat::kZarr2)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lies inside the source")));
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.overwrite = true;
  EXPECT_THAT(
      Run(source.path(), Path("outer"), request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lies inside the destination")));
}

TEST_F(ConvertTest, ReplacesACheckpointAlsoTheSourceItself) {
  ZarrFolder source(Path("source"));
  source.Add({"a", {{4, 6}, DType::kFloat32}, {4, 6}});
  const Content expected = ContentOf(source.path(), io_);
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.overwrite = true;
  ASSERT_THAT(Run(source.path(), source.path(), request), IsOk());
  EXPECT_TRUE(std::filesystem::exists(Path("source/a/.zarray")));
  EXPECT_FALSE(std::filesystem::exists(Path("source/a/zarr.json")));
  EXPECT_EQ(ContentOf(source.path(), io_), expected);
  EXPECT_THAT(Names(), ElementsAre("source"));
}

class ReaderTest : public ConvertTest, public ::testing::WithParamInterface<TargetFormat> {};

TEST_P(ReaderTest, SeesTheOldOneOrTheNewOne) {
  ZarrFolder first(Path("first")), second(Path("second"));
  first.Add({"a", {{64, 64}, DType::kInt32}, {8, 64}}).Add({"b", {{8}, DType::kInt8}, {8}});
  second.Add({"c", {{64, 64}, DType::kInt32}, {64, 8}}).Add({"b", {{9}, DType::kInt16}, {9}});
  const Content contents[] = {ContentOf(first.path(), io_), ContentOf(second.path(), io_)};
  ConvertRequest request = To(GetParam());
  request.overwrite = true;
  ASSERT_THAT(Run(first.path(), Path("made"), request), IsOk());
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    IoContext io({.in_flight = 2});
    while (!done) {
      const auto opened = checkpoint::Checkpoint::OpenAt(Path("made"), io);
      ++reads;
      if (!opened.ok()) {
        // Who had begun to open the old one finds its files gone, or that it is being deleted.
        if (!absl::IsNotFound(opened.status()) && !absl::IsDataLoss(opened.status()) &&
            opened.status().ToString().find(ledger::kIndexName) == std::string::npos) {
          ADD_FAILURE() << opened.status();
        }
        continue;
      }
      std::set<std::string> keys;
      for (const checkpoint::CheckpointArray& array : opened->arrays()) keys.insert(array.name);
      EXPECT_THAT(keys, AnyOf(ElementsAre("a", "b"), ElementsAre("b", "c")));
    }
  });
  for (int i = 1; i <= 20; ++i) {
    EXPECT_THAT(Run(i % 2 == 1 ? second.path() : first.path(), Path("made"), request), IsOk());
    EXPECT_EQ(ContentOf(Path("made"), io_), contents[i % 2]);
  }
  done = true;
  reader.join();
  EXPECT_GT(reads, 0);
  EXPECT_THAT(Names(), ElementsAre("first", "made", "second"));
}

INSTANTIATE_TEST_SUITE_P(Formats, ReaderTest,
                         ::testing::Values(TargetFormat::kTensorstore, TargetFormat::kSafetensors,
                                           TargetFormat::kZarr3),
                         [](const auto& info) {
                           return std::string(TargetFormatName(info.param));
                         });

TEST_F(ConvertTest, GoesOnWhereItWasStopped) {
  ZarrFolder source(Path("source"));
  for (int i = 0; i < 12; ++i) {
    source.Add({Concat("layer", i), {{64, 64}, DType::kFloat32}, {16, 64}});
  }
  const Content expected = ContentOf(source.path(), io_);
  for (const TargetFormat format : {TargetFormat::kTensorstore, TargetFormat::kSafetensors}) {
    const std::string made = Path(TargetFormatName(format));
    std::stop_source stop;
    int64_t seen = 0;
    const ConvertListener listener = [&](const ConvertProgress& progress) {
      seen = progress.arrays_done;
      if (seen >= 5) stop.request_stop();
    };
    EXPECT_THAT(Convert(source.path(), made, To(format), {.io = io_}, listener, stop.get_token()),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
    EXPECT_FALSE(std::filesystem::exists(made));
    TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report, Run(source.path(), made, To(format)));
    EXPECT_GE(report.resumed_arrays, seen);
    EXPECT_LT(report.resumed_arrays, 12);
    EXPECT_EQ(report.copied_arrays, 12 - report.resumed_arrays);
    EXPECT_EQ(ContentOf(made, io_), expected);
    EXPECT_THAT(Problems(made), IsEmpty());
  }
  EXPECT_THAT(Names(), ElementsAre("safetensors", "source", "tensorstore"));
}

TEST_F(ConvertTest, GoesOnAfterEverythingWasCopied) {
  ZarrFolder source(Path("source"));
  source.Add({"a", {{8, 8}, DType::kFloat32}, {8, 8}}).Add({"b", {{8}, DType::kInt8}, {8}});
  for (const TargetFormat format :
       {TargetFormat::kTensorstore, TargetFormat::kSafetensors, TargetFormat::kZarr3}) {
    const std::string made = Path(TargetFormatName(format));
    std::stop_source stop;
    const ConvertListener listener = [&](const ConvertProgress& progress) {
      if (progress.phase == ConvertProgress::Phase::kVerify) stop.request_stop();
    };
    EXPECT_THAT(Convert(source.path(), made, To(format), {.io = io_}, listener, stop.get_token()),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
    TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report, Run(source.path(), made, To(format)));
    EXPECT_EQ(report.resumed_arrays, 2);
    EXPECT_EQ(ContentOf(made, io_), ContentOf(source.path(), io_));
    EXPECT_THAT(Problems(made), IsEmpty());
  }
}

TEST_F(ConvertTest, BeginsAnewForAnotherRequest) {
  ZarrFolder source(Path("source"));
  for (int i = 0; i < 6; ++i) {
    source.Add({Concat("layer", i), {{8, 8}, DType::kFloat32}, {8, 8}});
  }
  std::stop_source stop;
  const ConvertListener listener = [&](const ConvertProgress&) { stop.request_stop(); };
  EXPECT_THAT(Convert(source.path(), Path("made"), To(TargetFormat::kZarr2), {.io = io_}, listener,
                      stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.float_dtype = DType::kFloat16;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                               Run(source.path(), Path("made"), request));
  EXPECT_EQ(report.resumed_arrays, 0);
  EXPECT_THAT(ContentOf(Path("made"), io_).at("layer0"), HasSubstr("float16[8,8]"));
}

TEST_F(ConvertTest, BeginsAnewWhenTheSourceWasReplaced) {
  const auto make = [&] {
    ZarrFolder source(Path("source"));
    source.Add({"a", {{8, 8}, DType::kInt32}, {8, 8}}).Add({"b", {{8, 8}, DType::kInt8}, {8, 8}});
  };
  make();
  std::stop_source stop;
  const ConvertListener listener = [&](const ConvertProgress&) { stop.request_stop(); };
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.verify = false;
  EXPECT_THAT(
      Convert(Path("source"), Path("made"), request, {.io = io_}, listener, stop.get_token()),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  make();
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                               Run(Path("source"), Path("made"), request));
  EXPECT_EQ(report.resumed_arrays, 0);
  EXPECT_EQ(ContentOf(Path("made"), io_), ContentOf(Path("source"), io_));
}

TEST_F(ConvertTest, FindsWhatWasDamagedBeforeItIsSeen) {
  ZarrFolder source(Path("source"));
  for (int i = 0; i < 4; ++i) source.Add({Concat("a", i), {{64}, DType::kInt32}, {64}});
  // The last word on copying: then what was written is damaged behind its back.
  const ConvertListener listener = [&](const ConvertProgress& progress) {
    if (progress.phase != ConvertProgress::Phase::kCopy || progress.arrays_done < 4) return;
    std::ofstream file(Path(".made.tessera-convert/data/a2/0"), std::ios::binary);
    file << std::string(256, 'x');
  };
  ConvertRequest request = To(TargetFormat::kZarr2);
  request.target.codec = {};
  EXPECT_THAT(Convert(source.path(), Path("made"), request, {.io = io_}, listener),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a2: ")));
  EXPECT_THAT(Names(), ElementsAre("source"));
}

TEST_F(ConvertTest, MakesALoneFileOfThatName) {
  ZarrFolder source(Path("source"));
  source.Add({"a.b", {{4, 6}, DType::kFloat32}, {4, 6}}).Add({"c/d", {{3}, DType::kInt8}, {3}});
  ConvertRequest request = To(TargetFormat::kSafetensors);
  request.target.metadata = {{"format", "pt"}};
  ASSERT_THAT(Run(source.path(), Path("weights.safetensors"), request), IsOk());
  EXPECT_THAT(Names(), ElementsAre("source", "weights.safetensors"));
  EXPECT_TRUE(std::filesystem::is_regular_file(Path("weights.safetensors")));
  EXPECT_EQ(ContentOf(Path("weights.safetensors"), io_), ContentOf(source.path(), io_));
  // Its metadata goes along from file to file.
  request.target.metadata = {{"author", "me"}};
  request.overwrite = true;
  ASSERT_THAT(Run(Path("weights.safetensors"), Path("weights.safetensors"), request), IsOk());
  const auto opened = checkpoint::Checkpoint::OpenAt(Path("weights.safetensors"), io_);
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(opened->header_metadata(), ElementsAre(Pair("author", "me"), Pair("format", "pt")));
}

// A form in which arrays can be kept.
struct Form {
  const char* name;
  TargetFormat format;
  bool sharded = false;
};
constexpr Form kForms[] = {{"tensorstore", TargetFormat::kTensorstore},
                           {"single", TargetFormat::kSafetensors},
                           {"sharded", TargetFormat::kSafetensors, true},
                           {"zarr2", TargetFormat::kZarr2},
                           {"zarr3", TargetFormat::kZarr3}};

bool Has(TargetFormat format, const DTypeInfo& info) {
  if (format == TargetFormat::kSafetensors) return !info.safetensors.empty();
  return !(format == TargetFormat::kZarr3 ? info.zarr3 : info.zarr2).empty();
}

ConvertRequest RequestOf(const Form& form) {
  ConvertRequest request = To(form.format);
  if (form.sharded) request.target.shard_bytes = 3000;
  return request;
}

class PairsTest : public ConvertTest,
                  public ::testing::WithParamInterface<std::tuple<Form, Form>> {};

TEST_P(PairsTest, KeepEveryDTypeThatBothHave) {
  const auto& [from, to] = GetParam();
  ZarrFolder arrays(Path("arrays"));
  std::string lacking;
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.zarr3.empty() || !Has(from.format, info)) continue;
    if (!Has(to.format, info)) {
      lacking += std::string(info.name) + " ";
      continue;
    }
    arrays.Add({Concat("all/", info.name), {{33, 16}, info.dtype}, {10, 16}});
    // A file has whole bytes only.
    if (info.bits >= 8) arrays.Add({Concat("some.", info.name), {{}, info.dtype}, {}});
  }
  ASSERT_THAT(Run(arrays.path(), Path("from"), RequestOf(from)), IsOk());
  ASSERT_THAT(Run(Path("from"), Path("to"), RequestOf(to)), IsOk());
  const Content expected = ContentOf(arrays.path(), io_);
  EXPECT_EQ(ContentOf(Path("from"), io_), expected);
  EXPECT_EQ(ContentOf(Path("to"), io_), expected);
  EXPECT_THAT(Problems(Path("to")), IsEmpty());
  // The others are refused, every one by name.
  ZarrFolder others(Path("others"));
  std::istringstream names(lacking);
  std::vector<std::string> keys;
  for (std::string name; names >> name;) {
    others.Add({"key_" + name, {{2}, *ParseDType(name)}, {2}});
    keys.push_back("key_" + name + ": " + name);
  }
  if (keys.empty()) return;
  ASSERT_THAT(Run(others.path(), Path("others-from"), RequestOf(from)), IsOk());
  const auto refused = Run(Path("others-from"), Path("others-to"), RequestOf(to));
  for (const std::string& key : keys) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(key)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PairsTest, ::testing::Combine(::testing::ValuesIn(kForms), ::testing::ValuesIn(kForms)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "To" + std::get<1>(info.param).name;
    });

}  // namespace
}  // namespace tessera::convert

// Runs a fuzz target over stored inputs, without a fuzzing engine: any compiler, any sanitizer.
//
// usage: fuzz_<name> FILE_OR_FOLDER...   (words that start with '-' are libFuzzer's: passed over)
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

// The files that `argument` stands for, sorted so that every run takes the same way.
std::vector<fs::path> InputsOf(const fs::path& argument) {
  if (!fs::is_directory(argument)) return {argument};
  std::vector<fs::path> inputs;
  for (const fs::directory_entry& entry : fs::directory_iterator(argument)) {
    if (entry.is_regular_file()) inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

bool RunInput(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  // Heap memory of the exact size, so that a read past the end is seen by the address sanitizer.
  std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  bytes.shrink_to_fit();
  if (!file) {
    std::fprintf(stderr, "cannot read input %s\n", path.c_str());
    return false;
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    for (const fs::path& path : InputsOf(argv[i])) {
      if (!RunInput(path)) return 1;
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  if (count == 0) std::fprintf(stderr, "no inputs: give files or a folder that holds some\n");
  return count == 0 ? 1 : 0;
}

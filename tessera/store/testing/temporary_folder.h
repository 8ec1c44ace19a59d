// A directory for one test, gone when it ends.
#ifndef TESSERA_STORE_TESTING_TEMPORARY_FOLDER_H_
#define TESSERA_STORE_TESTING_TEMPORARY_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tessera::store::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tessera::store::testing

#endif  // TESSERA_STORE_TESTING_TEMPORARY_FOLDER_H_

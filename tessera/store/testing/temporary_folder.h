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
    // mkdtemp wants six of them, to put a name of its own choice there.
    const std::string pattern = "tessera-" + std::string(6, 'X');
    std::string name = (std::filesystem::temp_directory_path() / pattern).string();
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

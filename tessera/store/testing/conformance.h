// What every store must do.  A back end's test registers itself:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, KvStoreConformance,
//                            ::testing::Values(StoreMaker{"memory", [] { return ...; }}),
//                            MakerName);
#ifndef TESSERA_STORE_TESTING_CONFORMANCE_H_
#define TESSERA_STORE_TESTING_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tessera/store/kv_store.h"

namespace tessera::store::testing {

struct StoreMaker {
  std::string name;
  // A fresh, empty store each time.
  std::function<std::unique_ptr<KvStore>()> make;
};

inline std::string MakerName(const ::testing::TestParamInfo<StoreMaker>& info) {
  return info.param.name;
}

class KvStoreConformance : public ::testing::TestWithParam<StoreMaker> {
 protected:
  void SetUp() override {
    store_ = GetParam().make();
    ASSERT_NE(store_, nullptr);
  }
  KvStore& store() { return *store_; }

 private:
  std::unique_ptr<KvStore> store_;
};

// What every store whose writes_parts() is true must do besides.
class KvStorePartsConformance : public KvStoreConformance {};

}  // namespace tessera::store::testing

#endif  // TESSERA_STORE_TESTING_CONFORMANCE_H_

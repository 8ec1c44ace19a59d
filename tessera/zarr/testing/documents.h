// Metadata documents that TensorStore and JAX wrote, byte for byte.
#ifndef TESSERA_ZARR_TESTING_DOCUMENTS_H_
#define TESSERA_ZARR_TESTING_DOCUMENTS_H_

#include <string_view>

namespace tessera::zarr::testing {

inline constexpr std::string_view kV2Documents[] = {
    R"({"chunks":[5,11],"compressor":{"id":"zlib","level":6},"dimension_separator":".",)"
    R"("dtype":"bfloat16","fill_value":null,"filters":null,"order":"F","shape":[9,11],)"
    R"("zarr_format":2})",
    R"({"chunks":[5,11],"compressor":{"id":"bz2","level":3},"dimension_separator":".",)"
    R"("dtype":"<i8","fill_value":null,"filters":null,"order":"C","shape":[9,11],)"
    R"("zarr_format":2})",
    R"({"chunks":[5,11],"compressor":{"blocksize":0,"clevel":5,"cname":"zstd","id":"blosc",)"
    R"("shuffle":2},"dimension_separator":".","dtype":"<f4","fill_value":null,)"
    R"("filters":null,"order":"F","shape":[9,11],"zarr_format":2})",
    R"({"chunks":[5,11],"compressor":{"id":"gzip","level":4},"dimension_separator":".",)"
    R"("dtype":"bfloat16","fill_value":null,"filters":null,"order":"C","shape":[9,11],)"
    R"("zarr_format":2})",
    R"({"chunks":[7,7],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":">f4","fill_value":null,"filters":null,"order":"C","shape":[20,20],)"
    R"("zarr_format":2})",
    R"({"chunks":[5,5],"compressor":null,"dimension_separator":".","dtype":"<f4",)"
    R"("fill_value":"NaN","filters":null,"order":"C","shape":[20,20],"zarr_format":2})",
    R"({"chunks":[5,5],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"<f4","fill_value":2.5,"filters":null,"order":"C","shape":[20,20],)"
    R"("zarr_format":2})",
    R"({"chunks":[6,9],"compressor":{"id":"zstd","level":1},"dimension_separator":"/",)"
    R"("dtype":"<f4","fill_value":null,"filters":null,"order":"C","shape":[20,20],)"
    R"("zarr_format":2})",
    R"({"chunks":[1,5],"compressor":null,"dimension_separator":".","dtype":"<f4",)"
    R"("fill_value":null,"filters":null,"order":"C","shape":[0,5],"zarr_format":2})",
    R"({"chunks":[],"compressor":null,"dimension_separator":".","dtype":"<c16",)"
    R"("fill_value":null,"filters":null,"order":"C","shape":[],"zarr_format":2})",
    R"({"chunks":[3,5],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"|b1","fill_value":null,"filters":null,"order":"C","shape":[7,5],)"
    R"("zarr_format":2})",
    R"({"chunks":[3,5],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"int4","fill_value":null,"filters":null,"order":"C","shape":[7,5],)"
    R"("zarr_format":2})",
    R"({"chunks":[8,6],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"<f4","fill_value":null,"filters":null,"order":"C","shape":[16,24],)"
    R"("zarr_format":2})",
    R"({"chunks":[5,7,3],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"bfloat16","fill_value":null,"filters":null,"order":"C","shape":[5,7,3],)"
    R"("zarr_format":2})",
    R"({"chunks":[2],"compressor":{"id":"zstd","level":1},"dimension_separator":".",)"
    R"("dtype":"float8_e4m3fn","fill_value":null,"filters":null,"order":"C","shape":[8],)"
    R"("zarr_format":2})",
};

inline constexpr std::string_view kV3Documents[] = {
    R"({"chunk_grid":{"configuration":{"chunk_shape":[4,3]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"checksum":false,"level":3},"name":"zstd"}],)"
    R"("data_type":"bfloat16","fill_value":0.0,"node_type":"array","shape":[7,6],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[4,3]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"},)"
    R"({"configuration":{"checksum":false,"level":3},"name":"zstd"}],"data_type":"bool",)"
    R"("fill_value":false,"node_type":"array","shape":[7,6],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[4,3]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"checksum":false,"level":3},"name":"zstd"}],)"
    R"("data_type":"complex64","fill_value":[0.0,0.0],"node_type":"array","shape":[7,6],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}],)"
    R"("data_type":"int4","fill_value":0,"node_type":"array","shape":[],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[3,4,5]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"order":[2,0,)"
    R"(1]},"name":"transpose"},{"configuration":{"endian":"little"},"name":"bytes"}],)"
    R"("data_type":"int16","fill_value":0,"node_type":"array","shape":[4,6,5],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[7,7]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"endian":"big"},)"
    R"("name":"bytes"}],"data_type":"float32","fill_value":0.0,"node_type":"array",)"
    R"("shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[7,7]},"name":"regular"},)"
    R"("chunk_key_encoding":{"configuration":{"separator":"."},"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],)"
    R"("data_type":"float32","fill_value":0.0,"node_type":"array","shape":[24,18],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[7,7]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"v2"},"codecs":[{"configuration":{"endian":"little"},)"
    R"("name":"bytes"}],"data_type":"float32","fill_value":0.0,"node_type":"array",)"
    R"("shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[6,6]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],)"
    R"("data_type":"float32","fill_value":"NaN","node_type":"array","shape":[24,18],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[6,6]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],)"
    R"("data_type":"bfloat16","fill_value":1.5,"node_type":"array","shape":[12,12],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[24,5]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"level":5},"name":"gzip"}],"data_type":"float32","fill_value":0.0,)"
    R"("node_type":"array","shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[10,10]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"checksum":true,"level":1},"name":"zstd"},{"name":"crc32c"}],)"
    R"("data_type":"float32","fill_value":0.0,"node_type":"array","shape":[24,18],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[9,18]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"blocksize":0,"clevel":5,"cname":"zstd","shuffle":"bitshuffle",)"
    R"("typesize":4},"name":"blosc"}],"data_type":"float32","fill_value":0.0,)"
    R"("node_type":"array","shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[9,18]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":"noshuffle"},)"
    R"("name":"blosc"}],"data_type":"float32","fill_value":0.0,"node_type":"array",)"
    R"("shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[12,12]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"chunk_shape":[4,3],)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"checksum":false,"level":1},"name":"zstd"}],)"
    R"("index_codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"name":"crc32c"}]},"name":"sharding_indexed"}],"data_type":"float32",)"
    R"("fill_value":0.0,"node_type":"array","shape":[24,18],"zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[12,12]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"chunk_shape":[4,3],)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"checksum":false,"level":1},"name":"zstd"}],)"
    R"("index_codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"name":"crc32c"}],"index_location":"start"},"name":"sharding_indexed"}],)"
    R"("data_type":"float32","fill_value":0.0,"node_type":"array","shape":[24,18],)"
    R"("zarr_format":3})",
    R"({"chunk_grid":{"configuration":{"chunk_shape":[12,9]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},)"
    R"("codecs":[{"configuration":{"chunk_shape":[4,3],)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],)"
    R"("index_codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"name":"crc32c"}]},"name":"sharding_indexed"}],"data_type":"float32",)"
    R"("fill_value":1.0,"node_type":"array","shape":[24,18],"zarr_format":3})",
};

}  // namespace tessera::zarr::testing

#endif  // TESSERA_ZARR_TESTING_DOCUMENTS_H_

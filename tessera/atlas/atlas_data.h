// What the page of the atlas draws, as JSON.
//
// Columns instead of objects, and everything that repeats is said once: arrays that are stored and
// placed alike share a form, forms that are split alike share a placement.  20,000 arrays on 512
// devices are some megabytes, most of it keys.
#ifndef TESSERA_ATLAS_ATLAS_DATA_H_
#define TESSERA_ATLAS_ATLAS_DATA_H_

#include <string>
#include <string_view>

#include "tessera/atlas/atlas.h"
#include "tessera/core/json.h"

namespace tessera::atlas {

// Fields of the document:
//   title, format, mesh   texts
//   hosts                 how many
//   devices               columns id, process, bytes; by id
//   processes             columns process, peak
//   budget, over          bytes of a device or null; ids of devices that get more
//   totals                bytes, read, requests, decoded, wanted, balance
//   rules                 columns pattern, spec, arrays, bytes, shadowed_by (-1: by none)
//   warnings              columns kind, key, detail, arrays; as in explain::Warning
//   dtypes, codecs        names
//   placements            objects: spec, its text; split, in how many blocks each dimension is cut;
//                         block, for each of devices the number in C order of the one it holds, or
//                         -1
//   forms                 columns shape, chunk, shard, dtype, result, codec, placement, rule (-1:
//                         none), corrections, bytes, device_bytes, chunks, least_parts, most_parts,
//                         requests, decoded, wanted; as in checkpoint::ArrayPlan
//   keys, form, read, stored   columns of the arrays; stored is -1 where nobody wrote it down
OrderedJson AtlasData(const checkpoint::Checkpoint& checkpoint,
                      const explain::LoadExplanation& explanation, const AtlasOptions& options);

// JSON that may stand inside a script element: nothing in it can end the element.  Bytes that are
// not UTF-8 become U+FFFD.
std::string ScriptText(const OrderedJson& json);

// Text that may stand in an element or in an attribute.
std::string HtmlText(std::string_view text);

}  // namespace tessera::atlas

#endif  // TESSERA_ATLAS_ATLAS_DATA_H_

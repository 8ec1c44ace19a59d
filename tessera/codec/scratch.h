// The memory that encoding and decoding work in.
#ifndef TESSERA_CODEC_SCRATCH_H_
#define TESSERA_CODEC_SCRATCH_H_

#include "tessera/core/buffer.h"

namespace tessera::codec {

// One per worker, kept from chunk to chunk so that its pages are paid for once; never used by two
// threads at a time.  A result that lies in it is valid until the scratch is used again.
struct Scratch {
  Buffer elements;  // a whole array, in the order in which it is stored
  Buffer front;     // what passes from codec to codec, by turns
  Buffer back;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_SCRATCH_H_

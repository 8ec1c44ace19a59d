// What a report means for who saves and loads there, in words.
#ifndef TESSERA_PROBE_ADVICE_H_
#define TESSERA_PROBE_ADVICE_H_

#include <string>
#include <vector>

#include "tessera/probe/report.h"

namespace tessera::probe {

// Sentences, what could cost data first, then what costs time.  Empty: nothing to say.
std::vector<std::string> Advice(const ProbeReport& report);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_ADVICE_H_

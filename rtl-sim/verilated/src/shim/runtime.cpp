// What Verilator calls when an assertion fails: kept for whoever asks, instead of an abort.
#include "verilated.h"
#include <cstdio>

thread_local bool pollproof_failed = false;
static thread_local char failure[256] = "";

extern "C" int pollproof_print(const char*, ...) { return 0; }

extern "C" const char* pollproof_failure() { return failure; }

void vl_stop(const char* filename, int linenum, const char*) {
    if (!pollproof_failed) std::snprintf(failure, sizeof failure, "%s:%d", filename, linenum);
    pollproof_failed = true;
}

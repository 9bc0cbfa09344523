// Included before everything: what the RTL prints is nobody's output.
#pragma once
#ifdef __cplusplus
extern "C"
#endif
int pollproof_print(const char* format, ...);
#define VL_PRINTF pollproof_print

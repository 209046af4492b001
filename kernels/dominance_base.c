/* The portable build. */
#define ISA(name) name##_base
#include "dominance_impl.h"

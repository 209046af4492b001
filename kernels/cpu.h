/* What this processor can do; asked once, when a kernel module is loaded. */
#ifndef EVOCORE_CPU_H
#define EVOCORE_CPU_H

#if defined(__x86_64__) && defined(__GNUC__)
static inline int evocore_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#else
static inline int evocore_has_avx2(void) { return 0; }
#endif

#endif

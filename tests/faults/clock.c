/* Preloaded, this shifts the wall clock of one process by as many seconds as stand in the file EVOCORE_TEST_CLOCK (eight
 * bytes, an int64, changed while the process runs). The monotonic clocks stay as they are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void open_shift(void)
{
    const char *path = getenv("EVOCORE_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
        shift = page == MAP_FAILED ? NULL : page;
        close(fd);
    }
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int result = (int)syscall(SYS_clock_gettime, id, out);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && shift)
        out->tv_sec += *shift;
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

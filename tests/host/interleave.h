/* SPDX-License-Identifier: MIT */
/*
 * Included before every file of the library in the simulated host's build: another CPU
 * may go on before each atomic access.
 */
#ifndef UPMU_TESTS_HOST_INTERLEAVE_H
#define UPMU_TESTS_HOST_INTERLEAVE_H

void host_interleave(void) __attribute__((weak));

#define HOST_INTERLEAVE() (host_interleave ? host_interleave() : (void)0)
#define __atomic_load_n(...) (HOST_INTERLEAVE(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (HOST_INTERLEAVE(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) (HOST_INTERLEAVE(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (HOST_INTERLEAVE(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_or(...) (HOST_INTERLEAVE(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (HOST_INTERLEAVE(), __atomic_fetch_and(__VA_ARGS__))
#define __atomic_fetch_add(...) (HOST_INTERLEAVE(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_and_fetch(...) (HOST_INTERLEAVE(), __atomic_and_fetch(__VA_ARGS__))

#endif

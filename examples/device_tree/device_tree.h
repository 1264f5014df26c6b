/* SPDX-License-Identifier: MIT */
/*
 * The memory in a flattened device tree, for programs that keep its begin for themselves: examples/sbi_firmware and
 * examples/el2_hypervisor.
 */
#ifndef UPMU_EXAMPLES_DEVICE_TREE_H
#define UPMU_EXAMPLES_DEVICE_TREE_H

#include <stdint.h>

/*
 * Let the node "memory" of a device tree begin at `begin`, if it begins before. Its address and its size have 64 bits
 * each, as those of QEMU's "virt" have. Returns the end of the memory; 0: there is no tree, or no such node.
 */
uint64_t device_tree_begin_memory(unsigned char *tree, uint64_t begin);

#endif

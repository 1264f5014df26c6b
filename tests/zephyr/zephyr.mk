# SPDX-License-Identifier: MIT
#
# The module for Zephyr on a kernel of our own that stands for it.  Not in `make test`: .ci/run runs it.
# What is not installed is skipped by name.

ZEPHYR_PACKAGES := gcc libc6-dev clang python3 cmake ninja-build python3-kconfiglib gcc-aarch64-linux-gnu \
	libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross

.PHONY: test-zephyr deps-zephyr
test-zephyr:
	@$(PYTHON) tests/run_layer.py zephyr --jobs $(JOBS) tests/zephyr/check_zephyr.py

deps-zephyr: apt
	$(APT_UPDATE)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove --no-install-recommends $(ZEPHYR_PACKAGES)

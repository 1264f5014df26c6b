# SPDX-License-Identifier: MIT
#
# The crates of bindings/rust.  Included by the Makefile.
#
#     make test-rust    builds and runs them on the silicon model, offline; not a part of `make test`
#     make crates       build/crates: the crates with the C sources in them, and their packages

RUST_PACKAGES := rustc cargo rust-clippy rust-src bindgen qemu-system-x86 libc6-dev-i386 lib32gcc-12-dev
.PHONY: deps-rust test-rust crates
# (Debian's standard library of 32 bits cannot be installed beside that of 64 bits on every mirror: it is unpacked.)
deps-rust: apt
	$(APT_UPDATE)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(RUST_PACKAGES)
	mkdir -p build/foreign/i386
	cd build/foreign/i386 && rm -f *.deb && apt-get download libstd-rust-dev:i386 && dpkg -x libstd-rust-dev_*.deb . || \
		echo "SKIPPED: libstd-rust-dev:i386 cannot be had; the crates will not run as 32-bit programs"

ifeq ($(and $(shell command -v cargo),$(shell command -v rustc)),)
test-rust:
	@$(PYTHON) tests/run_layer.py rust --skipped "skipped: cargo and rustc are not installed (make deps-rust)"
else
test-rust:
	@TEST_LIMIT_S=$(or $(TEST_LIMIT_S),3600) RUST_JOBS=$(JOBS) $(PYTHON) tests/run_layer.py rust tests/rust/test_rust.py
endif

crates:
	@$(PYTHON) tools/crates.py build/crates

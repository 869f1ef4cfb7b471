# SPDX-License-Identifier: MIT OR Apache-2.0
# `make demo` and `make test` are all that a newcomer needs; both install what is missing.

MARGAY := target/release/margay
# Fixed, so that one commit gives one verdict; another seed finds other things.
FUZZ_SEED ?= 20261121

.PHONY: setup build demo test lint examples bench install clean

setup:
	@tools/setup.sh

build: setup
	cargo build --release --workspace

demo: build
	$(MARGAY) run examples/demo.cu

lint: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

# The shared libraries first: tests open them, and `cargo test` builds none.
# `--workspace` everywhere: for one package cargo takes fewer features of the shared crates and builds them all anew.
test: lint build
	cargo build --workspace
	cargo test --workspace
	target/release/xtask ptx-coverage --check
	MARGAY_ENGINE=interp cargo test --workspace --test filetests
	MARGAY_ENGINE=jit cargo test --workspace --test filetests
	MARGAY_ENGINE=jit MARGAY_CPU=x86-64-v3 cargo test --workspace --test filetests run
	cargo test --workspace --no-run
	+$(MAKE) --jobs=3 --output-sync=target pyopencl fuzz checks cli

# What takes long and is in nobody's way: side by side, each told once it has ended.
.PHONY: cli checks pyopencl
cli:
	MARGAY=$(MARGAY) tests/cli/run.sh
checks:
	tests/checks/run.py --margay $(MARGAY)
	tests/checks/run.py --margay $(MARGAY) --engine=jit
pyopencl:
	tests/clients/run_pyopencl.py --margay $(MARGAY)

# One core each. The differential fuzzer has five minutes in all.
FUZZERS := differential differential-v3 parsers observers opencl-calls
.PHONY: fuzz $(FUZZERS:%=fuzz-%)
fuzz: $(FUZZERS:%=fuzz-%)
fuzz-%: export MARGAY_FUZZ_SEED = $(FUZZ_SEED)
fuzz-%: export MARGAY_JIT_CACHE = 0
fuzz-differential:
	MARGAY_FUZZ_SECONDS=180 cargo test --workspace --test differential -- --nocapture
fuzz-differential-v3:
	MARGAY_FUZZ_SECONDS=120 MARGAY_FUZZ_SEED=2 MARGAY_CPU=x86-64-v3 cargo test --workspace --test differential -- --nocapture
fuzz-parsers:
	MARGAY_FUZZ_SECONDS=60 cargo test --workspace --test fuzz -- --nocapture
fuzz-observers:
	MARGAY_FUZZ_SECONDS=20 cargo test --workspace --test random_kernels -- --nocapture
fuzz-opencl-calls:
	MARGAY_FUZZ_SECONDS=60 cargo test --workspace --test opencl call_sequences -- --nocapture

bench: build
	cargo xtask bench

PREFIX ?= /usr/local
install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/margay
	install $(MARGAY) $(DESTDIR)$(PREFIX)/bin/margay
	install -m 644 target/release/libmargay_jit.so $(DESTDIR)$(PREFIX)/lib/margay/libmargay_jit.so
	install -m 644 target/release/libcuda.so $(DESTDIR)$(PREFIX)/lib/margay/libcuda.so.1
	install -m 644 target/release/libcudart.so $(DESTDIR)$(PREFIX)/lib/margay/libcudart.so.12
	install -m 644 target/release/libcudart13.so $(DESTDIR)$(PREFIX)/lib/margay/libcudart.so.13
	install -m 644 target/release/libmargay_opencl.so $(DESTDIR)$(PREFIX)/lib/margay/libmargay_opencl.so
	install -d $(DESTDIR)$(PREFIX)/lib/margay/vendors
	echo $(PREFIX)/lib/margay/libmargay_opencl.so > $(DESTDIR)$(PREFIX)/lib/margay/vendors/margay.icd
	ln -sf libcuda.so.1 $(DESTDIR)$(PREFIX)/lib/margay/libcuda.so
	ln -sf libcudart.so.12 $(DESTDIR)$(PREFIX)/lib/margay/libcudart.so

clean:
	cargo clean

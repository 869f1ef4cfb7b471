# SPDX-License-Identifier: MIT OR Apache-2.0
# `make demo` and `make test` are all that a newcomer needs; both install what is missing.

MARGAY := target/release/margay

.PHONY: setup build demo test lint examples bench clean

setup:
	@tools/setup.sh

build: setup
	cargo build --release --workspace

demo: build
	$(MARGAY) run examples/demo.cu

lint: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

test: lint build
	cargo test --workspace
	MARGAY=$(MARGAY) tests/cli/run.sh

bench: build
	cargo xtask bench

clean:
	cargo clean

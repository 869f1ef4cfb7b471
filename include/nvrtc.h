// SPDX-License-Identifier: MIT OR Apache-2.0
// The run-time compiler's interface, which margay has not.
#error "margay has no NVRTC. Compile kernels ahead with `margay cc -ptx`, and load the PTX with cuModuleLoadData or cuLibraryLoadData"

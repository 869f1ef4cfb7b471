// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod arch_dependent_signature;
pub mod builtin_variable_written;
pub mod device_called_from_host;
pub mod device_function_address_on_host;
pub mod device_only_in_host_device;
pub mod exceptions_in_device;
pub mod function_pointer_before_fermi;
pub mod host_called_from_device;
pub mod host_function_in_host_device;
pub mod kernel_is_member;
pub mod kernel_needs_configuration;
pub mod kernel_returns_void;
pub mod kernel_with_host_or_device;
pub mod launch_from_device;
pub mod noinline_and_forceinline;
pub mod parameters_too_large;
pub mod recursion_before_fermi;
pub mod reference_to_host_object;
pub mod static_data_member;
pub mod static_variable_in_device;
pub mod unresolved_space_before_fermi;
pub mod variadic_device;
pub mod variadic_kernel;
pub mod virtual_argument;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod constant_too_large;
pub mod constant_written;
pub mod device_address_escapes;
pub mod device_address_on_host;
pub mod device_pointer_on_host;
pub mod device_variable_at_function_scope;
pub mod device_variable_on_host;
pub mod dynamic_initialiser;
pub mod dynamic_shared_alias;
pub mod extern_device_variable;
pub mod host_variable_in_device;
pub mod managed_restrictions;
pub mod misaligned_carve_up;
pub mod shared_initialiser;
pub mod specifier_in_host_function;
pub mod specifier_on_member;
pub mod specifier_on_parameter;
pub mod static_shared_too_large;
pub mod two_memory_spaces;

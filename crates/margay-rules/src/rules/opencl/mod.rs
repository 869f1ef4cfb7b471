// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod barrier_in_divergent_code;
pub mod constant_assigned;
pub mod constant_too_large_cl;
pub mod constant_uninitialised;
pub mod double_needs_extension;
pub mod field_space;
pub mod function_pointer;
pub mod global_variable_in_function;
pub mod image_in_memory;
pub mod kernel_not_void;
pub mod kernel_parameter_type;
pub mod kernel_pointer_space;
pub mod kernel_pointer_to_pointer;
pub mod local_initialiser;
pub mod local_too_large;
pub mod local_variable_scope;
pub mod program_scope_not_constant;
pub mod recursion;
pub mod space_changed;
pub mod static_variable;
pub mod string_literal_space;
pub mod variable_length_array;
pub mod variadic;
pub mod work_group_too_large;

// SPDX-License-Identifier: MIT OR Apache-2.0
// Work-item functions, barriers and fences.
//
// A range of work-items may be run as several grids: whole work-groups, and the remainders at its far sides
// (which are smaller). What holds for the whole range is in the environment registers, as
// `margay-opencl/src/ndrange.rs` fills them; what holds for the group is the hardware's.

#define OV __attribute__((overloadable))
#define ENV(n) ({ uint r_; __asm__("mov.u32 %0, %%envreg" #n ";" : "=r"(r_)); r_; })
#define ENV64(lo, hi) ((ulong)ENV(lo) | (ulong)ENV(hi) << 32)
// By dimension, with the specification's value for a dimension that is none.
#define BY_DIM(d, x, y, z, none) ((d) == 0 ? (x) : (d) == 1 ? (y) : (d) == 2 ? (z) : (none))

uint OV get_work_dim(void) { return ENV(0); }
size_t OV get_global_offset(uint d) { return BY_DIM(d, ENV64(3, 4), ENV64(5, 6), ENV64(7, 8), 0); }
size_t OV get_num_groups(uint d) { return BY_DIM(d, ENV(9), ENV(10), ENV(11), 1); }
size_t OV get_group_id(uint d) {
  return BY_DIM(d, (size_t)__nvvm_read_ptx_sreg_ctaid_x() + ENV(12), (size_t)__nvvm_read_ptx_sreg_ctaid_y() + ENV(13),
                (size_t)__nvvm_read_ptx_sreg_ctaid_z() + ENV(14), 0);
}
size_t OV get_enqueued_local_size(uint d) { return BY_DIM(d, ENV(15), ENV(16), ENV(17), 1); }
size_t OV get_global_size(uint d) { return BY_DIM(d, ENV64(18, 19), ENV64(20, 21), ENV64(22, 23), 1); }
size_t OV get_local_size(uint d) {
  return BY_DIM(d, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(), __nvvm_read_ptx_sreg_ntid_z(), 1);
}
size_t OV get_local_id(uint d) {
  return BY_DIM(d, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(), __nvvm_read_ptx_sreg_tid_z(), 0);
}
size_t OV get_global_id(uint d) {
  return get_group_id(d) * get_enqueued_local_size(d) + get_local_id(d) + get_global_offset(d);
}
size_t OV get_global_linear_id(void) {
  size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
         z = get_global_id(2) - get_global_offset(2);
  return (z * get_global_size(1) + y) * get_global_size(0) + x;
}
size_t OV get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}

void OV mem_fence(cl_mem_fence_flags f) { __nvvm_membar_cta(); }
void OV read_mem_fence(cl_mem_fence_flags f) { __nvvm_membar_cta(); }
void OV write_mem_fence(cl_mem_fence_flags f) { __nvvm_membar_cta(); }
// Execution orders all memory at a barrier. What the program asked for is for `margay run --check` to know, where the
// flags are constants: the pragma is for the next barrier of its basic block.
__attribute__((convergent, always_inline)) static void told_barrier(cl_mem_fence_flags f) {
  if (f == CLK_LOCAL_MEM_FENCE) __asm__ volatile(".pragma \"margay barrier orders local\";");
  if (f == CLK_GLOBAL_MEM_FENCE) __asm__ volatile(".pragma \"margay barrier orders global\";");
  __nvvm_bar_sync(0);
}
__attribute__((convergent)) void OV barrier(cl_mem_fence_flags f) { told_barrier(f); }
__attribute__((convergent)) void OV work_group_barrier(cl_mem_fence_flags f) { told_barrier(f); }
__attribute__((convergent)) void OV work_group_barrier(cl_mem_fence_flags f, memory_scope s) {
  if (s != memory_scope_work_item && s != memory_scope_work_group && s != memory_scope_sub_group) __nvvm_membar_gl();
  told_barrier(f);
}

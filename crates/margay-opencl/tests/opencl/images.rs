// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images and samplers: every kind, every format, every mode. What is expected is computed here, from the
//! specification's formulas ("Image Addressing and Filtering").

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

const FLOATS: cl_image_format =
    cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };

fn desc(kind: cl_mem_object_type, sizes: [usize; 4]) -> cl_image_desc {
    cl_image_desc {
        image_type: kind,
        image_width: sizes[0],
        image_height: sizes[1],
        image_depth: sizes[2],
        image_array_size: sizes[3],
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    }
}

impl Setup {
    fn try_image(
        &self,
        flags: cl_mem_flags,
        format: &cl_image_format,
        desc: &cl_image_desc,
        host: *mut c_void,
    ) -> (cl_mem, cl_int) {
        let mut error = 0;
        let image = cl!(clCreateImage(self.context, flags, format, desc, host, &mut error));
        assert_eq!(image.is_null(), error != 0);
        (image, error)
    }

    fn image<T>(&self, format: &cl_image_format, desc: &cl_image_desc, texels: &[T]) -> cl_mem {
        let from = texels.as_ptr().cast::<c_void>().cast_mut();
        let (image, error) = self.try_image(CL_MEM_COPY_HOST_PTR, format, desc, from);
        assert_eq!(error, 0);
        image
    }

    fn read_image<T: Copy + Default>(
        &self,
        image: cl_mem,
        origin: [usize; 3],
        region: [usize; 3],
        per_texel: usize,
    ) -> Vec<T> {
        let mut out = vec![T::default(); region.iter().product::<usize>() * per_texel];
        let (o, r, to) = (origin.as_ptr(), region.as_ptr(), out.as_mut_ptr().cast());
        let result =
            cl!(clEnqueueReadImage(self.queue, image, 1, o, r, 0, 0, to, 0, null(), null_mut()));
        assert_eq!(result, 0);
        out
    }
}

/// A kind with its type in the language, the coordinate of work-item `i`, sizes and the region of all texels.
type Kind = (cl_mem_object_type, &'static str, &'static str, [usize; 4], [usize; 3]);

const KINDS: &[Kind] = &[
    (CL_MEM_OBJECT_IMAGE1D, "image1d_t", "i", [24, 0, 0, 0], [24, 1, 1]),
    (
        CL_MEM_OBJECT_IMAGE1D_ARRAY,
        "image1d_array_t",
        "(int2)(i % 4, i / 4)",
        [4, 0, 0, 6],
        [4, 6, 1],
    ),
    (CL_MEM_OBJECT_IMAGE2D, "image2d_t", "(int2)(i % 4, i / 4)", [4, 6, 0, 0], [4, 6, 1]),
    (
        CL_MEM_OBJECT_IMAGE2D_ARRAY,
        "image2d_array_t",
        "(int4)(i % 4, i / 4 % 3, i / 12, 0)",
        [4, 3, 0, 2],
        [4, 3, 2],
    ),
    (
        CL_MEM_OBJECT_IMAGE3D,
        "image3d_t",
        "(int4)(i % 4, i / 4 % 3, i / 12, 0)",
        [4, 3, 2, 0],
        [4, 3, 2],
    ),
];

#[test]
fn every_kind_is_read_written_and_asked() {
    let setup = Setup::new(0);
    for (kind, ty, at, sizes, region) in KINDS {
        let asks = match *kind {
            CL_MEM_OBJECT_IMAGE2D => "get_image_height(a) * 100",
            CL_MEM_OBJECT_IMAGE3D => "get_image_height(a) * 100 + get_image_depth(a) * 10000",
            CL_MEM_OBJECT_IMAGE2D_ARRAY => {
                "get_image_dim(a).y * 100 + (int)get_image_array_size(a) * 1000000"
            }
            CL_MEM_OBJECT_IMAGE1D_ARRAY => "(int)get_image_array_size(a) * 1000000",
            _ => "0",
        };
        let source = format!(
            "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
            kernel void f(read_only {ty} a, write_only {ty} b, global int *o) {{
              int i = get_global_id(0);
              write_imagef(b, {at}, read_imagef(a, {at}) + read_imagef(a, s, {at}));
              if (i == 0) {{ o[0] = get_image_width(a) + {asks}; o[1] = get_image_channel_order(a);
                o[2] = get_image_channel_data_type(b); }} }}"
        );
        let kernel = setup.kernel(&source, "", "f");
        let texels: Vec<f32> = (0..96).map(|i| i as f32).collect();
        let from = setup.image(&FLOATS, &desc(*kind, *sizes), &texels);
        let (to, error) =
            setup.try_image(CL_MEM_WRITE_ONLY, &FLOATS, &desc(*kind, *sizes), null_mut());
        let asked = setup.buffer(&[0i32; 3]);
        assert_eq!((error, set(kernel, 0, &to)), (0, CL_INVALID_ARG_VALUE), "{ty}");
        assert_eq!((set(kernel, 0, &from), set(kernel, 1, &to), set(kernel, 2, &asked)), (0, 0, 0));
        assert_eq!(setup.run(kernel, 24, None), 0);
        let expected: Vec<f32> = texels.iter().map(|t| 2.0 * t).collect();
        assert_eq!(setup.read_image::<f32>(to, [0; 3], *region, 4), expected, "{ty}");
        let [w, h, d, layers] = sizes.map(|n| n as i32);
        let asked = setup.read::<i32>(asked, 3);
        let sum = w + h * 100 + d * 10_000 + layers * 1_000_000;
        assert_eq!(asked, [sum, CL_RGBA as i32, CL_FLOAT as i32], "{ty}");
    }
}

/// Components of a channel order, in the order of memory; the colour that a read gives of stored 1, 2, 3, 4.
fn order_of(order: cl_channel_order) -> (&'static [usize], [f64; 4]) {
    match order {
        CL_R => (&[0], [1.0, 0.0, 0.0, -1.0]),
        CL_A => (&[3], [0.0, 0.0, 0.0, 1.0]),
        CL_RG => (&[0, 1], [1.0, 2.0, 0.0, -1.0]),
        CL_RA => (&[0, 3], [1.0, 0.0, 0.0, 2.0]),
        CL_RGB => (&[0, 1, 2], [1.0, 2.0, 3.0, -1.0]),
        CL_RGBA => (&[0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0]),
        CL_BGRA => (&[2, 1, 0, 3], [3.0, 2.0, 1.0, 4.0]),
        CL_ARGB => (&[3, 0, 1, 2], [2.0, 3.0, 4.0, 1.0]),
        CL_ABGR => (&[3, 2, 1, 0], [4.0, 3.0, 2.0, 1.0]),
        CL_INTENSITY => (&[0], [1.0, 1.0, 1.0, 1.0]),
        CL_LUMINANCE => (&[0], [1.0, 1.0, 1.0, -1.0]),
        other => panic!("order {other:x}"),
    }
}

#[test]
fn every_format_is_filled_read_and_written() {
    let setup = Setup::new(0);
    let source = "#define K(T, s) kernel void f_##s(read_only image2d_t a, write_only image2d_t b, global T *o) { \
        T v = read_image##s(a, (int2)(1, 0)); *o = v; write_image##s(b, (int2)(0, 1), v); }
        K(float4, f) K(int4, i) K(uint4, ui)";
    let (program, result, log) = setup.build(source, "");
    assert_eq!(result, 0, "{log}");
    let mut formats = vec![FLOATS; 256];
    let (mut count, kind) = (0, CL_MEM_OBJECT_IMAGE2D);
    let list = formats.as_mut_ptr();
    let flags = CL_MEM_READ_WRITE;
    assert_eq!(
        cl!(clGetSupportedImageFormats(setup.context, flags, kind, 256, list, &mut count)),
        0
    );
    assert!(count > 60, "{count} formats");
    for format in &formats[..count as usize] {
        let (order, ty) = (format.image_channel_order, format.image_channel_data_type);
        let (name, signed) = match ty {
            CL_SIGNED_INT8 | CL_SIGNED_INT16 | CL_SIGNED_INT32 => (c"f_i", true),
            CL_UNSIGNED_INT8 | CL_UNSIGNED_INT16 | CL_UNSIGNED_INT32 => (c"f_ui", false),
            _ => (c"f_f", false),
        };
        let float = name == c"f_f";
        // Steps of 1, where there are steps.
        let steps = match ty {
            CL_SNORM_INT8 => 127.0,
            CL_SNORM_INT16 => 32767.0,
            CL_UNORM_INT8 => 255.0,
            CL_UNORM_INT16 => 65535.0,
            CL_UNORM_SHORT_565 | CL_UNORM_SHORT_555 => 31.0,
            CL_UNORM_INT_101010 => 1023.0,
            _ => 0.0,
        };
        // Stored channels 1 to 4, in memory's order, as components.
        let (channels, read) = order_of(order);
        let mut color = [0u32; 4];
        for (n, component) in channels.iter().enumerate() {
            let value = (n + 1) as f32;
            color[*component] = match (float, steps) {
                (true, 0.0) => (value / 8.0).to_bits(),
                (true, steps) => (value / steps).to_bits(),
                (false, _) if signed => -(value as i32) as u32,
                (false, _) => value as u32,
            };
        }
        let shape = desc(kind, [2, 2, 0, 0]);
        let (from, error) = setup.try_image(0, format, &shape, null_mut());
        assert_eq!(error, 0, "{order:x} {ty:x}");
        let (to, _) = setup.try_image(0, format, &shape, null_mut());
        let (all, fill) = ([2usize, 2, 1], color.as_ptr().cast());
        let (origin, none) = ([0usize; 3], null_mut());
        let (q, o, r) = (setup.queue, origin.as_ptr(), all.as_ptr());
        assert_eq!(cl!(clEnqueueFillImage(q, from, fill, o, r, 0, null(), none)), 0);
        let mut error = 0;
        let kernel = cl!(clCreateKernel(program, name.as_ptr(), &mut error));
        let out = setup.buffer(&[0u32; 4]);
        assert_eq!((set(kernel, 0, &from), set(kernel, 1, &to), set(kernel, 2, &out)), (0, 0, 0));
        assert_eq!(setup.run(kernel, 1, None), 0);
        let got = setup.read::<u32>(out, 4);
        for (component, wanted) in read.into_iter().enumerate() {
            // -1: opaque.
            let value = match float {
                true => f64::from(f32::from_bits(got[component])),
                false if signed => f64::from(got[component] as i32),
                false => f64::from(got[component]),
            };
            let wanted = match (wanted, steps) {
                (-1.0, _) => 1.0,
                (w, 0.0) if float => w / 8.0,
                // Green has six bits, so that a thirty-first is two steps.
                (w, steps) if float => {
                    let green = ty == CL_UNORM_SHORT_565 && component == 1;
                    if green { (w / 31.0 * 63.0).round() / 63.0 } else { w / f64::from(steps) }
                }
                (w, _) => {
                    if signed {
                        -w
                    } else {
                        w
                    }
                }
            };
            assert!(
                (value - wanted).abs() < 1e-6,
                "{order:x} {ty:x}: {component}: {value} for {wanted}"
            );
        }
        let size = {
            let mut size = 0usize;
            let to_size = std::ptr::from_mut(&mut size).cast();
            assert_eq!(cl!(clGetImageInfo(to, CL_IMAGE_ELEMENT_SIZE, 8, to_size, null_mut())), 0);
            size
        };
        let texel = |image, x, y| setup.read_image::<u8>(image, [x, y, 0], [1, 1, 1], size);
        assert_eq!(texel(from, 1, 0), texel(to, 0, 1), "{order:x} {ty:x}");
        for mem in [from, to, out] {
            cl!(clReleaseMemObject(mem));
        }
        cl!(clReleaseKernel(kernel));
    }
}

/// The texel that index `i` means, by the specification; `None` is the border.
fn index(mode: cl_addressing_mode, i: i64, n: i64) -> Option<i64> {
    match mode {
        CL_ADDRESS_CLAMP => (0..n).contains(&i).then_some(i),
        CL_ADDRESS_REPEAT => Some(i.rem_euclid(n)),
        CL_ADDRESS_MIRRORED_REPEAT => {
            let at = i.rem_euclid(2 * n);
            Some(if at < n { at } else { 2 * n - 1 - at })
        }
        _ => Some(i.clamp(0, n - 1)),
    }
}

#[test]
fn every_addressing_and_filter_mode() {
    const W: i64 = 5;
    const H: i64 = 3;
    let setup = Setup::new(0);
    let source = "kernel void f(read_only image2d_t a, sampler_t s, global const float2 *at, global float *o) {
        int i = get_global_id(0); o[i] = read_imagef(a, s, at[i]).x; }";
    let kernel = setup.kernel(source, "", "f");
    let texels: Vec<f32> = (0..W * H).map(|i| ((i * 7 + 3) % 11) as f32).collect();
    let format = cl_image_format { image_channel_order: CL_R, ..FLOATS };
    let image = setup.image(&format, &desc(CL_MEM_OBJECT_IMAGE2D, [5, 3, 0, 0]), &texels);
    let modes =
        [CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT];
    let texel = |mode, i: i64, j: i64| -> f64 {
        let at = index(mode, i, W).zip(index(mode, j, H));
        at.map_or(0.0, |(i, j)| f64::from(texels[(j * W + i) as usize]))
    };
    for mode in modes {
        for filter in [CL_FILTER_NEAREST, CL_FILTER_LINEAR] {
            for normalized in [false, true] {
                let repeats = matches!(mode, CL_ADDRESS_REPEAT | CL_ADDRESS_MIRRORED_REPEAT);
                let mut error = 0;
                let on = cl_bool::from(normalized);
                let sampler = cl!(clCreateSampler(setup.context, on, mode, filter, &mut error));
                if repeats && !normalized {
                    assert_eq!(error, CL_INVALID_VALUE);
                    continue;
                }
                assert_eq!(error, 0);
                let mut said = 0u32;
                let (what, to) = (CL_SAMPLER_ADDRESSING_MODE, std::ptr::from_mut(&mut said).cast());
                assert_eq!(cl!(clGetSamplerInfo(sampler, what, 4, to, null_mut())), 0);
                assert_eq!(said, mode);
                // Off the middles and the edges of texels, where rounding of the coordinate decides.
                let places: Vec<[f32; 2]> = (0..400)
                    .map(|k| [(k % 20) as f32 * 0.83 - 5.1, (k / 20) as f32 * 0.47 - 3.3])
                    .map(|[x, y]| if normalized { [x / W as f32, y / H as f32] } else { [x, y] })
                    .collect();
                let (at, out) = (setup.buffer(&places), setup.buffer(&[0f32; 400]));
                set(kernel, 0, &image);
                set(kernel, 1, &sampler);
                set(kernel, 2, &at);
                set(kernel, 3, &out);
                assert_eq!(setup.run(kernel, 400, None), 0);
                for (place, got) in places.iter().zip(setup.read::<f32>(out, 400)) {
                    let [x, y] = place.map(f64::from);
                    let (u, v) = if normalized { (x * W as f64, y * H as f64) } else { (x, y) };
                    let wanted = if filter == CL_FILTER_NEAREST {
                        texel(mode, u.floor() as i64, v.floor() as i64)
                    } else {
                        let (i, j) = ((u - 0.5).floor(), (v - 0.5).floor());
                        let (a, b) = (u - 0.5 - i, v - 0.5 - j);
                        let t = |di, dj| texel(mode, i as i64 + di, j as i64 + dj);
                        (1.0 - a) * (1.0 - b) * t(0, 0)
                            + a * (1.0 - b) * t(1, 0)
                            + (1.0 - a) * b * t(0, 1)
                            + a * b * t(1, 1)
                    };
                    // Weights are those of a card, of 8 bits: 10 apart at most, by two halves of 1/256.
                    let off = (f64::from(got) - wanted).abs();
                    let may = if filter == CL_FILTER_NEAREST { 0.0 } else { 0.06 };
                    assert!(
                        off <= may,
                        "{mode:x} {filter:x} {normalized} at {place:?}: {got}, not {wanted}"
                    );
                }
                cl!(clReleaseSampler(sampler));
            }
        }
    }
}

#[test]
fn borders_layers_and_samplers_in_the_source() {
    let setup = Setup::new(0);
    let source = "kernel void f(read_only image1d_array_t a, read_only image1d_t b, global float4 *o) {
        const sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
        const sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
        o[0] = read_imagef(a, edge, (float2)(0.5f, 1.4f)); o[1] = read_imagef(a, edge, (float2)(9.0f, 7.6f));
        o[2] = read_imagef(a, edge, (float2)(-1.0f, -3.0f)); o[3] = read_imagef(a, border, -1, 0);
        o[4] = read_imagef(b, border, 5); }"
        .replace("border, -1, 0", "border, (int2)(-1, 0)");
    let kernel = setup.kernel(&source, "", "f");
    let texels: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let a = setup.image(&FLOATS, &desc(CL_MEM_OBJECT_IMAGE1D_ARRAY, [2, 0, 0, 3]), &texels);
    let red = cl_image_format { image_channel_order: CL_R, ..FLOATS };
    let b = setup.image(&red, &desc(CL_MEM_OBJECT_IMAGE1D, [4, 0, 0, 0]), &texels[..4]);
    let out = setup.buffer(&[0f32; 20]);
    assert_eq!((set(kernel, 0, &a), set(kernel, 1, &b), set(kernel, 2, &out)), (0, 0, 0));
    assert_eq!(setup.run(kernel, 1, None), 0);
    let got = setup.read::<f32>(out, 20);
    assert_eq!(got[..4], [8.0, 9.0, 10.0, 11.0]);
    assert_eq!(got[4..12], [20.0, 21.0, 22.0, 23.0, 0.0, 1.0, 2.0, 3.0]);
    // Without alpha the border is opaque.
    assert_eq!(got[12..], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_kernel_reads_what_it_wrote() {
    let setup = Setup::new(0);
    let source = "kernel void f(read_write image2d_t a, global uint *o) {
        int i = get_global_id(0); int2 at = (int2)(i, 1);
        write_imageui(a, at, (uint4)(i + 300, 0, 0, 0)); atomic_work_item_fence(CLK_IMAGE_MEM_FENCE,
            memory_order_acq_rel, memory_scope_work_item); o[i] = read_imageui(a, at).x; }";
    let kernel = setup.kernel(source, "-cl-std=CL3.0", "f");
    let format =
        cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_UNSIGNED_INT8 };
    let shape = desc(CL_MEM_OBJECT_IMAGE2D, [4, 2, 0, 0]);
    let (image, error) = setup.try_image(CL_MEM_KERNEL_READ_AND_WRITE, &format, &shape, null_mut());
    let out = setup.buffer(&[0u32; 4]);
    assert_eq!((error, set(kernel, 0, &image), set(kernel, 1, &out)), (0, 0, 0));
    assert_eq!(setup.run(kernel, 4, None), 0);
    // Integers saturate.
    assert_eq!(setup.read::<u32>(out, 4), [255; 4]);
}

#[test]
fn images_over_buffers() {
    let setup = Setup::new(0);
    let source = "kernel void f(read_only image1d_buffer_t a, write_only image2d_t b) {
        int i = get_global_id(0); write_imagei(b, (int2)(i % 4, i / 4), read_imagei(a, i) + 1); }";
    let kernel = setup.kernel(source, "", "f");
    let format =
        cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_SIGNED_INT32 };
    let (from, to) = (setup.buffer(&[5i32, 6, 7, 8, 9, 10, 11, 12]), setup.buffer(&[0i32; 12]));
    let line = cl_image_desc { buffer: from, ..desc(CL_MEM_OBJECT_IMAGE1D_BUFFER, [8, 0, 0, 0]) };
    let (a, error) = setup.try_image(0, &format, &line, null_mut());
    assert_eq!(error, 0);
    // Rows six integers apart.
    let mut plane = cl_image_desc { buffer: to, ..desc(CL_MEM_OBJECT_IMAGE2D, [4, 2, 0, 0]) };
    plane.image_row_pitch = 24;
    let (b, error) = setup.try_image(0, &format, &plane, null_mut());
    assert_eq!(error, 0);
    assert_eq!(
        (set(kernel, 0, &from), set(kernel, 1, &a)),
        (CL_INVALID_MEM_OBJECT, CL_INVALID_MEM_OBJECT)
    );
    assert_eq!((set(kernel, 0, &a), set(kernel, 1, &b)), (0, 0));
    assert_eq!(setup.run(kernel, 8, None), 0);
    assert_eq!(setup.read::<i32>(to, 12), [6, 7, 8, 9, 0, 0, 10, 11, 12, 13, 0, 0]);
    let mut parent: cl_mem = null_mut();
    let to_parent = std::ptr::from_mut(&mut parent).cast();
    assert_eq!(cl!(clGetImageInfo(b, CL_IMAGE_BUFFER, 8, to_parent, null_mut())), 0);
    assert_eq!(parent, to);
    // The buffer lives as long as the image.
    assert_eq!(
        (cl!(clReleaseMemObject(to)), cl!(clReleaseMemObject(to))),
        (0, CL_INVALID_MEM_OBJECT)
    );
    assert_eq!(setup.read_image::<i32>(b, [3, 1, 0], [1, 1, 1], 1), [13]);
}

#[test]
fn copies_maps_and_pitches() {
    let setup = Setup::new(0);
    let format =
        cl_image_format { image_channel_order: CL_RG, image_channel_data_type: CL_UNSIGNED_INT8 };
    let texels: Vec<[u8; 2]> = (0..24).map(|i| [i, 100 + i]).collect();
    let shape = desc(CL_MEM_OBJECT_IMAGE3D, [4, 3, 2, 0]);
    let (a, b) = (setup.image(&format, &shape, &texels), setup.image(&format, &shape, &texels));
    let none = || (0, null(), null_mut());
    let (count, list, event) = none();
    let (from, to, region) = ([1usize, 1, 1], [0usize, 0, 0], [2usize, 2, 1]);
    let (f, t, r) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
    assert_eq!(cl!(clEnqueueCopyImage(setup.queue, a, b, f, t, r, count, list, event)), 0);
    let got = setup.read_image::<[u8; 2]>(b, [0; 3], [3, 2, 1], 1);
    assert_eq!(got, [[17, 117], [18, 118], [2, 102], [21, 121], [22, 122], [6, 106]]);
    let near = [1usize, 0, 1];
    let overlap =
        cl!(clEnqueueCopyImage(setup.queue, a, a, f, near.as_ptr(), r, count, list, event));
    assert_eq!(overlap, CL_MEM_COPY_OVERLAP);
    let buffer = setup.buffer(&[0u8; 12]);
    let q = setup.queue;
    assert_eq!(cl!(clEnqueueCopyImageToBuffer(q, a, buffer, f, r, 2, count, list, event)), 0);
    assert_eq!(setup.read::<u8>(buffer, 11), [0, 0, 17, 117, 18, 118, 21, 121, 22, 122, 0]);
    let beyond = cl!(clEnqueueCopyImageToBuffer(q, a, buffer, f, r, 5, count, list, event));
    assert_eq!(beyond, CL_INVALID_VALUE);
    assert_eq!(cl!(clEnqueueCopyBufferToImage(q, buffer, b, 1, f, r, count, list, event)), 0);
    let got = setup.read_image::<u8>(b, [1, 1, 1], [2, 2, 1], 2);
    assert_eq!(got, [0, 17, 117, 18, 118, 21, 121, 22]);
    // A write with pitches of the program's.
    let rows = [1u8, 2, 9, 9, 3, 4, 9, 9];
    let (at, size) = ([0usize, 1, 0], [1usize, 2, 1]);
    let (p, s) = (at.as_ptr(), size.as_ptr());
    let host = rows.as_ptr().cast();
    assert_eq!(cl!(clEnqueueWriteImage(q, b, 1, p, s, 4, 0, host, count, list, event)), 0);
    assert_eq!(setup.read_image::<u8>(b, [0, 1, 0], [1, 2, 1], 2), [1, 2, 3, 4]);
    let (mut row, mut slice, mut error) = (0, 0, 0);
    let flags = CL_MAP_READ | CL_MAP_WRITE;
    let map = cl!(clEnqueueMapImage(
        q, a, 1, flags, f, r, &mut row, &mut slice, count, list, event, &mut error
    ));
    assert_eq!((error, row, slice), (0, 8, 24));
    // SAFETY: the region is mapped, with these pitches.
    unsafe {
        let second = map.cast::<u8>().add(row);
        assert_eq!(*second, 21);
        *second = 77;
    }
    assert_eq!(cl!(clEnqueueUnmapMemObject(q, a, map, count, list, event)), 0);
    assert_eq!(setup.read_image::<u8>(a, [1, 2, 1], [1, 1, 1], 2), [77, 121]);
}

#[test]
fn the_programs_own_memory() {
    let setup = Setup::new(0);
    // Rows of three texels in sixteen bytes.
    let mut memory = [0u32; 8];
    let format =
        cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };
    let mut shape = desc(CL_MEM_OBJECT_IMAGE2D, [3, 2, 0, 0]);
    shape.image_row_pitch = 16;
    let host = memory.as_mut_ptr().cast::<c_void>();
    let (image, error) = setup.try_image(CL_MEM_USE_HOST_PTR, &format, &shape, host);
    assert_eq!(error, 0);
    let (color, q) = ([1.0f32, 0.0, 0.0, 1.0], setup.queue);
    let (origin, all) = ([0usize; 3], [3usize, 2, 1]);
    let (o, r) = (origin.as_ptr(), all.as_ptr());
    let fill = color.as_ptr().cast();
    assert_eq!(cl!(clEnqueueFillImage(q, image, fill, o, r, 0, null(), null_mut())), 0);
    let (mut row, mut error) = (0, 0);
    let none = null_mut();
    let map = cl!(clEnqueueMapImage(
        q,
        image,
        1,
        CL_MAP_READ,
        o,
        r,
        &mut row,
        null_mut(),
        0,
        null(),
        none,
        &mut error
    ));
    assert_eq!((error, row, map), (0, 16, host));
    let red = u32::from_le_bytes([255, 0, 0, 255]);
    assert_eq!(memory, [red, red, red, 0, red, red, red, 0]);
}

#[test]
fn what_is_wrong_with_an_image() {
    let setup = Setup::new(0);
    let shape = desc(CL_MEM_OBJECT_IMAGE2D, [4, 4, 0, 0]);
    let error = |flags, format: &cl_image_format, shape: &cl_image_desc, host: *mut c_void| {
        setup.try_image(flags, format, shape, host).1
    };
    let none = null_mut();
    let format = |image_channel_order, image_channel_data_type| cl_image_format {
        image_channel_order,
        image_channel_data_type,
    };
    let descriptor = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    assert_eq!(error(0, &format(CL_RGB, CL_FLOAT), &shape, none), descriptor);
    assert_eq!(error(0, &format(7, CL_FLOAT), &shape, none), descriptor);
    let unsupported = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    assert_eq!(error(0, &format(CL_Rx, CL_FLOAT), &shape, none), unsupported);
    let srgb = format(CL_sRGBA, CL_UNORM_INT8);
    assert_eq!(error(CL_MEM_WRITE_ONLY, &srgb, &shape, none), unsupported);
    assert_eq!(error(CL_MEM_READ_ONLY, &srgb, &shape, none), 0);
    assert_eq!(
        error(0, &FLOATS, &desc(CL_MEM_OBJECT_PIPE, [4; 4]), none),
        CL_INVALID_IMAGE_DESCRIPTOR
    );
    let big = desc(CL_MEM_OBJECT_IMAGE2D, [1 << 20, 4, 0, 0]);
    assert_eq!(error(0, &FLOATS, &big, none), CL_INVALID_IMAGE_SIZE);
    let zero = desc(CL_MEM_OBJECT_IMAGE2D, [4, 0, 0, 0]);
    assert_eq!(error(0, &FLOATS, &zero, none), CL_INVALID_IMAGE_SIZE);
    let mut pitched = shape;
    pitched.image_row_pitch = 64;
    assert_eq!(error(0, &FLOATS, &pitched, none), CL_INVALID_IMAGE_DESCRIPTOR);
    let mut texel = [0u8; 256];
    let host = texel.as_mut_ptr().cast();
    assert_eq!(error(0, &FLOATS, &shape, host), CL_INVALID_HOST_PTR);
    assert_eq!(error(CL_MEM_COPY_HOST_PTR, &FLOATS, &shape, none), CL_INVALID_HOST_PTR);
    assert_eq!(
        error(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, &FLOATS, &shape, none),
        CL_INVALID_VALUE
    );
    let mut levels = shape;
    levels.num_mip_levels = 2;
    assert_eq!(error(0, &FLOATS, &levels, none), CL_INVALID_IMAGE_DESCRIPTOR);
    let (image, _) = setup.try_image(0, &FLOATS, &shape, none);
    let read = |origin: [usize; 3], region: [usize; 3], row| {
        let mut to = [0u8; 1024];
        let (o, r, to) = (origin.as_ptr(), region.as_ptr(), to.as_mut_ptr().cast());
        cl!(clEnqueueReadImage(setup.queue, image, 1, o, r, row, 0, to, 0, null(), null_mut()))
    };
    assert_eq!((read([0; 3], [4, 4, 1], 0), read([1, 0, 0], [4, 4, 1], 0)), (0, CL_INVALID_VALUE));
    assert_eq!(
        (read([0; 3], [4, 4, 2], 0), read([0, 0, 1], [4, 4, 1], 0)),
        (CL_INVALID_VALUE, CL_INVALID_VALUE)
    );
    assert_eq!(
        (read([0; 3], [4, 4, 1], 60), read([0; 3], [0, 4, 1], 0)),
        (CL_INVALID_VALUE, CL_INVALID_VALUE)
    );
    // A buffer's functions take no image, and the other way round.
    let mut byte = 0u8;
    let to = std::ptr::from_mut(&mut byte).cast();
    let buffer = setup.buffer(&[0u8; 64]);
    let q = setup.queue;
    assert_eq!(
        cl!(clEnqueueReadBuffer(q, image, 1, 0, 1, to, 0, null(), null_mut())),
        CL_INVALID_MEM_OBJECT
    );
    assert_eq!(
        cl!(clGetImageInfo(buffer, CL_IMAGE_WIDTH, 8, to, null_mut())),
        CL_INVALID_MEM_OBJECT
    );
    let source = "kernel void f(read_only image2d_t a, sampler_t s) {}";
    let kernel = setup.kernel(source, "", "f");
    assert_eq!(
        (set(kernel, 0, &buffer), set(kernel, 1, &buffer)),
        (CL_INVALID_MEM_OBJECT, CL_INVALID_SAMPLER)
    );
    assert_eq!((set(kernel, 0, &image), set(kernel, 1, &1u32)), (0, CL_INVALID_ARG_SIZE));
    assert_eq!(setup.run(kernel, 1, None), CL_INVALID_KERNEL_ARGS);
}

#[test]
fn svm_is_a_buffer_too() {
    let setup = Setup::new(0);
    let kernel =
        setup.kernel("kernel void f(global float *a) { a[get_global_id(0)] *= 2; }", "", "f");
    let memory = cl!(clSVMAlloc(setup.context, CL_MEM_READ_WRITE, 16, 0));
    let values = memory.cast::<[f32; 4]>();
    // SAFETY: sixteen bytes, which no kernel uses now.
    unsafe { values.write([1.0, 2.0, 3.0, 4.0]) };
    assert_eq!(cl!(clSetKernelArgSVMPointer(kernel, 0, memory)), 0);
    assert_eq!(setup.run(kernel, 4, None), 0);
    let mut error = 0;
    let flags = CL_MEM_USE_HOST_PTR;
    let buffer = cl!(clCreateBuffer(setup.context, flags, 16, memory, &mut error));
    assert_eq!((error, set(kernel, 0, &buffer)), (0, 0));
    assert_eq!(setup.run(kernel, 4, None), 0);
    assert_eq!(cl!(clFinish(setup.queue)), 0);
    // SAFETY: as above.
    assert_eq!(unsafe { values.read() }, [4.0, 8.0, 12.0, 16.0]);
    cl!(clSVMFree(setup.context, memory));
}

/// The test above once more, as a process that is profiled: what it does with its images is in the profile.
#[test]
fn images_are_in_the_profile() {
    let place = format!("{}/images-profile-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::create_dir_all(&place).unwrap();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "images::images_over_buffers"])
        .env("MARGAY_PROFILE", &place)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = std::fs::read_dir(&place).unwrap().flatten().map(|e| e.path());
    let file = file.filter(|p| p.extension().is_some_and(|e| e == "json")).collect::<Vec<_>>();
    let raw: serde_json::Value = serde_json::from_slice(&std::fs::read(&file[0]).unwrap()).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let kernel = &raw["kernels"][0];
    let site = |space: &str| {
        let sites = kernel["sites"].as_array().unwrap();
        sites.iter().find(|s| s["space"] == space).unwrap_or_else(|| panic!("{kernel}")).clone()
    };
    let (read, written) = (site("texture"), site("surface"));
    assert_eq!((&read["kind"], &written["kind"]), (&"load".into(), &"store".into()));
    assert_eq!((&read["counts"][0]["texels"], &read["lanes"]), (&8.into(), &8.into()));
    // Eight integers in a row; two rows of four, 24 bytes apart.
    assert_eq!(read["counts"][0]["sectors"], 1);
    assert_eq!(
        (&written["counts"][0]["texels"], &written["texture"]["pitch"]),
        (&8.into(), &24.into())
    );
    let argument = |s: &serde_json::Value| {
        kernel["variables"][s["variable"].as_u64().unwrap() as usize]["argument"].clone()
    };
    assert_eq!((argument(&read), argument(&written)), (0.into(), 1.into()));
}

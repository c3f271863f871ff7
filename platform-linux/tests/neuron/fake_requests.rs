//! The stand-in: what it answers to requests.

use std::ffi::c_void;

use nrt_core::abi::driver::*;
use nrt_core::driver::feature;
use nrt_linux::neuron::Kind;
use nrt_linux::request::*;

use crate::fake::{Chunk, Fake, State};

const EINVAL: i32 = -22;
const ENOMEM: i32 = -12;

fn number<R: Request>() -> u32 {
    R::NUMBER
}

/// The context after `earlier`: the two take turns, and a synchronous copy has none.
fn next_context(earlier: u32) -> u32 {
    match earlier {
        u32::MAX | 2 => 1,
        1 => 2,
        _ => 0,
    }
}

impl Fake {
    /// The return value of a request.
    ///
    /// # Safety
    /// The struct that belongs to `request` is at `argument`, and what it points to is valid.
    pub(crate) unsafe fn answer(&self, state: &mut State, (node, kind): (u32, Kind), request: u32, argument: *mut c_void) -> i32 {
        macro_rules! argument {
            ($type:ty) => {
                // SAFETY: by contract the struct that belongs to the request is there, and the number tells its type.
                unsafe { &mut *argument.cast::<$type>() }
            };
        }
        let setup = &self.setup;
        let wide = setup.features & feature::MEM_ALLOC64 != 0;
        let misc_too = [
            number::<DeviceBasicInfo<'_>>(),
            number::<DriverInfoGet<'_>>(),
            number::<CompatibleVersion<'_>>(),
            number::<DeviceBdfExt<'_>>(),
            number::<HostDeviceIdToRidMap<'_>>(),
            number::<GetLogicalToPhysicalNcMap<'_>>(),
            number::<CrwlNcRangeMark<'_>>(),
            number::<CrwlNcRangeMarkExt0<'_>>(),
            number::<CrwlNcRangeUnmark<'_>>(),
            number::<CrwlNcRangeUnmarkExt0<'_>>(),
        ];
        if kind == Kind::Misc && !misc_too.contains(&request) {
            return EINVAL;
        }
        match request {
            n if n == number::<DeviceBasicInfo<'_>>() => {
                let answer = argument!(neuron_ioctl_device_basic_info);
                (answer.architecture, answer.revision) = (setup.arch, 1);
                0
            }
            n if n == number::<DriverInfoGet<'_>>() && setup.has_flags => {
                argument!(neuron_ioctl_device_driver_info).feature_flags1 = setup.features;
                0
            }
            n if n == number::<CompatibleVersion<'_>>() => {
                let answer = argument!(neuron_ioctl_compatible_version);
                (answer.min, answer.max) = setup.serves;
                0
            }
            n if n == number::<HostDeviceId<'_>>() => {
                argument!(neuron_ioctl_host_device_id).host_device_id = node;
                0
            }
            n if n == number::<HostDeviceIdToRidMap<'_>>() => {
                let answer = argument!(neuron_ioctl_host_device_id_to_rid_map);
                answer.count = 4;
                answer.host_did_to_rid_map[..4].copy_from_slice(&[0, 4, 1, 5]);
                0
            }
            n if n == number::<DeviceBdfExt<'_>>() => {
                let answer = argument!(neuron_ioctl_device_bdf_ext);
                assert!(node + answer.nd_index < 64, "kernel assertion");
                (answer.bus_number, answer.slot, answer.func) = (0xA0 + node + answer.nd_index, 0x1E, 0);
                0
            }
            n if n == number::<GetLogicalToPhysicalNcMap<'_>>() => {
                if setup.arch == 2 {
                    return -524;
                }
                let answer = argument!(neuron_ioctl_get_logical_to_physical_nc_map);
                // SAFETY: the request points to a map with room for as many entries as it says.
                let map = unsafe { &mut *answer.map.cast::<core_map>() };
                map.header.num_entries = 128;
                map.entries[1] = neuron_ioctl_nc_map_entry { device_id: 0, device_nc_idx: 5 };
                0
            }
            n if n == number::<MemAllocV2Mt64<'_>>() && wide => {
                let a = argument!(neuron_ioctl_mem_alloc_v2_mem_type64);
                self.allocate(state, (a.size, a.align, a.host_memory, a.nc_id, a.mem_type), (node, a.dram_channel), a.mem_handle)
            }
            n if n == number::<MemAllocV2Mt<'_>>() && setup.features & feature::MEM_ALLOC_TYPE != 0 => {
                let a = argument!(neuron_ioctl_mem_alloc_v2_mem_type);
                self.allocate(state, (a.size, a.align, a.host_memory, a.nc_id, a.mem_type), (node, a.dram_channel), a.mem_handle)
            }
            n if n == number::<MemAllocV2<'_>>() && setup.serves.1 >= 3 => {
                let a = argument!(neuron_ioctl_mem_alloc_v2);
                self.allocate(state, (a.size, a.align, a.host_memory, a.nc_id, 7), (node, a.dram_channel), a.mem_handle)
            }
            n if n == number::<MemAlloc<'_>>() => {
                let a = argument!(neuron_ioctl_mem_alloc);
                self.allocate(state, (a.size, 0, a.host_memory, a.nc_id, 7), (node, a.dram_channel), a.mem_handle)
            }
            n if n == number::<MemFree<'_>>() => {
                if state.chunks.remove(&argument!(neuron_ioctl_mem_free).mem_handle).is_some() {
                    0
                } else {
                    EINVAL
                }
            }
            n if n == number::<MemGetExtendedInfo<'_>>() && setup.queries.0 => {
                let a = argument!(neuron_ioctl_mem_get_extended_info);
                let Some(chunk) = state.chunks.get(&a.mem_handle) else { return 22 };
                (a.mem_handle, a.version) = (0xFFFF_8880_1234_5678, 0xDEAD);
                (a.pa, a.mmap_offset, a.size, a.host_memory, a.pid) = (chunk.pa, chunk.pa, chunk.size, chunk.host.into(), 100);
                0
            }
            n if n == number::<MemGetInfo<'_>>() && setup.queries.1 => {
                let a = argument!(neuron_ioctl_mem_get_info);
                let Some(chunk) = state.chunks.get(&a.mem_handle) else { return EINVAL };
                // SAFETY: the request's pointers are valid.
                unsafe { (*a.pa, *a.mmap_offset) = (chunk.pa, chunk.pa) };
                0
            }
            n if n == number::<MemGetPa<'_>>() => {
                let a = argument!(neuron_ioctl_mem_get_pa);
                let Some(chunk) = state.chunks.get(&a.mem_handle) else { return EINVAL };
                // SAFETY: the request's pointer is valid.
                unsafe { *a.pa = chunk.pa };
                0
            }
            n if n == number::<MemCopy64<'_>>() && wide => {
                let a = *argument!(neuron_ioctl_mem_copy64);
                self.copy(state, (a.src_mem_handle, a.src_offset), (a.dst_mem_handle, a.dst_offset), a.size)
            }
            n if n == number::<MemCopy<'_>>() => {
                let a = *argument!(neuron_ioctl_mem_copy);
                let (size, src, dst) = (a.size.into(), a.src_offset.into(), a.dst_offset.into());
                self.copy(state, (a.src_mem_handle, src), (a.dst_mem_handle, dst), size)
            }
            n if n == number::<MemCopyAsync64<'_>>() && wide => {
                let a = argument!(neuron_ioctl_mem_copy_async64);
                assert!(a.size <= 2032 * 65536, "ring entries are lost");
                a.wait_handle = next_context(a.pwait_handle);
                state.started.push(a.wait_handle);
                self.copy(state, (a.src_mem_handle, a.src_offset), (a.dst_mem_handle, a.dst_offset), a.size)
            }
            n if n == number::<MemCopyAsync<'_>>() && setup.features & feature::ASYNC_DMA != 0 => {
                let a = argument!(neuron_ioctl_mem_copy_async);
                let (size, src, dst) = (a.size.into(), a.src_offset.into(), a.dst_offset.into());
                a.wait_handle = next_context(a.pwait_handle);
                state.started.push(a.wait_handle);
                self.copy(state, (a.src_mem_handle, src), (a.dst_mem_handle, dst), size)
            }
            n if n == number::<MemCopyAsyncWait<'_>>() => {
                let wait = argument!(neuron_ioctl_mem_copy_async_wait).pwait_handle;
                if state.started.contains(&wait) { 0 } else { EINVAL }
            }
            n if n == number::<MemBufCopy64<'_>>() && wide => {
                let a = *argument!(neuron_ioctl_mem_buf_copy64);
                self.transfer(state, a.mem_handle, a.offset, a.buffer, a.size, a.copy_to_mem_handle == 1)
            }
            n if n == number::<MemBufCopy<'_>>() => {
                let a = *argument!(neuron_ioctl_mem_buf_copy);
                self.transfer(state, a.mem_handle, a.offset.into(), a.buffer, a.size.into(), a.copy_to_mem_handle == 1)
            }
            n if n == number::<MemBufZerocopy64<'_>>() && setup.features & feature::ZEROCOPY != 0 => {
                let a = *argument!(neuron_ioctl_mem_buf_copy64zc);
                assert_eq!(a.h2t_qid, -1);
                self.transfer(state, a.mem_handle, a.offset, a.buffer, a.size, a.is_copy_to_device == 1)
            }
            n if n == number::<MemBufZerocopy64Batches<'_>>() && setup.features & feature::ZEROCOPY != 0 => {
                let a = *argument!(neuron_ioctl_mem_buf_copy64zc_batches);
                // SAFETY: the request points to as many batches as it says, and each to as many pieces.
                let batches = unsafe { std::slice::from_raw_parts(a.batches_ptr, a.num_batches as usize) };
                for batch in batches {
                    // SAFETY: as above.
                    for op in unsafe { std::slice::from_raw_parts(batch.ops_ptr, batch.num_ops as usize) } {
                        let at = batch.mem_handle_offset + op.offset;
                        let into = a.is_copy_to_device == 1;
                        let returned = self.transfer(state, batch.mem_handle, at, op.buffer, op.size, into);
                        if returned != 0 || op.size == 0 {
                            return EINVAL;
                        }
                    }
                }
                0
            }
            n if n == number::<Memset64<'_>>() && wide => {
                let a = *argument!(neuron_ioctl_memset64);
                self.set(state, a.mem_handle, a.offset, a.value, a.size)
            }
            n if n == number::<Memset<'_>>() => {
                let a = *argument!(neuron_ioctl_memset);
                self.set(state, a.mem_handle, a.offset, a.value, a.size.into())
            }
            n if n == number::<CrwlNcRangeMarkExt0<'_>>() && setup.features & 8 != 0 => {
                let a = argument!(neuron_ioctl_crwl_nc_map_ext);
                let (longest, found) = self.mark(state, node, a.nc_count, a.start_nc_index, a.end_nc_index);
                a.max_nc_available = longest;
                match found {
                    Some(first) => {
                        (first..first + a.nc_count).for_each(|core| a.bitmap[core as usize / 64] |= 1 << (core % 64));
                        0
                    }
                    None => -16,
                }
            }
            n if n == number::<CrwlNcRangeMark<'_>>() => {
                let a = argument!(neuron_ioctl_crwl_nc_map);
                let (longest, found) = self.mark(state, node, a.nc_count, a.start_nc_index, a.end_nc_index);
                a.max_nc_available = longest;
                match found {
                    Some(first) => {
                        (first..first + a.nc_count).for_each(|core| a.bitmap |= 1 << core);
                        0
                    }
                    None => -16,
                }
            }
            n if n == number::<CrwlNcRangeUnmarkExt0<'_>>() && setup.features & 8 != 0 => {
                let map = argument!(neuron_ioctl_crwl_nc_map_ext).bitmap;
                let mine = self.pid.load(std::sync::atomic::Ordering::Relaxed);
                let base = node * setup.cores_per_device;
                state.owners.retain(|&core, &mut owner| {
                    owner != mine || core < base || map[(core - base) as usize / 64] >> ((core - base) % 64) & 1 == 0
                });
                0
            }
            n if n == number::<CrwlNcRangeUnmark<'_>>() => {
                let map = argument!(neuron_ioctl_crwl_nc_map).bitmap;
                state.owners.retain(|&core, &mut owner| owner != 100 || map >> core & 1 == 0);
                0
            }
            n if n == number::<ResourceMmapInfo<'_>>() => match setup.told_hbm_bytes {
                Some(bytes) => {
                    argument!(neuron_ioctl_resource_mmap_info).size = bytes;
                    0
                }
                None => EINVAL,
            },
            n if n == number::<DumpMemChunks<'_>>() => {
                let a = argument!(neuron_ioctl_dump_mem_chunks);
                a.num_entries_out = state.chunks.len() as u32;
                if a.num_entries_out > a.num_entries_in { -11 } else { 0 }
            }
            n if n == number::<DeviceGetAllAppsInfo<'_>>() => {
                let a = argument!(attached_processes);
                a.header.size = 2;
                for (entry, pid) in a.entries.iter_mut().zip([100, 321]) {
                    (entry.pid, entry.device_mem_size) = (pid, 4096);
                }
                0
            }
            _ => EINVAL,
        }
    }

    fn allocate(
        &self,
        state: &mut State,
        (size, align, host, nc_id, category): (u64, u64, u32, u32, u32),
        (node, channel): (u32, u32),
        handle: *mut u64,
    ) -> i32 {
        assert!(!(category == 19 && host != 0), "kernel null dereference");
        let channels = if self.setup.arch == 2 { 2 } else { 4 };
        if channel >= channels || nc_id >= 8 || (host != 0 && align != 0) {
            return EINVAL;
        }
        let size = size.next_multiple_of(4096);
        if size == 0 || size > 16 << 30 || (host != 0 && size > 4 << 20) {
            return ENOMEM;
        }
        let pa = state.next_pa.next_multiple_of(align.max(4096));
        let at = state.next_at;
        state.next_pa = pa + size;
        state.next_at += size;
        let number = state.next_handle;
        state.next_handle += 1;
        let pa = if host != 0 { pa | 1 << 44 } else { pa };
        state.chunks.insert(number, Chunk { node, pa, size, host: host != 0, category, at });
        // SAFETY: the request's pointer is valid.
        unsafe { *handle = number };
        0
    }

    /// Where `size` bytes at `offset` of a chunk are in the store.
    fn place(state: &State, handle: u64, offset: u64, size: u64) -> Option<u64> {
        let chunk = state.chunks.get(&handle)?;
        (offset.checked_add(size)? <= chunk.size).then_some(chunk.at + offset)
    }

    fn copy(&self, state: &State, src: (u64, u64), dst: (u64, u64), size: u64) -> i32 {
        assert!(size != 0, "64 KiB would be copied");
        let (Some(from), Some(to)) = (Self::place(state, src.0, src.1, size), Self::place(state, dst.0, dst.1, size)) else {
            return EINVAL;
        };
        let mut bytes = vec![0; size as usize];
        self.store.read(&mut bytes, from);
        self.store.write(&bytes, to);
        0
    }

    fn transfer(&self, state: &State, handle: u64, offset: u64, buffer: *mut c_void, size: u64, into: bool) -> i32 {
        assert!(size < 1 << 32, "the driver would copy less");
        assert!(size != 0, "null dereference in the zero-copy of 2.24");
        let Some(at) = Self::place(state, handle, offset, size) else { return EINVAL };
        let bytes = buffer.cast::<u8>();
        if into {
            // SAFETY: the request's buffer is valid for reading.
            self.store.write(unsafe { std::slice::from_raw_parts(bytes, size as usize) }, at);
        } else {
            // SAFETY: the request's buffer is valid for writing.
            self.store.read(unsafe { std::slice::from_raw_parts_mut(bytes, size as usize) }, at);
        }
        0
    }

    fn set(&self, state: &State, handle: u64, offset: u64, value: u32, size: u64) -> i32 {
        assert!(size != 0, "64 KiB would be filled");
        let Some(at) = Self::place(state, handle, offset, size) else { return EINVAL };
        self.store.write(&vec![value as u8; size as usize], at);
        0
    }

    /// The driver's search, with its quirk; gives the longest run and the first core, relative to the device.
    fn mark(&self, state: &mut State, node: u32, count: u32, start: u32, end: u32) -> (u32, Option<u32>) {
        let base = node * self.setup.cores_per_device;
        let (first, last) = (start + base, end + base);
        let mut longest = 0;
        let mut core = first;
        while core <= last {
            if state.owners.contains_key(&core) {
                core += 1;
                continue;
            }
            let mut next = core;
            while next <= last && next < core + count && !state.owners.contains_key(&next) {
                next += 1;
            }
            if next - core >= count {
                let owner = self.pid.load(std::sync::atomic::Ordering::Relaxed);
                state.owners.extend((core..core + count).map(|core| (core, owner)));
                return (longest, Some(core - base));
            }
            longest = longest.max(next - core);
            core = next + 2;
        }
        (longest, None)
    }
}

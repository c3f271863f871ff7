//! [`Driver`] for the kernel's devices.
#![allow(unsafe_code, reason = "implements the unsafe trait of the core")]

use core::ptr::NonNull;

use nrt_core::driver::{AllocRequest, ChunkInfo, CopyBatch, DeviceRange, Driver, DriverResult, OpenedDevice, Probe, RoutingIds};

use super::connect::LinuxDriver;
use super::fault::Fault;
use super::system::System;
use crate::request::{Buffer, HostDeviceIdToRidMap};

// SAFETY:
// * The kernel's pools give every live chunk its own bytes, and it names them by handle until MEM_FREE answered 0. A range
//   is a chunk, or (over-allocated for alignment) a part of one that no other range shares. A forked child, whose
//   descriptors are of another process, is refused.
// * `map_range` maps the chunk as a whole, so the range inside is mapped for all its bytes; the mapping is shared, readable
//   and writable, and stays until `unmap_range`: a device with mappings is not closed, neither by `detach` nor by the end
//   of the client.
// * `transfer` and `transfer_zero_copy` hand the driver a pointer and a length of the buffer they are given, and never a piece
//   beyond its end; `transfer_batches` hands on the buffers the caller vouches for.
// * The driver's wait returns when the engine is done with the copy, or has given it up.
unsafe impl<S: System> Driver for LinuxDriver<S> {
    fn probe(&self) -> DriverResult<Probe> {
        let machine = &self.machine;
        Ok(Probe {
            arch: machine.arch,
            revision: machine.revision as u16,
            devices: machine.devices(),
            cores_per_device: machine.cores_per_device,
            features: machine.features,
        })
    }

    fn routing_ids(&self) -> DriverResult<RoutingIds> {
        self.own_process().map_err(|refusal| refusal.errno())?;
        let answer = self.ask_misc(HostDeviceIdToRidMap::new()).map_err(Fault::errno)?;
        Ok(RoutingIds { map: answer.host_did_to_rid_map, count: answer.count.min(64) })
    }

    fn open(&self, device: u32) -> DriverResult<OpenedDevice> {
        self.attach(device).map_err(Fault::errno)
    }

    fn close(&self, device: u32) -> DriverResult<()> {
        self.detach(device).map_err(Fault::errno)
    }

    fn alloc(&self, device: u32, request: &AllocRequest, range: &mut DeviceRange) -> DriverResult<()> {
        let device_object = range.device;
        *range = self.allocate(device, request).map_err(Fault::errno)?;
        range.device = device_object;
        Ok(())
    }

    fn free(&self, device: u32, range: &DeviceRange) -> DriverResult<()> {
        self.release(device, range).map_err(Fault::errno)
    }

    fn map(&self, device: u32, range: &DeviceRange) -> DriverResult<NonNull<u8>> {
        self.map_range(device, range).map_err(Fault::errno)
    }

    unsafe fn unmap(&self, device: u32, range: &DeviceRange, address: NonNull<u8>) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.unmap_range(device, range, address) }.map_err(Fault::errno)
    }

    fn copy(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
    ) -> DriverResult<()> {
        self.copy_between(device, (src, src_offset), (dst, dst_offset), size).map_err(Fault::errno)
    }

    fn copy_start(
        &self,
        device: u32,
        src: &DeviceRange,
        src_offset: u64,
        dst: &DeviceRange,
        dst_offset: u64,
        size: u64,
        prefetch: u64,
        wait: &mut i32,
    ) -> DriverResult<()> {
        self.start_copy(device, (src, src_offset), (dst, dst_offset), size, prefetch, wait).map_err(Fault::errno)
    }

    fn copy_wait(&self, device: u32, src: &DeviceRange, dst: &DeviceRange, wait: i32) -> DriverResult<()> {
        self.finish_copy(device, src, dst, wait).map_err(Fault::errno)
    }

    fn write(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &[u8]) -> DriverResult<()> {
        self.transfer(device, range, offset, Buffer::In(bytes)).map_err(Fault::errno)
    }

    fn read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.transfer(device, range, offset, Buffer::Out(bytes)).map_err(Fault::errno)
    }

    fn fill(&self, device: u32, range: &DeviceRange, offset: u64, value: u8, size: u64) -> DriverResult<()> {
        self.set(device, range, offset, value, size).map_err(Fault::errno)
    }

    fn zero_copy_write(
        &self,
        device: u32,
        range: &DeviceRange,
        offset: u64,
        bytes: &[u8],
        window_bytes: u32,
    ) -> DriverResult<()> {
        self.transfer_zero_copy(device, range, offset, Buffer::In(bytes), window_bytes).map_err(Fault::errno)
    }

    fn zero_copy_read(&self, device: u32, range: &DeviceRange, offset: u64, bytes: &mut [u8]) -> DriverResult<()> {
        self.transfer_zero_copy(device, range, offset, Buffer::Out(bytes), 0).map_err(Fault::errno)
    }

    unsafe fn copy_batches(
        &self,
        device: u32,
        batches: &[CopyBatch<'_>],
        to_device: bool,
        window_bytes: u16,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.transfer_batches(device, batches, to_device, window_bytes) }.map_err(Fault::errno)
    }

    fn chunks(&self, device: u32, channel: u32, chunks: &mut [ChunkInfo]) -> DriverResult<u32> {
        Self::chunks(self, device, channel, chunks).map_err(Fault::errno)
    }
}

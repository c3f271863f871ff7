//! Reservations: growth, limits, sums, and giving back.

use nrt_core::driver::{AllocRequest, Call, Driver, Errno};
use nrt_core::reserved_hbm::ReserveStatistics;
use nrt_core::{Arch, Cause, Location, OutOfMemory, Pool, Status, Usage};
use nrt_sim::Live;

use crate::books::{GIB, KIB, MIB};
use crate::reserved::{alloc, finish, refusal, request, reserved};

#[test]
fn growth_is_explicit_and_exhaustion_is_errno_12() {
    let (reserved, driver) = reserved::<2, 64>(Arch::Cayman);
    // Nothing reserved: the driver's.
    let before = alloc(&reserved, &request(5000)).unwrap();
    assert_eq!((before.pad_2c, driver.inner().live(0).chunks), (0, 1));
    reserved.reserve(0, 0, 0, MIB).unwrap();
    driver.watch(&[Call::Alloc]);
    let all = alloc(&reserved, &request(MIB)).unwrap();
    assert_eq!(refusal(&reserved, &request(1)), Errno::ENOMEM);
    assert_eq!(driver.seen(), 0, "although the driver has room");
    // Other cores and channels have nothing reserved; what cannot be is the driver's to refuse.
    let other = alloc(&reserved, &AllocRequest { nc_id: 1, ..request(1) }).unwrap();
    let channel = alloc(&reserved, &AllocRequest { channel: 3, ..request(1) }).unwrap();
    assert_eq!(refusal(&reserved, &AllocRequest { channel: 4, ..request(1) }), Errno::EINVAL);
    assert_eq!(refusal(&reserved, &AllocRequest { nc_id: 8, ..request(1) }), Errno::EINVAL);
    assert_eq!(driver.seen(), 4);
    reserved.reserve(0, 0, 0, 2 * MIB).unwrap();
    let more = alloc(&reserved, &request(2 * MIB)).unwrap();
    let error = reserved.reserve(0, 0, 0, 1).unwrap_err();
    assert_eq!((error.status, error.cause), (Status::Resource, Cause::PoolFull(Pool::Reservations)));
    for range in [all, other, channel, more, before] {
        reserved.free(0, &range).unwrap();
    }
    // Sizes and alignments that the driver would refuse are refused alike.
    assert_eq!(refusal(&reserved, &request(0)), Errno::ENOMEM);
    for align in [3, 6144, 1 << 31, 1 << 40] {
        assert_eq!(refusal(&reserved, &AllocRequest { align, ..request(1) }), Errno::EINVAL, "{align}");
    }
    finish(&reserved);
}

#[test]
fn a_reservation_that_cannot_be_made_changes_nothing() {
    let (reserved, driver) = reserved::<4, 1>(Arch::Cayman);
    let refused = |device, core, channel, bytes| {
        let error = reserved.reserve(device, core, channel, bytes).unwrap_err();
        assert_eq!(driver.inner().live(0), Live::default());
        (error.status, error.cause)
    };
    assert_eq!(refused(0, 0, 0, 0), (Status::Invalid, Cause::ZeroSize));
    assert_eq!(refused(2, 0, 0, 1), (Status::Invalid, Cause::DeviceOutOfRange(2)));
    assert_eq!(refused(0, 8, 0, 1), (Status::Invalid, Cause::CoreOutOfRange(8)));
    assert_eq!(refused(0, 0, 4, 1), (Status::Invalid, Cause::ChannelOutOfRange { channel: 4, channels: 4 }));
    let size = 25 * GIB;
    let place = OutOfMemory { size, align: 0, usage: Usage::Generic, location: Location::Device, device: 0, core: 5, channel: 2 };
    assert_eq!(refused(0, 5, 2, size), (Status::Resource, Cause::OutOfMemory(place)));
    assert_eq!(refused(0, 5, 2, u64::MAX).0, Status::Resource);
    assert_eq!(refused(1, 0, 0, 1).0, Status::Failure, "not open");
    // One record: the first reservation takes it.
    reserved.reserve(0, 0, 0, MIB).unwrap();
    let live = driver.inner().live(0);
    let error = reserved.reserve(0, 0, 0, MIB).unwrap_err();
    assert_eq!((error.status, error.cause), (Status::Resource, Cause::PoolFull(Pool::Ranges)));
    assert_eq!(driver.inner().live(0), live, "the chunk went back");
    assert_eq!(refusal(&reserved, &request(1)), Errno::ENOMEM, "no record for the rest");
    alloc(&reserved, &request(MIB)).unwrap();
    finish(&reserved);
}

#[test]
fn limits_hold_by_usage() {
    let (reserved, _) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    reserved.limit(0, 0, 0, Usage::Tensor, Some(12 * KIB)).unwrap();
    let tensor = AllocRequest { category: Usage::Tensor.category(Location::Device).unwrap(), ..request(5000) };
    let first = alloc(&reserved, &tensor).unwrap();
    assert_eq!(reserved.held(0, 0, 0, Usage::Tensor), Ok(8 * KIB));
    assert_eq!(refusal(&reserved, &tensor), Errno::ENOMEM, "8 + 8 KiB");
    let second = alloc(&reserved, &AllocRequest { size: 4 * KIB, ..tensor }).unwrap();
    assert_eq!(refusal(&reserved, &AllocRequest { size: 1, ..tensor }), Errno::ENOMEM);
    // Others are not limited.
    let weight = AllocRequest { category: Usage::Weight.category(Location::Device).unwrap(), ..request(100 * KIB) };
    let third = alloc(&reserved, &weight).unwrap();
    let now = reserved.statistics(0, 0, 0).unwrap();
    assert_eq!((now.over_limit, now.refused, now.ranges), (2, 0, 3));
    reserved.limit(0, 0, 0, Usage::Tensor, None).unwrap();
    let fourth = alloc(&reserved, &tensor).unwrap();
    [first, second, third, fourth].iter().for_each(|range| reserved.free(0, range).unwrap());
    assert_eq!(reserved.held(0, 0, 0, Usage::Tensor), Ok(0));
    reserved.limit(0, 0, 0, Usage::Tensor, Some(0)).unwrap();
    assert_eq!(refusal(&reserved, &AllocRequest { size: 1, ..tensor }), Errno::ENOMEM);
    finish(&reserved);
}

#[test]
fn the_statistics_are_exact() {
    let (reserved, _) = reserved::<4, 64>(Arch::Cayman);
    assert_eq!(reserved.statistics(0, 3, 1), Ok(ReserveStatistics::default()));
    reserved.reserve(0, 3, 1, 6 * GIB).unwrap();
    reserved.reserve(0, 3, 1, MIB).unwrap();
    let here = |size, align| alloc(&reserved, &AllocRequest { nc_id: 3, channel: 1, align, ..request(size) }).unwrap();
    let (a, b, c) = (here(GIB + 1, 0), here(4097, 0), here(5000, 0));
    reserved.free(0, &b).unwrap();
    let expected = ReserveStatistics {
        reservations: 2,
        reserved_bytes: 6 * GIB + MIB,
        carved_bytes: GIB + 12 * KIB,
        asked_bytes: GIB + 1 + 5000,
        peak_carved_bytes: GIB + 20 * KIB,
        ranges: 2,
        free_runs: 3,
        largest_free_run: 5 * GIB - 4 * KIB,
        refused: 0,
        over_limit: 0,
    };
    let now = reserved.statistics(0, 3, 1).unwrap();
    // Small ranges come out of the small reservation.
    assert_eq!(now, expected);
    reserved.free(0, &a).unwrap();
    reserved.free(0, &c).unwrap();
    let empty =
        ReserveStatistics { carved_bytes: 0, asked_bytes: 0, ranges: 0, free_runs: 2, largest_free_run: 6 * GIB, ..expected };
    assert_eq!(reserved.statistics(0, 3, 1), Ok(empty));
    finish(&reserved);
}

#[test]
fn empty_reservations_are_given_back() {
    let (reserved, driver) = reserved::<4, 64>(Arch::Cayman);
    reserved.reserve(0, 0, 0, MIB).unwrap();
    reserved.reserve(0, 0, 0, 2 * MIB).unwrap();
    reserved.reserve(0, 1, 0, 4 * MIB).unwrap();
    let range = alloc(&reserved, &request(MIB + 1)).unwrap();
    assert_eq!(reserved.give_back(0, 0, 0), Ok(MIB));
    assert_eq!(reserved.give_back(0, 0, 0), Ok(0), "in use");
    reserved.free(0, &range).unwrap();
    // Refused: used no more, given back with the device.
    driver.watch(&[Call::Free]);
    driver.fail_nth(1, Errno::EIO);
    let error = reserved.give_back(0, 0, 0).unwrap_err();
    assert_eq!(error.cause, Cause::Driver { call: Call::Free, device: 0, errno: Errno::EIO });
    assert_eq!(reserved.statistics(0, 0, 0).unwrap().reservations, 0);
    let direct = alloc(&reserved, &request(1)).unwrap();
    assert_eq!((direct.pad_2c, driver.inner().live(0).chunks), (0, 3));
    reserved.free(0, &direct).unwrap();
    finish(&reserved);
}

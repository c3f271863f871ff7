//! The routing-id map: the driver's, or that of the instance family when the driver does not know the request
//! (`context-tree` §9).

use crate::driver::RoutingIds;
use crate::instance::Family;

/// Entries of the tree's map.
const ENTRIES: usize = 32;

/// Routing ids by host device id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoutingMap {
    pub(super) ids: [u32; ENTRIES],
    /// Valid entries; 0 = there is no map, and whoever asks for it gets an error.
    pub(super) count: u32,
}

/// The devices of a torus of 16 in the order of their routing ids.
const TORUS: [u32; 16] = [0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10];

impl RoutingMap {
    const EMPTY: Self = Self { ids: [0; ENTRIES], count: 0 };

    /// What the driver answered. Its table has 64 entries, the tree's 32 (errata 33).
    pub(super) fn of_driver(answer: &RoutingIds) -> Self {
        let mut map = Self::EMPTY;
        let count = (answer.count as usize).min(ENTRIES);
        map.ids[..count].copy_from_slice(&answer.map[..count]);
        Self { count: count as u32, ..map }
    }

    /// The map of a family. That of INF1 has one entry and says it has none, as in the original.
    pub(super) fn of_family(family: Family) -> Self {
        let mut map = Self::EMPTY;
        match family {
            Family::TRN1 | Family::TRN1N | Family::INF2E => {
                (0..).zip(TORUS).for_each(|(routing_id, device)| map.ids[device as usize] = routing_id);
                map.count = 16;
            }
            Family::INF2 => {
                (0..).zip(&mut map.ids[..12]).for_each(|(device, id)| *id = device);
                map.count = 12;
            }
            _ => {}
        }
        map
    }

    /// Routing id of a device, or `u32::MAX` when the map does not name it.
    pub(super) fn id(&self, host_device_id: u32) -> u32 {
        self.ids[..self.count as usize].get(host_device_id as usize).copied().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `context-tree` §9: the documented resulting map of families 2, 3, 7; identity of 4; none of the others.
    #[test]
    fn families() {
        for family in [Family::TRN1, Family::TRN1N, Family::INF2E] {
            let map = RoutingMap::of_family(family);
            assert_eq!(map.ids[..map.count as usize], [0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12]);
        }
        let map = RoutingMap::of_family(Family::INF2);
        assert_eq!(map.ids[..map.count as usize], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!((map.id(11), map.id(12)), (11, u32::MAX));
        for none in [Family::UNKNOWN, Family::INF1, Family::TRN2, Family::TRN3] {
            assert_eq!(RoutingMap::of_family(none), RoutingMap::EMPTY);
        }
    }

    /// Errata 33: the driver's 64 entries are cut to 32.
    #[test]
    fn the_drivers_table_is_longer() {
        let map = RoutingMap::of_driver(&RoutingIds { map: core::array::from_fn(|id| 63 - id as u32), count: 64 });
        assert_eq!((map.count, map.id(0), map.id(31), map.id(32)), (32, 63, 32, u32::MAX));
        let map = RoutingMap::of_driver(&RoutingIds { map: [7; 64], count: 3 });
        assert_eq!((map.count, map.id(2), map.id(3)), (3, 7, u32::MAX));
    }
}

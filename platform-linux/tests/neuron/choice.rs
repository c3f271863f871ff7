//! From the environment to the cores to reserve.

use nrt_core::arch::Arch;
use nrt_core::driver::Driver as _;
use nrt_core::environment::{CoreSelection, Environment};
use nrt_linux::env::Env;
use nrt_linux::neuron::{ChoiceError, Geometry, Plan, variables};

use crate::fake::Setup;

#[test]
fn resolution() {
    let exact = |first, count| CoreSelection::Exact { first, count };
    let trn2 = Geometry { arch: Arch::Cayman, nodes: 0b11, cores_per_device: 8, logical_core_size: 2 };
    let plan = |count, start, end| Ok(Plan { count, start, end });
    assert_eq!(trn2.resolve(CoreSelection::All), plan(16, 0, 15));
    assert_eq!(trn2.resolve(exact(2, 2)), plan(4, 4, 7));
    // One logical core, or whole devices.
    assert_eq!(trn2.resolve(CoreSelection::Count(1)), plan(2, 0, 15));
    assert_eq!(trn2.resolve(CoreSelection::Count(4)), plan(8, 0, 15));
    let not_whole = ChoiceError::NotWholeDevices { cores: 4, cores_per_device: 8 };
    assert_eq!(trn2.resolve(CoreSelection::Count(2)), Err(not_whole));
    for wanted in [9, u32::MAX] {
        let too_many = Err(ChoiceError::TooMany { wanted, have: 8 });
        assert_eq!(trn2.resolve(CoreSelection::Count(wanted)), too_many);
        assert_eq!(trn2.resolve(exact(0, wanted)), too_many);
    }
    assert_eq!(trn2.resolve(CoreSelection::Count(0)), Err(ChoiceError::Nothing));
    assert_eq!(trn2.resolve(exact(8, 1)), Err(ChoiceError::Inaccessible { node: 2 }));
    assert!(trn2.resolve(exact(u32::MAX, 8)).is_err());
    // On the first architecture any number.
    let trn1 = Geometry { arch: Arch::Sunda, nodes: 0b1111, cores_per_device: 2, logical_core_size: 1 };
    assert_eq!(trn1.resolve(CoreSelection::Count(3)), plan(3, 0, 7));
    // Nodes need not start at 0; cores count from the lowest.
    let container = Geometry { nodes: 0b1100, ..trn2 };
    assert_eq!(container.resolve(exact(4, 4)), plan(8, 8, 15));
    let holes = Geometry { nodes: 0b101, ..trn2 };
    assert_eq!(holes.resolve(CoreSelection::All), Err(ChoiceError::Inaccessible { node: 1 }));
    assert_eq!(holes.resolve(exact(8, 1)), plan(2, 16, 17));
    for size in [0, 3, 16] {
        let bad = Geometry { logical_core_size: size, ..trn2 };
        assert_eq!(bad.resolve(CoreSelection::All), Err(ChoiceError::LogicalCoreSize(size)));
    }
    let last = Geometry { nodes: 1 << 63, ..trn2 };
    assert_eq!(last.resolve(exact(4, 1)), Err(ChoiceError::Inaccessible { node: 64 }));
}

/// Text of the environment, through the core's reading of it, to cores that are this process's.
#[test]
fn from_the_environment_to_a_reservation() {
    let strings = [
        c"PATH=/bin",
        c"NEURON_RT_VISIBLE_CORES=4-6,5",
        c"NEURON_RT_VISIBLE_CORES=0",
        c"NEURON_LOGICAL_NC_CONFIG=1",
        c"NEURON_RT_NUM_CORES=1",
    ];
    let pairs = variables(&Env::from_slice(&strings)).unwrap();
    let driver = Setup::cayman(1).connect();
    let environment = Environment::parse(&pairs, &driver.probe().unwrap()).unwrap();
    let cores = driver.reserve(environment.cores, environment.logical_core_size).unwrap();
    assert_eq!((cores.cores().to_string(), cores.logical_cores()), ("4-6".into(), Some((4, 6))));
    let strings = [c"NEURON_RT_NUM_CORES=\xFF"];
    assert_eq!(variables(&Env::from_slice(&strings)), Err("NEURON_RT_NUM_CORES"));
}

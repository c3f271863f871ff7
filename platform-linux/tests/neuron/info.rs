//! What the devices tell of themselves.

use nrt_linux::neuron::{SizeSource, sysfs};

use crate::fake::Setup;

fn with_files() -> Setup {
    let mut setup = Setup::cayman(2);
    for (path, text) in [
        ("neuron1/core_count", "8"),
        ("neuron0/core_count", "8"),
        ("neuron1/connected_devices", "0, 3\n"),
        ("neuron0/connected_devices", "\n"),
        ("neuron1/info/architecture/device_name", "Trainium2\n"),
        ("neuron1/info/architecture/instance_type", "Trn2\n"),
        ("neuron1/info/serial_number", "00ab\n"),
        ("neuron1/neuron_core0/stats/memory_usage/device_mem/total", "4096\n"),
        ("neuron1/neuron_core1/stats/memory_usage/device_mem/total", "8192\n"),
        ("neuron1/neuron_core2/stats/memory_usage/device_mem/total", "0\n"),
    ] {
        // Where drivers up to 2.26 put them; the first device has them by its class.
        let directory = if path.starts_with("neuron0") { "class" } else { "devices/virtual" };
        setup.files.insert(format!("/sys/{directory}/neuron_device/{path}"), text.into());
    }
    setup
}

#[test]
fn a_device_with_its_files() {
    let driver = with_files().connect();
    let info = driver.info(1).unwrap();
    assert_eq!((info.node, info.cores, info.channels, info.channel_bytes), (1, 8, 4, 24 << 30));
    assert_eq!(info.channel_bytes_source, SizeSource::Architecture, "nobody asked to open the device");
    assert_eq!(info.name.as_deref(), Some("Trainium2"));
    assert_eq!(info.instance.as_deref(), Some("Trn2"));
    assert_eq!(info.serial.as_deref(), Some("00ab"));
    assert_eq!(info.bdf, Some((0, 0xA1, 0x1E, 0)));
    assert_eq!(info.neighbours, Some(0b1001));
    // Both cores of the first HBM; the second HBM's other core cannot be read.
    assert_eq!(info.channel_used, [Some(12288), None, None, None]);
    assert_eq!(info.core_used[..3], [Some(4096), Some(8192), Some(0)]);
    assert!(!driver.system().requests().iter().any(|name| name.starts_with("MEM")));
    assert!(driver.info(2).is_err());
    assert_eq!(driver.info(0).unwrap().neighbours, Some(0));
}

#[test]
fn a_device_without_files() {
    let driver = Setup::sunda().connect();
    let info = driver.info(0).unwrap();
    assert_eq!((info.name, info.neighbours, info.channel_used), (None, None, [None; 4]));
    assert_eq!((info.cores, info.channels, info.channel_bytes), (2, 2, 16 << 30));
}

#[test]
fn held_cores_count_from_their_device() {
    let driver = Setup::cayman(2).connect();
    driver.system().state.lock().unwrap().owners.extend([(9, 321), (12, 321), (3, 321)]);
    assert_eq!(driver.held_cores(1).unwrap().to_string(), "1,4");
    assert_eq!(driver.held_cores(0).unwrap().to_string(), "3");
}

#[test]
fn attached_processes_and_chunks() {
    let driver = Setup::cayman(1).attach();
    let processes = driver.attached_processes(0).unwrap();
    assert_eq!(processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [100, 321]);
    let request = nrt_core::driver::AllocRequest { size: 1, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    driver.allocate(0, &request).unwrap();
    // No room for what there is: the number comes all the same.
    assert_eq!(driver.chunks(0, 0, &mut []), Ok(1));
    assert_eq!(driver.physical_cores().unwrap()[1], (0, 5));
}

#[test]
fn nothing_is_read_where_there_is_nothing() {
    assert_eq!(sysfs::attribute(&nrt_linux::neuron::Linux, 63, "no/such/attribute"), None);
}

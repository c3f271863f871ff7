//! The rules that need more than one key, in whatever order the text has them.

use super::Deployment;
use super::error::{Expected, Problem};
use super::reader::{Place, Reader, Result};

/// Puts the defaults that depend on other keys in place, and checks what is left. `size_at` is the offset of the logical
/// core size in the text, 0 if it is not there.
pub(super) fn check(reader: &mut Reader<'_, '_>, size_at: u32, deployment: &mut Deployment) -> Result<()> {
    let mut refuse = |offset, place, expected| {
        reader.place = place;
        reader.refuse(offset, Problem::OutOfRange, expected)
    };
    let arch = deployment.arch();
    let cores = arch.cores_per_device();
    if size_at == 0 {
        deployment.logical_core_size = arch.default_logical_core_size(cores);
    }
    let size = deployment.logical_core_size;
    if !(1..=arch.default_logical_core_size(cores)).contains(&size) {
        let place = Place { key: "logical_core_size", ..Place::default() };
        return refuse(size_at, place, Expected::LogicalCoreSize(arch));
    }
    let count = deployment.logical_cores();
    let devices = deployment.devices;
    for (index, model) in deployment.models[..deployment.count].iter_mut().enumerate() {
        let place = Place { model: Some((index as u8, model.at)), ..Place::default() };
        if model.vnc >= count {
            let expected = Expected::LogicalCore { count, devices, cores, size };
            return refuse(model.vnc_at, Place { key: "vnc", ..place }, expected);
        }
        if model.subgraphs_at == 0 {
            model.subgraphs = size;
        }
        if model.subgraphs != 1 && model.subgraphs != size {
            return refuse(model.subgraphs_at, Place { key: "subgraphs", ..place }, Expected::Subgraphs(size));
        }
        for (entry, region) in model.regions.iter().enumerate() {
            if region.channel.is_some_and(|channel| u32::from(channel) >= arch.channels_per_device()) {
                let place = Place { list: Some("regions"), entry: Some(entry as u8), key: "channel", ..place };
                return refuse(region.channel_at, place, Expected::Channel(arch));
            }
        }
    }
    Ok(())
}

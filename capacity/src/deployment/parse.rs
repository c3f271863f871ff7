//! From the text to the deployment, key by key.

use nrt_core::arch::Arch;

use super::check::check;
use super::error::{DeploymentError, Expected, Problem};
use super::model::{Location, Model, Name, Region, Tensor};
use super::reader::{Keys, Place, Reader, Refused, Result};
use super::{Deployment, MAX_BYTES, MAX_DEVICES, MAX_MODELS, MAX_TENSORS, MAX_TEXT_BYTES, MAX_THREADS, MAX_ULIBS};
use nrt_core::Usage;

const TOP: Keys = Keys {
    names: &["arch", "models", "devices", "logical_core_size", "scratchpad", "threads", "requests", "reload_every"],
    required: 2,
};
/// What the scratchpad of a core can be.
const SCRATCHPADS: &[&str] = &["paged", "contiguous"];
const MODEL: Keys = Keys {
    names: &[
        "name",
        "vnc",
        "weights",
        "inputs",
        "outputs",
        "subgraphs",
        "weight_chunk_bytes",
        "code_bytes",
        "spill_bytes",
        "scratchpad_bytes",
        "ulibs",
        "regions",
    ],
    required: 5,
};
const WEIGHTS: Keys = Keys { names: &["file", "seed", "bytes"], required: 0 };
const REGION: Keys = Keys { names: &["usage", "bytes", "location", "channel", "align"], required: 2 };
const TENSOR: Keys = Keys { names: &["name", "bytes"], required: 2 };

const ARCHITECTURES: &[&str] = &[Arch::ALL[0].name(), Arch::ALL[1].name(), Arch::ALL[2].name()];
const LOCATIONS: &[&str] = &["device", "host"];

/// Longest string that is unescaped: a path and one byte more, so that a path that is too long is seen.
const SCRATCH_BYTES: usize = super::MAX_PATH_BYTES + 1;

/// Reads a deployment text and checks it; `simulate` takes the place of the architecture in the text.
///
/// Uses about 5 KiB of stack. After an error the deployment has no models.
///
/// # Errors
/// The first fault of the text against the rules of the [module](super).
pub fn parse_into<'t>(
    text: &'t [u8],
    simulate: Option<Arch>,
    deployment: &mut Deployment,
) -> core::result::Result<(), DeploymentError<'t>> {
    let mut scratch = [0; SCRATCH_BYTES];
    let reader = &mut Reader::new(text, &mut scratch);
    deployment.clear();
    encoding(text, reader).and_then(|()| document(reader, simulate, deployment)).map_err(|Refused| {
        deployment.clear();
        reader.error
    })
}

fn encoding(text: &[u8], reader: &mut Reader<'_, '_>) -> Result<()> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return reader.refuse(0, Problem::ByteOrderMark, Expected::Text("an object in UTF-8 without one"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return reader.refuse(MAX_TEXT_BYTES as u32, Problem::TooLong, Expected::AtMostBytes(MAX_TEXT_BYTES));
    }
    match core::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => reader.refuse(error.valid_up_to() as u32, Problem::NotUtf8, Expected::Text("UTF-8")),
    }
}

fn document(reader: &mut Reader<'_, '_>, simulate: Option<Arch>, deployment: &mut Deployment) -> Result<()> {
    let mut size_at = 0;
    let mut top = reader.object(&TOP)?;
    while let Some(key) = reader.key(&mut top)? {
        match key {
            "arch" => deployment.arch = Arch::ALL[reader.choice(ARCHITECTURES)?] as u32,
            "models" => models(reader, deployment)?,
            "devices" => deployment.devices = reader.number(1, MAX_DEVICES)? as u32,
            "logical_core_size" => {
                deployment.logical_core_size = clamp(reader.number(0, u64::MAX)?);
                size_at = reader.at();
            }
            "scratchpad" => deployment.contiguous_scratchpad = reader.choice(SCRATCHPADS)? == 1,
            "threads" => deployment.threads = reader.number(1, MAX_THREADS)? as u32,
            "requests" => deployment.requests = reader.number(0, u64::MAX)?,
            _ => deployment.reload_every = reader.number(0, u64::MAX)?,
        }
    }
    reader.finish()?;
    if let Some(arch) = simulate {
        deployment.arch = arch as u32;
    }
    check(reader, size_at, deployment)
}

/// Numbers that are checked against other keys later: any that does not fit is out of range there too.
fn clamp(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn models(reader: &mut Reader<'_, '_>, deployment: &mut Deployment) -> Result<()> {
    let key = reader.place;
    reader.array()?;
    let opened_at = reader.at();
    while reader.entry(deployment.count, MAX_MODELS)? {
        reader.place = Place { model: Some((deployment.count as u8, u32::MAX)), ..Place::default() };
        let (earlier, rest) = deployment.models.split_at_mut(deployment.count);
        model(reader, earlier, &mut rest[0])?;
        deployment.count += 1;
        reader.place = key;
    }
    if deployment.count == 0 {
        return reader.refuse(opened_at, Problem::Empty, Expected::Text("at least one model"));
    }
    Ok(())
}

fn model(reader: &mut Reader<'_, '_>, earlier: &[Model], model: &mut Model) -> Result<()> {
    let mut object = reader.object(&MODEL)?;
    model.clear(object.at);
    reader.place.model = reader.place.model.map(|(index, _)| (index, object.at));
    while let Some(key) = reader.key(&mut object)? {
        match key {
            "name" => {
                reader.name(&mut model.name)?;
                if earlier.iter().any(|other| other.name == model.name) {
                    let expected = Expected::Text("a name that no other model has");
                    return reader.refuse(reader.at(), Problem::NameTaken, expected);
                }
            }
            "vnc" => {
                model.vnc = clamp(reader.number(0, u64::MAX)?);
                model.vnc_at = reader.at();
            }
            "weights" => weights(reader, model)?,
            "inputs" => tensors(reader, "inputs", &mut model.inputs)?,
            "outputs" => tensors(reader, "outputs", &mut model.outputs)?,
            "subgraphs" => {
                model.subgraphs = clamp(reader.number(0, u64::MAX)?);
                model.subgraphs_at = reader.at();
            }
            "weight_chunk_bytes" => model.weight_chunk_bytes = reader.number(1, MAX_BYTES)?,
            "code_bytes" => model.code_bytes = reader.number(0, MAX_BYTES)?,
            "spill_bytes" => model.spill_bytes = reader.number(0, MAX_BYTES)?,
            "scratchpad_bytes" => model.scratchpad_bytes = reader.number(0, MAX_BYTES)?,
            "ulibs" => model.ulibs = reader.number(0, MAX_ULIBS)? as u32,
            _ => regions(reader, model)?,
        }
    }
    Ok(())
}

fn weights(reader: &mut Reader<'_, '_>, model: &mut Model) -> Result<()> {
    const FORMS: Expected = Expected::Text("either file, or seed and bytes");
    let outer = reader.place;
    reader.place = Place { list: Some("weights"), key: "", ..outer };
    let mut object = reader.object(&WEIGHTS)?;
    let (mut file, mut seed, mut bytes) = (false, false, false);
    while let Some(key) = reader.key(&mut object)? {
        if if key == "file" { seed || bytes } else { file } {
            return reader.refuse(reader.key_at(), Problem::Conflict, FORMS);
        }
        match key {
            "file" => {
                reader.path(&mut model.weights_file)?;
                file = true;
            }
            "seed" => {
                model.weights_seed = reader.number(0, u64::MAX)?;
                seed = true;
            }
            _ => {
                model.weights_bytes = reader.number(1, MAX_BYTES)?;
                bytes = true;
            }
        }
    }
    let whole = file || (seed && bytes);
    if !whole {
        reader.place.key = match (seed, bytes) {
            (true, _) => "bytes",
            (_, true) => "seed",
            _ => "file",
        };
        return reader.refuse(object.at, Problem::Missing, FORMS);
    }
    reader.place = outer;
    Ok(())
}

fn tensors(reader: &mut Reader<'_, '_>, list: &'static str, tensors: &mut heapless::Vec<Tensor, MAX_TENSORS, u8>) -> Result<()> {
    let outer = reader.place;
    reader.array()?;
    let opened_at = reader.at();
    while reader.entry(tensors.len(), MAX_TENSORS)? {
        reader.place = Place { list: Some(list), entry: Some(tensors.len() as u8), key: "", ..outer };
        let mut tensor = Tensor { name: Name::new(), bytes: 0 };
        let mut object = reader.object(&TENSOR)?;
        while let Some(key) = reader.key(&mut object)? {
            if key == "name" {
                reader.name(&mut tensor.name)?;
                if tensors.iter().any(|other| other.name == tensor.name) {
                    let expected = Expected::Text("a name that no other tensor of this list has");
                    return reader.refuse(reader.at(), Problem::NameTaken, expected);
                }
            } else {
                tensor.bytes = reader.number(1, MAX_BYTES)?;
            }
        }
        // There is room: the entry was counted.
        let _ = tensors.push(tensor);
        reader.place = outer;
    }
    if tensors.is_empty() {
        return reader.refuse(opened_at, Problem::Empty, Expected::Text("at least one tensor"));
    }
    Ok(())
}

fn regions(reader: &mut Reader<'_, '_>, model: &mut Model) -> Result<()> {
    let outer = reader.place;
    reader.array()?;
    while reader.entry(model.regions.len(), super::MAX_REGIONS)? {
        reader.place = Place { list: Some("regions"), entry: Some(model.regions.len() as u8), key: "", ..outer };
        let region = region(reader)?;
        // There is room: the entry was counted.
        let _ = model.regions.push(region);
        reader.place = outer;
    }
    Ok(())
}

fn region(reader: &mut Reader<'_, '_>) -> Result<Region> {
    let mut region = Region::new();
    let (mut location_at, mut align_at) = (0, 0);
    let mut object = reader.object(&REGION)?;
    while let Some(key) = reader.key(&mut object)? {
        match key {
            "usage" => {
                let number = reader.choice(Usage::NAMES)? as u32;
                region.usage = Usage::from_number(number).unwrap_or(Usage::Generic);
            }
            "bytes" => region.bytes = reader.number(1, MAX_BYTES)?,
            "location" => {
                region.location = if reader.choice(LOCATIONS)? == 0 { Location::Device } else { Location::Host };
                location_at = reader.at();
            }
            "channel" => {
                region.channel = Some(u8::try_from(reader.number(0, u64::MAX)?).unwrap_or(u8::MAX));
                region.channel_at = reader.at();
            }
            _ => {
                region.align = reader.number(0, MAX_BYTES)?;
                align_at = reader.at();
                if region.align != 0 && !region.align.is_power_of_two() {
                    return reader.refuse(align_at, Problem::OutOfRange, Expected::Text("0 or a power of two"));
                }
            }
        }
    }
    if region.location == Location::Host {
        if region.usage.category(nrt_core::Location::Host).is_none() {
            reader.place.key = "location";
            return reader.refuse(location_at, Problem::Conflict, Expected::DeviceMemory(region.usage));
        }
        if region.align != 0 {
            reader.place.key = "align";
            let expected = Expected::Text("0 (host memory takes no alignment)");
            return reader.refuse(align_at, Problem::OutOfRange, expected);
        }
    }
    Ok(region)
}

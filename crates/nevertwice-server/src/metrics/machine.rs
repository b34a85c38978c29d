//! How the machine is. What could not be read is not shown: a figure that is not known is none.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use crate::machine::Readings;

pub(super) fn encode(machine: &Readings, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
    for (name, help, value) in [
        ("nevertwice_disk_free_bytes", "Room that is left where the data folder is", machine.disk.map(|disk| disk.free_bytes)),
        ("nevertwice_disk_size_bytes", "Size of the file system where the data folder is", machine.disk.map(|disk| disk.size_bytes)),
        ("process_open_fds", "Files and sockets that are open", machine.open_files),
        ("process_max_fds", "How many may be open", machine.open_files_max),
        ("process_resident_memory_bytes", "Memory that the process occupies", machine.resident_bytes),
    ] {
        if let Some(value) = value {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
        }
    }
    Ok(())
}

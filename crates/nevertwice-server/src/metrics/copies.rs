//! Copies of the journal: who reads it, and how far this server is if it is one of them.

use std::fmt;

use nevertwice_local::ReplicasStatus;
use nevertwice_local::feed::ReaderState;
use nevertwice_local::standby::StandbyStatus;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// What was read of copies for one scrape.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// The last durable batch, if there is a journal.
    pub(crate) durable: Option<u64>,
    pub(crate) readers: Vec<ReaderState>,
    /// How those are whose confirmation answers wait for; none where they wait for nobody's.
    pub(crate) replicas: Option<ReplicasStatus>,
    /// How this server follows another one; none if it does not.
    pub(crate) standby: Option<StandbyStatus>,
}

impl Copies {
    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(durable) = self.durable {
            gauge(encoder, "nevertwice_durable_batch", "The journal's last durable batch", durable)?;
        }
        let help = "The last batch that a reader of the journal has read";
        let mut read = encoder.encode_descriptor("nevertwice_reader_batch", help, None, MetricType::Gauge)?;
        for reader in &self.readers {
            read.encode_family(&[("reader", reader.name.as_str())])?.encode_gauge(&whole(reader.batch))?;
        }
        let help = "The last batch that a replica has made durable on its own disk";
        let mut confirmed = encoder.encode_descriptor("nevertwice_reader_confirmed_batch", help, None, MetricType::Gauge)?;
        for reader in &self.readers {
            if let Some(batch) = reader.confirmed {
                confirmed.encode_family(&[("reader", reader.name.as_str())])?.encode_gauge(&whole(batch))?;
            }
        }
        let help = "1 while a reader of the journal counts as there";
        let mut live = encoder.encode_descriptor("nevertwice_reader_live", help, None, MetricType::Gauge)?;
        for reader in &self.readers {
            live.encode_family(&[("reader", reader.name.as_str())])?.encode_gauge(&i64::from(reader.live))?;
        }
        // There from the start, at zero: an alarm over something that appears only when it happens is none.
        let replicas = self.replicas;
        let lag = replicas.and_then(|replicas| Some(self.durable?.saturating_sub(replicas.batch)));
        for (name, help, value) in [
            (
                "nevertwice_replicas_min",
                "How many replicas have to confirm; 0: answers wait for none",
                replicas.map_or(0, |r| r.min as u64),
            ),
            ("nevertwice_replicas_live", "How many replicas confirm, and were heard lately", replicas.map_or(0, |r| r.live as u64)),
            (
                "nevertwice_replicas_short",
                "1 while decisions that would wait for replicas are refused",
                replicas.map_or(0, |r| u64::from(r.short)),
            ),
            ("nevertwice_replicas_lag_batches", "Durable batches that too few replicas have confirmed", lag.unwrap_or(0)),
            ("nevertwice_replicas_waiting", "Answers that wait for replicas", replicas.map_or(0, |r| r.waiting as u64)),
        ] {
            gauge(encoder, name, help, value)?;
        }
        match &self.standby {
            Some(standby) => encode_standby(standby, encoder),
            None => Ok(()),
        }
    }
}

fn encode_standby(standby: &StandbyStatus, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let follows = standby.phase == Some(nevertwice_local::standby::Phase::Following);
    for (name, help, value) in [
        ("nevertwice_standby_following", "1 while the standby follows", u64::from(follows)),
        ("nevertwice_standby_batch", "The last batch that is durable at the standby", standby.batch),
        ("nevertwice_standby_applied_batch", "The last batch that is applied at the standby", standby.applied),
        ("nevertwice_standby_lag_batches", "Batches that the standby knows of and does not have", standby.lag_batches()),
        ("nevertwice_standby_lag_ms", "How old what the standby has may be, in milliseconds", standby.lag_ms),
        ("nevertwice_standby_silent_ms", "How long the followed server has been silent, in milliseconds", standby.silent_ms),
    ] {
        gauge(encoder, name, help, value)?;
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&whole(value))
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

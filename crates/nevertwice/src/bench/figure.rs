//! One measured figure.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

/// One measured figure; `ratio` is to the baseline of the same run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p50_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p99_us: Option<u64>,
    /// What it is, and what the ratio is to: for people.
    #[serde(skip)]
    pub(super) about: &'static str,
}

impl Figure {
    pub(super) fn new(name: impl Into<String>, value: f64, unit: &'static str, about: &'static str) -> Self {
        Self { name: name.into(), value, unit, ratio: None, p50_us: None, p99_us: None, about }
    }

    pub(super) fn ratio(self, ratio: f64) -> Self {
        Self { ratio: Some(ratio), ..self }
    }

    pub(super) fn latency(self, p50_us: u64, p99_us: u64) -> Self {
        Self { p50_us: Some(p50_us), p99_us: Some(p99_us), ..self }
    }
}

/// A table for people.
pub(super) fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["figure", "value", "unit", "ratio", "p50", "p99", "what"]);
    for figure in figures {
        let us = |value: Option<u64>| value.map_or_else(String::new, |us| format!("{us} us"));
        let value = if figure.value < 100.0 { format!("{:.2}", figure.value) } else { format!("{:.0}", figure.value) };
        let ratio = figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        table.add_row([&figure.name, &value, figure.unit, &ratio, &us(figure.p50_us), &us(figure.p99_us), figure.about]);
    }
    for column in 1..=5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

//! The charts, drawn as SVG text by `plotters`.
//!
//! Colours of the frame (text, axes, grid) are fixed values that the page's style sheet replaces, so that one drawing reads
//! well on a light and on a dark page. Colours of the data are chosen to be told apart on both.

use plotters::chart::{ChartBuilder, ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::{Cartesian2d, LineSeries, SVGBackend};
use plotters::series::AreaSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::{Job, Report};

/// What goes wrong while drawing into text: nothing that a reader could mend, so a chart that fails is left out.
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The text of charts; the style sheet replaces it.
pub(super) const INK: RGBColor = RGBColor(0x11, 0x22, 0x33);
/// Axes; the style sheet replaces it.
pub(super) const AXIS: RGBColor = RGBColor(0x44, 0x55, 0x66);
/// Grid lines; the style sheet replaces it.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xEE, 0xFF);

const DATA: [RGBColor; 8] = [
    RGBColor(0x2F, 0x7E, 0xD8),
    RGBColor(0xE0, 0x8A, 0x1E),
    RGBColor(0x2C, 0xA0, 0x6B),
    RGBColor(0xC4, 0x4E, 0xA8),
    RGBColor(0x8A, 0x6F, 0xE0),
    RGBColor(0x3A, 0xA6, 0xB0),
    RGBColor(0xB8, 0x6B, 0x4B),
    RGBColor(0x8C, 0x9A, 0x2B),
];
const ALARM: RGBColor = RGBColor(0xD8, 0x3A, 0x3A);

const WIDTH: u32 = 860;

fn colour(index: usize) -> RGBColor {
    DATA[index % DATA.len()]
}

fn ink(size: u32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// Draws into text; nothing if there is nothing to draw or drawing fails.
fn svg(height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Option<String> {
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area).and_then(|()| area.present())
    };
    drawn.ok().map(|()| text)
}

/// A chart with both axes from zero, titled beside them.
fn frame<'a, 'b>(
    area: &'a Area<'b>,
    (x, y): (f64, f64),
    (x_title, y_title): (&str, &str),
) -> Result<Chart<'a, 'b>, DrawingAreaErrorKind<std::io::Error>> {
    let mut chart =
        ChartBuilder::on(area).margin(8).margin_right(16).x_label_area_size(38).y_label_area_size(62).build_cartesian_2d(0.0..x, 0.0..y)?;
    chart
        .configure_mesh()
        .x_desc(x_title)
        .y_desc(y_title)
        .axis_desc_style(ink(13))
        .label_style(ink(12))
        .axis_style(AXIS)
        .bold_line_style(GRID)
        .light_line_style(RGBColor(0, 0, 0).mix(0.0))
        .x_label_formatter(&|value| plain(*value))
        .y_label_formatter(&|value| plain(*value))
        .draw()?;
    Ok(chart)
}

fn plain(value: f64) -> String {
    if value.abs() >= 1000.0 && value.fract() == 0.0 {
        super::text::grouped(value as u64)
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn legend<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>) -> Drawn {
    chart.configure_series_labels().position(SeriesLabelPosition::UpperRight).label_font(ink(12)).margin(6).draw()
}

/// Replies a second over time, with the kill marked.
pub(super) fn rates(report: &Report) -> Option<String> {
    let step = report.step.as_secs_f64();
    let per_second = |count: u64| count as f64 / step;
    let steps = report.rates.iter().map(|rate| rate.counts.len()).max()?;
    let peak = report.rates.iter().flat_map(|rate| rate.counts.iter().copied()).max()?;
    if steps == 0 || peak == 0 || step <= 0.0 {
        return None;
    }
    let (width, height) = (steps as f64 * step, per_second(peak) * 1.3);
    svg(280, |area| {
        let mut chart = frame(area, (width, height), ("seconds", "replies a second"))?;
        for (index, rate) in report.rates.iter().enumerate() {
            let colour = colour(index);
            let points = rate.counts.iter().enumerate();
            let points = points.map(|(at, count)| ((at as f64 + 0.5) * step, per_second(*count)));
            chart
                .draw_series(AreaSeries::new(points, 0.0, colour.mix(0.18)).border_style(colour.stroke_width(2)))?
                .label(rate.name.clone())
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        for mark in &report.marks {
            let at = mark.at.as_secs_f64();
            chart.draw_series(LineSeries::new([(at, 0.0), (at, height)], ALARM.stroke_width(2)))?;
            let style = ink(12).color(&ALARM).pos(Pos::new(HPos::Left, VPos::Top));
            chart.draw_series([Text::new(mark.label.clone(), (at + width * 0.006, height * 0.98), style)])?;
        }
        legend(&mut chart)
    })
}

/// How many replies took how long: one bar per doubling.
pub(super) fn latency(jobs: &[Job]) -> Option<String> {
    const EDGES_US: [u64; 14] = [0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 120_000_001];
    let counts = |job: &Job| -> Vec<u64> { EDGES_US.windows(2).map(|edges| job.latency.count_between_us(edges[0], edges[1])).collect() };
    let shares: Vec<Vec<f64>> = jobs
        .iter()
        .map(|job| {
            let all = job.latency.count().max(1) as f64;
            counts(job).into_iter().map(|count| count as f64 * 100.0 / all).collect()
        })
        .collect();
    let peak = shares.iter().flatten().copied().fold(0.0, f64::max);
    if peak <= 0.0 {
        return None;
    }
    let bars = EDGES_US.len() - 1;
    svg(280, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(16)
            .x_label_area_size(38)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..bars as f64, 0.0..peak * 1.15)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .x_desc("milliseconds, up to")
            .y_desc("% of replies")
            .axis_desc_style(ink(13))
            .label_style(ink(12))
            .axis_style(AXIS)
            .bold_line_style(GRID)
            .light_line_style(RGBColor(0, 0, 0).mix(0.0))
            .y_label_formatter(&|value| plain(*value))
            .draw()?;
        let each = 0.84 / shares.len().max(1) as f64;
        for (index, (job, shares)) in jobs.iter().zip(&shares).enumerate() {
            let colour = colour(index);
            let rectangles = shares.iter().enumerate().map(|(bar, share)| {
                let left = bar as f64 + 0.08 + each * index as f64;
                Rectangle::new([(left, 0.0), (left + each, *share)], colour.filled())
            });
            chart
                .draw_series(rectangles)?
                .label(job.name.clone())
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        for (bar, edge) in EDGES_US.iter().skip(1).enumerate() {
            let label = if bar + 1 == bars { "more".to_owned() } else { plain(*edge as f64 / 1000.0) };
            let label = if *edge == 250 { "0.25".to_owned() } else { label };
            let at = chart.backend_coord(&(bar as f64 + 0.5, 0.0));
            let style = ink(12).pos(Pos::new(HPos::Center, VPos::Top));
            area.draw(&Text::new(label, (at.0, at.1 + 6), style))?;
        }
        legend(&mut chart)
    })
}

/// The prices of the most traded instruments.
pub(super) fn prices(report: &Report) -> Option<String> {
    let points = || report.prices.iter().flat_map(|path| path.points.iter().copied());
    let (width, height) = points().fold((0.0_f64, 0.0_f64), |(x, y), point| (x.max(point.0), y.max(point.1)));
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    svg(320, |area| {
        let mut chart = frame(area, (width, height * 1.5), ("seconds", "price"))?;
        for (index, path) in report.prices.iter().enumerate() {
            let colour = colour(index);
            chart
                .draw_series(LineSeries::new(path.points.iter().copied(), colour.stroke_width(2)))?
                .label(path.name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 12, y)], colour.stroke_width(3)));
        }
        legend(&mut chart)
    })
}

/// One bar a row, with its name on the left and its figure behind it.
struct Row {
    name: String,
    figure: String,
    /// Lengths and colours, one behind the other.
    parts: Vec<(f64, RGBColor)>,
    /// Where a line stands across the bar.
    limit: Option<f64>,
}

fn rows(rows: &[Row], name_width: i32) -> Option<String> {
    const ROW: i32 = 30;
    let length = |row: &Row| row.parts.iter().map(|part| part.0).sum::<f64>().max(row.limit.unwrap_or(0.0));
    let longest = rows.iter().map(length).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let scale = f64::from(WIDTH as i32 - name_width - 190) / longest;
    let height = u32::try_from(rows.len()).ok()?.checked_mul(ROW as u32)?.checked_add(12)?;
    svg(height, |area| {
        for (index, row) in rows.iter().enumerate() {
            let top = 6 + ROW * i32::try_from(index).unwrap_or(0);
            let middle = top + ROW / 2;
            let style = ink(13).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(row.name.clone(), (name_width - 10, middle), style))?;
            let mut left = f64::from(name_width);
            for (length, colour) in &row.parts {
                let right = left + length * scale;
                let corners = [(left as i32, top + 5), (right as i32, top + ROW - 5)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
                left = right;
            }
            let mut end = left as i32;
            if let Some(limit) = row.limit {
                let at = name_width + (limit * scale) as i32;
                area.draw(&PathElement::new([(at, top + 1), (at, top + ROW - 1)], ShapeStyle::from(INK).stroke_width(2)))?;
                end = end.max(at);
            }
            let style = ink(13).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(row.figure.clone(), (end + 8, middle), style))?;
        }
        Ok(())
    })
}

/// Bookings per level, paid and held, against the cap.
pub(super) fn levels(report: &Report) -> Option<String> {
    let bars: Vec<Row> = report
        .levels
        .iter()
        .map(|level| {
            let live = level.paid + level.held;
            let [live, cap] = [live, level.cap].map(super::text::grouped);
            Row {
                name: level.level.clone(),
                figure: format!("{live} of {cap}"),
                parts: vec![(level.paid as f64, colour(2)), (level.held as f64, colour(0))],
                limit: Some(level.cap as f64),
            }
        })
        .collect();
    rows(&bars, 150)
}

/// Refusals by code.
pub(super) fn rejections(report: &Report) -> Option<String> {
    let mut bars: Vec<(u64, Row)> = Vec::new();
    for (index, job) in report.jobs.iter().enumerate() {
        for (code, count) in &job.rejections {
            let row =
                Row { name: code.clone(), figure: super::text::grouped(*count), parts: vec![(*count as f64, colour(index))], limit: None };
            bars.push((*count, row));
        }
    }
    bars.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let bars: Vec<Row> = bars.into_iter().map(|(_, row)| row).collect();
    rows(&bars, 220)
}

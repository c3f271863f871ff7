//! The distributions as a page that needs nothing else: one drawing per scenario, as SVG in the HTML.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::bars::Verdict;
use crate::measure::Row;
use crate::report::Measured;

const SIZE: (u32, u32) = (860, 380);

/// The page.
///
/// # Errors
/// What the drawing library says.
pub fn page(results: &[Measured], verdicts: &[Verdict]) -> Result<String, String> {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>nrt-bench</title>\n<style>body{font-family:sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right}\
         td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}</style></head><body>\n<h1>nrt-bench</h1>\n\
         <p>Each line is the distribution of batch means of one peer, over all runs and threads: how many of the batches (upwards, \
         per cent) took no longer than so many nanoseconds per operation (to the right, logarithmic).</p>\n",
    );
    if !verdicts.is_empty() {
        page.push_str("<table><tr><th>ratio</th><th>median</th><th>interval</th><th>bar</th><th>verdict</th></tr>\n");
        for Verdict { name, ratio, bar, at_most, passes } in verdicts {
            let (side, verdict) = (if *at_most { "≤" } else { "≥" }, if *passes { "passes" } else { "fails" });
            let _ = writeln!(
                page,
                "<tr><td>{name}</td><td>{:.2}</td><td>{:.2} to {:.2}</td><td>{side} {bar}</td><td>{verdict}</td></tr>",
                ratio.median, ratio.low, ratio.high
            );
        }
        page.push_str("</table>\n");
    }
    for measured in results {
        let Some(rows) = &measured.rows else { continue };
        let _ = write!(page, "<h2>{}</h2>\n<p>{}</p>\n", escaped(measured.name), escaped(measured.operation));
        page.push_str(&drawing(rows).map_err(|error| format!("{}: {error}", measured.name))?);
        page.push_str("<table><tr><th>ns per operation</th><th>p50</th><th>p99</th><th>p99.9</th><th>max</th></tr>\n");
        for row in rows {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{:.1}</td><td>{:.1}</td><td>{:.1}</td><td>{:.0}</td></tr>",
                escaped(row.name),
                row.p50_ns,
                row.p99_ns,
                row.p999_ns,
                row.max_ns
            );
        }
        page.push_str("</table>\n");
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The distributions of one scenario.
fn drawing(rows: &[Row]) -> Result<String, String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        draw(&area, rows).map_err(|error| error.to_string())?;
    }
    // An XML declaration has no place inside a page.
    Ok(svg.split_once("?>").map_or(svg.clone(), |(_, rest)| rest.trim_start().to_owned()))
}

type Failed<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn draw<'a>(area: &DrawingArea<SVGBackend<'a>, Shift>, rows: &[Row]) -> Result<(), Failed<'a>> {
    area.fill(&WHITE)?;
    let ends = rows.iter().flat_map(|row| [row.curve.first(), row.curve.last()]).flatten().map(|point| point.0);
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let (low, high) = if low < high { (low.max(0.1), high) } else { (1.0, 10.0) };
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d((low * 0.9..high * 1.1).log_scale(), 0.0..100.0)?;
    chart.configure_mesh().x_desc("ns per operation").y_desc("% of batches").light_line_style(BLACK.mix(0.05)).draw()?;
    for (index, row) in rows.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let width = if index == 0 { 3 } else { 1 };
        let line = row.curve.iter().map(|&(ns, percent)| (ns.max(0.1), percent));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(width)))?
            .label(row.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(width)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .draw()?;
    area.present()
}

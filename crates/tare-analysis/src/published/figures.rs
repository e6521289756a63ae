//! The table of an article with a session's values beside its own: its rows and units, as its tool counts.

use super::measured::{Measured, is_case_of};
use super::tables::{block_cells, find_block};
use super::{Environment, Figure, Published};
use crate::article_table::{FigureLine, FigureTable, TableCell};
use crate::pooled::collect_runs;

/// Fills the table of an article's figures; none where the session measured none of them, or no environment besides the reference.
pub(super) fn fill_figures(article: &Published, measured: &Measured<'_>) -> Option<FigureTable> {
    let columns = choose_columns(article);
    let targets: Vec<Option<String>> = columns
        .iter()
        .map(|environment| Some(measured.target_name(measured.find_target(environment.kind)?)))
        .collect();
    targets.iter().skip(1).find(|target| target.is_some())?;
    let mut lines = Vec::new();
    for figure in &article.figures {
        let there = columns.iter().map(|environment| mean_of_kind(article, figure, environment)).collect();
        let Some((here, decimals)) = fill_line(figure, &targets, measured) else { continue };
        let (name, unit) = (figure.name.clone(), figure.unit.name());
        let decimals = [figure.count_decimals(), decimals];
        lines.push(FigureLine { name, unit, decimals, there, here });
    }
    let is_empty = lines.iter().flat_map(|line| &line.here).all(|cell| cell.value.is_none());
    let environments = columns.iter().map(|environment| environment.id.clone()).collect();
    (!is_empty).then_some(FigureTable { environments, targets, lines })
}

/// Chooses the reference and the first environment of each other kind that has figures.
fn choose_columns(article: &Published) -> Vec<&Environment> {
    let has_figures = |of: &&Environment| article.figures.iter().any(|f| f.values.contains_key(&of.id));
    let reference = article.reference.as_deref().and_then(|id| article.find_environment(id));
    let mut columns: Vec<&Environment> = reference.into_iter().collect();
    for environment in article.environments.iter().filter(has_figures) {
        if columns.iter().all(|column| column.kind != environment.kind) {
            columns.push(environment);
        }
    }
    columns
}

/// Averages the numbers of an environment, or of another of its kind where that alone has them.
fn mean_of_kind(article: &Published, figure: &Figure, environment: &Environment) -> Option<f64> {
    let others = article.environments.iter().filter(|other| other.kind == environment.kind);
    std::iter::once(environment).chain(others).find_map(|environment| figure.mean(&environment.id))
}

/// Computes a figure in an environment as its tool does, in its unit.
pub(super) fn compute_value(figure: &Figure, target: String, measured: &Measured<'_>) -> Option<f64> {
    fill_line(figure, &[Some(target)], measured)?.0.first()?.value
}

/// Fills a figure's cells by the tool's line that has it, with the digits of that line.
fn fill_line(
    figure: &Figure,
    targets: &[Option<String>],
    measured: &Measured<'_>,
) -> Option<(Vec<TableCell>, usize)> {
    let (block, part) = (find_block(&figure.probe)?, figure.line.as_deref()?);
    let is_line = |(name, unit, _): &(&str, &str, usize)| {
        *name == part && (figure.seconds.is_some() || *unit == figure.unit.name())
    };
    let at = block.lines.iter().position(is_line)?;
    let session = measured.session();
    let subject = figure.subject_of("");
    let mut runs = collect_runs(session, &[block.probe]);
    runs.retain(|run| is_case_of(run.case, subject));
    let case = runs.first()?.case;
    let cell = |target: &Option<String>| {
        let run = runs.iter().find(|run| run.case.id == case.id && Some(run.target) == target.as_deref())?;
        let mut cell = block_cells(session, block, run).swap_remove(at);
        cell.value = cell.value.map(|value| value * figure.seconds.unwrap_or(1.0));
        Some(cell)
    };
    let none = TableCell { value: None, range: None, note: None };
    let cells = targets.iter().map(|target| cell(target).unwrap_or_else(|| none.clone())).collect();
    let decimals = if figure.seconds.is_some() { 0 } else { block.lines[at].2 };
    Some((cells, decimals))
}

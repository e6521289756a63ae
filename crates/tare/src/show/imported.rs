//! Records of other tools' results: alone, and next to a session.

use std::path::Path;

use tare_data::session::Session;
use tare_lab::error::{ErrorKind, LabError};
use tare_record::{Contents, ImportedRecord};
use tare_report::{html, imported};

use crate::args::{Report, View};
use crate::show::session::Shown;
use crate::ui;

/// Formats results of other tools as the view asks for them.
pub fn format_import_alone(
    imports: &ImportedRecord,
    record: &Path,
    args: &Report,
) -> Result<String, LabError> {
    let View { json, markdown, csv, html, published, exports, .. } = &args.view;
    let is_other_form = html.is_some() || *markdown || *csv || !exports.is_empty();
    let wants_session = is_other_form || !args.view.list_conditions().is_empty();
    if wants_session || args.beside.is_some() || !published.is_empty() {
        let what = format!("{} holds figures of other tools, and no session", record.display());
        return Err(LabError::new(ErrorKind::Usage, what)
            .with_cause(
                "--html, --markdown, --csv, --published, --export, --fail-if and --beside need a session",
            )
            .with_hint("tare report SESSION --beside RECORD, or --json"));
    }
    let imported = &imports.imported;
    Ok(match json {
        true => imported::render_imported_json(imported),
        false => imported::render_imported_terminal(imported, ui::measure_width(), ui::has_colour()),
    })
}

/// Formats a session's findings, followed by another record's figures for the same metrics, and writes both
/// to the page if the view asks for one.
pub fn format_import_beside(
    session: Session,
    record: &Path,
    args: &Report,
    other: &Path,
) -> Result<String, LabError> {
    let Contents::Imported(imports) = tare_record::read_record(other)? else {
        let what = format!("{} is a session, not an import", other.display());
        return Err(LabError::new(ErrorKind::Usage, what)
            .with_cause("rounds of two sessions cannot be paired: they ran at different times")
            .with_hint("--beside takes a record made by tare import; tare compare OLD --to NEW compares two sessions"));
    };
    let shown = Shown::compute(session, &args.view, &[])?;
    let Shown { session, findings } = &shown;
    let found = imported::find_matching_values(session, findings, &imports.imported);
    if let Some(file) = &args.view.html {
        let options = html::Options { beside: Some(&found), ..html::Options::default() };
        shown.write_page(file, record, &options)?;
    }
    Ok(match (args.view.json, args.view.markdown) {
        (true, _) => tare_report::json::render_beside(session, findings, &found),
        (_, true) => {
            tare_report::markdown::render_markdown(session, findings) + &imported::beside_markdown(&found)
        }
        _ => {
            let own = shown.format_table(&args.view, record, args.view.html.as_deref());
            own + &imported::beside_terminal(&found, ui::measure_width(), ui::has_colour())
        }
    })
}

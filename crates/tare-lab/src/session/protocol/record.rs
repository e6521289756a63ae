//! The record of a new session: an aborted preparation leaves none.

use std::path::Path;

use tare_data::session::Header;
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer};

use crate::error::LabError;

/// Creates a record with its header, and has `plan` write the plan. Where that fails, the record is removed: without
/// a plan nothing can be read from it.
pub(crate) fn create_record<T>(
    path: &Path,
    header: Header,
    plan: impl FnOnce(&mut Writer) -> Result<T, LabError>,
) -> Result<(Writer, T), LabError> {
    let mut writer = Writer::create(path)?;
    let begun = writer.append(&Entry::Record { schema: SCHEMA, header }).map_err(LabError::from);
    let planned = begun.and_then(|()| plan(&mut writer));
    if planned.is_err() {
        let _ = std::fs::remove_file(path);
    }
    planned.map(|planned| (writer, planned))
}

#[cfg(test)]
mod tests {
    use tare_data::facts::Facts;

    use super::*;

    #[test]
    fn an_aborted_preparation_leaves_no_record_and_a_record_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.tare");
        let create = |plan: fn(&mut Writer) -> Result<(), LabError>| {
            let (tare, binary, started) = Default::default();
            let header = Header {
                tare,
                binary,
                started,
                command: Vec::new(),
                host: Facts::default(),
                identity: None,
                fleet: None,
            };
            super::create_record(&path, header, plan)
        };
        create(|_| Err(LabError::interruption_error())).unwrap_err();
        assert!(!path.exists());
        create(|_| Ok(())).unwrap();
        let before = std::fs::read(&path).unwrap();
        create(|_| Err(LabError::interruption_error())).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

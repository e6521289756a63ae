//! Imports that the file of an importer needs in nearly every case.

pub(super) use serde::Deserialize;
pub(super) use tare_data::imported::Statistic;
pub(super) use tare_data::unit::Unit;

pub(super) use super::agreement::{Span, check_agreement, check_order, is_ascending};
pub(super) use super::json::{self, List, Numbers, Object};
pub(super) use super::output::*;
pub(super) use super::text::*;

//! Imports that the file of an importer needs in nearly every case.

pub(crate) use serde::Deserialize;
pub(crate) use tare_data::imported::Statistic;
pub(crate) use tare_data::unit::Unit;

pub(crate) use crate::agreement::{Span, check_agreement, check_order, is_ascending};
pub(crate) use crate::json::{self, List, Numbers, Object};
pub(crate) use crate::output::*;
pub(crate) use crate::text::*;

//! Batches in the line of a pair: those of one moment stand together, because many series begin at once.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tare_data::batch::{Batch, Phase, Sample};

/// Series that stand together: more than any probe has, and few enough to look for a name among them one by one.
const MOST_TOGETHER: usize = 64;

/// Samples of several series that began at once, in their order: `{"phase":"cold","started_ns":7,"series":{"open":…,"stat":…}}`.
#[derive(Serialize, Deserialize)]
struct Moment {
    phase: Phase,
    started_ns: u64,
    #[serde(serialize_with = "write_map", deserialize_with = "read_map")]
    series: Vec<(String, Sample)>,
}

impl Moment {
    /// Tells whether a batch belongs here. A name stands once in an object.
    fn has_room(&self, batch: &Batch) -> bool {
        let is_new =
            self.series.len() < MOST_TOGETHER && self.series.iter().all(|(name, _)| *name != batch.series);
        self.phase == batch.phase && self.started_ns == batch.started_ns && is_new
    }
}

/// Writes batches as the moments at which they began.
pub fn serialize<S: Serializer>(batches: &[Batch], serializer: S) -> Result<S::Ok, S::Error> {
    let mut moments: Vec<Moment> = Vec::new();
    for batch in batches {
        let Batch { series, phase, started_ns, sample } = batch.clone();
        match moments.last_mut().filter(|moment| moment.has_room(batch)) {
            Some(moment) => moment.series.push((series, sample)),
            None => moments.push(Moment { phase, started_ns, series: vec![(series, sample)] }),
        }
    }
    moments.serialize(serializer)
}

/// Reads the batches of moments, in their order.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Batch>, D::Error> {
    let moments = Vec::<Moment>::deserialize(deserializer)?;
    let batches = moments.into_iter().flat_map(|Moment { phase, started_ns, series }| {
        series.into_iter().map(move |(series, sample)| Batch { series, phase, started_ns, sample })
    });
    Ok(batches.collect())
}

fn write_map<S: Serializer>(series: &[(String, Sample)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(series.iter().map(|(name, sample)| (name, sample)))
}

fn read_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Sample)>, D::Error> {
    /// Visitor that keeps the order of an object, which a map would not.
    struct InOrder;

    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, Sample)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("samples by their series")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut series = Vec::new();
            while let Some(entry) = map.next_entry()? {
                series.push(entry);
            }
            Ok(series)
        }
    }

    deserializer.deserialize_map(InOrder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Line {
        #[serde(with = "super")]
        batches: Vec<Batch>,
    }

    fn batch(series: &str, phase: Phase, started_ns: u64, value: f64) -> Batch {
        Batch { series: series.to_owned(), phase, started_ns, sample: Sample::Gauge { value } }
    }

    #[test]
    fn batches_of_one_moment_stand_together_and_come_back_in_their_order() {
        let line = Line {
            batches: vec![
                batch("open", Phase::Cold, 7, 1.0),
                batch("late", Phase::Cold, 7, 2.0),
                batch("open", Phase::Cold, 7, 3.0),
                batch("late", Phase::Warm, 7, 4.0),
                batch("late", Phase::Warm, 8, 5.0),
            ],
        };
        let json = serde_json::to_string(&line).unwrap();
        assert!(json.starts_with(
            r#"{"batches":[{"phase":"cold","started_ns":7,"series":{"open":{"gauge":{"value":1.0}},"late":{"gauge":{"value":2.0}}}},"#
        ));
        assert_eq!(json.matches("started_ns").count(), 4);
        assert_eq!(serde_json::from_str::<Line>(&json).unwrap(), line);
    }
}

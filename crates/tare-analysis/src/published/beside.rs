//! Which row of a session an article speaks of, and whether the session agrees with it.

use tare_data::session::Session;

use super::claims::{self, of_values};
use super::conditions::compare_sizes;
use super::figures::fill_figures;
use super::measured::{Measured, Place};
use super::repeated::find_repeated_article;
use super::tables::fill_tables;
use super::{Condition, EnvironmentKind, Figure, Published, StatedRatio};
use crate::findings::{ArticleBeside, Beside, Findings, Row, WithoutRow};
use crate::target_pairs::Ratio;
use crate::verdicts::rows::Options;

/// Adds articles' figures to the rows that they speak of, and the session's answers to their conclusions to
/// the findings.
pub fn place_beside(findings: &mut Findings, session: &Session, articles: &[Published]) {
    if articles.is_empty() {
        return;
    }
    let options = Options::default();
    let mut measured = Measured::new(session, &options);
    let mut besides: Vec<Vec<Beside>> = Vec::new();
    for row in &findings.rows {
        let place = measured.find_place(row);
        let of = |article| place.map(|place| article_beside(article, &place, &mut measured));
        besides.push(articles.iter().filter_map(of).flatten().collect());
    }
    let beyond = articles.iter().map(|article| ArticleBeside {
        source: article.id.clone(),
        title: article.title.clone(),
        without_row: without_row(article, &findings.rows, &measured),
        claims: claims::judge_claims(article, &findings.rows, &mut measured),
        tables: fill_tables(article, session),
        figures: find_repeated_article(session).and_then(|_| fill_figures(article, &measured)),
    });
    findings.articles = beyond.collect();
    for (row, beside) in findings.rows.iter_mut().zip(besides) {
        row.published = beside;
    }
}

fn article_beside(article: &Published, place: &Place<'_, '_>, measured: &mut Measured<'_>) -> Vec<Beside> {
    // The article's environment that the session's baseline corresponds to, or else its own reference.
    let mut environments = article.environments.iter();
    let shared = measured.baseline_kind().and_then(|kind| environments.find(|e| e.kind == kind));
    let mut beside = Vec::new();
    for figure in &article.figures {
        if !figure.subject().is_some_and(|subject| place.is_of(subject)) {
            continue;
        }
        let shared = shared.filter(|shared| figure.values.contains_key(&shared.id));
        let against = shared.map(|shared| shared.id.as_str()).or(article.reference.as_deref());
        let against = against.filter(|against| figure.values.contains_key(*against));
        for environment in &article.environments {
            if Some(environment.id.as_str()) == against || !figure.values.contains_key(&environment.id) {
                continue;
            }
            let mut entry = Beside::of_figure(article, figure, &environment.id, against);
            let reference = against.and_then(|against| article.find_environment(against));
            let kinds = (environment.kind, reference.map(|reference| reference.kind));
            entry.compare(&article.conditions, kinds, place, measured);
            beside.push(entry);
        }
    }
    for stated in article.ratios.iter().filter(|ratio| place.is_of(ratio.subject())) {
        let Some(environment) = article.find_environment(&stated.environment) else { continue };
        let mut entry = Beside::of_ratio(article, stated);
        let reference = article.find_environment(&stated.against);
        let kinds = (environment.kind, reference.map(|reference| reference.kind));
        entry.compare(&article.conditions, kinds, place, measured);
        beside.push(entry);
    }
    beside
}

/// Lists the figures and ratios that no row measures, in the article's order.
fn without_row(article: &Published, rows: &[Row], measured: &Measured<'_>) -> Vec<WithoutRow> {
    let places: Vec<Place> = rows.iter().filter_map(|row| measured.find_place(row)).collect();
    let figures = article.figures.iter().filter(|figure| {
        !figure.subject().is_some_and(|subject| places.iter().any(|place| place.is_of(subject)))
    });
    let figures = figures.map(|figure| WithoutRow {
        name: figure.name.clone(),
        printed: figure.values.keys().map(|id| (id.clone(), figure.format_printed(id))).collect(),
        unit: Some(figure.unit.name().into()),
        ratio: None,
        probe: figure.metric.is_some().then(|| figure.probe.clone()),
        because: figure.because.clone(),
    });
    let ratios =
        article.ratios.iter().filter(|ratio| !places.iter().any(|place| place.is_of(ratio.subject())));
    let ratios = ratios.map(|ratio| WithoutRow {
        name: ratio.name.clone(),
        printed: Default::default(),
        unit: None,
        ratio: Some(ratio.value),
        probe: Some(ratio.probe.clone()),
        because: None,
    });
    figures.chain(ratios).collect()
}

impl Beside {
    fn new(article: &Published, environment: &str, reference: Option<&str>, ratio: Option<f64>) -> Self {
        Beside {
            source: article.id.clone(),
            title: article.title.clone(),
            environment: Some(environment.to_owned()),
            reference: reference.map(str::to_owned),
            value: None,
            reference_value: None,
            printed: Vec::new(),
            reference_printed: Vec::new(),
            unit: None,
            factor: None,
            ratio,
            target: None,
            against_target: None,
            session_value: None,
            session_baseline_value: None,
            session_ratio: None,
            session_ratio_low: None,
            session_ratio_high: None,
            contained: None,
            because: None,
        }
    }

    fn of_figure(article: &Published, figure: &Figure, environment: &str, against: Option<&str>) -> Self {
        let ratio = against.and_then(|against| figure.value_ratio(environment, against));
        Beside {
            value: figure.mean(environment),
            reference_value: against.and_then(|against| figure.mean(against)),
            printed: figure.format_printed(environment),
            reference_printed: against.map(|against| figure.format_printed(against)).unwrap_or_default(),
            unit: Some(figure.unit.name().into()),
            factor: figure.factor,
            ..Beside::new(article, environment, against, ratio)
        }
    }

    fn of_ratio(article: &Published, stated: &StatedRatio) -> Self {
        Beside::new(article, &stated.environment, Some(&stated.against), Some(stated.value))
    }

    /// Finds the environments of the session that correspond to the article's two, and adds their values and
    /// their ratio to the article's.
    fn compare(
        &mut self,
        conditions: &[Condition],
        (kind, against): (EnvironmentKind, Option<EnvironmentKind>),
        place: &Place<'_, '_>,
        measured: &mut Measured<'_>,
    ) {
        let Some(target) = measured.find_target(kind) else { return };
        self.target = Some(measured.target_name(target));
        self.session_value = measured.own_value(place.row, target);
        let unmet = compare_sizes(conditions, place).unmet;
        // The mixture on which a factor rests is that of the article's sizes.
        self.factor = self.factor.filter(|_| unmet.is_none());
        let against = against.and_then(|against| measured.find_target(against));
        let Some(other) = against.filter(|other| *other != target) else { return };
        self.session_baseline_value = measured.own_value(place.row, other);
        self.against_target = Some(measured.target_name(other));
        let Some(found) = measured.compare_targets(place, target, other) else { return };
        let Ratio { ratio, interval } = of_values(found, place.row.metric.direction);
        self.session_ratio = Some(ratio);
        // Too few rounds leave the interval open: it would hold anything.
        if interval.is_bounded() {
            [self.session_ratio_low, self.session_ratio_high] = interval.ends(Some);
            self.because = unmet.or_else(|| measured.find_objection(place, &[target, other]));
            let comparable = self.ratio.filter(|_| self.because.is_none());
            self.contained = comparable.map(|ratio| interval.contains(ratio));
        }
    }
}

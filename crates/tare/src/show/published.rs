//! Published articles next to a session.

use tare_analysis::findings::{ArticleBeside, Findings, Row};
use tare_analysis::published::{Published, find_repeated_article};
use tare_data::session::Session;
use tare_lab::error::LabError;
use tare_lab::study::{Study, published};

use crate::args::View;
use crate::ui;

/// Refuses a name that is not an article's. Checked before anything is measured: a slip costs no session.
pub fn check_article_names(names: &[String]) -> Result<(), LabError> {
    names.iter().try_for_each(|name| published::read_article(name).map(drop))
}

/// Finds the articles to show with a session: those that the view names, and the one that it repeated or else those of
/// its study.
pub fn find_articles(session: &Session, view: &View) -> Result<Vec<Published>, LabError> {
    let mut names = view.published.clone();
    // An article that is not known here any more is not shown.
    match find_repeated_article(session).filter(|name| published::read_article(name).is_ok()) {
        Some(repeated) => names.push(repeated.to_owned()),
        None => {
            let study = Study::find_shipped(&session.plan.study)?;
            names.extend(study.map(|study| study.published).unwrap_or_default());
        }
    }
    let mut articles: Vec<Published> = Vec::new();
    for name in &names {
        let article = published::read_article(name)?;
        if articles.iter().all(|other| other.id != article.id) {
            articles.push(article);
        }
    }
    Ok(articles)
}

/// Warns about each named article that matches no row of the session, and says how to measure its figures.
pub fn note_those_beside_nothing(view: &View, findings: &Findings) -> Result<(), LabError> {
    for name in &view.published {
        let article = published::read_article(name)?;
        let is_beside = |row: &Row| row.published.iter().any(|beside| beside.source == article.id);
        let is_judged = |of: &ArticleBeside| {
            of.source == article.id && of.claims.iter().any(|claim| !claim.checks.is_empty())
        };
        let has_table = |of: &ArticleBeside| of.source == article.id && !of.tables.is_empty();
        let says = |of: &ArticleBeside| is_judged(of) || has_table(of);
        if !findings.rows.iter().any(is_beside) && !findings.articles.iter().any(says) {
            let redo = article.redo.map_or(String::new(), |_| format!("; 'tare run --like {name}' does"));
            ui::print_note(&format!("note: no row of this session measures what {} did{redo}", article.id));
        }
    }
    Ok(())
}

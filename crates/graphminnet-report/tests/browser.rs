//! The pages in a real browser: no error in the console, no text over another, nothing wider than the window.
//!
//! Ignored unless asked for, because it needs Chromium. With `GRAPHMINNET_SCREENSHOTS=FOLDER` pictures are kept there.

mod common;

use common::browser::{browser, problems, screenshot};

#[test]
#[ignore = "needs Chromium"]
fn a_page_with_every_picture_is_readable_in_a_browser_at_both_widths_light_and_dark() {
    let browser = browser();
    let html = common::page();
    if let Some(folder) = std::env::var_os("GRAPHMINNET_SCREENSHOTS") {
        let folder = std::path::absolute(folder).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("pictures.html");
        std::fs::write(&file, &html).unwrap();
        for (width, dark) in [(1280, false), (400, false), (1280, true), (400, true)] {
            let name = format!("pictures-{width}-{}.png", if dark { "dark" } else { "light" });
            screenshot(
                &browser,
                &file,
                width,
                if width > 1000 { 5000 } else { 8000 },
                dark,
                &folder.join(name),
            );
        }
    }
    let found: Vec<String> = [(1280, false), (400, true)]
        .iter()
        .flat_map(|&(width, dark)| problems(&browser, &html, width, dark))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

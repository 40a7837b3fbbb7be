//! A real browser.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names under which a Chromium is found.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// What is counted in the page once it is laid out. Texts are compared by the boxes that the browser gave them.
const SCRIPT: &str = r#"<script>
addEventListener('load', () => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is ' + document.documentElement.scrollWidth + ' px wide, the window ' + innerWidth);
  document.querySelectorAll('svg').forEach((svg) => {
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map((text) => [text.textContent.trim(), text.getBoundingClientRect()]);
    boxes.forEach(([text, a], at) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
        found.push('"' + text + '" leaves ' + svg.getAttribute('aria-label'));
      boxes.slice(0, at).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const line = Math.min(a.height, b.height, a.width, b.width);
        if (across > 1.5 && down > 0.35 * line && down > 1.5) found.push('"' + text + '" over "' + other + '" in ' + svg.getAttribute('aria-label'));
      });
    });
    if (frame.width < 100) found.push('a picture is ' + frame.width + ' px wide');
  });
  document.documentElement.setAttribute('data-found', JSON.stringify(found));
});
</script>"#;

/// The browser. Tests that ask for it are ignored unless they are asked for, so its absence is a failure.
pub fn browser() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("no browser is installed ({})", NAMES.join(", ")))
}

fn run(browser: &Path, profile: &Path, width: u32, dark: bool, more: &[String]) -> Output {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ]);
    if dark {
        command.args(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]);
    }
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("--window-size={width},3000"));
    command.args(more).output().unwrap()
}

/// What the browser finds wrong with a page at a width: texts over each other, things that stick out, console errors.
pub fn problems(browser: &Path, html: &str, width: u32, dark: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    let profile = folder.path().join("profile");
    let url = format!("file://{}", file.display());
    // First as it is, for the console; then with a script that measures.
    let plain = run(browser, &profile, width, dark, &["--dump-dom".into(), url.clone()]);
    let mut found: Vec<String> = String::from_utf8_lossy(&plain.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect();
    let policy = html.lines().find(|line| line.contains("Content-Security-Policy")).unwrap_or("\n");
    // A headless window is never narrower than 500 pixels; a frame may be.
    let measured = html.replace(policy, "").replace("</head>", &format!("{SCRIPT}</head>"));
    std::fs::write(&file, measured).unwrap();
    let outer = folder.path().join("outer.html");
    let copy = "<script>addEventListener('message', (e) => document.body.setAttribute('data-found', e.data))</script>";
    let frame = format!(
        "<body style=\"margin:0\">{copy}<iframe src=\"{url}\" style=\"border:0;width:{width}px;height:3000px\"></iframe></body>"
    );
    std::fs::write(&outer, frame).unwrap();
    let send = "document.documentElement.setAttribute('data-found', JSON.stringify(found));";
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace(send, "parent.postMessage(JSON.stringify(found), '*');");
    std::fs::write(&file, text).unwrap();
    let outer = format!("file://{}", outer.display());
    let more = ["--virtual-time-budget=20000".into(), "--dump-dom".into(), outer];
    let dom = run(browser, &profile, width.max(500), dark, &more);
    let dom = String::from_utf8_lossy(&dom.stdout);
    match dom.split_once("data-found=\"").and_then(|(_, rest)| rest.split_once('"')) {
        Some(("[]", _)) => {}
        Some((list, _)) => found.push(list.replace("&quot;", "'")),
        None => found.push(format!("the page could not be measured: {dom:.300}")),
    }
    found
}

/// A picture of a page.
pub fn screenshot(browser: &Path, html: &Path, width: u32, height: u32, dark: bool, png: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().join("outer.html");
    let frame = format!(
        "<body style=\"margin:0\"><iframe src=\"file://{}\" style=\"border:0;width:{width}px;height:{height}px\"></iframe></body>",
        html.display()
    );
    std::fs::write(&outer, frame).unwrap();
    let more = [
        format!("--screenshot={}", png.display()),
        format!("--window-size={},{height}", width.max(500)),
        format!("file://{}", outer.display()),
    ];
    run(browser, &folder.path().join("profile"), width, dark, &more);
}

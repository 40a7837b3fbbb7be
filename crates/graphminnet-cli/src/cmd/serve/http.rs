//! Connections and routes.

use super::Bounds;
use super::answer::Answer;
use super::metrics::Metrics;
use super::workers::{Endpoint, Workers};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections that are open at the same time; more wait to be accepted.
const CONNECTIONS: usize = 512;
/// Time for the head of a request, and for requests that are under way when the server is stopped.
const PATIENCE: Duration = Duration::from_secs(10);

const PAGE: &str = include_str!("page.html");
const OPENAPI: &str = include_str!("openapi.json");

struct Service {
    workers: Workers,
    metrics: Metrics,
    bounds: Bounds,
}

/// Serves until the flag is set, then lets requests under way finish.
pub async fn serve(listener: TcpListener, workers: Workers, bounds: Bounds, interrupt: &AtomicBool) {
    let service = Arc::new(Service { workers, metrics: Metrics::default(), bounds });
    let router = router(Arc::clone(&service));
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = raised(interrupt) => break,
        };
        let Ok((stream, permit)) = accepted else {
            // Out of file handles, say: others may close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks concerns nobody else.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(PATIENCE, graceful.shutdown()).await;
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(connections).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    // Answers are small and should not wait for more.
    stream.set_nodelay(true)?;
    Ok((stream, permit))
}

async fn raised(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/", get(|| async { typed("text/html; charset=utf-8", PAGE.to_owned()) }))
        .route("/openapi.json", get(|| async { typed("application/json", OPENAPI.to_owned()) }))
        .route("/health", get(|| async { typed("application/json", "{\"status\":\"ok\"}".to_owned()) }))
        .route("/metrics", get(metrics))
        .route("/model", get(model))
        .route("/predict", post(|service, body| work(service, Endpoint::Predict, body)))
        .route("/explain", post(|service, body| work(service, Endpoint::Explain, body)))
        .fallback(|| async { reply(Answer::error(404, "no such page; see /openapi.json")) })
        .method_not_allowed_fallback(|| async {
            reply(Answer::error(405, "not by this method; see /openapi.json"))
        })
        .layer(DefaultBodyLimit::max(service.bounds.body))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), watched))
        .with_state(service)
}

/// Bounds the time of a request, and counts its answer.
async fn watched(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let claimed =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let mut answer = if claimed.is_some_and(|length: u64| length > service.bounds.body as u64) {
        // Without waiting for any of it.
        reply(too_large(&service.bounds))
    } else {
        let answer = tokio::time::timeout(service.bounds.time, next.run(request)).await;
        answer.unwrap_or_else(|_| reply(Answer::error(408, "the request took too long")))
    };
    // The page needs nothing from elsewhere, and nobody needs to frame it or guess types.
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        (
            "content-security-policy",
            "default-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
        ),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    service.metrics.answered(answer.status().as_u16());
    answer
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    typed("text/plain; version=0.0.4", service.metrics.text())
}

async fn model(State(service): State<Arc<Service>>) -> Response {
    typed("application/json", service.workers.description.clone())
}

async fn work(
    State(service): State<Arc<Service>>,
    endpoint: Endpoint,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return reply(too_large(&service.bounds));
        }
        Err(error) => return reply(Answer::error(error.status().as_u16(), error.body_text())),
    };
    let start = Instant::now();
    let answer = match service.workers.submit(endpoint, body.into()) {
        Ok(answer) => {
            answer.await.unwrap_or_else(|_| Answer::error(500, "the request could not be worked on"))
        }
        Err(answer) => answer,
    };
    service.metrics.worked(answer.graphs, start.elapsed());
    reply(answer)
}

fn too_large(bounds: &Bounds) -> Answer {
    Answer::error(413, format!("the body is larger than {} bytes", bounds.body))
}

fn reply(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, typed("application/json", answer.body)).into_response()
}

fn typed(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}

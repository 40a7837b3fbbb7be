//! Connections and routes.

use super::Bounds;
use super::access::{Access, Refusal};
use super::answer::Answer;
use super::connections::{Connection, Connections};
use super::workers::{Endpoint, Workers};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};

/// Time for the head of a request, and for requests that are under way when the server is stopped.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds after which a client may try again that came when too many were waiting.
const RETRY_AFTER: &str = "1";

const PAGE: &str = include_str!("page.html");
const OPENAPI: &str = include_str!("openapi.json");

struct Service {
    workers: Workers,
    access: Access,
    bounds: Bounds,
}

/// Serves until the flag is set, then lets requests under way finish.
pub async fn serve(
    listener: TcpListener,
    workers: Workers,
    access: Access,
    bounds: Bounds,
    interrupt: &AtomicBool,
) {
    let connections = Connections::new(workers.capacity());
    let router = router(workers, access, bounds);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = raised(interrupt) => break,
        };
        let Ok(stream) = accepted else {
            // Out of file handles, say: there will be one soon.
            connections.shrink();
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let connection = connections.enter();
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), tagged(&router, &connection));
        let served = graceful.watch(served);
        tokio::spawn(async move {
            tokio::select! {
                // A connection that breaks concerns nobody else.
                _ = served => {}
                () = connection.must_leave() => {}
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(PATIENCE, graceful.shutdown()).await;
}

async fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    // Answers are small and should not wait for more.
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn raised(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The routes, for the requests of one connection.
pub fn tagged(router: &Router, connection: &Arc<Connection>) -> Tagged {
    Tagged { router: TowerToHyperService::new(router.clone()), connection: Arc::clone(connection) }
}

/// See [`tagged`].
pub struct Tagged {
    router: TowerToHyperService<Router>,
    connection: Arc<Connection>,
}

impl hyper::service::Service<hyper::Request<Incoming>> for Tagged {
    type Response = Response;
    type Error = <TowerToHyperService<Router> as hyper::service::Service<hyper::Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as hyper::service::Service<hyper::Request<Incoming>>>::Future;

    fn call(&self, mut request: hyper::Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(Arc::clone(&self.connection));
        hyper::service::Service::call(&self.router, request)
    }
}

/// Where each request goes.
pub fn router(workers: Workers, access: Access, bounds: Bounds) -> Router {
    let service = Arc::new(Service { workers, access, bounds });
    Router::new()
        .route("/", get(|| async { typed("text/html; charset=utf-8", PAGE.to_owned()) }))
        .route("/openapi.json", get(|| async { typed("application/json", OPENAPI.to_owned()) }))
        .route("/health", get(|| async { typed("application/json", "{\"status\":\"ok\"}".to_owned()) }))
        .route("/metrics", get(metrics))
        .route("/model", get(model))
        .route(
            "/predict",
            post(|service, connection, body| work(service, connection, Endpoint::Predict, body)),
        )
        .route(
            "/explain",
            post(|service, connection, body| work(service, connection, Endpoint::Explain, body)),
        )
        .fallback(|| async { reply(Answer::error(404, "no such page; see /openapi.json")) })
        .method_not_allowed_fallback(|| async {
            reply(Answer::error(405, "not by this method; see /openapi.json"))
        })
        .layer(DefaultBodyLimit::max(service.bounds.body))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), watched))
        .with_state(service)
}

/// Lets in whoever may ask, bounds the time of a request, and counts its answer.
async fn watched(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let claimed =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let refusal = service.access.refusal(request.uri().path(), request.headers());
    let mut answer = if let Some(refusal) = refusal {
        refused(refusal)
    } else if claimed.is_some_and(|length: u64| length > service.bounds.body as u64) {
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
    service.workers.metrics.answered(answer.status().as_u16());
    answer
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    typed("text/plain; version=0.0.4", service.workers.metrics.text())
}

async fn model(State(service): State<Arc<Service>>) -> Response {
    typed("application/json", service.workers.description.clone())
}

async fn work(
    State(service): State<Arc<Service>>,
    Extension(connection): Extension<Arc<Connection>>,
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
    let _working = connection.work();
    let start = Instant::now();
    let answer = match service.workers.submit(endpoint, body.into()) {
        Ok(answer) => {
            let _in_progress = service.workers.metrics.in_progress();
            answer.await.unwrap_or_else(|_| Answer::error(500, "the request could not be worked on"))
        }
        Err(answer) => answer,
    };
    service.workers.metrics.worked(answer.graphs, start.elapsed());
    reply(answer)
}

fn refused(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Token => {
            let answer =
                Answer::error(401, "a token is needed: send the header `Authorization: Bearer TOKEN`");
            with_header(reply(answer), header::WWW_AUTHENTICATE, "Bearer")
        }
        Refusal::Name => reply(Answer::error(
            403,
            "this server answers to localhost and 127.0.0.1 alone; to ask it under another name, start it with --token-file FILE or with --public",
        )),
    }
}

fn too_large(bounds: &Bounds) -> Answer {
    Answer::error(413, format!("the body is larger than {} bytes", bounds.body))
}

fn reply(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let response = (status, typed("application/json", answer.body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return with_header(response, header::RETRY_AFTER, RETRY_AFTER);
    }
    response
}

fn with_header(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

fn typed(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}

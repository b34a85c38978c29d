# The server in an image of its own: built in one stage, run in another as somebody who may do nothing else.
#
#   docker build -t nevertwice .
#   docker run --rm -p 127.0.0.1:8080:8080 -v nevertwice:/var/lib/nevertwice -e NEVERTWICE_OPERATOR_KEY=... nevertwice
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev make && rm -rf /var/lib/apt/lists/*
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY xtask xtask
# The pages of the error codes, the data of the demo and the profiles of the conformance suite are part of the binary.
COPY docs docs
COPY data data
COPY conformance conformance
RUN cargo build --release --locked --package nevertwice && target/release/nevertwice --version

FROM debian:bookworm-slim
# Whose certificates are believed when it asks others over https: another server, a collector of traces.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
RUN groupadd --system --gid 10001 nevertwice \
    && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/nevertwice --shell /usr/sbin/nologin nevertwice \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/nevertwice
COPY --from=build /src/target/release/nevertwice /usr/local/bin/nevertwice
COPY ops/config/container.toml /etc/nevertwice/nevertwice.toml
COPY LICENSE LICENSE-APACHE LICENSE-MIT /usr/share/doc/nevertwice/
USER 10001:10001
# The data folder and, beside it, the person key. A container's own layer is no place for them: mount a volume here.
VOLUME ["/var/lib/nevertwice"]
EXPOSE 8080
STOPSIGNAL SIGTERM
# A start recovers the journal before it answers; a large one takes its time.
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["nevertwice"]
CMD ["serve", "--config", "/etc/nevertwice/nevertwice.toml"]

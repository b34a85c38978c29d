//! A small server of the API for tests: the pure core behind hand-written HTTP, with a journal in memory.
//!
//! It is honest unless a [`Plant`] tells it to lose or double an effect. [`Server::kill`] cuts every connection and forgets
//! everything but the journal.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nevertwice_api::person::{SaleKey, reference};
use nevertwice_api::{fingerprint, wire};
use nevertwice_core as core;
use nevertwice_core::{Action, Code, Command, Decision, Entry, Event, Intent, Name, Query, ShardId, State, View};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// Nothing.
    Nothing,
    /// The kill takes the last fills with it.
    LoseFill,
    /// The kill takes the last bookings with it.
    LoseBooking,
    /// One order is filled twice.
    DoubleFill,
    /// One seat is given to somebody who did not ask.
    DoubleBooking,
}

/// How many effects a kill takes with it. Of the last ones some were never told to anybody, since their answers were cut off or lost
/// on purpose; those a client can't miss. There are fewer connections than this.
const LOST: usize = 24;

struct Shards {
    market: State,
    sale: State,
    journal: Vec<Entry>,
    plant: Plant,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shards: Arc<Mutex<Shards>>,
    listening: Arc<Mutex<Option<JoinHandle<()>>>>,
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn empty(kind: core::ShardKind, epoch: u32) -> State {
    let name = name(if kind == core::ShardKind::Market { "worldcup-2026" } else { "seats-2026" });
    State::new(ShardId { kind, name }, epoch, (1, 2))
}

fn key() -> SaleKey {
    SaleKey::new([7; 32])
}

impl Server {
    pub(crate) async fn start(plant: Plant) -> Self {
        let shards =
            Shards { market: empty(core::ShardKind::Market, 1), sale: empty(core::ShardKind::Sale, 1), journal: Vec::new(), plant };
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self { address, shards: Arc::new(Mutex::new(shards)), listening: Arc::default() };
        server.address = server.listen().await;
        server
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind(self.address).await.expect("the address is free");
        let address = listener.local_addr().expect("an address");
        let shards = self.shards.clone();
        let task = tokio::spawn(async move {
            // Connections die with this task, as they die with a process.
            let mut connections = tokio::task::JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { return };
                        connections.spawn(serve(stream, shards.clone()));
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        *self.listening.lock().expect("not poisoned") = Some(task);
        address
    }

    /// Cuts all connections and listens no more.
    pub(crate) async fn stop(&self) {
        let listening = self.listening.lock().expect("not poisoned").take().expect("it listens");
        listening.abort();
        let _aborted = listening.await;
    }

    /// Cuts all connections and recovers from the journal, of which a plant may have taken something.
    pub(crate) async fn kill(&self) {
        self.stop().await;
        {
            let mut shards = self.shards.lock().expect("not poisoned");
            let is_lost = |entry: &Entry| match shards.plant {
                Plant::LoseFill => matches!(entry.events[0], Event::OrderFilled(_)),
                Plant::LoseBooking => matches!(entry.events[0], Event::CandidateAdmitted(_)),
                _ => false,
            };
            let mut effects = (0..shards.journal.len()).rev().filter(|number| is_lost(&shards.journal[*number]));
            if let Some(lost) = effects.nth(LOST - 1) {
                drop(effects);
                // What follows in the same shard goes with it: a torn tail.
                let shard = shards.journal[lost].shard.clone();
                let position = shards.journal[lost].position;
                shards.journal.retain(|entry| entry.shard != shard || entry.position < position);
            }
            let mut market = empty(core::ShardKind::Market, 2);
            let mut sale = empty(core::ShardKind::Sale, 2);
            for entry in &shards.journal {
                let state = if entry.shard == *market.shard() { &mut market } else { &mut sale };
                state.apply(entry).expect("the journal replays");
            }
            shards.market = market;
            shards.sale = sale;
        }
        tokio::time::sleep(Duration::from_millis(80)).await;
        self.listen().await;
    }
}

async fn serve(mut stream: TcpStream, shards: Arc<Mutex<Shards>>) {
    let mut bytes = Vec::new();
    loop {
        let request = loop {
            if let Some(request) = Parsed::take(&mut bytes) {
                break request;
            }
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        // As long as a journal takes, so that retries meet what is under way.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (status, replayed, body) = shards.lock().expect("not poisoned").answer(&request);
        let body = body.to_string();
        let marker = if replayed { "idempotent-replayed: true\r\n" } else { "" };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n{marker}\r\n{body}", body.len());
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
    }
}

struct Parsed {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Parsed {
    fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(bytes[..head_end].to_vec()).expect("a head of text");
        let mut lines = head.lines();
        let mut first = lines.next().expect("a request line").split(' ').map(str::to_owned);
        let headers: Vec<_> = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.into(), value.into())).collect();
        let find = |name: &str| headers.iter().find(|(header, _): &&(String, String)| header == name);
        let length = find("content-length").map_or(0, |(_, length)| length.parse().expect("a length"));
        if bytes.len() < head_end + length {
            return None;
        }
        let body = bytes[head_end..head_end + length].to_vec();
        bytes.drain(..head_end + length);
        Some(Self { method: first.next()?, path: first.next()?, headers, body })
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value.as_str())
    }

    fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{} {}: {error}", self.method, self.path))
    }

    fn intent(&self) -> Intent {
        Intent {
            principal: core::Principal::new(self.header("principal")).expect("a principal"),
            key: core::IdempotencyKey::new(self.header("idempotency-key")).expect("a key"),
            fingerprint: fingerprint::of_json(&[&self.path], &self.body).expect("JSON"),
            expires_at: Some(self.header("idempotency-expires").parse().expect("an instant")),
        }
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    now.as_millis().try_into().expect("an instant")
}

impl Shards {
    fn answer(&mut self, request: &Parsed) -> (u16, bool, Value) {
        if request.method == "GET" { (200, false, self.read(request)) } else { self.command(request) }
    }

    fn command(&mut self, request: &Parsed) -> (u16, bool, Value) {
        let path = request.path.clone();
        if let Some(payment) = path.strip_prefix("/sandbox/payments/").and_then(|rest| rest.strip_suffix("/pay")) {
            return self.pay(payment);
        }
        let parts: Vec<&str> = path.split('/').skip(2).collect();
        if parts.ends_with(&["bookings"]) && request.json::<wire::Book>().website.is_some() {
            return (201, false, json!({"result": {"booking": "9-9"}, "replayed": false}));
        }
        let action = self.action(request, &parts);
        let entry = match self.decide(Command::new(request.intent(), action)) {
            Ok((entry, replayed)) => (entry, replayed),
            Err(rejection) => {
                let code: nevertwice_api::ErrorCode = rejection.code().parse().expect("a known code");
                let problem = wire::Problem::new(code, "no");
                return (code.status(), false, serde_json::to_value(problem).expect("JSON"));
            }
        };
        let (entry, replayed) = entry;
        self.sabotage(&entry);
        if matches!(entry.events[0], Event::CandidateAdmitted(_)) && !replayed {
            let key = core::IdempotencyKey::new(&format!("begin-{}", entry.position)).expect("a key");
            let intent = Intent { key, ..request.intent() };
            let action = core::BeginPayment { booking: entry.position };
            self.decide(Command::new(intent, action)).expect("an admitted booking can be paid");
            let key = core::IdempotencyKey::new(&format!("attach-{}", entry.position)).expect("a key");
            let intent = Intent { key, ..request.intent() };
            let payment = core::PaymentId::of(self.sale.shard(), entry.position).expect("an id");
            let url = format!("http://there:1/sandbox/payments/{payment}");
            let url = core::PaymentUrl::new(&url).expect("an address");
            let action = core::AttachPayment { booking: entry.position, payment, url };
            self.decide(Command::new(intent, action)).expect("a payment that began has a page");
        }
        let mut answer = json!({"result": self.result(&entry), "replayed": replayed, "position": entry.position.to_string(), "levels": []});
        if matches!(entry.events[0], Event::CandidateAdmitted(_)) {
            let booking = self.sale.read(&Query::Booking { booking: entry.position });
            let Ok(View::Booking(booking)) = booking else { panic!("a booking") };
            answer["state"] = json!(wire::Booking::from(&booking));
        }
        (if replayed { 200 } else { 201 }, replayed, answer)
    }

    /// The page of a payment: it may be asked again and again.
    fn pay(&mut self, payment: &str) -> (u16, bool, Value) {
        let booking = payment.rsplit_once('.').and_then(|(_, booking)| booking.parse().ok()).expect("a position");
        let intent = Intent {
            principal: core::Principal::new("gateway").expect("a principal"),
            key: core::IdempotencyKey::new(payment).expect("a key"),
            fingerprint: [0; 32],
            expires_at: None,
        };
        let payment = core::PaymentId::new(payment).expect("an id");
        let action = core::ConfirmPayment { booking, payment };
        let status = if self.decide(Command::new(intent, action)).is_ok() { 200 } else { 404 };
        (status, false, json!("a page"))
    }

    fn decide(&mut self, command: Command) -> Result<(Entry, bool), core::Rejection> {
        let of_sale = matches!(
            command.action,
            Action::OpenSale(_)
                | Action::LoadCandidates(_)
                | Action::Admit(_)
                | Action::BeginPayment(_)
                | Action::AttachPayment(_)
                | Action::ConfirmPayment(_)
                | Action::ReleaseBooking(_)
                | Action::SetSaleOpen(_)
        );
        let state = if of_sale { &mut self.sale } else { &mut self.market };
        match state.decide(&command, now_ms()) {
            Decision::Accepted(entry) => {
                state.apply(&entry).expect("a decided entry applies");
                self.journal.push(entry.clone());
                Ok((entry, false))
            }
            Decision::Replayed(entry) => Ok((entry, true)),
            Decision::Rejected(rejection) => Err(rejection),
        }
    }

    /// Does once what the plant says, in the middle of the run.
    fn sabotage(&mut self, entry: &Entry) {
        let action: Action = match (self.plant, &entry.events[0]) {
            (Plant::DoubleFill, Event::OrderFilled(filled)) if entry.position.seq > 2_000 => core::PlaceOrder {
                account: filled.account.clone(),
                instrument: filled.instrument.clone(),
                side: filled.side,
                quantity: filled.quantity,
                limit_price: None,
                expected_price: None,
                max_slippage_bps: None,
            }
            .into(),
            (Plant::DoubleBooking, Event::CandidateAdmitted(admitted)) if entry.position.seq > 60 => {
                let code = Code::new("NOBODY").expect("a code");
                let candidate = key().candidate(&code);
                let fact = core::CandidateFact { candidate, email: None, levels: 0b111 };
                let action = core::LoadCandidates { candidates: vec![fact] };
                let intent = Intent { key: core::IdempotencyKey::new("plant-0").expect("a key"), ..entry.intent.clone() };
                self.decide(Command::new(intent, action)).expect("loaded");
                core::Admit { candidate, email: None, level: admitted.level.clone() }.into()
            }
            _ => return,
        };
        let intent = Intent { key: core::IdempotencyKey::new("plant-1").expect("a key"), ..entry.intent.clone() };
        if self.decide(Command::new(intent, action)).is_ok() {
            self.plant = Plant::Nothing;
        }
    }

    fn action(&self, request: &Parsed, parts: &[&str]) -> Action {
        match parts {
            ["markets"] => {
                let wire::OpenMarket { decimals, fee_bps, limits, mode, .. } = request.json();
                let wire::MarketLimits { quantity_max, holding_max, house_loss_max } = limits;
                let limits = core::MarketLimits { quantity_max, holding_max, house_loss_max };
                core::OpenMarket { decimals, fee_bps, limits, mode: mode.into(), retention_ms: 86_400_000 }.into()
            }
            ["markets", _, "instruments"] => {
                let wire::ListInstrument { instrument, base, slope } = request.json();
                core::ListInstrument { instrument: name(&instrument), base, slope }.into()
            }
            ["markets", _, "accounts"] => {
                let wire::OpenAccount { account, class, opening_balance } = request.json();
                core::OpenAccount { account: name(&account), class: class.into(), opening_balance }.into()
            }
            ["markets", _, "orders"] => {
                let order: wire::PlaceOrder = request.json();
                core::PlaceOrder {
                    account: name(&order.account),
                    instrument: name(&order.instrument),
                    side: order.side.into(),
                    quantity: order.quantity,
                    limit_price: order.limit_price,
                    expected_price: order.expected_price,
                    max_slippage_bps: order.max_slippage_bps,
                }
                .into()
            }
            ["markets", _, "instruments", instrument, "reprice"] => {
                core::Reprice { instrument: name(instrument), base: request.json::<wire::Reprice>().base }.into()
            }
            ["sales"] => {
                let sale: wire::OpenSale = request.json();
                let levels = sale.levels.iter().map(|cap| core::LevelCap { level: name(&cap.level), cap: cap.cap });
                core::OpenSale {
                    levels: levels.collect(),
                    total_cap: sale.total_cap,
                    hold_ms: sale.hold_ms.expect("a hold"),
                    opens_at: sale.opens_at,
                    closes_at: sale.closes_at,
                    retention_ms: 86_400_000,
                }
                .into()
            }
            ["sales", _, "candidates"] => {
                let lines = request.json::<wire::LoadCandidates>().candidates;
                core::LoadCandidates { candidates: lines.iter().map(|line| self.candidate(line)).collect() }.into()
            }
            ["sales", _, "open"] => core::SetSaleOpen { open: request.json::<wire::SetSaleOpen>().open }.into(),
            ["sales", _, "bookings"] => {
                let book: wire::Book = request.json();
                let candidate = key().candidate(&Code::new(&book.code).expect("a code"));
                let email = book.email.map(|email| key().email(&email));
                core::Admit { candidate, email, level: name(&book.level) }.into()
            }
            ["sales", _, "bookings", booking, "confirm"] => {
                let payment = core::PaymentId::new(&request.json::<wire::Confirm>().payment).expect("a payment");
                core::ConfirmPayment { booking: booking.parse().expect("a position"), payment }.into()
            }
            ["sales", _, "bookings", booking, "release"] => {
                let payment = request.json::<wire::Release>().payment.expect("a payment began");
                let owner = core::BookingOwner::Payment(core::PaymentId::new(&payment).expect("a payment"));
                let booking = booking.parse().expect("a position");
                core::ReleaseBooking { booking, owner, reason: core::ReleaseReason::Cancelled }.into()
            }
            other => panic!("an unknown path: {other:?}"),
        }
    }

    fn candidate(&self, line: &wire::CandidateLine) -> core::CandidateFact {
        let Ok(View::Sale(sale)) = self.sale.read(&Query::Sale) else { panic!("the sale is open") };
        let bit = |level: &String| {
            let at = sale.levels.iter().position(|known| known.level.as_str() == level).expect("a level");
            1_u64 << at
        };
        let all = (1 << sale.levels.len()) - 1;
        core::CandidateFact {
            candidate: key().candidate(&Code::new(&line.code).expect("a code")),
            email: line.email.as_ref().map(|email| key().email(email)),
            levels: line.levels.as_ref().map_or(all, |levels| levels.iter().map(bit).fold(0, |set, bit| set | bit)),
        }
    }

    fn result(&self, entry: &Entry) -> Value {
        let position = entry.position.to_string();
        match &entry.events[0] {
            Event::OrderFilled(_) => json!(wire::Order::of(entry).expect("an order")),
            Event::CandidateAdmitted(admitted) => {
                let admission = wire::Admission::of(entry).expect("an admission");
                assert_eq!(admission.reference, reference(&admitted.candidate));
                json!(admission)
            }
            Event::InstrumentRepriced(repriced) => json!({
                "instrument": repriced.instrument.as_str(), "base_before": repriced.base_before, "base": repriced.base,
                "price_before": repriced.price_before, "price_after": repriced.price_after,
                "house_loss": repriced.house_loss, "position": position, "at_ms": entry.at_ms,
            }),
            _ => json!({"position": position, "at_ms": entry.at_ms}),
        }
    }

    fn read(&self, request: &Parsed) -> Value {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let from: u32 = query.split_once('=').map_or(0, |(_, from)| from.parse().expect("a number"));
        let parts: Vec<&str> = path.split('/').skip(2).collect();
        let (state, query) = match parts.as_slice() {
            ["markets", _] => (&self.market, Query::Market),
            ["markets", _, "instruments"] => (&self.market, Query::Instruments { from }),
            ["markets", _, "accounts", account] => (&self.market, Query::Account { account: name(account) }),
            ["markets", _, "accounts", account, "holdings"] => (&self.market, Query::Holdings { account: name(account), from }),
            ["sales", _] => (&self.sale, Query::Sale),
            ["sales", _, "bookings"] => (&self.sale, Query::Bookings { cursor: core::ScanCursor(from) }),
            other => panic!("an unknown path: {other:?}"),
        };
        let result = shown(state.read(&query).expect("it is there"));
        json!({"result": result, "position": state.position().to_string(), "levels": []})
    }
}

fn shown(view: View) -> Value {
    match view {
        View::Market(market) => json!({
            "market": "worldcup-2026", "decimals": market.decimals, "fee_bps": market.fee_bps,
            "limits": {"quantity_max": 1, "holding_max": 1, "house_loss_max": 1}, "mode": "open", "fees": market.fees,
            "issuance": market.issuance, "house_loss": market.house_loss, "instruments": market.instruments,
            "accounts": market.accounts,
        }),
        View::Instruments(page) => {
            let instruments = page.instruments.iter().map(|it| {
                json!({
                    "instrument": it.instrument.as_str(), "base": it.base, "slope": it.slope, "state": "active",
                    "price": it.price, "net": it.net, "cash": it.cash,
                })
            });
            json!({"instruments": instruments.collect::<Vec<_>>(), "next": page.next})
        }
        View::Account(account) => json!({
            "account": account.account.as_str(), "class": "bot", "balance": account.balance,
            "marked_score": account.marked_score, "holdings": account.holdings,
        }),
        View::Holdings(holdings, next) => {
            let holdings = holdings.iter().map(|it| {
                json!({
                    "account": it.account.as_str(), "instrument": it.instrument.as_str(), "shares": it.shares,
                    "cost": it.cost, "marked_profit": it.marked_profit,
                })
            });
            json!({"holdings": holdings.collect::<Vec<_>>(), "next": next})
        }
        View::Sale(sale) => {
            let levels = sale.levels.iter().map(|it| json!({"level": it.level.as_str(), "cap": it.cap, "live": it.live}));
            json!({
                "sale": "seats-2026", "open": sale.open, "opens_at": sale.opens_at, "closes_at": sale.closes_at,
                "hold_ms": sale.hold_ms, "total_cap": sale.total_cap, "live": sale.live,
                "levels": levels.collect::<Vec<_>>(), "candidates": sale.candidates, "bookings": sale.bookings,
            })
        }
        View::Bookings(bookings, next) => {
            let bookings: Vec<_> = bookings.iter().map(wire::Booking::from).collect();
            json!({"bookings": bookings, "next": next.map(|next| next.0)})
        }
        other => panic!("not asked for: {other:?}"),
    }
}

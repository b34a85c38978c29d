//! The run from the first request to the verdict.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use super::ask::{Asker, Fault, Meter};
use super::crowd::{self, Arrival};
use super::market::{Board, trade};
use super::outcome::{Demo, Told, assemble};
use super::persona::{Persona, Trader};
use super::sale::{Queue, book};
use super::setup::{OPENING_BALANCE, base_of, open_doors, set_up};
use super::shared::Shared;
use super::wire::Question;
use super::{DemoError, Options, goals, read};
use crate::http::Target;
use crate::record::{QUIET_US, Record};
use crate::seed::Seed;
use crate::worldcup::{Matches, Squads, Timeline};

/// Connections that ask again what is not known.
const SETTLERS: usize = 16;

/// Runs the demonstration against an empty server at [`Options::base_url`].
///
/// When half of the plan is done, `restart_killed` is awaited once: it has to end the server by SIGKILL, start it again on the
/// same data folder and the same address, and return when the new one is started; it need not be ready yet. The crowd goes on
/// meanwhile. Verification of the journal, which needs the server stopped, is the caller's: see [`Demo::report`].
pub async fn run<H>(options: Options, restart_killed: H) -> Result<Demo, DemoError>
where
    H: AsyncFnOnce() -> Result<(), String>,
{
    let target = Target::parse(&options.base_url)?;
    let squads = Squads::embedded()?;
    let matches = Matches::embedded()?;
    let timeline = Arc::new(Timeline::new(&matches, &squads));
    let seed = Seed::new(options.seed);
    let shared = Arc::new(Shared::new(&options, target));
    let traders = traders(&options, &squads, &seed);
    let accounts: Vec<String> = traders.iter().map(|trader| trader.account.clone()).collect();
    let (arrivals, list) = crowd::draw(&options, &seed);
    let bars = Bars::new(&options, arrivals.len());

    bars.say("opening the market and the sale");
    set_up(&shared, &options, &squads, &accounts, &list).await?;
    bars.say("the crowd trades and books");
    let crowd = Crowd { options: &options, shared: &shared, seed: &seed, timeline: &timeline, squads: &squads };
    let (mut told, queue) = crowd.go(traders, arrivals, restart_killed, &bars).await?;

    bars.say("asking again what is not known");
    settle(&shared, &seed, &mut told).await?;
    bars.say("reading the final state");
    let market = read::market(&shared, &accounts).await?;
    let sale = read::sale(&shared).await?;
    bars.finish();
    told.robots_fooled = queue.robots_fooled.load(Ordering::Relaxed);
    told.took = shared.began.elapsed();
    Ok(assemble(&options, &squads, &matches, &timeline, told, market, sale))
}

/// The accounts, each with its manner and its favourite team.
fn traders(options: &Options, squads: &Squads, seed: &Seed) -> Vec<Trader> {
    let mut seed = seed.fork("traders", 0);
    let mut teams = Vec::new();
    let mut from = 0;
    for squad in squads.teams() {
        teams.push((from, from + squad.players.len()));
        from += squad.players.len();
    }
    (0..options.accounts)
        .map(|number| {
            let persona = Persona::ALL[number % Persona::ALL.len()];
            let favourites = seed.pick(&teams).copied().unwrap_or_default();
            let account = format!("{}-{number}", persona.name());
            Trader { account, persona, balance: OPENING_BALANCE, holdings: BTreeMap::new(), favourites }
        })
        .collect()
}

/// What the crowd needs to go.
struct Crowd<'a> {
    options: &'a Options,
    shared: &'a Arc<Shared>,
    seed: &'a Seed,
    timeline: &'a Arc<Timeline>,
    squads: &'a Squads,
}

/// Whose work is over.
enum Over {
    Market(Box<Asker>),
    Sale(Box<(Asker, Asker)>),
}

impl Crowd<'_> {
    async fn go<H>(
        self,
        traders: Vec<Trader>,
        arrivals: Vec<Arrival>,
        restart_killed: H,
        bars: &Bars,
    ) -> Result<(Told, Arc<Queue>), DemoError>
    where
        H: AsyncFnOnce() -> Result<(), String>,
    {
        let total = self.options.orders + arrivals.len() as u64;
        let mut workers = JoinSet::new();
        self.send_traders(traders, &mut workers);
        // The doors open when the market is warm, so that the rush meets a busy server.
        self.until(self.options.orders / 10, &mut workers).await?;
        open_doors(self.shared).await?;
        let queue = Arc::new(Queue { arrivals, next: AtomicUsize::new(0), doors_open: Instant::now(), robots_fooled: AtomicUsize::new(0) });
        self.send_candidates(&queue, &mut workers);

        let mut told = Told { doors_open: self.shared.began.elapsed(), ..Told::default() };
        let mut hook = Some(restart_killed);
        loop {
            tokio::select! {
                over = workers.join_next() => match over {
                    None => break,
                    Some(over) => told.take(over.map_err(|error| DemoError::Crowd(error.to_string()))?.inspect_err(|_| self.give_up())?),
                },
                () = tokio::time::sleep(Duration::from_millis(2)) => {
                    bars.show(self.shared);
                    if self.shared.done.load(Ordering::Relaxed) >= total / 2 && let Some(hook) = hook.take() {
                        bars.say("the server is killed and started again");
                        told.killed_at = Some(self.shared.began.elapsed());
                        told.under_way = self.shared.under_way.load(Ordering::Relaxed);
                        hook().await.inspect_err(|_| self.give_up()).map_err(DemoError::Restart)?;
                        told.restarted_at = Some(self.shared.began.elapsed());
                        bars.say("the crowd goes on with the same keys");
                    }
                }
            }
        }
        bars.show(self.shared);
        if self.shared.given_up.load(Ordering::Relaxed) {
            return Err(DemoError::Silent(self.options.patience));
        }
        Ok((told, queue))
    }

    fn send_traders(&self, traders: Vec<Trader>, workers: &mut JoinSet<Result<Over, DemoError>>) {
        let listed = self.squads.players().map(|player| (player.instrument.clone(), base_of(player.playing_position)));
        let listed: Vec<(String, i64)> = listed.collect();
        let bases: BTreeMap<String, i64> = listed.iter().cloned().collect();
        let board = Arc::new(Board::new(listed));
        let left = Arc::new(AtomicU64::new(self.options.orders));
        let connections = self.options.market_connections.clamp(1, traders.len().max(1));
        let mut shares: Vec<Vec<Trader>> = (0..connections).map(|_| Vec::new()).collect();
        for (number, trader) in traders.into_iter().enumerate() {
            if let Some(share) = shares.get_mut(number % connections) {
                share.push(trader);
            }
        }
        for (number, share) in shares.into_iter().enumerate() {
            let asker = Asker::new(self.shared.clone(), self.seed.fork("market", number as u64));
            let (board, left) = (board.clone(), left.clone());
            workers.spawn(async move { trade(asker, share, board, left).await.map(|asker| Over::Market(Box::new(asker))) });
        }
        let asker = Asker::new(self.shared.clone(), self.seed.fork("goals", 0));
        let (timeline, options) = (self.timeline.clone(), self.options.clone());
        workers
            .spawn(async move { goals::replay(asker, timeline, board, bases, options).await.map(|asker| Over::Market(Box::new(asker))) });
    }

    fn send_candidates(&self, queue: &Arc<Queue>, workers: &mut JoinSet<Result<Over, DemoError>>) {
        for number in 0..self.options.sale_connections.max(1) {
            let first = Asker::new(self.shared.clone(), self.seed.fork("sale", number as u64));
            let second = Asker::new(self.shared.clone(), self.seed.fork("second tap", number as u64));
            let queue = queue.clone();
            workers.spawn(async move { book(first, second, queue).await.map(|both| Over::Sale(Box::new(both))) });
        }
    }

    /// Waits until so many orders are placed.
    async fn until(&self, orders: u64, workers: &mut JoinSet<Result<Over, DemoError>>) -> Result<(), DemoError> {
        while self.shared.orders_done.load(Ordering::Relaxed) < orders {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if let Some(over) = workers.try_join_next() {
                over.map_err(|error| DemoError::Crowd(error.to_string()))??;
                return Err(DemoError::Crowd("a trader ended at once".to_owned()));
            }
        }
        Ok(())
    }

    fn give_up(&self) {
        self.shared.given_up.store(true, Ordering::Relaxed);
    }
}

impl Told {
    fn take(&mut self, over: Over) {
        let mut one = |asker: Asker, meter: fn(&mut Self) -> &mut Meter| {
            meter(self).add(&asker.meter);
            self.record.add(asker.record);
            self.doubtful.extend(asker.doubtful);
        };
        match over {
            Over::Market(asker) => one(*asker, |told| &mut told.market),
            Over::Sale(both) => {
                let (first, second) = *both;
                one(first, |told| &mut told.sale);
                one(second, |told| &mut told.sale);
            }
        }
    }
}

/// Asks again, when everything is quiet, whatever was not told yes and may have happened: the same key gives the true answer.
async fn settle(shared: &Arc<Shared>, seed: &Seed, told: &mut Told) -> Result<(), DemoError> {
    tokio::time::sleep(Duration::from_micros(2 * QUIET_US)).await;
    let doubtful = std::mem::take(&mut told.doubtful);
    told.asked_again = doubtful.len();
    let mut settlers: JoinSet<(Record, Meter, Meter)> = JoinSet::new();
    for (number, share) in doubtful.chunks(doubtful.len().div_ceil(SETTLERS).max(1)).enumerate() {
        let mut asker = Asker::new(shared.clone(), seed.fork("settle", number as u64));
        let share: Vec<Question> = share.to_vec();
        settlers.spawn(async move {
            let (mut market, mut sale) = (Meter::default(), Meter::default());
            for question in share {
                asker.ask(&question, Fault::None).await;
                let meter = if question.asked.of_sale() { &mut sale } else { &mut market };
                meter.add(&std::mem::take(&mut asker.meter));
            }
            (asker.record, market, sale)
        });
    }
    while let Some(settled) = settlers.join_next().await {
        let (record, market, sale) = settled.map_err(|error| DemoError::Crowd(error.to_string()))?;
        told.record.add(record);
        told.market.add(&market);
        told.sale.add(&sale);
    }
    Ok(())
}

/// The progress on the terminal, if it is wanted.
struct Bars {
    all: MultiProgress,
    orders: ProgressBar,
    visits: ProgressBar,
    now: ProgressBar,
}

impl Bars {
    fn new(options: &Options, arrivals: usize) -> Self {
        let all = MultiProgress::new();
        if !options.progress {
            all.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{prefix:>10} {bar:40.cyan/dim} {human_pos:>7} of {human_len} {per_sec}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = |length, name: &'static str| all.add(ProgressBar::new(length).with_style(style.clone()).with_prefix(name));
        let orders = bar(options.orders, "orders");
        let visits = bar(arrivals as u64, "candidates");
        let words = ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        let now = all.add(ProgressBar::new_spinner().with_style(words));
        now.enable_steady_tick(Duration::from_millis(120));
        Self { all, orders, visits, now }
    }

    fn say(&self, message: &'static str) {
        self.now.set_message(message);
    }

    fn show(&self, shared: &Shared) {
        self.orders.set_position(shared.orders_done.load(Ordering::Relaxed));
        self.visits.set_position(shared.arrivals_done.load(Ordering::Relaxed));
    }

    fn finish(&self) {
        self.orders.finish();
        self.visits.finish();
        self.now.finish_and_clear();
        // The lines that stay are the bars; a terminal that went away is no reason to fail.
        let _gone = self.all.println("");
    }
}

//! `nevertwice standby`: follows another server's journal in a folder of its own, until it is promoted.

use std::process::ExitCode;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, Observer};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::source::Source as _;
use nevertwice_server::config::{Config, load};
use nevertwice_server::{
    Bound, COPIED_NOTES, Metrics, Parts, Remote, StartError, Target, check_data_folder, check_person_secret, compare_person_secret,
    is_person_secret_noted, load_person_secret, open_standby,
};

use crate::asking::AskingArgs;
use crate::keys_opened::KeysOpened;
use crate::serve;

/// Follows another server. Its settings are those of `serve`: they hold once it is promoted, and where they listen, already now.
#[derive(Debug, clap::Args)]
pub(crate) struct StandbyArgs {
    /// The server that is followed, such as `http://10.0.0.1:8080` or `https://primary.example`.
    #[arg(long, value_name = "URL")]
    from: Target,
    #[command(flatten)]
    asking: AskingArgs,
    /// The name under which that server knows this standby: each has its own.
    #[arg(long, value_name = "NAME", default_value = "standby")]
    name: String,
    #[command(flatten)]
    serve: serve::Arguments,
}

/// Runs the standby; what stops it before it follows is told on stderr.
pub(crate) fn run(arguments: &StandbyArgs) -> ExitCode {
    match arguments.serve.sources().and_then(|sources| load(&sources)).and_then(|config| follow(arguments, &config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nevertwice does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn follow(arguments: &StandbyArgs, config: &Config) -> Result<(), StartError> {
    serve::start_log(config)?;
    let mut remote = arguments
        .asking
        .remote(&arguments.from)
        .map_err(|error| StartError { code: ErrorCode::ConfigurationInvalid, detail: format!("{error}. Nothing was started.") })?;
    check_data_folder(&config.data)?;
    let bound = Bound::take(config)?;
    let person_secret = person_secret(arguments, config, &mut remote)?;
    let (clock, metrics) = (Arc::new(SystemClock), Arc::new(Metrics::new()));
    let observer = Arc::clone(&metrics) as Arc<dyn Observer>;
    let standby = Arc::new(open_standby(config, remote, &arguments.name, clock, observer)?);
    tracing::info!(from = %arguments.from, data = %config.data.display(), batch = standby.status().batch, "following");
    // For the time after its promotion: until then it claims none.
    let runtime = serve::runtime()?;
    let keys = KeysOpened::open(config, &runtime)?;
    let mut parts = Parts::new(Arc::clone(&standby) as Arc<_>, person_secret);
    parts.journal = Some(Arc::clone(&standby) as Arc<_>);
    parts.standby = Some(Arc::clone(&standby));
    parts.metrics = metrics;
    parts.keys = keys.parts();
    serve::listen(&runtime, bound, config, parts)?;
    standby.stop();
    keys.stop();
    tracing::info!("stopped");
    Ok(())
}

/// The secret of persons that belongs to the data: with another one a promoted standby would make strangers of everybody. What
/// tells the right one comes with the data, so the first start has to reach the other server.
fn person_secret(arguments: &StandbyArgs, config: &Config, remote: &mut Remote) -> Result<[u8; 32], StartError> {
    let path = config.person_key_path();
    let secret = load_person_secret(&path)?;
    check_person_secret(&path, &config.data, &secret)?;
    if is_person_secret_noted(&config.data) {
        return Ok(secret);
    }
    let listing = remote.listing().map_err(|error| StartError {
        code: ErrorCode::SourceUnusable,
        detail: format!("{} can't be followed: {error}. Nothing was started. The first start has to reach it.", arguments.from),
    })?;
    for note in listing.notes.iter().filter(|note| COPIED_NOTES.contains(&note.name.as_str())) {
        compare_person_secret(&path, &arguments.from.to_string(), &secret, &String::from_utf8_lossy(&note.bytes))?;
    }
    Ok(secret)
}

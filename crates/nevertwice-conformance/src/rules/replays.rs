//! What a replay repeats.

use crate::control::Plan;
use crate::http::Answer;
use crate::probe::{EXPOSED, Failed, Probe};

async fn replayed(probe: &Probe, plan: Plan) -> Result<(Answer, Answer), Failed> {
    let (first, again) = probe.twice(plan, &probe.ask()).await?;
    probe.check_replay(&first, &again)?;
    probe.check_runs(1).await?;
    Ok((first, again))
}

pub(super) async fn lines_in_their_order(probe: &Probe) -> Result<(), Failed> {
    let plan = Plan::status(201)
        .header("location", "/charges/7")
        .header("etag", "\"7\"")
        .header("link", "</a>; rel=\"a,b\"")
        .header("link", "</c>; rel=c")
        .header("content-type", "application/json; charset=utf-8")
        .header("content-language", "de")
        .header("expires", "Thu, 01 Dec 1994 16:00:00 GMT")
        .header("x-many", "1")
        .header("x-many", "")
        .header("x-many", "3");
    let (first, _) = replayed(probe, plan).await?;
    if first.values("link").len() == 2 && first.values("x-many").len() == 3 {
        return Ok(());
    }
    Err(Failed::new(format!("{} lines of link", first.values("link").len()), "two, as the handler sent them"))
}

pub(super) async fn bytes_as_they_were(probe: &Probe) -> Result<(), Failed> {
    let every: Vec<u8> = (0..=255).collect();
    let media = ("content-type", "application/octet-stream");
    let cases = [("binary", every.as_slice()), ("empty", b""), ("not utf-8", b"\xff\xfe"), ("one", b"\0")];
    for (case, body) in cases {
        let part = probe.part(case.replace(' ', "-"));
        let (first, _) = replayed(&part, Plan::status(200).header(media.0, media.1).body(body)).await.map_err(|failed| failed.of(case))?;
        if first.body != body {
            return Err(Failed::new(first, "the bytes that the handler sent").of(case));
        }
    }
    Ok(())
}

pub(super) async fn chunks_are_one_body(probe: &Probe) -> Result<(), Failed> {
    let (first, _) = replayed(probe, Plan::status(200).sized(10_000).chunked()).await?;
    if first.body.len() == 10_000 { Ok(()) } else { Err(Failed::new(first, "10000 bytes")) }
}

pub(super) async fn without_a_body(probe: &Probe) -> Result<(), Failed> {
    for status in [204, 304] {
        let (first, _) = replayed(&probe.part(status), Plan::status(status)).await.map_err(|failed| failed.of(status))?;
        if !first.body.is_empty() {
            return Err(Failed::new(first, "no body").of(status));
        }
    }
    Ok(())
}

pub(super) async fn not_what_belongs_to_the_moment(probe: &Probe) -> Result<(), Failed> {
    const LONG_AGO: &str = "Thu, 01 Dec 1994 16:00:00 GMT";
    let names: Vec<&String> = probe.profile.replays.without.iter().filter(|name| *name != "connection").collect();
    let mut plan = Plan::status(201).header("location", "/charges/7").header("x-hop", "1").header("connection", "x-hop");
    for name in &names {
        plan = plan.header(name, if *name == "date" { LONG_AGO } else { "1" });
    }
    let (first, again) = replayed(probe, plan).await?;
    for name in names {
        let (at_first, repeated) = (first.values(name), again.values(name));
        // A server may put a date of its own there.
        if name == "date" && repeated != [LONG_AGO.as_bytes()] {
            continue;
        }
        if !repeated.is_empty() {
            return Err(Failed::new(
                format!("{name} on the replay"),
                format!("no {name}, which the first answer had {} times", at_first.len()),
            ));
        }
    }
    if !again.values("x-hop").is_empty() {
        return Err(Failed::new("x-hop on the replay", "no header that Connection names"));
    }
    Ok(())
}

pub(super) async fn first_caller_gets_them_all(probe: &Probe) -> Result<(), Failed> {
    let plan = Plan::status(201).header("set-cookie", "a=1").header("set-cookie", "b=2; Expires=Thu, 01 Dec 2094 16:00:00 GMT");
    let (first, again) = probe.twice(plan, &probe.ask()).await?;
    if first.values("set-cookie").len() != 2 {
        return Err(Failed::new(format!("{} lines of set-cookie at first", first.values("set-cookie").len()), "two"));
    }
    probe.check_replay(&first, &again)
}

pub(super) async fn marker_is_exposed(probe: &Probe) -> Result<(), Failed> {
    let (first, again) = replayed(probe, Plan::status(201).header(EXPOSED, "link")).await?;
    let names = |answer: &Answer| -> Vec<String> {
        let lines: Vec<String> = answer.values(EXPOSED).iter().map(|line| String::from_utf8_lossy(line).to_ascii_lowercase()).collect();
        lines.iter().flat_map(|line| line.split(',')).map(|name| name.trim().to_owned()).collect()
    };
    let told = format!("{EXPOSED}: {}", names(&again).join(", "));
    if !names(&again).contains(&probe.profile.told.marker) {
        return Err(Failed::new(told, format!("{EXPOSED} with {}", probe.profile.told.marker)));
    }
    if names(&first).iter().all(|name| names(&again).contains(name)) {
        Ok(())
    } else {
        Err(Failed::new(told, "what the handler exposed, too"))
    }
}

pub(super) async fn again_and_again(probe: &Probe) -> Result<(), Failed> {
    let (first, _) = replayed(probe, Plan::status(201).header("location", "/charges/7")).await?;
    for _ in 0..5 {
        probe.check_replay(&first, &probe.send(&probe.ask()).await?)?;
    }
    probe.check_runs(1).await
}

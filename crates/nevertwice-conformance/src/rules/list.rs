//! All rules, in the order in which they are asked.

use super::rule::Rule;
use super::{ages, callers, duplicates, effects, endpoints, fingerprints, keys, limits, replays};
use crate::profile::{ClientErrors, Compared, Duplicates, Larger, Nobody, OldKeys, Profile, Scope, ServerErrors};

macro_rules! rules {
    ($($id:literal, $check:path, $applies:expr, $words:literal;)*) => {
        &[$(Rule { id: $id, words: $words, applies: $applies, check: |probe| Box::pin($check(probe)) }),*]
    };
}

fn always(_: &Profile) -> bool {
    true
}

const RULES: &[Rule] = rules! {
    "endpoint-answers", endpoints::answers_as_planned, always, "an echo endpoint answers as it was planned, and counts";
    "endpoint-gate", endpoints::gate_holds, always, "an echo endpoint waits at its gate";
    "endpoint-fails", endpoints::fails_as_planned, always, "an echo endpoint fails as it was planned";
    "endpoint-body", endpoints::counts_what_it_is_sent, always, "an echo endpoint counts the bytes that it is sent, chunked or not";

    "retry-replays", keys::retry_gets_the_first_answer, always, "a retry gets the first answer, and the effect happens once";
    "methods-guarded", keys::every_guarded_method, always, "every guarded method is guarded";
    "methods-unguarded", keys::other_methods_run_each_time, always, "GET, HEAD and what else is not guarded run each time, key or not";
    "key-missing", keys::missing_is_refused, |p| p.statuses.missing.is_some(), "a request without a key is refused";
    "key-optional", keys::missing_runs_each_time, |p| p.statuses.missing.is_none(), "a request without a key runs each time";
    "key-quoted", keys::quoted_is_bare, always, "a quoted key and a bare one are the same key";
    "key-escapes", keys::escapes_are_resolved, always, "escapes in a quoted key are resolved, and every visible character may be in one";
    "key-case", keys::case_counts, always, "keys differ by case";
    "key-longest", keys::longest, always, "the longest key is a key";
    "key-empty", keys::empty_is_refused, always, "an empty key is refused";
    "key-too-long", keys::too_long_is_refused, always, "a key that is too long is refused";
    "key-list", keys::list_is_refused, always, "a list of keys is refused";
    "key-ill-formed", keys::ill_formed_is_refused, always, "a key that is ill-quoted or has spaces is refused";
    "key-not-ascii", keys::other_than_ascii_is_refused, always, "a key that is not ASCII is refused";
    "key-two-lines", keys::two_lines_are_refused, always, "two header lines are refused, also with the same key";
    "key-refused-no-trace", effects::refused_requests_leave_no_trace, always, "a refused form leaves no trace";

    "caller-own-keys", callers::callers_do_not_meet, always, "two callers with the same key do not meet";
    "caller-own-bodies", callers::other_callers_body_is_no_mismatch, always, "another caller's body under the same key is no mismatch";
    "caller-nobody", callers::nobody_is_refused, |p| p.caller.nobody == Nobody::Refused, "a caller whom nobody knows is refused";
    "caller-shared", callers::nobody_shares_a_space, |p| p.caller.nobody == Nobody::Shared,
        "callers whom nobody knows share one space of keys, and no other";
    "method-own-keys", callers::methods_do_not_share_keys, callers::has_methods, "the same key by another method is another key";
    "path-mismatch", callers::other_path_is_a_mismatch, |p| p.same.scope == Scope::Principal,
        "the same key at another path, or with another query, is a mismatch";
    "path-own-keys", callers::other_path_is_another_key, |p| p.same.scope == Scope::Route,
        "the same key at another path, or with another query, is another key";
    "query-order", callers::order_of_the_query_is_the_same, always, "the order and the escapes of the query do not matter";

    "mismatch", fingerprints::other_body_is_a_mismatch, always, "another body under a used key is refused";
    "mismatch-harmless", fingerprints::mismatch_leaves_the_answer, always, "a mismatch leaves the kept answer as it is";
    "json-same", fingerprints::json_is_the_same_by_what_it_means, |p| p.same.json == Compared::Canonical,
        "the order of members, white space and escapes of JSON do not matter";
    "json-other", fingerprints::json_differs_by_what_it_means, always, "JSON that means something else is another body";
    "json-numbers", fingerprints::numbers_count_by_their_text, always, "numbers of JSON count by their text, beyond 2^53 too";
    "json-broken", fingerprints::broken_json_counts_by_its_bytes, always, "what is no JSON counts by its bytes";
    "form-same", fingerprints::forms_are_the_same_by_their_fields, |p| p.same.forms == Compared::Canonical,
        "the order of a form's fields and its escapes do not matter";
    "form-other", fingerprints::forms_differ_by_their_fields, always, "a form with another field is another body";
    "multipart-same", fingerprints::multipart_is_the_same_whatever_the_boundary, |p| p.same.multipart == Compared::Canonical,
        "the boundary of a multipart body does not matter";
    "multipart-other", fingerprints::multipart_differs_by_its_parts, always, "a multipart body with another part is another body";
    "bytes-other", fingerprints::other_bodies_count_by_their_bytes, always, "every other body counts by its bytes and its media type";
    "bytes-whole", fingerprints::the_whole_body_counts, always, "a large body counts to its last byte";
    "headers-other", fingerprints::other_headers_do_not_count, always, "headers that differ with each attempt do not matter";

    "running-refused", duplicates::duplicate_is_told_that_the_first_one_runs, |p| p.effects.duplicates == Duplicates::Refused,
        "a duplicate is told that the first one runs, and for how long to wait";
    "running-waits", duplicates::duplicate_hears_the_first_answer, |p| p.effects.duplicates == Duplicates::Wait,
        "a duplicate hears the first one's answer when it comes";
    "running-mismatch", duplicates::mismatch_comes_before_in_progress, always,
        "another body is a mismatch also while the first one runs, and is told so at once";
    "running-many", duplicates::of_many_one_runs, always, "of many duplicates at once one runs";
    "running-hang-up", duplicates::hanging_up_changes_nothing, always, "a client that hangs up finds its answer when it comes back";
    "running-others", duplicates::keys_do_not_wait_for_each_other, always, "a request that runs holds up no other key";

    "replay-lines", replays::lines_in_their_order, always, "a replay repeats the header lines, repeated ones in their order";
    "replay-bytes", replays::bytes_as_they_were, always, "a replay repeats the body byte for byte";
    "replay-chunked", replays::chunks_are_one_body, always, "an answer in chunks is repeated";
    "replay-no-body", replays::without_a_body, always, "204 and 304 are repeated, without a body";
    "replay-moment", replays::not_what_belongs_to_the_moment, always, "a replay does not repeat what belongs to a connection, a moment or a session";
    "replay-first-whole", replays::first_caller_gets_them_all, always, "the first caller gets all lines, cookies too";
    "replay-exposed", replays::marker_is_exposed, |p| p.told.marker_exposed, "pages in browsers may see the marker";
    "replay-many", replays::again_and_again, always, "every replay is like the first one";

    "kept-success", effects::success_is_kept, always, "2xx and 3xx are kept";
    "kept-client-errors", effects::client_errors_are_kept, |p| p.effects.client_errors == ClientErrors::Kept, "4xx are kept";
    "free-client-errors", effects::client_errors_free, |p| p.effects.client_errors == ClientErrors::Free, "4xx free the key";
    "free-refusals", effects::refusals_of_the_handler_free, always, "401, 403, 409, 425 and 429 free the key";
    "free-retry-after", effects::unavailable_with_retry_after_frees, always, "503 with Retry-After frees the key";
    "free-then-kept", effects::freed_key_is_kept_later, always, "a key that was freed keeps the next answer";
    "unknown-server-errors", effects::server_errors_are_unknown, effects::unknown_errors, "after 5xx nobody knows, and nothing runs again";
    "kept-server-errors", effects::server_errors_are_kept, |p| p.effects.server_errors == ServerErrors::Kept, "5xx are kept";
    "unknown-timeout", effects::timeout_of_the_handler_is_unknown, always, "after 408 nobody knows, and nothing runs again";
    "unknown-panic", effects::panic_is_unknown, always, "after a handler that died nobody knows, and nothing runs again";
    "unknown-broken-body", effects::broken_body_is_unknown, always, "after a body that breaks off nobody knows, and nothing runs again";
    "unknown-mismatch", effects::mismatch_is_told_of_unknown_keys, always, "another body is a mismatch also where nobody knows";
    "effect-none", effects::handler_says_that_nothing_happened, |p| p.effects.header, "Idempotency-Effect: none frees the key, whatever the status";
    "effect-done", effects::handler_says_that_it_happened, |p| p.effects.header, "Idempotency-Effect: done keeps the answer, whatever the status";
    "effect-taken-off", effects::what_the_handler_says_is_taken_off, |p| p.effects.header, "the client does not see Idempotency-Effect";

    "expired-unknown", ages::expired_and_unknown_is_refused, |p| p.age.expires_header,
        "a key whose own time has run out and of which nothing is known is refused";
    "expired-known", ages::expired_and_known_is_answered, |p| p.age.expires_header, "a key that is known is answered, whatever its time";
    "expires-ill-formed", ages::expiry_that_is_no_instant_is_refused, |p| p.age.expires_header, "an Idempotency-Expires that is no instant is refused";
    "old-keys", ages::old_keys_are_refused, |p| p.age.old_keys == OldKeys::Refused, "a UUIDv7 or ULID older than keys are remembered is refused";
    "old-keys-others", ages::keys_without_a_time_are_taken, |p| p.age.old_keys == OldKeys::Refused, "a UUIDv4 carries no time and is taken";

    "answer-largest", limits::largest_answer_is_kept, always, "the largest answer that is kept is repeated";
    "answer-larger", limits::larger_answer_leaves_a_tombstone, |p| p.limits.larger_answer == Larger::Tombstone,
        "a larger answer reaches its caller, and its request never runs again";
    "answer-larger-kept", limits::larger_answer_is_kept, |p| p.limits.larger_answer == Larger::Kept, "a larger answer is repeated, too";
    "answer-events", limits::events_pass_while_they_come, |p| p.limits.event_streams,
        "a stream of events passes while it comes, and its request never runs again";
    "request-largest", limits::largest_request_runs, always, "the largest request runs, chunked or not";
    "request-larger", limits::larger_request_is_refused, always, "a larger request is refused and leaves no trace";
    "request-chunked", limits::chunks_are_the_same_request, always, "a request in chunks is the same as one with its length";
    "request-empty", limits::requests_without_a_body, always, "a request without a body has a key like any other";
};

/// All rules, in the order in which they are asked.
#[must_use]
pub fn rules() -> &'static [Rule] {
    RULES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PRESETS;

    #[test]
    fn ids_are_unique_and_short() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(RULES[..index].iter().all(|earlier| earlier.id != rule.id), "{}", rule.id);
            assert!(rule.id.len() <= 24 && rule.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", rule.id);
            assert!(!rule.words.ends_with('.'), "{}", rule.words);
        }
    }

    #[test]
    fn every_rule_applies_somewhere() {
        let profiles: Vec<Profile> = PRESETS.iter().map(|(name, text)| Profile::read(text).expect(name)).collect();
        for rule in RULES {
            assert!(profiles.iter().any(|profile| rule.applies(profile)), "{} is asked of nobody", rule.id);
        }
        assert!(profiles.iter().zip(PRESETS).all(|(profile, (name, _))| profile.name == *name));
    }
}

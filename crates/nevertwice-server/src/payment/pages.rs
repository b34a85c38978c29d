//! The sandbox's pages.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// What a page of the sandbox says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The payment can be made.
    Open,
    /// It was refused, and can be tried again.
    Declined,
    /// The booking is paid.
    Paid,
    /// The seat was given back, and nothing was charged.
    Released,
    /// The payment was closed, and nothing was charged.
    Closed,
    /// It was paid after the seat had been given back.
    TooLate,
    /// It is not known yet what became of it.
    NotKnownYet,
    /// There is no such payment.
    Unknown,
}

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#16202c;--dim:#5c6b7c;--card:#fff;--page:#eef2f6;--line:#d7dfe8;--go:#0b6e4f;--stop:#9b2226}
@media(prefers-color-scheme:dark){:root{--ink:#e8eef4;--dim:#9fb0c0;--card:#1b2530;--page:#10171e;--line:#2c3946;--go:#2fa37c;--stop:#e06c6f}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}main{width:min(28rem,92vw);background:var(--card);border:1px solid var(--line);border-radius:14px;
padding:2rem;box-shadow:0 8px 30px #0001}h1{font-size:1.35rem;margin:.2rem 0 .6rem}small,dt{color:var(--dim)}dl{display:grid;
grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:1.2rem 0}dd{margin:0;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
form{display:inline}button{font:inherit;font-weight:600;padding:.6rem 1.4rem;border-radius:9px;border:1px solid var(--go);background:var(--go);
color:#fff;cursor:pointer;margin-right:.6rem}button.stop{background:none;color:var(--stop);border-color:var(--stop)}";

/// A page about a payment. `at` is its path, under which the forms post.
pub(crate) fn page(shown: Shown, at: &str, sale: &str, payment: &str) -> String {
    let (title, text) = words(shown);
    let body: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    small { "Sandbox: no money moves here" }
                    h1 { (title) }
                    p { (text) }
                    dl {
                        dt { "Sale" } dd { (sale) }
                        dt { "Payment" } dd { (payment) }
                    }
                    @if matches!(shown, Shown::Open | Shown::Declined) {
                        form method="post" action={ (at) "/pay" } { button { "Pay" } }
                        form method="post" action={ (at) "/decline" } { button class="stop" { "Decline" } }
                    }
                }
            }
        }
    };
    body.into_string()
}

const fn words(shown: Shown) -> (&'static str, &'static str) {
    match shown {
        Shown::Open => ("Pay for your seat", "Your seat is held for you. Pay, or decline to see what happens when a card is refused."),
        Shown::Declined => ("The payment was declined", "Nothing was charged. While your seat is held you can try again."),
        Shown::Paid => {
            ("Your seat is paid", "Thank you. The seat is yours; you need not do anything more, and paying again changes nothing.")
        }
        Shown::Released => ("The seat was given back", "The hold had ended. Nothing was charged. You can book again if there are seats."),
        Shown::Closed => ("This payment is closed", "It can't be made any more. Nothing was charged."),
        Shown::TooLate => (
            "Paid too late: it will be refunded",
            "The seat had been given back before the payment came. The payment will be refunded; do not pay again.",
        ),
        Shown::NotKnownYet => (
            "We do not know yet",
            "The payment was taken, but its seat could not be confirmed just now. Do not pay again: it is confirmed as soon as that is possible. Load this page again in a moment.",
        ),
        Shown::Unknown => ("There is no such payment", "Nothing was done. Use the address that the booking's answer gave you."),
    }
}

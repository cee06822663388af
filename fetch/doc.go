// Package fetch gets files that strangers name by URL, and posts to addresses that they name, without lending
// them this machine's place in its network.
//
// Whoever may send a URL to a server can otherwise have it call what only it can reach: itself, its neighbours, the
// metadata service of its cloud (server-side request forgery, OWASP's cheat sheet of that name). So the rule is kept
// where a connection is made: every address that is about to be dialled is looked at, after names are resolved, for the
// first request and for each redirect. A name that resolves to a public address when it is looked at and to a private
// one when it is dialled ("DNS rebinding") gains nothing by it, since there is no look before the dialling one that
// counts. [Fetcher.Check] looks once more, early, only so that a caller can be told at once.
//
//	URL ─ http or https ─ resolve ─ address allowed? ─ dial ─ status 200 ─ body, bounded
//	      └──────────────◄─ redirect, at most 5 times ─┘
//
// Proxies of the environment are not used: what they connect to can't be seen from here.
//
// What the other side says of the file (its Content-Type) is left out: whoever takes the
// bytes finds their type by what they are.
package fetch

package parakeet

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// boostPerToken is what a hypothesis gains for each token of a keyword, as a log-probability: enough to make up for
// something that is nearly three times as likely. At 2, keywords of many tokens began to replace words that
// only sound a little like them.
const boostPerToken = 1

// booster lets hypotheses gain while they spell a keyword. It's the automaton of Aho and Corasick ("Efficient string
// matching: an aid to bibliographic search", 1975) over the keywords' tokens: a state is the longest beginning of a
// keyword that the text ends with. What a beginning has gained is lost again when the text goes on otherwise.
type booster struct {
	nodes []boostNode
}

type boostNode struct {
	next  map[int32]int32
	fail  int32 // the longest other beginning that ends the same way
	depth int   // tokens
	ends  bool  // it's a whole keyword
	// secure is how many of the tokens belong to whole keywords: what they gained stays. The last of them is the
	// secureEnd-th.
	secure, secureEnd int
}

// boostRoot is the state of a text that ends with no keyword's beginning.
const boostRoot = 0

// newBooster makes the automaton of some keywords. It returns nil if there is none that can be spelled.
func newBooster(v pieces, keywords []string) *booster {
	b := &booster{nodes: make([]boostNode, 1)}
	for _, word := range keywords {
		for _, spelling := range spellings(word) {
			b.add(v.Encode(spelling))
		}
	}
	if len(b.nodes) == 1 {
		return nil
	}
	b.link()
	return b
}

// spellings are the ways in which a keyword may be written in a sentence: as it is, in small letters, and with
// capitals at its start or at that of each of its words.
func spellings(word string) []string {
	if word = strings.Join(strings.Fields(word), " "); word == "" {
		return nil
	}
	lower := strings.ToLower(word)
	title := strings.Fields(lower)
	for i := range title {
		title[i] = capitalised(title[i])
	}
	var all []string
	seen := map[string]bool{}
	for _, s := range []string{word, lower, capitalised(word), capitalised(lower), strings.Join(title, " ")} {
		if !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	return all
}

func capitalised(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// add adds a keyword's tokens.
func (b *booster) add(tokens []int32) {
	if len(tokens) == 0 {
		return
	}
	at := int32(boostRoot)
	for _, id := range tokens {
		n := &b.nodes[at]
		next, ok := n.next[id]
		if !ok {
			next = int32(len(b.nodes))
			if n.next == nil {
				n.next = map[int32]int32{}
			}
			n.next[id] = next
			b.nodes = append(b.nodes, boostNode{depth: n.depth + 1})
		}
		at = next
	}
	b.nodes[at].ends = true
}

// link fills in what follows from the keywords, shorter beginnings first.
func (b *booster) link() {
	queue := []int32{boostRoot}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for id, next := range b.nodes[at].next {
			queue = append(queue, next)
			if at != boostRoot {
				b.nodes[next].fail = b.follow(b.nodes[at].fail, id)
			}
			b.secure(at, next)
		}
	}
}

// follow is the longest beginning that a text in state at ends with after one token more.
func (b *booster) follow(at, id int32) int32 {
	for {
		if next, ok := b.nodes[at].next[id]; ok {
			return next
		}
		if at == boostRoot {
			return boostRoot
		}
		at = b.nodes[at].fail
	}
}

// secure finds the whole keywords in the beginning at, which is parent's and one token.
func (b *booster) secure(parent, at int32) {
	n := &b.nodes[at]
	n.secure, n.secureEnd = b.nodes[parent].secure, b.nodes[parent].secureEnd
	for end := at; end != boostRoot; end = b.nodes[end].fail {
		if e := &b.nodes[end]; e.ends && e.depth > n.secure {
			n.secure, n.secureEnd = e.depth, n.depth
			break // further ones are shorter
		}
	}
}

// open is what a text in state at has gained for a keyword that may still break off.
func (b *booster) open(at int32) float64 {
	return float64(b.nodes[at].depth-b.nodes[at].secure) * boostPerToken
}

// step takes a text in state at one token further. gain is what its score changes by.
func (b *booster) step(at, id int32) (next int32, gain float64) {
	if next, ok := b.nodes[at].next[id]; ok {
		return next, boostPerToken
	}
	// The keyword breaks off. What a shorter beginning has gained counts instead, unless it
	// shares tokens with a whole keyword, which have gained already.
	from := &b.nodes[at]
	gain = -b.open(at)
	for fail := at; fail != boostRoot; {
		fail = b.nodes[fail].fail
		n := &b.nodes[fail]
		if n.depth > from.depth-from.secureEnd {
			continue
		}
		if next, ok := n.next[id]; ok {
			return next, gain + float64(b.nodes[next].depth)*boostPerToken
		}
	}
	return boostRoot, gain
}

// expected are the tokens that a keyword's beginning goes on with, or starts with.
func (b *booster) expected(at int32) []int32 {
	ids := slices.Collect(maps.Keys(b.nodes[boostRoot].next))
	for id := range b.nodes[at].next {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

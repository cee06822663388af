package batcher

import "fmt"

// Policy is how turns are formed.
type Policy uint8

const (
	// Windowed gives recordings a quantum of device time instead of a whole recording's: rules 9 to 16. The default.
	Windowed Policy = iota

	// Lanes is rules 1 to 8 and nothing else.
	Lanes

	// CostOrder has one queue for clips and recordings alike, packed by rule 5. It is what fairness is measured
	// against, and starves whoever is dear unless requests age.
	CostOrder
	numPolicies
)

// String returns the policy's name: "windowed", "lanes" or "cost".
func (p Policy) String() string {
	switch p {
	case Windowed:
		return "windowed"
	case Lanes:
		return "lanes"
	case CostOrder:
		return "cost"
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

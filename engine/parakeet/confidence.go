package parakeet

import "math"

// confidencePower is the power that probabilities are raised to in Tsallis' entropy (NeMo 3.0.0's default alpha).
const confidencePower = 0.33

// confidence is how sure a softmax over n outcomes is, given the sum of its probabilities raised to confidencePower:
// Tsallis' entropy, brought to 1 for one that is certain and to 0 for n that are equal by its exponential (Laptev and
// Ginsburg, "Fast Entropy-Based Methods of Word-Level Confidence Estimation", arXiv:2212.08703).
func confidence(powerSum float32, n int) float32 {
	const a = confidencePower
	least := math.Exp((1 - math.Pow(float64(n), 1-a)) / (1 - a))
	c := (math.Exp((1-float64(powerSum))/(1-a)) - least) / (1 - least)
	return float32(min(max(c, 0), 1))
}

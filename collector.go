package main

import (
	"runtime/debug"

	"hark/models"
)

// smallModel is the most that a model takes on disk to be loaded without a garbage collection meanwhile. What becomes
// garbage then is some tens of megabytes.
const smallModel = 200 << 20

// collectLater puts garbage collection off until the function that it returns is called, for the time in which a small
// model is loaded to be used once: a heap that grows from nothing is collected again and again, some twenty times up to
// tiny.en's weights, which took a seventh of what an 11 s clip takes in all.
func collectLater(model string) (now func()) {
	entry, ok := models.Find(model)
	if !ok || entry.Size > smallModel {
		return func() {}
	}
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

package main

import "hark/models"

// modelBytes is about what a model takes in memory: its weights in single precision. One that is not here yet is taken for twice what is
// fetched, since that is in half precision.
func (l *loader) modelBytes(name string) (int64, error) {
	path, ok := l.store.Path(name)
	if !ok {
		entry, _ := models.Find(name)
		return 2 * entry.Size, nil
	}
	weights, err := models.OpenWeights(path)
	if err != nil {
		return 0, err
	}
	defer weights.Close()
	elements := 0
	for _, tensor := range weights.Names() {
		t, _ := weights.Tensor(tensor)
		elements += t.Len()
	}
	return 4 * int64(elements), nil
}

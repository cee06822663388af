package main

import "hark/models"

// modelBytes is about what a model takes in memory: its weights, in single precision on a CPU and in half on a GPU.
// What is fetched is in half precision.
func (l *loader) modelBytes(name string) (int64, error) {
	path, ok := l.store.Path(name)
	if !ok {
		entry, _ := models.Find(name)
		return l.device.weightBytes() / 2 * entry.Size, nil
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
	return l.device.weightBytes() * int64(elements), nil
}

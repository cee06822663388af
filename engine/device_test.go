package engine

import "testing"

// wrapper, half and steps are devices of which nothing is called.
type wrapper struct{ Device }

func (w wrapper) Unwrap() Device { return w.Device }

type half struct{ Device }

func (half) NewLinearHalf([]byte, []float32, int, int) (Linear, error) { return nil, nil }

func TestDeviceAs(t *testing.T) {
	inner := half{}
	for name, d := range map[string]Device{"itself": inner, "wrapped": wrapper{inner}, "twice": wrapper{wrapper{inner}}} {
		if got, ok := DeviceAs[HalfDevice](d); !ok || got != inner {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
		if _, ok := DeviceAs[StepDevice](d); ok {
			t.Errorf("%s: is said to be a StepDevice", name)
		}
	}
}

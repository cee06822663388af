package bench

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
)

// TestMeterMissesNoOperation finds operations of a device that go past the meter.
func TestMeterMissesNoOperation(t *testing.T) {
	meter := reflect.TypeFor[*Meter]()
	device := reflect.TypeFor[engine.Device]()
	for i := range device.NumMethod() {
		name := device.Method(i).Name
		if strings.HasPrefix(name, "New") || strings.Contains(" Info Alloc AllocSingle Free Sync ", " "+name+" ") {
			continue // these compute nothing
		}
		own, _ := meter.MethodByName(name)
		pc := own.Func.Pointer()
		if file, _ := runtime.FuncForPC(pc).FileLine(pc); !strings.HasSuffix(file, "meter.go") {
			t.Errorf("%s is not counted", name)
		}
	}
}

func TestMeterCounts(t *testing.T) {
	dev, err := cpu.New(cpu.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	m := NewMeter(dev)
	w, err := m.NewLinear(make([]float32, 6), nil, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	buf, err := m.Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	x := engine.NewTensor(buf, 2, 5)
	for range 3 {
		m.Linear(x.Columns(0, 2), x.Columns(2, 5), w, engine.NoActivation, engine.Tensor{})
	}
	ops := m.Ops()
	if len(ops) != 1 || ops[0].Name != "linear, few rows" || ops[0].Calls != 3 || ops[0].FLOPs != 3*2*2*2*3 || !(ops[0].Seconds > 0) {
		t.Errorf("got %+v", ops)
	}
	if m.Reset(); len(m.Ops()) != 0 {
		t.Error("something is left after Reset")
	}
}

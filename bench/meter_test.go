package bench

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
	"hark/kernels"
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

// TestMeterTellsNumbers: products of integers and of bfloat16 are counted apart, since their peaks are others.
func TestMeterTellsNumbers(t *testing.T) {
	inBF16 := "attention, linear, few rows"
	if kernels.PackBF16(make([]float32, 1), 1, 1).InBF16() {
		inBF16 += ", in bf16"
	}
	for precision, want := range map[cpu.Precision]string{
		cpu.F32:  "attention, linear, few rows",
		cpu.BF16: inBF16,
		cpu.Int8: "attention, in bytes, linear, few rows, in bytes",
	} {
		dev, err := cpu.New(cpu.Config{Threads: 1, Precision: precision})
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		m := NewMeter(dev)
		w, err := m.NewLinear(make([]float32, 64*192), nil, 192, 64)
		if err != nil {
			t.Fatal(err)
		}
		buf, err := m.Alloc(4 * (64 + 192))
		if err != nil {
			t.Fatal(err)
		}
		x := engine.NewTensor(buf, 4, 64+192)
		m.Linear(x.Columns(64, 256), x.Columns(0, 64), w, engine.NoActivation, engine.Tensor{})
		m.Attention(x.Columns(0, 64), x.Columns(64, 256), []int{4}, 1, 0)
		var names []string
		for _, op := range m.Ops() {
			names = append(names, op.Name)
			if !strings.HasSuffix(op.Name, op.Numbers) || (op.Numbers == "") == strings.Contains(op.Name, ", in ") {
				t.Errorf("%v: %+v", precision, op)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%v: got %q, want %q", precision, got, want)
		}
	}
}

package server

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// object is a JSON object whose members are taken one by one; what is left is not known.
type object struct {
	path    string // with a dot behind it, "" for the outermost
	members map[string]json.RawMessage
}

// newObject reads an object; null is one without members.
func newObject(path string, raw json.RawMessage) (object, error) {
	o := object{path: path}
	if err := json.Unmarshal(raw, &o.members); err != nil {
		return o, badField(strings.TrimSuffix(path, "."), "invalid_type", "%s is not an object",
			strings.TrimSuffix(path, "."))
	}
	return o, nil
}

// take removes a member. null says that it is there and has no value.
func (o object) take(name string) (raw json.RawMessage, null, ok bool) {
	raw, ok = o.members[name]
	delete(o.members, name)
	return raw, string(raw) == "null", ok
}

// into reads a member, if it is there and not null.
func (o object) into(name string, v any, kind string) error {
	raw, null, ok := o.take(name)
	if !ok || null {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return badField(o.path+name, "invalid_type", "%s is not %s", o.path+name, kind)
	}
	return nil
}

// replace reads a member, if it is there. null is the zero value.
func replace[T any](o object, name string, v *T, kind string) error {
	if _, ok := o.members[name]; !ok {
		return nil
	}
	var next T
	if err := o.into(name, &next, kind); err != nil {
		return err
	}
	*v = next
	return nil
}

// object reads a member that is an object. null says that it is there and is null.
func (o object) object(name string) (member object, null, ok bool, err error) {
	raw, null, ok := o.take(name)
	if !ok || null {
		return object{}, null, ok, nil
	}
	member, err = newObject(o.path+name+".", raw)
	return member, false, true, err
}

// number reads a member within bounds.
func (o object) number(name string, v *float64, least, most float64) error {
	n := *v
	if err := o.into(name, &n, "a number"); err != nil {
		return err
	}
	if math.IsNaN(n) || n < least || n > most {
		return badField(o.path+name, "invalid_value", "%s%s is %v, want %v to %v", o.path, name, n, least, most)
	}
	*v = n
	return nil
}

// millis reads a member that is a time.
func (o object) millis(name string, v *time.Duration, least, most float64) error {
	n := inMillis(*v)
	if err := o.number(name, &n, least, most); err != nil {
		return err
	}
	*v = time.Duration(n * float64(time.Millisecond))
	return nil
}

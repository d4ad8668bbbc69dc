package schema

import (
	"encoding/json"
	"strconv"
)

// Typed are values by name with their declared types. In JSON integers and flags are numbers and everything else is a string,
// as after Perl's own type check (qemu-server QemuServer.pm, check_type).
type Typed struct {
	Values   map[string]string
	Declared map[string]*Property
}

// MarshalJSON encodes the values as an object.
func (t Typed) MarshalJSON() ([]byte, error) {
	fields := make(map[string]json.RawMessage, len(t.Values))

	for name, value := range t.Values {
		p, ok := Lookup(t.Declared, name)
		if ok && (p.Type == Integer || p.Type == Boolean) {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				fields[name] = strconv.AppendInt(nil, n, 10)
				continue
			}
		}

		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}

		fields[name] = raw
	}

	return json.Marshal(fields)
}

package hostspec

import "encoding/json"

// text returns a value as JSON. The types of this package contain nothing that cannot be encoded.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}
